"""The table of states: what each state of a lease means, and what must be done about it.

Blazar keeps a lease's state in four places: the lease, its start event, its end event and its
reservations. The states in these places can contradict each other. This happens after a manager was
killed, while a service is unreachable, or when two managers work on the same lease.

``decide`` finds the first row of ``TABLE`` that matches a state. ``services.running.repair`` reads
the states of leases and acts on the decisions. The documentation prints the table.
"""

import dataclasses
import enum
from collections.abc import Iterable, Sequence
from typing import TypeVar

from warre_blazar import times

T = TypeVar("T")

CREATING, PENDING, STARTING, ACTIVE = "CREATING", "PENDING", "STARTING", "ACTIVE"
UPDATING, TERMINATING, TERMINATED = "UPDATING", "TERMINATING", "TERMINATED"
DELETING, ERROR = "DELETING", "ERROR"

#: Lease statuses that Blazar sets while it works on a lease.
TRANSITIONAL = (CREATING, STARTING, UPDATING, TERMINATING, DELETING)
STABLE = (PENDING, ACTIVE, TERMINATED, ERROR)

UNDONE, IN_PROGRESS, DONE = "UNDONE", "IN_PROGRESS", "DONE"
MISSING = "missing"


class Summary(enum.StrEnum):
    """A summary of the statuses of a lease's reservations."""

    NONE = "none"
    PENDING = "all pending"
    PARTLY = "some active"
    ACTIVE = "all active"
    ERRONEOUS = "some in error"
    CLOSING = "some deleted"
    DELETED = "all deleted"


class Age(enum.IntEnum):
    """The time since a lease last changed, by the clock of the process that looks at the lease."""

    FRESH = 0
    #: Blazar sometimes writes to a lease several times while the lease's status is stable. The
    #: lease has been unchanged for longer than the time between two of these writes.
    QUIET = 1
    #: Longer than any work on the lease can take, according to the configured timeouts. Or the
    #: manager that worked on the lease is dead or has answered, and the lease is ``QUIET``.
    STUCK = 2


def age(unchanged: float, patience: float) -> Age:
    """The age of a lease.

    :param unchanged: for how many seconds nobody has written to the lease.
    :param patience: how many seconds any work on the lease takes at most.
    """
    if unchanged >= patience:
        return Age.STUCK
    return Age.QUIET if unchanged >= times.QUIET_AFTER else Age.FRESH


class ClaimState(enum.StrEnum):
    """Whether a manager has the lease claim, and whether that manager is alive."""

    NONE = "none"
    LIVE = "live"
    #: The heartbeat of the manager that has the claim has stopped.
    DEAD = "dead"


class Action(enum.StrEnum):
    """What to do about a lease."""

    LEAVE = "leave it"
    #: Write the statuses that follow from the reservations' statuses, and move the start event and
    #: the end event to the lease's start and end.
    SETTLE = "settle"
    #: End the lease: release its hosts and slots and set it to TERMINATED.
    CLOSE = "close"
    #: Delete the lease.
    REMOVE = "remove"


@dataclasses.dataclass(frozen=True)
class Statuses:
    """The statuses of a lease, its start event and its end event."""

    lease: str
    start: str
    end: str


@dataclasses.dataclass(frozen=True)
class State:
    """All facts about a lease that the rows of the table test."""

    statuses: Statuses
    reservations: Summary
    #: Whether the lease has exactly one start event and one end event, and no event of a type that
    #: is unknown to Blazar. The two events must be at the lease's start and end. An event may be
    #: later if an attempt has failed.
    events_exact: bool = True
    #: Whether every reservation that isn't deleted holds hosts, and no deleted reservation does.
    holds: bool = True
    #: Whether every reservation that isn't deleted has a note of its backing, and the backing isn't
    #: being removed.
    backed: bool = True
    #: Whether the lease's end is past.
    is_over: bool = False
    claim: ClaimState = ClaimState.NONE
    age: Age = Age.STUCK


def summary(statuses: Iterable[str]) -> Summary:
    """Summarize the statuses of a lease's reservations.

    :param statuses: the values of ``reservations.status`` in Blazar's table, for all reservations
        of the lease.
    """
    distinct = set(statuses)
    if not distinct:
        return Summary.NONE
    if distinct == {"deleted"}:
        return Summary.DELETED
    if "deleted" in distinct:
        return Summary.CLOSING
    if distinct <= {"pending", "active"}:
        only = {"pending": Summary.PENDING, "active": Summary.ACTIVE}
        return only[distinct.pop()] if len(distinct) == 1 else Summary.PARTLY
    return Summary.ERRONEOUS


_WAITING = Statuses(PENDING, UNDONE, UNDONE)
_RUNNING = Statuses(ACTIVE, DONE, UNDONE)
_OVER = Statuses(TERMINATED, DONE, DONE)
_FAILED = Statuses(ERROR, ERROR, UNDONE)

#: The statuses that a lease should have, by the summary of its reservations. If only some
#: reservations of a lease have started, the lease is started again. This changes nothing for the
#: reservations that have started.
TARGETS = {
    Summary.PENDING: _WAITING,
    Summary.PARTLY: _WAITING,
    Summary.ACTIVE: _RUNNING,
    Summary.ERRONEOUS: _FAILED,
    Summary.DELETED: _OVER,
}


