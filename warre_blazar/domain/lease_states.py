"""What each state of a lease means, and what has to be done about it: one table.

Blazar keeps a lease's state in four places: the lease, its start event, its end event and its
reservations. A killed manager, a service that is away, or two managers that meet leave them
contradicting each other. ``decide`` looks a state up in ``TABLE``; the first row that matches
holds. ``services.repair`` reads the states and acts; the documentation prints the table.
"""

import dataclasses
import enum
from collections.abc import Iterable, Sequence

CREATING, PENDING, STARTING, ACTIVE = "CREATING", "PENDING", "STARTING", "ACTIVE"
UPDATING, TERMINATING, TERMINATED = "UPDATING", "TERMINATING", "TERMINATED"
DELETING, ERROR = "DELETING", "ERROR"

#: Lease statuses that Blazar sets while it works on a lease.
TRANSITIONAL = (CREATING, STARTING, UPDATING, TERMINATING, DELETING)
STABLE = (PENDING, ACTIVE, TERMINATED, ERROR)

UNDONE, IN_PROGRESS, DONE = "UNDONE", "IN_PROGRESS", "DONE"
MISSING = "missing"


class Reservations(enum.StrEnum):
    """What the reservations of a lease are, all together."""

    NONE = "none"
    PENDING = "all pending"
    PARTLY = "some active"
    ACTIVE = "all active"
    ERRONEOUS = "some in error"
    CLOSING = "some deleted"
    DELETED = "all deleted"


class Age(enum.IntEnum):
    """For how long a repairing manager has seen a lease unchanged."""

    FRESH = 0
    #: Longer than Blazar takes between two writes of a lease that nobody works on.
    QUIET = 1
    #: Longer than anything that works on the lease can take, by the configured timeouts.
    STUCK = 2


class Phase(enum.StrEnum):
    """Where the present is in a lease's own time."""

    BEFORE = "before"
    DURING = "during"
    AFTER = "after"


class Claim(enum.StrEnum):
    """Whether a manager has claimed to execute something for the lease."""

    NONE = "none"
    LIVE = "live"
    #: Its manager's heartbeat has stopped.
    DEAD = "dead"


class Action(enum.StrEnum):
    """What to do about a state."""

    LEAVE = "leave it"
    #: Write the statuses that the reservations tell; times of events come from the lease.
    SETTLE = "settle"
    #: Give up hosts and slots, and let the lease be over.
    CLOSE = "close"
    #: Delete the lease.
    REMOVE = "remove"


@dataclasses.dataclass(frozen=True)
class Statuses:
    """Of a lease, its start event and its end event."""

    lease: str
    start: str
    end: str


@dataclasses.dataclass(frozen=True)
class State:
    """All that decides about a lease."""

    statuses: Statuses
    reservations: Reservations
    phase: Phase
    #: Whether there is exactly one start and one end event, at the lease's times or, where an
    #: attempt failed, later, and no event that Blazar itself wouldn't make.
    events_exact: bool = True
    #: Whether all reservations but the deleted ones hold hosts, and no deleted one does.
    holds: bool = True
    #: Whether every reservation that isn't deleted has a note of what Nova holds for it.
    backed: bool = True
    #: Whether the lease holds reservations of other types too.
    mixed: bool = False
    claim: Claim = Claim.NONE
    age: Age = Age.STUCK


def summary(statuses: Iterable[str]) -> Reservations:
    """What the statuses of a lease's reservations come to."""
    found = set(statuses)
    if not found:
        return Reservations.NONE
    if found == {"deleted"}:
        return Reservations.DELETED
    if "deleted" in found:
        return Reservations.CLOSING
    if found <= {"pending", "active"}:
        only = {"pending": Reservations.PENDING, "active": Reservations.ACTIVE}
        return only[found.pop()] if len(found) == 1 else Reservations.PARTLY
    return Reservations.ERRONEOUS


_WAITING = Statuses(PENDING, UNDONE, UNDONE)
_RUNNING = Statuses(ACTIVE, DONE, UNDONE)
_OVER = Statuses(TERMINATED, DONE, DONE)
_FAILED = Statuses(ERROR, ERROR, UNDONE)
#: A state that nothing takes for a start that is to be tried again.
_ABANDONED = Statuses(ERROR, DONE, UNDONE)

#: What the lease's statuses should be, by what its reservations are. A lease of which some
#: reservations have started is started again: that does nothing to those.
TARGETS = {
    Reservations.PENDING: _WAITING,
    Reservations.PARTLY: _WAITING,
    Reservations.ACTIVE: _RUNNING,
    Reservations.ERRONEOUS: _FAILED,
    Reservations.DELETED: _OVER,
}


@dataclasses.dataclass(frozen=True)
class Row:
    """A row of the table: which states, what these mean, what to do. None means any."""

    meaning: str
    action: Action
    leases: Sequence[str] | None = None
    starts: Sequence[str] | None = None
    ends: Sequence[str] | None = None
    phases: Sequence[Phase] | None = None
    reservations: Sequence[Reservations] | None = None
    claims: Sequence[Claim] | None = None
    mixed: bool | None = None
    #: Only states in which the hosts held or the notes of Nova contradict the reservations.
    torn: bool | None = None
    #: Only states whose statuses and events are what the reservations tell.
    settled: bool | None = None
    ages: Sequence[Age] | None = None
    target: Statuses | None = None

    def matches(self, state: State) -> bool:
        """Whether the row is about a state."""
        facts = (
            (self.leases, state.statuses.lease),
            (self.starts, state.statuses.start),
            (self.ends, state.statuses.end),
            (self.phases, state.phase),
            (self.reservations, state.reservations),
            (self.claims, state.claim),
            (self.ages, state.age),
        )
        flags = (
            (self.mixed, state.mixed),
            (self.torn, not (state.holds and state.backed)),
            (self.settled, is_settled(state)),
        )
        return all(wanted is None or fact in wanted for wanted, fact in facts) and all(
            wanted is None or fact == wanted for wanted, fact in flags
        )


