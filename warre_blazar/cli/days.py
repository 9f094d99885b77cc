"""How many slots are free on each day, from spans for numbers of instances."""

import dataclasses
import datetime
import functools
import itertools
from collections.abc import Callable, Iterator, Sequence

from warre_blazar.client import Reservation, Span

#: The spans that are free for a number of instances: more instances, less of them.
FreeFor = Callable[[int], Sequence[Span]]


@dataclasses.dataclass(frozen=True)
class Day:
    """A day and the slots that can be booked throughout it, and at its best moment.

    ``steps`` are its parts and the slots that can be booked throughout each.
    """

    date: datetime.date
    span: Span
    throughout: int
    at_best: int
    steps: tuple[tuple[Span, int], ...]


@dataclasses.dataclass(frozen=True)
class Row:
    """A flavor over some days, with when it is closed and what one's project has booked of it."""

    name: str
    slots: int
    days: Sequence[Day]
    windows: Sequence[Span] = ()
    own: Sequence[Reservation] = ()

    @property
    def most(self) -> int:
        """The most slots that can be booked at once on any of the days."""
        return max(day.at_best for day in self.days)


def days_from(start: datetime.datetime, count: int) -> list[tuple[datetime.date, Span]]:
    """So many days of the start's zone, in UTC: the first from the start on, the rest whole."""

    def midnight(number: int) -> datetime.datetime:
        date = start.date() + datetime.timedelta(days=number)
        return datetime.datetime.combine(date, datetime.time(), start.tzinfo).astimezone(
            datetime.UTC
        )

    first = [start.astimezone(datetime.UTC), *(midnight(n) for n in range(1, count + 1))]
    return [
        (start.date() + datetime.timedelta(days=n), Span(first[n], first[n + 1]))
        for n in range(count)
    ]


def free(slots: int, days: Sequence[tuple[datetime.date, Span]], free_for: FreeFor) -> list[Day]:
    """Each day's free slots, by few questions: what is free for more is free for less."""
    spans = functools.cache(free_for)

    def day(date: datetime.date, span: Span) -> Day:
        steps = tuple(_merged(_steps(slots, span, spans)))
        throughout = _most(slots, lambda n: _within(span, spans(n)))
        return Day(date, span, throughout, max(count for _, count in steps), steps)

    return [day(date, span) for date, span in days]


def touches(one: Span, other: Span) -> bool:
    """Whether two spans have a moment in common."""
    return one.start < other.end and other.start < one.end


def _steps(slots: int, part: Span, spans: FreeFor) -> Iterator[tuple[Span, int]]:
    """Parts in each of which the number of free slots doesn't change."""
    least = _most(slots, lambda n: _within(part, spans(n)))
    best = _most(slots, lambda n: any(touches(part, span) for span in spans(n)))
    if least == best:
        yield part, least
        return
    # Some of it is free for one more: cut where that begins and ends.
    edges = {edge for span in spans(least + 1) for edge in (span.start, span.end)}
    cuts = [part.start, *sorted(e for e in edges if part.start < e < part.end), part.end]
    for start, end in itertools.pairwise(cuts):
        yield from _steps(slots, Span(start, end), spans)


def _merged(steps: Iterator[tuple[Span, int]]) -> Iterator[tuple[Span, int]]:
    """Neighbors with the same number as one."""
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
    """The greatest number up to ``slots`` that it holds for, given that it does for all less."""
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
