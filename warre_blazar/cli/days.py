"""How many slots are free on each day, from spans for numbers of instances."""

import dataclasses
import datetime
import functools
from collections.abc import Callable, Sequence

from warre_blazar.client import Span

#: The spans that are free for a number of instances: more instances, less of them.
FreeFor = Callable[[int], Sequence[Span]]


@dataclasses.dataclass(frozen=True)
class Day:
    """A day and the slots that are free throughout it, and at its best moment."""

    date: datetime.date
    throughout: int
    at_best: int
    slots: int


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
        throughout = _most(slots, lambda n: _within(span, spans(n)))
        at_best = _most(slots, lambda n: _touches(span, spans(n)))
        return Day(date, throughout, at_best, slots)

    return [day(date, span) for date, span in days]


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


def _touches(day: Span, spans: Sequence[Span]) -> bool:
    return any(span.start < day.end and day.start < span.end for span in spans)
