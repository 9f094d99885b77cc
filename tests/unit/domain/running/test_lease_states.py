"""Every state of a lease leads, in a few looks of the repairer, to a state without contradictions.

The states are all combinations of what Blazar and this package keep of a lease. Between two looks,
an executor, Blazar's or this package's, does what is due. Both executors are modeled here.
"""

import dataclasses
import enum
import functools
import itertools
from collections.abc import Iterator, Sequence

import pytest

from warre_blazar.domain.running import lease_states
from warre_blazar.domain.running.lease_states import (
    MISSING,
    STABLE,
    TRANSITIONAL,
    Action,
    Age,
    ClaimState,
    State,
    Statuses,
    Summary,
)

EVENTS = (MISSING, "UNDONE", "IN_PROGRESS", "DONE", "ERROR")
LOOKS = 5
FLAGS = (True, False)


class Phase(enum.StrEnum):
    """Whether the present time is before a lease's start, before its end, or after its end."""

    BEFORE = "before"
    DURING = "during"
    AFTER = "after"


@functools.cache  # nearly every test looks at all states
def all_states(lease: str) -> Sequence[State]:
    return list(_all_states(lease))


def _all_states(lease: str) -> Iterator[State]:
    for start, end, reservations, exact, holds, backed, age in itertools.product(
        EVENTS, EVENTS, Summary, FLAGS, FLAGS, FLAGS, Age
    ):
        statuses = Statuses(lease, start, end)
        # Events aren't exact if one is missing.
        is_exact = exact and MISSING not in (start, end)
        yield State(statuses, reservations, is_exact, holds, backed, age=age)


def executed(state: State, phase: Phase) -> State:
    """The state of a lease after an executor, Blazar's or this package's, has done what is due."""
    statuses = state.statuses
    if (statuses.lease, statuses.start, phase) == ("PENDING", "UNDONE", Phase.DURING):
        return dataclasses.replace(
            state,
            statuses=Statuses("ACTIVE", "DONE", "UNDONE"),
            reservations=Summary.ACTIVE,
        )
    ends = statuses.lease in ("PENDING", "ACTIVE", "ERROR") and statuses.end == "UNDONE"
    if not ends or phase is not Phase.AFTER:
        return state
    return over(state)


def over(state: State) -> State:
    return dataclasses.replace(
        state,
        statuses=Statuses("TERMINATED", "DONE", "DONE"),
        reservations=Summary.DELETED,
        events_exact=True,
        holds=True,
        backed=True,
        claim=ClaimState.NONE,
    )


@functools.cache  # many states become the same one after a look
def looked_at(state: State, phase: Phase) -> State | None:
    """The state of a lease after a look of the repairer, None if the lease was deleted."""
    decision = lease_states.decide(dataclasses.replace(state, is_over=phase is Phase.AFTER))
    if decision.action is Action.REMOVE:
        return None
    if decision.action is Action.CLOSE:
        return over(state)
    if decision.action is Action.SETTLE:
        assert decision.target is not None
        state = dataclasses.replace(
            state, statuses=decision.target, events_exact=True, claim=ClaimState.NONE
        )
    return executed(state, phase)


def at_rest(state: State, phase: Phase) -> State | None:
    """The state of a lease after looks until nothing changes, None if the lease was deleted."""
    for _ in range(LOOKS):
        after = looked_at(state, phase)
        if after is None:
            return None
        if after == state and state.age is Age.STUCK:
            return state
        state = dataclasses.replace(after, age=Age.STUCK, claim=ClaimState.NONE)
    pytest.fail(f"still not at rest after {LOOKS} looks: {state}")


