"""Interval arithmetic over claims on something that is limited.

All intervals are half-open, [start, end): a claim that ends at a minute and one that starts at it
don't meet. Times are naive datetimes in UTC.
"""

import collections
import dataclasses
import datetime
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self


@dataclasses.dataclass(frozen=True)
class Span:
    """The time [start, end)."""

    start: datetime.datetime
    end: datetime.datetime

    def overlaps(self, other: "Span") -> bool:
        """Whether the two have any time in common."""
        return self.start < other.end and other.start < self.end

    def contains(self, other: "Span") -> bool:
        """Whether all of the other lies within this one."""
        return self.start <= other.start and other.end <= self.end

    def hull(self, other: "Span") -> "Span":
        """The shortest span that contains both."""
        return Span(min(self.start, other.start), max(self.end, other.end))

    def padded(self, tail: datetime.timedelta) -> Self:
        """The same span with ``tail`` added after its end, for cleaning."""
        if not tail:
            return self
        end = self.end + min(tail, datetime.datetime.max - self.end)
        return dataclasses.replace(self, end=end)

    def hours(self) -> int:
        """The length in hours, a started hour counted whole."""
        return -((self.start - self.end) // datetime.timedelta(hours=1))


class Claim(NamedTuple):
    """``amount`` taken during ``span``."""

    span: Span
    amount: int


def peak(claims: Iterable[Claim], window: Span) -> int:
    """The most that is taken at any one moment of ``window``."""
    changes: list[tuple[datetime.datetime, int]] = []
    for claim in claims:
        if claim.span.overlaps(window):
            changes.append((claim.span.start, claim.amount))
            changes.append((claim.span.end, -claim.amount))
    # At one moment what ends comes before what starts: the negative amount sorts first.
    changes.sort()
    most = taken = 0
    for _, change in changes:
        taken += change
        most = max(most, taken)
    return most


def union(one: Span, other: Span) -> list[Span]:
    """The time of either, as one span where they overlap or touch, else as two."""
    if one.start <= other.end and other.start <= one.end:
        return [one.hull(other)]
    return [one, other]


def free_runs(claims: Iterable[Claim], capacity: int, count: int, window: Span) -> list[Span]:
    """The spans of the window throughout which ``count`` more fit, each as long as it can be."""
    levels = Levels.left(capacity, claims, window)
    return maximal_spans([levels], count, window)


def intersect(spans: Iterable[Span], others: Iterable[Span]) -> list[Span]:
    """The times that a span of the one and a span of the other have in common."""
    others = sorted(others, key=lambda s: s.start)
    common = []
    first = 0
    for one in sorted(spans, key=lambda s: s.start):
        while first < len(others) and others[first].end <= one.start:
            first += 1
        for number in range(first, len(others)):
            other = others[number]
            if other.start >= one.end:
                break
            if other.end > one.start:
                common.append(Span(max(one.start, other.start), min(one.end, other.end)))
    return common


def outside(taken: Iterable[Span], window: Span) -> list[Span]:
    """What of the window none of the spans takes."""
    free = []
    start = window.start
    for span in sorted(taken, key=lambda s: s.start):
        if span.start >= window.end:
            break
        if span.start > start:
            free.append(Span(start, span.start))
        start = max(start, span.end)
    if start < window.end:
        free.append(Span(start, window.end))
    return free


def widest(spans: Iterable[Span]) -> list[Span]:
    """The spans that aren't within another one, by start."""
    kept: list[Span] = []
    by_end = sorted(spans, key=lambda s: s.end, reverse=True)
    for span in sorted(by_end, key=lambda s: s.start):
        if not kept or span.end > kept[-1].end:
            kept.append(span)
    return kept


@dataclasses.dataclass(frozen=True)
class Levels:
    """How much there is of something over a window: ``steps`` of (from when on, how much).

    The first step is at the window's start; a step holds until the next one.
    """

    steps: list[tuple[datetime.datetime, int]]

    @classmethod
    def left(cls, capacity: int, claims: Iterable[Claim], window: Span) -> Self:
        """What the claims leave of a capacity."""
        changes: dict[datetime.datetime, int] = {window.start: 0}
        for claim in claims:
            if claim.span.overlaps(window):
                start = max(claim.span.start, window.start)
                changes[start] = changes.get(start, 0) - claim.amount
                if claim.span.end < window.end:
                    changes[claim.span.end] = changes.get(claim.span.end, 0) + claim.amount
        level, steps = capacity, []
        for moment in sorted(changes):
            level += changes[moment]
            steps.append((moment, level))
        return cls(steps)

    def at_most(self, limit: int) -> "Levels":
        """The same, no higher than the limit; a step for each change that is left."""
        steps: list[tuple[datetime.datetime, int]] = []
        before = None
        for moment, level in self.steps:
            lower = min(level, limit)
            if lower != before:
                steps.append((moment, lower))
                before = lower
        return Levels(steps)


def maximal_spans(supplies: Sequence[Levels], count: int, window: Span) -> list[Span]:
    """The longest spans for which the supplies' lowest levels within the span add up to ``count``.

    What is booked stays where it is, so a supply gives a booking no more than it has throughout.
    Spans may overlap; every part of a span fits too, and whatever fits lies within one of them.

    Two ends sweep over the moments at which a level changes: the right one takes in a moment, the
    left one lets go of moments until it fits again. Each supply keeps its lowest level in a queue
    of the levels that can still become the lowest; so all takes time in proportion to the changes.
    """
    # More than all that is asked for is as good: what only changes above that needn't be swept.
    supplies = [supply.at_most(count) for supply in supplies]
    moments = sorted({moment for supply in supplies for moment, _ in supply.steps})
    sweep = _Sweep(supplies, moments)
    found: list[Span] = []
    left = 0
    for right, moment in enumerate(moments):
        fitted_since = left
        sweep.take_in(right, left)
        while sweep.total < count and left <= right:
            left += 1
            sweep.let_go(left)
        if fitted_since < right and fitted_since < left:
            found.append(Span(moments[fitted_since], moment))
    if left < len(moments):
        found.append(Span(moments[left], window.end))
    return found


class _Sweep:
    """``total``: the sum of the supplies' lowest levels between two ends that only move on."""

    def __init__(self, supplies: Sequence[Levels], moments: Sequence[datetime.datetime]) -> None:
        self.total = 0
        self._lows = [_Lowest() for _ in supplies]
        index = {moment: number for number, moment in enumerate(moments)}
        # By moment, which supply changes to what; one more, where the left end may come to stand.
        self._changes: list[list[tuple[int, int]]] = [[] for _ in range(len(moments) + 1)]
        for number, supply in enumerate(supplies):
            for moment, level in supply.steps:
                self._changes[index[moment]].append((number, max(level, 0)))

    def take_in(self, right: int, left: int) -> None:
        """Move the right end to a moment; the left one is where it was."""
        for number, level in self._changes[right]:
            self.total += self._lows[number].push(right, level, left)

    def let_go(self, left: int) -> None:
        """Move the left end to the next moment."""
        for number, _ in self._changes[left]:
            self.total += self._lows[number].drop_before(left)


class _Lowest:
    """The lowest of a supply's levels between two moments that both only move on."""

    def __init__(self) -> None:
        # (from which moment on, level), levels rising: a level that is followed by a lower one can
        # never be the lowest again, so the lower one stands in its place.
        self._queue: collections.deque[tuple[int, int]] = collections.deque()

    def push(self, moment: int, level: int, left: int) -> int:
        """Take in the level from a moment on, and let go of those that end by the left one.

        :returns: how much the lowest changes by it.
        """
        queue = self._queue
        before = queue[0][1] if queue else 0
        while queue and queue[-1][1] >= level:
            moment, _ = queue.pop()
        queue.append((moment, level))
        self.drop_before(left)
        return queue[0][1] - before

    def drop_before(self, moment: int) -> int:
        """Let go of levels that end by a moment; how much the lowest changes by it."""
        queue = self._queue
        before = queue[0][1]
        while len(queue) > 1 and queue[1][0] <= moment:
            queue.popleft()
        return queue[0][1] - before
