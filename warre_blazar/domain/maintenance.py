"""Maintenance windows, and what becomes of the reservations that they meet."""

import dataclasses
import enum

from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.timeline import Span


@dataclasses.dataclass(frozen=True)
class MaintenanceWindow:
    """A maintenance window: its time, its note, and the flavors and hosts that it closes."""

    id: str
    span: Span
    note: str | None
    #: The id and the name of each flavor that the window closes. A window may close no flavor.
    flavors: tuple[tuple[str, str], ...]
    #: The id and the hypervisor hostname of each host that the window closes.
    hosts: tuple[tuple[str, str], ...] = ()


class OverBookings(enum.Enum):
    """What is done with the reservations that a maintenance window meets."""

    #: Nothing is written. The answer says what ``MOVE`` would do.
    SHOW = "show"
    #: A window that meets a reservation is refused.
    REFUSE = "refuse"
    #: Reservations that haven't begun get other hosts or a later time. Others are left.
    MOVE = "move"
    #: The same, and what began before the window, or begins before it, ends at its start.
    END = "end"


class Outcome(enum.Enum):
    """What became of a reservation that a window met."""

    #: It has other hosts now, and its time stays the same.
    MOVED = "moved"
    #: It begins at a later time, which its owner had allowed.
    POSTPONED = "postponed"
    #: It ends at the start of the window.
    ENDED = "ended"
    #: It is as it was.
    LEFT = "left"


@dataclasses.dataclass(frozen=True)
class Meeting:
    """A reservation that a window met, as it was before, and what became of it."""

    reservation: Reservation
    flavor: Flavor
    outcome: Outcome
    #: The reservation's time afterwards.
    span: Span
    #: Why it was left, and what an operator can do about it.
    reason: str | None = None
