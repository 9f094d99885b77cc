"""Adds up what reservations take of a host during a span, and computes the room that is left."""

import bisect
import collections
import datetime
import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from warre_blazar import times
from warre_blazar.domain import timeline
from warre_blazar.domain.flavors.request_groups import PlacementRequest
from warre_blazar.domain.hosts.pools import Cell, Places

#: A time from a start to an end. It isn't a Span, because a tuple is made much faster.
Run = tuple[datetime.datetime, datetime.datetime]


_EPOCH = datetime.datetime(2020, 1, 1)
_MICROSECOND = times.SECOND // 10**6


@functools.lru_cache(maxsize=1024)
def ticks(moment: datetime.datetime) -> int:
    """A time as a whole number of microseconds, which can be added up exactly."""
    return (moment - _EPOCH) // _MICROSECOND


def around(window: timeline.Span) -> timeline.Span:
    """The time in which the holdings of hosts decide where a booking goes.

    It is the booking's time, and half of its length before and after it, at most a day. A host that
    is full right before and after a booking would otherwise have gaps there that are too short for
    most bookings. ``benchmarks/pack.py`` compares this with other rules.
    """
    margin = min((window.end - window.start) / 2, times.HOST_CHOICE_MARGIN)
    try:
        return timeline.Span(window.start - margin, window.end + margin)
    except OverflowError:
        return window


#: The number of a change, and how much more is held from then on.
Change = tuple[int, int]


class Holding(NamedTuple):
    """What one instance of a reservation takes of a host.

    The reservation may be of any resource type. ``request`` is what the instance asks for. None
    means the whole host.
    """

    reservation_id: str
    span: timeline.Span
    request: PlacementRequest | None
    #: Which of the host's providers it is on (``host_devices``). None if it has no places.
    places: Places | None = None


class RoomQuestion(NamedTuple):
    """A request to a host, and the capacities of the empty host."""

    request: PlacementRequest
    #: How much the whole host has of each resource class of the request, in the request's order.
    capacities: Sequence[int]
    #: Whether an instance fits at all, when nothing is held.
    possible: bool

    def alone(self) -> int:
        """How many instances fit on the host when nothing else is on it."""
        return Swept(self, _NOTHING).room()


class HeldColumn:
    """How much of one thing is held of a host, from each of some moments on."""

    def __init__(self, held: Sequence[int], moments: "_Moments") -> None:
        self.held, self._at = held, moments

    @functools.cached_property
    def peak(self) -> int:
        """The largest amount that is held."""
        return max(self.held)

    def peak_during(self, during: slice) -> int:
        """The largest amount that is held at some of the moments, by number."""
        return max(self.held[during])

    def as_unit(self) -> "tuple[int, HeldColumn]":
        """A number and a column of which this one has so many times the amount at each moment."""
        return 1, self

    def held_between(self, first: int, start: int, last: int, end: int) -> int:
        """The amount times the time for which it is held, added up from one time to another.

        :param first: the number of the last moment until the start.
        :param start: the start, in microseconds.
        :param last: the number of the last moment before the end.
        :param end: the end, in microseconds.
        """
        held, sums, ticks = self.held, self._sums, self._at.ticks
        until = sums[last] + held[last] * (end - ticks[last])
        return until - sums[first] - held[first] * (start - ticks[first])

    @functools.cached_property
    def _sums(self) -> list[int]:
        lengths = itertools.pairwise(self._at.ticks)
        sums = (n * (end - start) for n, (start, end) in zip(self.held, lengths, strict=False))
        return list(itertools.accumulate(sums, initial=0))

    def at_most(self, limit: int) -> int:
        """The moments from which on no more than ``limit`` is held, as a set of bits.

        The bit with the number n stands for the n-th moment. Sets of bits are used for speed.
        """
        if self.peak <= limit:
            return (1 << len(self.held)) - 1
        return self._moments[bisect.bisect_right(self.levels, limit)]

    @functools.cached_property
    def levels(self) -> list[int]:
        """All amounts that are held at any moment, sorted."""
        return sorted(set(self.held))

    @functools.cached_property
    def _moments(self) -> list[int]:
        """The moments from which on no more than each of the levels is held."""
        of_level = dict.fromkeys(self.levels, 0)
        for number, level in enumerate(self.held):
            of_level[level] |= 1 << number
        return list(itertools.accumulate(of_level.values(), operator.or_, initial=0))