def contradicts(state: State, phase: Phase) -> bool:
    """Whether a lease at rest contradicts itself, or waits for a time that is past."""
    statuses = state.statuses
    if not state.events_exact or statuses.lease not in STABLE:
        return True
    if not (state.holds and state.backed):
        return True
    if phase is Phase.AFTER:
        return statuses != Statuses("TERMINATED", "DONE", "DONE")
    agreed = {
        Summary.PENDING: Statuses("PENDING", "UNDONE", "UNDONE"),
        Summary.ACTIVE: Statuses("ACTIVE", "DONE", "UNDONE"),
        Summary.DELETED: Statuses("TERMINATED", "DONE", "DONE"),
        Summary.ERRONEOUS: Statuses("ERROR", "ERROR", "UNDONE"),
    }
    if agreed.get(state.reservations) == statuses:
        # An executor would have started a lease whose start is due.
        return statuses.lease == "PENDING" and phase is not Phase.BEFORE
    # Some reservations run, and the others are started at the lease's time.
    partly = (Summary.PARTLY, Phase.BEFORE, "PENDING")
    return (state.reservations, phase, statuses.lease) != partly


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("lease", [*TRANSITIONAL, *STABLE])
def test_every_state_comes_to_rest(lease: str, phase: Phase):
    seen = 0
    for state in all_states(lease):
        rest = at_rest(state, phase)
        seen += 1
        if rest is not None and rest.reservations is not Summary.NONE:
            assert not contradicts(rest, phase), (state, rest)
    assert seen == 5 * 5 * len(Summary) * 8 * 3


@pytest.mark.parametrize("lease", [*TRANSITIONAL, *STABLE])
def test_only_leases_that_are_half_made_or_half_deleted_are_removed(lease: str):
    for state in all_states(lease):
        if lease_states.decide(state).action is Action.REMOVE:
            half_deleted = not (state.holds and state.backed)
            assert lease in ("CREATING", "DELETING") or half_deleted


@pytest.mark.parametrize("lease", STABLE)
def test_lease_that_is_over_is_not_removed(lease: str):
    for state in all_states(lease):
        past = dataclasses.replace(state, is_over=True)
        assert lease_states.decide(past).action is not Action.REMOVE


@pytest.mark.parametrize("reservations", [Summary.PENDING, Summary.ACTIVE])
def test_whole_reservation_is_never_ended_before_its_time(reservations: Summary):
    """A reservation is whole if it holds hosts, has its backing, and isn't being deleted."""
    seen = 0
    for lease in set(TRANSITIONAL + STABLE) - {"CREATING", "DELETING"}:
        for state in all_states(lease):
            whole = state.holds and state.backed
            if whole and state.reservations is reservations:
                assert lease_states.decide(state).action in (Action.LEAVE, Action.SETTLE)
                seen += 1
    assert seen == 7 * 5 * 5 * 2 * 3


def test_lease_that_a_living_manager_executes_is_left():
    for lease in (*TRANSITIONAL, *STABLE):
        for state in all_states(lease):
            claimed = dataclasses.replace(state, claim=ClaimState.LIVE)
            assert lease_states.decide(claimed).action is Action.LEAVE


def test_claim_of_a_dead_manager_counts_as_none():
    for lease in (*TRANSITIONAL, *STABLE):
        for state in all_states(lease):
            if state.age is Age.STUCK:
                dead = dataclasses.replace(state, claim=ClaimState.DEAD, age=Age.FRESH)
                assert lease_states.decide(dead) == lease_states.decide(state)


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ([], Summary.NONE),
        (["pending", "pending"], Summary.PENDING),
        (["pending", "active"], Summary.PARTLY),
        (["active"], Summary.ACTIVE),
        (["active", "error"], Summary.ERRONEOUS),
        (["error", "deleted"], Summary.CLOSING),
        (["deleted"], Summary.DELETED),
    ],
)
def test_summary(statuses: list[str], expected: Summary):
    assert lease_states.summary(statuses) is expected


def test_every_row_of_the_table_is_needed():
    """Every row is the first match of some state. Otherwise the row could be deleted."""
    used = set()
    for lease in (*TRANSITIONAL, *STABLE):
        for known, is_over in itertools.product(all_states(lease), FLAGS):
            state = dataclasses.replace(known, is_over=is_over)
            rows = enumerate(lease_states.TABLE)
            used.add(next(n for n, row in rows if row.matches(state)))
    # The first row is about living claims, which ``all_states`` leaves out.
    assert used == set(range(1, len(lease_states.TABLE)))