@dataclasses.dataclass(frozen=True)
class TableRow:
    """A row of the table: its name, conditions on a state, the state's meaning, and the action.

    A condition that is None matches every state.
    """

    #: The row's name in metrics. It must not change, because dashboards refer to it.
    name: str
    meaning: str
    action: Action
    leases: Sequence[str] | None = None
    reservations: Sequence[Summary] | None = None
    claims: Sequence[ClaimState] | None = None
    #: Whether the hosts that reservations hold, or the notes of their backings, contradict the
    #: reservations' statuses. If so, an end or a deletion has begun to give up what they have.
    torn: bool | None = None
    #: Whether the lease's end is past.
    is_over: bool | None = None
    #: Whether the lease's statuses and events are those that follow from the reservations.
    settled: bool | None = None
    ages: Sequence[Age] | None = None

    def matches(self, state: State) -> bool:
        """Whether a state meets all conditions of the row."""
        return (
            _allows(self.leases, state.statuses.lease)
            and _allows(self.reservations, state.reservations)
            and _allows(self.claims, state.claim)
            and _allows(self.ages, state.age)
            and self.torn in (None, not (state.holds and state.backed))
            and self.is_over in (None, state.is_over)
            and self.settled in (None, is_settled(state))
        )


def _allows(wanted: Sequence[T] | None, fact: T) -> bool:
    return wanted is None or fact in wanted


def is_settled(state: State) -> bool:
    """Whether a lease's statuses and events are those that follow from its reservations."""
    return state.events_exact and state.statuses == TARGETS.get(state.reservations)


def is_at_rest(state: State) -> bool:
    """Whether nothing has to be done about a lease until its state changes."""
    return is_settled(state) and state.holds and state.backed and state.claim is ClaimState.NONE


_NOT_STUCK = (Age.FRESH, Age.QUIET)

TABLE = (
    TableRow(
        "claimed",
        "A manager is executing the lease's start, end or deletion.",
        Action.LEAVE,
        claims=[ClaimState.LIVE],
    ),
    TableRow(
        "in_work",
        "Blazar is working on the lease, or was until a moment ago.",
        Action.LEAVE,
        leases=TRANSITIONAL,
        ages=_NOT_STUCK,
    ),
    TableRow(
        "half_made_or_deleted",
        "A manager died while it created or deleted the lease. Either nobody was told that the "
        "lease exists, or somebody has asked for its deletion.",
        Action.REMOVE,
        leases=[CREATING, DELETING],
    ),
    TableRow(
        "foreign",
        "The lease has no reservations, so it is not a lease of this package.",
        Action.LEAVE,
        reservations=[Summary.NONE],
    ),
    TableRow(
        "settled",
        "Hosts, notes, statuses, events and reservations agree. A manager claims the lease when "
        "its start or end is due.",
        Action.LEAVE,
        torn=False,
        settled=True,
    ),
    TableRow(
        "just_written",
        "Blazar may be between two writes to the lease.",
        Action.LEAVE,
        ages=[Age.FRESH],
    ),
    TableRow(
        "deletion_halfway",
        "A deletion stopped halfway, after hosts had been given up or removing backings had begun. "
        "An end doesn't do this before the lease's end.",
        Action.REMOVE,
        torn=True,
        is_over=False,
    ),
    TableRow(
        "end_halfway",
        "An end or a deletion stopped halfway, after hosts had been given up or removing backings "
        "had begun.",
        Action.CLOSE,
        torn=True,
    ),
    TableRow(
        "partly_ended",
        "An end or a deletion stopped halfway, after some of the reservations had been deleted.",
        Action.CLOSE,
        reservations=[Summary.CLOSING],
    ),
    TableRow(
        "contradiction",
        "Statuses or events contradict the reservations. Either an operation failed, or two "
        "managers attempted it at once, or a client wrote the statuses.",
        Action.SETTLE,
    ),
)

#: The names of the rows by which leases are repaired.
REPAIRS = tuple(row.name for row in TABLE if row.action is not Action.LEAVE)


@dataclasses.dataclass(frozen=True)
class Decision:
    """What to do about a lease, and why."""

    action: Action
    meaning: str
    #: The name of the row of the table.
    row: str
    #: For SETTLE and CLOSE: the statuses that the lease shall have.
    target: Statuses | None = None


def decide(state: State) -> Decision:
    """Decide what to do about a lease, by the first row that matches the lease's state.

    The last row matches every state.
    """
    if state.claim is ClaimState.DEAD:
        # The manager that had the claim is dead. So nobody works on the lease any more, even if the
        # lease changed a moment ago.
        state = dataclasses.replace(state, claim=ClaimState.NONE, age=Age.STUCK)
    row = next(row for row in TABLE if row.matches(state))
    if row.action is Action.SETTLE:
        target = TARGETS[state.reservations]
        done = state.events_exact and state.statuses == target
        action = Action.LEAVE if done else Action.SETTLE
        return Decision(action, row.meaning, row.name, target)
    if row.action is Action.CLOSE:
        return Decision(row.action, row.meaning, row.name, _OVER)
    return Decision(row.action, row.meaning, row.name)
