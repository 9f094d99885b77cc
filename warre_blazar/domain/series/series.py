"""Describes a series of reservations, whose occurrences are ordinary reservations."""

import dataclasses
import datetime
import enum

from warre_blazar.domain.booking.labels import Labels
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
    #: How many occurrences of the rule were asked for, whether or not they were booked.
    planned: int
    #: The same, and those of the request that is being fulfilled.
    tried: int
    status: SeriesStatus
    #: Identifies the request that books occurrences, or has done so last. It is secret, because it
    #: lets a lease become a part of the series.
    work_id: str
    #: Whether an ending deletes the running reservations too.
    ends_running: bool
    created_at: datetime.datetime


@dataclasses.dataclass(frozen=True)
class SeriesWork:
    """Says for which request to which series a reservation is booked."""

    series_id: str
    work_id: str


@dataclasses.dataclass(frozen=True)
class RefusedOccurrence:
    """An occurrence that wasn't booked."""

    span: Span
    error: exceptions.WarreError
    #: The next start at which it could be booked, if there is one.
    next_start: datetime.datetime | None = None
