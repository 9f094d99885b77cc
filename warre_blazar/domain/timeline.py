"""Interval arithmetic over claims on a limited resource.

All intervals are half-open, [start, end): a claim that ends at a moment doesn't overlap a claim
that starts at that moment. Times are naive datetimes in UTC.

A parameter ``window`` is the span that a function examines, and not a maintenance window.
"""

import bisect
import collections
import dataclasses
import datetime
import heapq
import itertools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

from warre_blazar import times


@dataclasses.dataclass(frozen=True)
class Span:
    """The time from ``start``, inclusive, to ``end``, exclusive."""

    start: datetime.datetime
    end: datetime.datetime

    def overlaps(self, other: "Span") -> bool:
        """Whether the two spans have any time in common."""
        return self.start < other.end and other.start < self.end

    def contains(self, other: "Span") -> bool:
        """Whether the other span lies wholly within this one."""
        return self.start <= other.start and other.end <= self.end

    def hull(self, other: "Span") -> "Span":
        """The shortest span that contains both spans."""
        return Span(min(self.start, other.start), max(self.end, other.end))

    def padded(self, tail: datetime.timedelta) -> Self:
        """The span, made longer at its end by ``tail``, for example by the cleaning time.

        The end is never later than ``datetime.max``.
        """
        if not tail:
            return self
        end = self.end + min(tail, datetime.datetime.max - self.end)
        return dataclasses.replace(self, end=end)

    def hours(self) -> int:
        """The length in hours, rounded up."""
        return -((self.start - self.end) // times.HOUR)


class Claim(NamedTuple):
    """An ``amount`` of a resource that is taken during ``span``."""

    span: Span
    amount: int


def peak(claims: Iterable[Claim], window: Span) -> int:
    """The largest amount that the claims take together at any moment of ``window``."""
    return -min(level for _, level in Levels.left(0, claims, window).steps)


def union(one: Span, other: Span) -> list[Span]:
    """One span that covers both spans, if they overlap or touch. If they don't, the two spans."""
    if one.start <= other.end and other.start <= one.end:
        return [one.hull(other)]
    return [one, other]


#: A time, and how much of something is available throughout it.
TimeOf = tuple[datetime.datetime, datetime.datetime, int]


def shared(times: Iterable[TimeOf], count: int) -> list[Span]:
    """The spans that lie within at least ``count`` of the given times, each as long as possible.

    The returned spans may overlap.

    :param times: a start and an end, and how often this time is given.
    """
    ordered = sorted(times, key=operator.itemgetter(0))
    if count == 1:
        return _longest(ordered)
    spans: list[Span] = []
    # The latest ends of the times that have begun, as a heap, and how often each is given. The
    # first one is the end of the longest span from the present start on.
    latest: list[tuple[datetime.datetime, int]] = []
    total, until = 0, datetime.datetime.min
    for start, of_start in itertools.groupby(ordered, key=operator.itemgetter(0)):
        for _, end, number in of_start:
            heapq.heappush(latest, (end, number))
            total += number
            while total - latest[0][1] >= count:
                total -= heapq.heappop(latest)[1]
        if total >= count and latest[0][0] > max(start, until):
            until = latest[0][0]
            spans.append(Span(start, until))
    return spans


def _longest(ordered: Iterable[TimeOf]) -> list[Span]:
    """The times that lie within no other one, sorted by start, as the given ones are."""
    spans: list[Span] = []
    until = datetime.datetime.min
    for start, end, _ in ordered:
        if end > until and end > start:
            if spans and spans[-1].start == start:
                spans.pop()
            until = end
            spans.append(Span(start, end))
    return spans


class JointTimes(NamedTuple):
    """The times at which some of several resources is available, and what they make together."""

    #: By resource. The amounts of all times of a resource that contain a span are added up.
    of_each: Sequence[Sequence[TimeOf]]
    #: Computes the amount of all resources together.
    room: Callable[[Sequence[int]], int]


def shared_jointly(supplies: Sequence[JointTimes], count: int) -> list[Span]:
    """The spans throughout which supplies add up to at least ``count``, each as long as possible.

    This is ``shared`` for times that don't just add up.
    """
    ordered = sorted(
        (
            (start, end, number, supply, column)
            for supply, (of_each, _) in enumerate(supplies)
            for column, of_column in enumerate(of_each)
            for start, end, number in of_column
        ),
        key=operator.itemgetter(0),
    )
    there, rooms = [[0] * len(of_each) for of_each, _ in supplies], [0] * len(supplies)

    def added(number: int, supply: int, column: int) -> int:
        """Add to a resource of a supply. Return how much more all of them make together."""
        there[supply][column] += number
        before, rooms[supply] = rooms[supply], supplies[supply].room(there[supply])
        return rooms[supply] - before

    spans: list[Span] = []
    latest: list[tuple[datetime.datetime, int, int, int]] = []
    total, until = 0, datetime.datetime.min
    for start, of_start in itertools.groupby(ordered, key=operator.itemgetter(0)):
        for _, end, number, supply, column in of_start:
            heapq.heappush(latest, (end, number, supply, column))
            total += added(number, supply, column)
        while total >= count:
            end, number, supply, column = latest[0]
            total += added(-number, supply, column)
            if total < count:
                total += added(number, supply, column)
                if end > max(start, until):
                    until = end
                    spans.append(Span(start, until))
                break
            heapq.heappop(latest)
    return spans


def intersect(spans: Iterable[Span], others: Iterable[Span]) -> list[Span]:
    """The overlaps between the spans of ``spans`` and the spans of ``others``."""
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
    """The parts of ``window`` that no span of ``taken`` covers, sorted by start."""
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
    """The spans that don't lie within another one of the given spans, sorted by start."""
    kept: list[Span] = []
    by_end = sorted(spans, key=lambda s: s.end, reverse=True)
    for span in sorted(by_end, key=lambda s: s.start):
        if not kept or span.end > kept[-1].end:
            kept.append(span)
    return kept


@dataclasses.dataclass(frozen=True)
class Levels:
    """How much of a resource is available during a span of time.

    Each step is a pair: a moment, and the amount that is available from then until the next step.
    The first step is at the span's start.
    """

    steps: list[tuple[datetime.datetime, int]]

    @classmethod
    def left(cls, capacity: int, claims: Iterable[Claim], window: Span) -> Self:
        """What is left of a capacity during ``window``. The amounts may be negative."""
        changes: dict[datetime.datetime, int] = {window.start: 0}
        for claim in claims:
            if claim.span.overlaps(window):
                start = max(claim.span.start, window.start)
                changes[start] = changes.get(start, 0) - claim.amount
                if claim.span.end < window.end:
                    changes[claim.span.end] = changes.get(claim.span.end, 0) + claim.amount
        return cls.changing(capacity, changes)

    @classmethod
    def changing(cls, level: int, changes: Mapping[datetime.datetime, int]) -> Self:
        """The levels that begin with an amount, and change at some moments.

        :param changes: what is added to the amount, by moment.
        """
        steps = []
        for moment in sorted(changes):
            level += changes[moment]
            steps.append((moment, level))
        return cls(steps)

    def lowest(self, during: Span | None = None) -> int:
        """The amount that is available throughout a part of the span, at least 0.

        :param during: the part. Default: the whole span.
        """
        steps = self.steps
        if during is not None:
            first = bisect.bisect_right(steps, during.start, key=operator.itemgetter(0)) - 1
            steps = steps[first : bisect.bisect_left(steps, during.end, key=operator.itemgetter(0))]
        return max(min(level for _, level in steps), 0)

    def runs(self, count: int, end: datetime.datetime) -> list[Span]:
        """The spans throughout which at least ``count`` is available, each as long as possible.

        :param end: the end of the span of these levels.
        """
        runs: list[Span] = []
        start = None
        for moment, level in self.steps:
            if level >= count:
                start = moment if start is None else start
            elif start is not None:
                runs.append(Span(start, moment))
                start = None
        return runs if start is None else [*runs, Span(start, end)]

    def at_most(self, limit: int) -> "Levels":
        """These levels, limited to ``limit``. Steps that don't change the level are left out."""
        steps: list[tuple[datetime.datetime, int]] = []
        before = None
        for moment, level in self.steps:
            lower = min(level, limit)
            if lower != before:
                steps.append((moment, lower))
                before = lower
        return Levels(steps)

    def joint(self) -> "JointLevels":
        """The same as ``JointLevels`` of a single resource."""
        return JointLevels([(moment, (level,)) for moment, level in self.steps], min)


@dataclasses.dataclass(frozen=True)
class JointLevels:
    """The levels of several resources, and how much of something they make together.

    Each step is a pair: a moment, and the levels from then until the next step. The first
    step is at the span's start. During a span, each resource has its lowest level of that span.
    """

    steps: list[tuple[datetime.datetime, tuple[int, ...]]]
    #: Computes the amount that is available from the lowest levels.
    room: Callable[[tuple[int, ...]], int]

    def lowest(self) -> int:
        """The amount that is available throughout the span."""
        columns = zip(*(levels for _, levels in self.steps), strict=True)
        return self.room(tuple(max(min(column), 0) for column in columns))

    def at_most(self, limit: int) -> "JointLevels":
        """These levels, of which no more than ``limit`` is used."""
        return JointLevels(self.steps, lambda lowest: min(self.room(lowest), limit))

    def beside(self, other: "JointLevels") -> "JointLevels":
        """The levels of both. The amount is what both have: the smaller of their two amounts."""
        moments = sorted({moment for moment, _ in (*self.steps, *other.steps)})
        mine, others = dict(self.steps), dict(other.steps)
        steps, one, two = [], self.steps[0][1], other.steps[0][1]
        for moment in moments:
            one, two = mine.get(moment, one), others.get(moment, two)
            steps.append((moment, one + two))
        width = len(one)
        return JointLevels(
            steps, lambda lowest: min(self.room(lowest[:width]), other.room(lowest[width:]))
        )


def maximal_spans(supplies: Sequence[Levels | JointLevels], count: int, window: Span) -> list[Span]:
    """The spans within ``window`` for which ``count`` can be booked, each as long as possible.

    A supply is, for instance, a host. Instances stay on their host for the whole time of a booking.
    So a booking can't get more from a supply than the supply's lowest level during the booking. In
    each returned span, the lowest levels of all supplies add up to at least ``count``. Every other
    span of this kind lies within a returned span. The returned spans may overlap.

    The algorithm is a sliding window over the moments at which a level changes. In each step, the
    right end of the sliding window moves to the next moment. If ``count`` isn't available any more,
    the left end moves on until ``count`` is available again. Each supply keeps a queue of the
    levels that can still become its lowest level. The running time is proportional to the number of
    changes.
    """
    # Levels above ``count`` are as good as ``count``. So a change between two such levels needs no
    # step.
    supplies = [supply.at_most(count) for supply in supplies]
    moments = sorted({moment for supply in supplies for moment, _ in supply.steps})
    sweep = _Sweep(supplies, moments)
    spans: list[Span] = []
    left = 0
    for right, moment in enumerate(moments):
        fitted_since = left
        sweep.take_in(right, left)
        while sweep.total < count and left <= right:
            left += 1
            sweep.let_go(left)
        if fitted_since < right and fitted_since < left:
            spans.append(Span(moments[fitted_since], moment))
    if left < len(moments):
        spans.append(Span(moments[left], window.end))
    return spans


class _Sweep:
    """A sliding window over moments, whose two ends only move forward.

    ``total`` is the sum of all supplies' lowest levels within the window.
    """

    def __init__(
        self, supplies: Sequence[Levels | JointLevels], moments: Sequence[datetime.datetime]
    ) -> None:
        self.total = 0
        self._lows: list[_Lowest | _JointLowest] = [
            _JointLowest(supply) if isinstance(supply, JointLevels) else _Lowest()
            for supply in supplies
        ]
        index = {moment: number for number, moment in enumerate(moments)}
        # For each moment, the supplies that change and their new levels. The list has one more
        # entry, because the left end can move past the last moment.
        self._changes: list[list[tuple[int, Any]]] = [[] for _ in range(len(moments) + 1)]
        for number, supply in enumerate(supplies):
            for moment, level in supply.steps:
                self._changes[index[moment]].append((number, level))

    def take_in(self, right: int, left: int) -> None:
        """Move the right end to a moment. The left end stays at ``left``."""
        for number, level in self._changes[right]:
            self.total += self._lows[number].push(right, level, left)

    def let_go(self, left: int) -> None:
        """Move the left end to the moment ``left``."""
        for number, _ in self._changes[left]:
            self.total += self._lows[number].drop_before(left)


class _Lowest:
    """The lowest level of one supply within the sliding window of a ``_Sweep``."""

    def __init__(self) -> None:
        # Pairs of a moment and the level from that moment on. The levels rise from the first pair
        # to the last. A level that is followed by a lower level can never be the lowest level
        # again. So the lower level takes its place in the queue.
        self._queue: collections.deque[tuple[int, int]] = collections.deque()

    def push(self, moment: int, level: int, left: int) -> int:
        """Add the level from ``moment`` on, and drop levels that end at ``left`` or before.

        :returns: by how much the lowest level changes.
        """
        queue = self._queue
        level = max(level, 0)
        before = queue[0][1] if queue else 0
        while queue and queue[-1][1] >= level:
            moment, _ = queue.pop()
        queue.append((moment, level))
        self.drop_before(left)
        return queue[0][1] - before

    def has_older(self, moment: int) -> bool:
        """Whether any level ends at ``moment`` or before."""
        return len(self._queue) > 1 and self._queue[1][0] <= moment

    def drop_before(self, moment: int) -> int:
        """Drop levels that end at ``moment`` or before.

        :returns: by how much the lowest level changes.
        """
        queue = self._queue
        before = queue[0][1]
        while len(queue) > 1 and queue[1][0] <= moment:
            queue.popleft()
        return queue[0][1] - before


class _JointLowest:
    """The amount that ``JointLevels`` make within the sliding window of a ``_Sweep``.

    Mostly a single resource changes at a time, and the others cost nothing then.
    """

    def __init__(self, supply: JointLevels) -> None:
        self._room = supply.room
        self._lows = [_Lowest() for _ in supply.steps[0][1]]
        self._levels: tuple[int, ...] = ()
        self._lowest = [0] * len(self._lows)
        self._amount = 0

    def push(self, moment: int, levels: tuple[int, ...], left: int) -> int:
        """Add the levels from ``moment`` on, and drop levels that end at ``left`` or before.

        :returns: by how much the amount changes.
        """
        before, self._levels = self._levels, levels
        is_changed = not before
        for column, level in enumerate(levels):
            if not before or level != before[column]:
                change = self._lows[column].push(moment, level, left)
                self._lowest[column] += change
                is_changed |= change != 0
        return self._added(is_changed)

    def drop_before(self, moment: int) -> int:
        """Drop levels that end at ``moment`` or before.

        :returns: by how much the amount changes.
        """
        is_changed = False
        for column, low in enumerate(self._lows):
            if low.has_older(moment):
                self._lowest[column] += low.drop_before(moment)
                is_changed = True
        return self._added(is_changed)

    def _added(self, is_changed: bool) -> int:
        if not is_changed:
            return 0
        before = self._amount
        self._amount = self._room(tuple(self._lowest))
        return self._amount - before
