"""Computes how many slots are free on each day. The input is the API's spans of free slots."""

import dataclasses
import datetime
import functools
from collections.abc import Callable, Sequence

from warre_blazar.client import Reservation, Span

#: A function that gets a number of instances, and returns the spans in which this number is free.
#: In these spans, any smaller number is free too.
FreeFor = Callable[[int], Sequence[Span]]


@dataclasses.dataclass(frozen=True)
class Day:
    """A day, and how many slots can be booked on it.

    ``throughout`` is the number of slots that are free all day. ``at_best`` is the largest number
    of slots that are free at once at any time of the day.
    """

    date: datetime.date
    span: Span
    throughout: int
    at_best: int


@dataclasses.dataclass(frozen=True)
class Row:
    """The days of a flavor, and its maintenance windows.

    ``own`` are the reservations of the flavor that belong to the user's project.
    """

    name: str
    slots: int
    days: Sequence[Day]
    windows: Sequence[Span] = ()
    own: Sequence[Reservation] = ()

    @property
    def most(self) -> int:
        """The largest number of slots that can be booked at once on any of the days."""
        return max(day.at_best for day in self.days)


def days_from(start: datetime.datetime, count: int) -> list[tuple[datetime.date, Span]]:
    """Return ``count`` days, each as a date and a span in UTC.

    The first day begins at ``start``. The others begin at midnight in the time zone of ``start``.
    """

    def midnight(number: int) -> datetime.datetime:
        date = start.date() + datetime.timedelta(days=number)
        return datetime.datetime.combine(date, datetime.time(), start.tzinfo).astimezone(
            datetime.UTC
        )

    edges = [start.astimezone(datetime.UTC), *(midnight(n) for n in range(1, count + 1))]
    return [
        (start.date() + datetime.timedelta(days=n), Span(edges[n], edges[n + 1]))
        for n in range(count)
    ]


def free(slots: int, days: Sequence[tuple[datetime.date, Span]], free_for: FreeFor) -> list[Day]:
    """Return the free slots of each day.

    When a number of instances is free, any smaller number is free too. So this function asks the
    API only about some of the numbers up to ``slots``.
    """
    spans = functools.cache(free_for)

    def day(date: datetime.date, span: Span) -> Day:
        throughout = _most(slots, lambda n: _within(span, spans(n)))
        at_best = _most(slots, lambda n: any(touches(span, each) for each in spans(n)))
        return Day(date, span, throughout, at_best)

    return [day(date, span) for date, span in days]


def touches(one: Span, other: Span) -> bool:
    """Whether two spans overlap."""
    return one.start < other.end and other.start < one.end


def _most(slots: int, holds: Callable[[int], bool]) -> int:
    """Return the greatest number up to ``slots`` for which ``holds`` is true.

    If ``holds`` is true for a number, it must be true for all smaller numbers.
    """
    low, high = 0, slots
    while low < high:
        middle = (low + high + 1) // 2
        if holds(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _within(day: Span, spans: Sequence[Span]) -> bool:
    return any(span.start <= day.start and day.end <= span.end for span in spans)