def is_settled(state: State) -> bool:
    """Whether lease and events say what the reservations say."""
    return state.events_exact and state.statuses == TARGETS.get(state.reservations)


def is_at_rest(state: State) -> bool:
    """Whether nothing has to be done about a state until something happens to the lease."""
    return is_settled(state) and state.holds and state.backed and state.claim is Claim.NONE


_NOT_STUCK = (Age.FRESH, Age.QUIET)

TABLE = (
    Row(
        "A manager executes the lease's start, end or deletion.",
        Action.LEAVE,
        claims=[Claim.LIVE],
    ),
    Row(
        "Blazar works on the lease, or did until just now.",
        Action.LEAVE,
        leases=TRANSITIONAL,
        ages=_NOT_STUCK,
    ),
    Row(
        "A manager died while it made or deleted the lease. Nobody was told that it is booked, or "
        "somebody asked for it to be gone.",
        Action.REMOVE,
        leases=[CREATING, DELETING],
        mixed=False,
    ),
    Row(
        "A lease without reservations is not ours.",
        Action.LEAVE,
        reservations=[Reservations.NONE],
    ),
    # Leases that hold other types too: Blazar executes these, and stock plugins can't repeat what
    # they did. Only what did nothing is given back; the rest becomes a lease that can be deleted.
    Row(
        "Statuses, events and reservations agree; Blazar executes a lease with other types.",
        Action.LEAVE,
        mixed=True,
        settled=True,
    ),
    Row(
        "Blazar may come back to a lease with other types, which takes as long as all of it.",
        Action.LEAVE,
        mixed=True,
        ages=_NOT_STUCK,
    ),
    Row(
        "Nothing of the lease was started. It waits for its start again.",
        Action.SETTLE,
        mixed=True,
        leases=[PENDING, UPDATING, ERROR],
        starts=[UNDONE, IN_PROGRESS, ERROR],
        reservations=[Reservations.PENDING],
    ),
    Row(
        "All of the lease runs. An update or a deletion failed.",
        Action.SETTLE,
        mixed=True,
        leases=[PENDING, ACTIVE, UPDATING, ERROR],
        reservations=[Reservations.ACTIVE],
    ),
    Row(
        "All of the lease is over.",
        Action.SETTLE,
        mixed=True,
        reservations=[Reservations.DELETED],
    ),
    Row(
        "Blazar could not end a lease with other types whose making was given up. It has to be "
        "deleted.",
        Action.SETTLE,
        mixed=True,
        leases=[ERROR],
        starts=[DONE],
        ends=[ERROR],
        reservations=[Reservations.PENDING],
        phases=[Phase.AFTER],
        target=Statuses(ERROR, DONE, ERROR),
    ),
    Row(
        "Blazar could not end a lease with other types, of which some never started or had ended "
        "already. It has to be deleted.",
        Action.SETTLE,
        mixed=True,
        leases=[ERROR],
        ends=[ERROR],
        phases=[Phase.AFTER],
        target=Statuses(ERROR, ERROR, ERROR),
    ),
    Row(
        "A manager died while it made a lease with other types. The lease is in ERROR and can be "
        "deleted.",
        Action.SETTLE,
        mixed=True,
        leases=[CREATING],
        target=_ABANDONED,
    ),
    Row(
        "A lease with other types whose making was given up.",
        Action.SETTLE,
        mixed=True,
        leases=[ERROR],
        starts=[DONE],
        reservations=[Reservations.PENDING],
        target=_ABANDONED,
    ),
    Row(
        "Blazar was interrupted in a lease with other types. The lease is in ERROR and can be "
        "deleted; Blazar ends it if all of it has started.",
        Action.SETTLE,
        mixed=True,
        target=_FAILED,
    ),
    # Leases of ours alone.
    Row(
        "Hosts, notes, statuses, events and reservations agree. What is due a manager claims.",
        Action.LEAVE,
        torn=False,
        settled=True,
    ),
    Row(
        "Blazar may be between two writes.",
        Action.LEAVE,
        ages=[Age.FRESH],
    ),
    Row(
        "An end or a deletion stopped half way: hosts or Nova's part were given up already.",
        Action.CLOSE,
        torn=True,
    ),
    Row(
        "An end or a deletion stopped after some of the reservations.",
        Action.CLOSE,
        reservations=[Reservations.CLOSING],
    ),
    Row(
        "Statuses or events contradict the reservations: something failed, was tried by two, or "
        "was written by a client.",
        Action.SETTLE,
    ),
)


@dataclasses.dataclass(frozen=True)
class Decision:
    """What to do about a state, and why."""

    action: Action
    meaning: str
    #: The statuses to write, for SETTLE and CLOSE.
    target: Statuses | None = None


def decide(state: State) -> Decision:
    """The decision of the first row that matches; there is always one."""
    if state.claim is Claim.DEAD:
        # Nobody works on it any more, however short it was ago.
        state = dataclasses.replace(state, claim=Claim.NONE, age=Age.STUCK)
    row = next(row for row in TABLE if row.matches(state))
    if row.action is Action.SETTLE:
        target = row.target or TARGETS[state.reservations]
        done = state.events_exact and state.statuses == target
        return Decision(Action.LEAVE if done else Action.SETTLE, row.meaning, target)
    if row.action is Action.CLOSE:
        return Decision(row.action, row.meaning, _OVER)
    return Decision(row.action, row.meaning)
