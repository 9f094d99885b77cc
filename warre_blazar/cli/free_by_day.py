"""Computes how many slots are free on each day. The input is the API's spans of free slots."""

import dataclasses
import datetime
import functools
import itertools
from collections.abc import Callable, Iterator, Sequence

from warre_blazar.client import Reservation, Span

#: A function that gets a number of instances, and returns the spans in which this number is free.
#: In these spans, any smaller number is free too.
FreeFor = Callable[[int], Sequence[Span]]


@dataclasses.dataclass(frozen=True)
class Day:
    """A day, and how many slots can be booked on it.

    ``throughout`` is the number of slots that are free all day. ``steps`` are parts of the day,
    each with the number of slots that are free throughout the part. ``at_best`` is the largest of
    the numbers in ``steps``.
    """

    date: datetime.date
    span: Span
    throughout: int
    at_best: int
    steps: tuple[tuple[Span, int], ...]


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
        steps = tuple(_merged(_steps(slots, span, spans)))
        throughout = _most(slots, lambda n: _within(span, spans(n)))
        return Day(date, span, throughout, max(count for _, count in steps), steps)

    return [day(date, span) for date, span in days]


def touches(one: Span, other: Span) -> bool:
    """Whether two spans overlap."""
    return one.start < other.end and other.start < one.end


def _steps(slots: int, part: Span, spans: FreeFor) -> Iterator[tuple[Span, int]]:
    """Cut a span at the times at which the number of free slots changes.

    Yield each part with its number of free slots.
    """
    least = _most(slots, lambda n: _within(part, spans(n)))
    best = _most(slots, lambda n: any(touches(part, span) for span in spans(n)))
    if least == best:
        yield part, least
        return
    # At some times in the part only ``least`` slots are free, and at other times more slots. The
    # spans in which ``least + 1`` slots are free show where the number changes. Cut the part at the
    # starts and ends of these spans.
    edges = {edge for span in spans(least + 1) for edge in (span.start, span.end)}
    cuts = [part.start, *sorted(e for e in edges if part.start < e < part.end), part.end]
    for start, end in itertools.pairwise(cuts):
        yield from _steps(slots, Span(start, end), spans)


def _merged(steps: Iterator[tuple[Span, int]]) -> Iterator[tuple[Span, int]]:
    """Join neighboring parts in which the number of free slots is the same."""
    last: tuple[Span, int] | None = None
    for span, count in steps:
        if last and last[1] == count:
            last = Span(last[0].start, span.end), count
            continue
        if last:
            yield last
        last = span, count
    if last:
        yield last


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