class _Multiple(HeldColumn):
    """A column that has a multiple of another one at each moment."""

    def __init__(self, unit: int, of: HeldColumn) -> None:
        self._unit, self._of = unit, of

    @functools.cached_property
    def held(self) -> Sequence[int]:  # type: ignore[override]
        return [self._unit * number for number in self._of.held]

    @functools.cached_property
    def peak(self) -> int:
        return self._unit * self._of.peak

    def peak_during(self, during: slice) -> int:
        return self._unit * self._of.peak_during(during)

    def as_unit(self) -> tuple[int, HeldColumn]:
        unit, base = self._of.as_unit()
        return self._unit * unit, base

    def at_most(self, limit: int) -> int:
        return self._of.at_most(limit // self._unit)

    @functools.cached_property
    def levels(self) -> list[int]:
        return [self._unit * level for level in self._of.levels]


class _Moments:
    """The moments at which something changes."""

    def __init__(self, moments: Sequence[datetime.datetime]) -> None:
        self._moments = moments

    @functools.cached_property
    def ticks(self) -> list[int]:
        """The moments in microseconds."""
        return [(moment - _EPOCH) // _MICROSECOND for moment in self._moments]


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
        # By identity. Thousands of holdings share a few request objects.
        numbers: dict[int, int] = {}
        # The start of an instance of the request with the number n is the event 2 * n, and its end
        # is the event 2 * n + 1.
        starts: list[tuple[datetime.datetime, int, Places | None]] = []
        ends: list[tuple[datetime.datetime, int, Places | None]] = []
        for _, span, request, places in holdings:
            start, end = span.start, span.end
            if start >= last or end <= first:
                continue
            number = numbers.get(id(request))
            if number is None:
                number = numbers[id(request)] = 2 * len(self.requests)
                self.requests.append(request)
            start = start if start > first else first
            starts.append((start, number, places))
            if end < last:
                ends.append((end, number + 1, places))
        # At each moment, what ends comes before what starts.
        events = [*ends, *starts]
        events.sort(key=operator.itemgetter(0))
        self._with_places = events
        self._events = [number for _, number, _ in events]
        self.moments = [first]
        # For each moment, the number of events until then, including those at this moment.
        self._positions: list[int] = []
        for position, (moment, _, _) in enumerate(events):
            if moment != self.moments[-1]:
                self._positions.append(position)
                self.moments.append(moment)
        self._positions.append(len(events))
        #: The moments and the end of the span.
        self._edges = [*self.moments, last]
        self._at = _Moments(self.moments)
        self._columns: dict[tuple[int, ...], HeldColumn] = {}
        self._of_classes: dict[str, HeldColumn] = {}

    def of_cells(
        self, counted: Callable[[PlacementRequest | None, Places | None], Places]
    ) -> Mapping[Cell, Sequence[Change]]:
        """When more or less is held of single providers of the host.

        :param counted: where an instance with a request and with places counts.
        :returns: the changes by cell, in the order of their times. Of those at the same time, the
            ones by which less is held come first.
        """
        found: dict[Cell, list[Change]] = collections.defaultdict(list)
        # By the number and the identity of the places: whose amounts change, and by how much.
        known: dict[tuple[int, int], list[tuple[list[Change], int]]] = {}
        for position, (_, event, places) in enumerate(self._with_places, 1):
            key = event, id(places)
            changes = known.get(key)
            if changes is None:
                request, sign = self.requests[event >> 1], -1 if event & 1 else 1
                each = counted(request, places)
                changes = [(found[n, cls], sign * amount) for n, cls, amount in each]
                known[key] = changes
            for of_cell, change in changes:
                of_cell.append((position, change))
        return found

    @property
    def ticks(self) -> list[int]:
        """The moments in microseconds."""
        return self._at.ticks

    @functools.cached_property
    def times_of_changes(self) -> list[datetime.datetime]:
        """The span's start, the time of each change by its number, and the span's end."""
        numbers = [0, *self._positions]
        each = zip(self.moments, itertools.pairwise(numbers), strict=True)
        of_changes = [moment for moment, (first, last) in each for _ in range(first, last)]
        return [self._edges[0], *of_changes, self._edges[-1]]

    def of_class(self, resource_class: str) -> HeldColumn:
        """How much of a resource class is held, besides what takes the whole host."""
        column = self._of_classes.get(resource_class)
        if column is None:
            amounts = [0 if r is None else r.amounts.get(resource_class, 0) for r in self.requests]
            column = self._of_classes[resource_class] = self._column(tuple(amounts))
        return column

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
            self._columns[amounts] = column = self._computed(amounts)
        return column

    def _computed(self, amounts: tuple[int, ...]) -> HeldColumn:
        # Flavors mostly take more of several classes by the same factor.
        unit = math.gcd(*amounts)
        if unit > 1:
            return _Multiple(unit, self._column(tuple([amount // unit for amount in amounts])))
        if not unit:
            return HeldColumn([0] * len(self._positions), self._at)
        changes = [change for amount in amounts for change in (amount, -amount)]
        each = map(changes.__getitem__, self._events)
        levels = list(itertools.accumulate(each, initial=0))
        return HeldColumn([levels[position] for position in self._positions], self._at)


class Remainder:
    """How much of a resource class is left of a host, from each of some moments on."""

    def __init__(self, resource_class: str | None, levels: Sequence[int]) -> None:
        """
        :param resource_class: None: what is left for holdings of the whole host.
        """
        self._class, self._levels = resource_class, list(levels)

    def copy(self) -> "Remainder":
        return Remainder(self._class, self._levels)

    def taken(self, request: PlacementRequest) -> int:
        """How much of it an instance of a request takes."""
        return request.amounts.get(self._class, 0) if self._class else 0

    def lowest(self, during: slice) -> int:
        """How much is left at each of some moments (``Swept.during``)."""
        return min(self._levels[during])

    def add(self, during: slice, amount: int) -> None:
        """Add an amount at some moments."""
        self._levels[during] = [level + amount for level in self._levels[during]]


class Swept:
    """The room for a request on a host, beside what is held there during a span of time.

    There is a column for each resource class of the request, and one with the number of holdings
    that take the whole host. If several providers of the host have a class, its column says how
    much all of them have together. What single providers have is counted by ``host_devices``.
    """

    def __init__(self, asked: RoomQuestion, held: Occupancy) -> None:
        self._asked, self._held = asked, held
        self.possible = asked.possible
        self.moments = held.moments

    @functools.cached_property
    def _columns(self) -> list[HeldColumn]:
        held = self._held
        return [*(held.of_class(cls) for cls in self._asked.request.amounts), held.wholes]

    def fitting(self) -> list[int]:
        """How many more instances fit at each of the moments."""
        return self._fitting([column.held for column in self._columns])

    def left(self, count: int) -> list[Remainder]:
        """What is left of each column beside ``count`` more instances."""
        asked, columns, left = self._asked, iter(self._columns), []
        for capacity, (cls, amount) in zip(
            asked.capacities, asked.request.amounts.items(), strict=True
        ):
            levels = [capacity - count * amount - n for n in next(columns).held]
            left.append(Remainder(cls, levels))
        return [*left, Remainder(None, [-n for n in self._columns[-1].held])]

    def during(self, part: timeline.Span) -> slice:
        """The moments from which on something may be held in a part of the span, by number."""
        first = bisect.bisect_right(self.moments, part.start) - 1
        return slice(max(first, 0), bisect.bisect_left(self.moments, part.end))

    def room(self, window: timeline.Span | None = None) -> int:
        """How many more instances fit throughout a part of the span, by default all of it.

        An instance stays on its host for the whole time. So each class must suffice even at the
        moment at which the held amount of the class is largest.
        """
        if window is None:
            peaks = [column.peak for column in self._columns]
        else:
            during = self.during(window)
            peaks = [column.peak_during(during) for column in self._columns]
        return self._fitting([[peak] for peak in peaks])[0]

    def _fitting(self, held: Sequence[Sequence[int]]) -> list[int]:
        asked, wholes = self._asked, held[-1]
        if not asked.possible:
            return [0] * len(wholes)
        fits = [
            [(capacity - n) // amount for n in taken]
            for capacity, amount, taken in zip(
                asked.capacities, asked.request.amounts.values(), held, strict=False
            )
        ]
        least = map(min, *fits) if len(fits) > 1 else fits[0]
        return [0 if whole or n < 0 else n for n, whole in zip(least, wholes, strict=True)]

    def fullness(self, part: timeline.Span) -> float:
        """Which share of the host is held during a part of the span, from 0.0 to 1.0.

        It is the mean over the time, of the resource class whose mean is largest. It is rounded, so
        that hosts that are equally full compare as equal.
        """
        start, end, moments = ticks(part.start), ticks(part.end), self._held.ticks
        first = bisect.bisect_right(moments, start) - 1
        last = bisect.bisect_left(moments, end) - 1
        whole = self._columns[-1]
        wholes = whole.held_between(first, start, last, end) if whole.peak else 0
        largest = 0.0
        for capacity, unit, column in self._fullest:
            held = unit * column.held_between(first, start, last, end)
            largest = max(largest, (held + capacity * wholes) / (capacity * (end - start)))
        return round(largest, 6)

    @functools.cached_property
    def _fullest(self) -> list[tuple[int, int, HeldColumn]]:
        """The classes that decide how full the host is: capacity, number, and column.

        So many times the amounts of the column are held of the class. Of classes with the same
        column, only the one of which the largest share is held decides.
        """
        found: dict[int, tuple[int, int, HeldColumn]] = {}
        for capacity, column in zip(self._asked.capacities, self._columns, strict=False):
            if capacity > 0:
                unit, base = column.as_unit()
                before = found.get(id(base))
                if before is None or unit * before[0] > before[1] * capacity:
                    found[id(base)] = capacity, unit, base
        return list(found.values())


_NOTHING = Occupancy((), timeline.Span(datetime.datetime.min, datetime.datetime.max))
