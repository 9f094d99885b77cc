"""Describes who has booked a flavor and when, for the charts of operators."""

import dataclasses
import datetime
from collections.abc import Iterator, Sequence

from warre_blazar.cli import times
from warre_blazar.client import Reservation, Span


@dataclasses.dataclass(frozen=True)
class NamedReservation:
    """A reservation, and the name of its project (or the project's id)."""

    project: str
    reservation: Reservation

    @property
    def label(self) -> str:
        """Whose reservation it is, and its name if it has one."""
        name = self.reservation.name
        return f"{self.project}: {name}" if name else self.project

    @property
    def is_running(self) -> bool:
        """Whether servers can run on it now."""
        return self.reservation.status == "ACTIVE"


@dataclasses.dataclass(frozen=True)
class BookedFlavor:
    """A flavor with its reservations and its maintenance windows within a period."""

    name: str
    slots: int
    #: Sorted by start.
    bookings: Sequence[NamedReservation]
    windows: Sequence[Span] = ()


def marks(period: Span, zone: datetime.tzinfo, most: int) -> Iterator[datetime.datetime]:
    """Yield the moments that an axis of time names: at most about ``most`` midnights of a zone.

    The number of days between two of them is always the same. In a period of less than two days,
    there are full hours too.
    """
    days = (period.end - period.start) / datetime.timedelta(days=1)
    steps = times.MARKS_APART_HOURS
    hours = next((each for each in steps if days < 2 and days * 24 <= each * most), steps[-1])
    step = datetime.timedelta(days=max(1, -int(-days // most)))
    day = period.start.astimezone(zone).date()
    while datetime.datetime.combine(day, datetime.time(), zone) < period.end:
        for hour in range(0, 24, hours):
            moment = datetime.datetime.combine(day, datetime.time(hour), zone)
            if period.start <= moment < period.end:
                yield moment
        day += step


def is_midnight(moment: datetime.datetime) -> bool:
    """Whether a mark begins a day."""
    return moment.time() == datetime.time()
