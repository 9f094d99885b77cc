"""Adds up what reservations take of a host during a span, and computes the room that is left."""

import bisect
import datetime
import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from warre_blazar import times
from warre_blazar.domain import timeline
from warre_blazar.domain.flavors.request_groups import PlacementRequest
from warre_blazar.domain.hosts import counting

#: A time from a start to an end. It isn't a Span, because a tuple is made much faster.
Run = tuple[datetime.datetime, datetime.datetime]


class Holding(NamedTuple):
    """What one instance of a reservation takes of a host.

    The reservation may be of any resource type. ``request`` is what the instance asks for. None
    means the whole host.
    """

    reservation_id: str
    span: timeline.Span
    request: PlacementRequest | None


class RoomQuestion(NamedTuple):
    """A request to a host, the capacities of the empty host, and the plan for counting the room."""

    request: PlacementRequest
    #: How much the whole host has of each resource class of the request, in the request's order.
    capacities: Sequence[int]
    plan: counting.Plan

    def alone(self) -> int:
        """How many instances fit on the host when nothing else is on it."""
        return Swept(self, _NOTHING).room()


class HeldColumn:
    """How much of one thing is held of a host, from each of some moments on."""

    def __init__(self, held: Sequence[int]) -> None:
        self.held = held

    @functools.cached_property
    def peak(self) -> int:
        """The largest amount that is held."""
        return max(self.held)

    def at_most(self, limit: int) -> int:
        """The moments from which on no more than ``limit`` is held, as a set of bits.

        The bit with the number n stands for the n-th moment. Sets of bits are used for speed.
        """
        if self.peak <= limit:
            return (1 << len(self.held)) - 1
        return self._moments[bisect.bisect_right(self._levels, limit)]

    def highest(self, limit: int) -> int | None:
        """The largest amount that is held at any moment, and is no more than ``limit``."""
        if self.peak <= limit:
            return self.peak
        position = bisect.bisect_right(self._levels, limit)
        return self._levels[position - 1] if position else None

    @functools.cached_property
    def _levels(self) -> list[int]:
        return sorted(set(self.held))

    @functools.cached_property
    def _moments(self) -> list[int]:
        """The moments from which on no more than each of the levels is held."""
        of_level = dict.fromkeys(self._levels, 0)
        for number, level in enumerate(self.held):
            of_level[level] |= 1 << number
        return list(itertools.accumulate(of_level.values(), operator.or_, initial=0))


class Occupancy:
    """What is held of a host during a span of time.

    ``moments`` are the moments at which something changes. The first moment is the span's start.
    The held amounts are kept in columns, with an amount for each moment. Columns are used for
    speed, because the interpreter's built-in loops work fast through long lists. Columns are
    computed once, so that many questions about the same host cost little more than the first.
    """

    def __init__(self, holdings: Iterable[Holding], window: timeline.Span) -> None:
        first, last = window.start, window.end
        #: The requests whose instances are held, each once. None takes the whole host.
        self.requests: list[PlacementRequest | None] = []
        # By ``id(request)``. Thousands of holdings share a few request objects.
        numbers: dict[int, int] = {}
        #: By request, the time for which its instances are held, added up.
        self.times: list[datetime.timedelta] = []
        # A pair for each start and end. The start of the request with the number n is the event
        # 2 * n, and its end is the event 2 * n + 1.
        events: list[tuple[datetime.datetime, int]] = []
        for _, span, request in holdings:
            start, end = span.start, span.end
            if start >= last or end <= first:
                continue
            number = numbers.get(id(request))
            if number is None:
                number = numbers[id(request)] = 2 * len(self.requests)
                self.requests.append(request)
                self.times.append(times.NO_TIME)
            start = start if start > first else first
            events.append((start, number))
            if end < last:
                events.append((end, number + 1))
            else:
                end = last
            self.times[number >> 1] += end - start
        events.sort()
        self._events = [number for _, number in events]
        self.moments = [first]
        # For each moment, the number of events until then, including those at this moment.
        self._positions: list[int] = []
        for position, (moment, _) in enumerate(events):
            if moment != self.moments[-1]:
                self._positions.append(position)
                self.moments.append(moment)
        self._positions.append(len(events))
        self.length = last - first
        #: The moments and the end of the span.
        self._edges = [*self.moments, last]
        self._columns: dict[tuple[int, ...], HeldColumn] = {}
        self._of_classes: dict[str, HeldColumn] = {}

    def of_class(self, resource_class: str) -> HeldColumn:
        """How much of a resource class is held, besides what takes the whole host."""
        column = self._of_classes.get(resource_class)
        if column is None:
            amounts = [0 if r is None else r.amounts.get(resource_class, 0) for r in self.requests]
            column = self._of_classes[resource_class] = self._column(tuple(amounts))
        return column

    def taking(self, taken: Mapping[PlacementRequest, int]) -> HeldColumn:
        """How much of something is held, besides what takes the whole host.

        :param taken: how much of it an instance takes, by request. Others take nothing.
        """
        return self._column(tuple(0 if r is None else taken.get(r, 0) for r in self.requests))

    @functools.cached_property
    def wholes(self) -> HeldColumn:
        """How many holdings take the whole host."""
        return self._column(tuple(int(request is None) for request in self.requests))

    def runs(self, bits: int) -> Iterator[Run]:
        """The parts of the span that consist of some moments, each as long as possible.

        :param bits: the moments, as in ``HeldColumn.at_most``.
        """
        moments, passed = self._edges, 0
        while bits:
            skipped = (bits & -bits).bit_length() - 1
            bits >>= skipped
            length = (~bits & (bits + 1)).bit_length() - 1
            bits >>= length
            start = passed + skipped
            passed = start + length
            yield moments[start], moments[passed]

    def moments_of(self, part: timeline.Span) -> int:
        """The moments from which on something is held in a part of the span, as a set of bits."""
        first = bisect.bisect_right(self.moments, part.start) - 1
        last = bisect.bisect_left(self.moments, part.end)
        return (1 << last) - (1 << first)

    def _column(self, amounts: tuple[int, ...]) -> HeldColumn:
        column = self._columns.get(amounts)
        if column is None:
            changes = [change for amount in amounts for change in (amount, -amount)]
            each = map(changes.__getitem__, self._events)
            levels = list(itertools.accumulate(each, initial=0))
            held = [levels[position] for position in self._positions]
            column = self._columns[amounts] = HeldColumn(held)
        return column


