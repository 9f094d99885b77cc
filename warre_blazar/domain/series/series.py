"""Describes a series of reservations, whose occurrences are ordinary reservations."""

import dataclasses
import datetime
import enum
from collections.abc import Mapping
from typing import Any

from warre_blazar.domain.booking.labels import Labels
from warre_blazar.domain.running.handles import Handle
from warre_blazar.domain.series.recurrence import Recurrence
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions


class SeriesStatus(enum.Enum):
    """What is being done with a series. Each status but the last two is left within minutes.

    A manager leaves it if the request that should do so has died.
    """

    #: Occurrences are being booked.
    BOOKING = "booking"
    #: What was booked is being deleted, because all or none was asked for.
    UNDOING = "undoing"
    #: What hasn't begun is being deleted, because somebody has ended the series.
    ENDING = "ending"
    BOOKED = "booked"
    ENDED = "ended"


@dataclasses.dataclass(frozen=True)
class RepeatedBooking:
    """What each occurrence of a series books."""

    flavor: str
    count: int
    affinity: bool | None
    labels: Labels
    before_end: str | None
    handle: Handle | None = None


@dataclasses.dataclass(frozen=True)
class BookedSeries:
    """A series, as it is stored."""

    id: str
    project_id: str
    user_id: str
    #: Its flavor is an id.
    booking: RepeatedBooking
    recurrence: Recurrence
    #: Whether all occurrences that are asked for at once are booked, or none of them.
    all_or_none: bool
    status: SeriesStatus
    #: Identifies the request that books occurrences, or has done so last. It is secret, because it
    #: lets a lease become a part of the series.
    work_id: str
    #: Whether an ending deletes the running reservations too.
    ends_running: bool
    created_at: datetime.datetime
    #: How many occurrences of the rule were asked for, whether or not they were booked.
    planned: int = 0
    #: How many of these weren't booked.
    unbooked: int = 0
    #: When somebody has ended it, and who.
    ended_at: datetime.datetime | None = None
    ended_by: str | None = None


@dataclasses.dataclass(frozen=True)
class SeriesWork:
    """Says for which request to which series a reservation is booked."""

    series_id: str
    work_id: str


@dataclasses.dataclass(frozen=True)
class PlannedOccurrence:
    """An occurrence that was asked for, as it is stored."""

    span: Span
    #: Its reservation, unless it was deleted.
    reservation_id: str | None = None
    #: Why it couldn't be booked the last time, as the document of an error.
    refusal: Mapping[str, Any] | None = None
    #: When its reservation was deleted, and by whom. None: it wasn't, or by no user.
    deleted_at: datetime.datetime | None = None
    deleted_by: str | None = None
    #: The request that was the first to ask for it.
    work_id: str = ""

    @property
    def is_missing(self) -> bool:
        """Whether it wasn't booked."""
        return self.reservation_id is None and self.deleted_at is None


@dataclasses.dataclass(frozen=True)
class RefusedOccurrence:
    """An occurrence that wasn't booked."""

    span: Span
    error: exceptions.WarreError
    #: The next start at which it could be booked, if there is one.
    next_start: datetime.datetime | None = None