class Remainder:
    """How much of one thing is left of a host, from each of some moments on."""

    def __init__(self, levels: Sequence[int], taken: Callable[[PlacementRequest], int]) -> None:
        """
        :param taken: says how much of it an instance of a request takes.
        """
        self._levels, self.taken = list(levels), taken

    def copy(self) -> "Remainder":
        return Remainder(self._levels, self.taken)

    def lowest(self, during: slice) -> int:
        """How much is left at each of some moments (``Swept.during``)."""
        return min(self._levels[during])

    def add(self, during: slice, amount: int) -> None:
        """Add an amount at some moments."""
        self._levels[during] = [level + amount for level in self._levels[during]]


class Swept:
    """The room for a request on a host, beside what is held there during a span of time.

    The columns are, in this order:

    - a column for each resource class of the request;
    - a column for each further column of the plan;
    - a column for each kind of request that a search of the plan counts;
    - a column with the number of holdings that take the whole host.
    """

    def __init__(self, asked: RoomQuestion, held: Occupancy) -> None:
        self._asked, self._held = asked, held
        self.plan = asked.plan
        self.moments = held.moments

    @functools.cached_property
    def _columns(self) -> list[HeldColumn]:
        held, plan = self._held, self.plan
        columns = [held.of_class(cls) for cls in self._asked.request.amounts]
        if plan is not counting.POSSIBLE:
            columns += [held.taking(further.taken) for further in plan.columns]
            kinds = [kind for search in plan.searches for kind in search.kinds]
            columns += [held.taking({kind: 1}) for kind in kinds]
        columns.append(held.wholes)
        return columns

    def fitting(self) -> list[int]:
        """How many more instances fit at each of the moments."""
        return self._fitting([column.held for column in self._columns])

    def runs(self, first: int, last: int) -> Iterator[tuple[int, list[Run]]]:
        """Yield the parts of the span during which ``first`` to ``last`` more instances fit.

        Each part is as long as possible. Numbers of instances that fit at the same times are
        yielded together. So the work depends on what is held, and not on the numbers.

        :returns: how many numbers there are, and the parts, for the smallest numbers first. Numbers
            that never fit are left out.
        """
        while first <= last:
            bits, until = self._when(first)
            if not bits:
                return
            until = min(until, last)
            yield until - first + 1, list(self._held.runs(bits))
            first = until + 1

    def _when(self, count: int) -> tuple[int, int]:
        """The moments at which more instances fit, as in ``HeldColumn.at_most``.

        :returns: the moments, and the largest number of instances that fits at the same ones.
        """
        asked, plan = self._asked, self.plan
        if not plan.possible:
            return 0, count
        if plan.searches:
            fitting = [(number, fits) for number, fits in enumerate(self._all) if fits >= count]
            until = min((fits for _, fits in fitting), default=count)
            return sum(1 << number for number, _ in fitting), until
        bits, until = self._columns[-1].at_most(0), _NO_LIMIT
        amounts = asked.request.amounts.values()
        limits = list(zip(asked.capacities, amounts, strict=True))
        limits += [(each.capacity, each.taken.get(asked.request, 0)) for each in plan.columns]
        for column, (capacity, amount) in zip(self._columns, limits, strict=False):
            limit = capacity - count * amount
            bits &= column.at_most(limit)
            highest = column.highest(limit)
            if amount and highest is not None:
                until = min(until, (capacity - highest) // amount)
        return bits, until

    @functools.cached_property
    def _all(self) -> list[int]:
        return self.fitting()

    def left(self, count: int) -> list[Remainder]:
        """What is left beside ``count`` more instances, of each column but those of searches."""
        asked, columns, left = self._asked, iter(self._columns), []
        for capacity, (cls, amount) in zip(
            asked.capacities, asked.request.amounts.items(), strict=True
        ):
            levels = [capacity - count * amount - n for n in next(columns).held]
            left.append(Remainder(levels, functools.partial(_of_class, cls)))
        for further in self.plan.columns:
            amount = further.taken.get(asked.request, 0)
            levels = [further.capacity - count * amount - n for n in next(columns).held]
            left.append(Remainder(levels, functools.partial(_of_kind, further.taken)))
        wholes = [-n for n in self._columns[-1].held]
        left.append(Remainder(wholes, functools.partial(_of_kind, {})))
        return left

    def during(self, part: timeline.Span) -> slice:
        """The moments from which on something may be held in a part of the span, by number."""
        first = bisect.bisect_right(self.moments, part.start) - 1
        return slice(max(first, 0), bisect.bisect_left(self.moments, part.end))

    def room(self, window: timeline.Span | None = None) -> int:
        """How many more instances fit throughout a part of the span, by default all of it.

        An instance stays on its host for the whole time. So each class must suffice even at the
        moment at which the held amount of the class is largest. If the plan has no searches, it is
        therefore enough to look at the peak of each column.
        """
        if window is None:
            columns, peaks = [c.held for c in self._columns], [c.peak for c in self._columns]
        else:
            during = self.during(window)
            columns = [c.held[during] for c in self._columns]
            peaks = [max(held) for held in columns]
        if self.plan.searches:
            return self._searched(columns)
        return self._fitting([[peak] for peak in peaks])[0]

    def _searched(self, columns: Sequence[Sequence[int]]) -> int:
        """The room, by looking at one moment after the other until there is none."""
        least = _NO_LIMIT
        # Where more is held, a search is more likely to find no room, which ends the loop.
        for moment in sorted(set(zip(*columns, strict=True)), reverse=True):
            least = min(least, *self._fitting([[n] for n in moment]))
            if not least:
                break
        return least

    def _fitting(self, held: Sequence[Sequence[int]]) -> list[int]:
        asked, plan, wholes = self._asked, self.plan, held[-1]
        if not plan.possible:
            return [0] * len(wholes)
        fits = [
            [(capacity - n) // amount for n in taken]
            for capacity, amount, taken in zip(
                asked.capacities, asked.request.amounts.values(), held, strict=False
            )
        ]
        if plan is not counting.POSSIBLE:
            fits += self._further(held[len(fits) : -1])
        least = map(min, *fits) if len(fits) > 1 else fits[0]
        return [0 if whole or n < 0 else n for n, whole in zip(least, wholes, strict=True)]

    def _further(self, held: Sequence[Sequence[int]]) -> Iterator[list[int]]:
        """How many more instances the plan's columns and searches allow, at each moment."""
        columns = iter(held)
        for column in self.plan.columns:
            amount, taken = column.taken.get(self._asked.request, 0), next(columns)
            if amount:
                yield [(column.capacity - n) // amount for n in taken]
            else:
                # An instance takes nothing from this column. But if what is held already exceeds
                # the capacity, no further instance fits.
                yield [0 if n > column.capacity else _NO_LIMIT for n in taken]
        for search in self.plan.searches:
            kinds = [next(columns) for _ in search.kinds]
            yield [search.room(counts) for counts in zip(*kinds, strict=True)]

    def fullness(self) -> float:
        """Which share of the host is held during the span, from 0.0 to 1.0.

        It is the mean over the time, of the resource class whose mean is largest. It is rounded, so
        that hosts that are equally full compare as equal.
        """
        asked, held, largest = self._asked, self._held, 0.0
        shares = [time / held.length for time in held.times]
        taken = list(zip(held.requests, shares, strict=True))
        for capacity, cls in zip(asked.capacities, asked.request.amounts, strict=True):
            if capacity > 0:
                share = 0.0
                for request, time in taken:
                    amount = capacity if request is None else request.amounts.get(cls, 0)
                    share += amount / capacity * time
                largest = max(largest, share)
        return round(largest, 6)


def _of_class(resource_class: str, request: PlacementRequest) -> int:
    return request.amounts.get(resource_class, 0)


def _of_kind(taken: Mapping[PlacementRequest, int], request: PlacementRequest) -> int:
    return taken.get(request, 0)


_NO_LIMIT = 2**31
_NOTHING = Occupancy((), timeline.Span(datetime.datetime.min, datetime.datetime.max))
