"""Finds the times at which hosts have room, and shares the work between requests.

A search over many flavors asks the same hosts about many requests. Most requests are limited by
few things. For example, memory limits nothing if it suffices for as many instances as the vCPUs
allow. Then all flavors with the same number of vCPUs fit at the same times, and these times are
computed once.

Numbers of instances that fit at the same times are looked at together. So the work depends on what
hosts hold, and not on the size of a number that a client or a flavor names.
"""

import bisect
import datetime
import functools
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from warre_blazar.domain import timeline
from warre_blazar.domain.flavors.request_groups import PlacementRequest
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.holdings import Occupancy, Run


class HostGroup:
    """Hosts on which the instances of some requests may be."""

    def __init__(self, hosts: Iterable[BookableHost]) -> None:
        self.hosts = tuple(hosts)
        #: One host of each tree of providers. What fits on an empty host depends on its tree only.
        self._each_kind = {host.tree: host for host in self.hosts}
        self._during: dict[timeline.Span, GroupRoom] = {}

    def when_empty(self, request: PlacementRequest) -> list[int]:
        """How many instances of a request fit on each of the hosts when nothing is on them."""
        of_kind = {tree: host.when_empty(request) for tree, host in self._each_kind.items()}
        return [of_kind[host.tree] for host in self.hosts]

    def is_contested(self, request: PlacementRequest) -> bool:
        """Whether a request is contested on any of the hosts (``Host.is_contested``)."""
        return any(host.is_contested(request) for host in self._each_kind.values())

    def has_places(self, request: PlacementRequest) -> bool:
        """Whether it matters on any of the hosts where instances stay (``Host.has_places``)."""
        return self.is_contested(request) and any(host.has_places(request) for host in self.hosts)

    def during(self, window: timeline.Span) -> "GroupRoom":
        """The room on the hosts during a span. It is kept for later questions."""
        room = self._during.get(window)
        if room is None:
            room = self._during[window] = GroupRoom(self.hosts, window)
        return room


class GroupRoom:
    """The room on hosts during a span, for any number of requests."""

    def __init__(self, hosts: Iterable[BookableHost], window: timeline.Span) -> None:
        alike = defaultdict(list)
        for host in hosts:
            alike[host.tree].append(host)
        self._alike = [_AlikeHosts(each, window) for each in alike.values()]
        self._known: dict[Hashable, list[timeline.Span]] = {}

    def spans(
        self,
        request: PlacementRequest,
        first: int,
        last: int,
        needed: int,
        least: datetime.timedelta,
    ) -> list[timeline.Span]:
        """The spans that lie within enough of the times at which hosts have room.

        For each host and each number from ``first`` to ``last``, these are the times at which so
        many instances fit on the host. Numbers that fit at the same times are looked at together.
        So the work depends on what hosts hold, and not on the numbers.

        :param needed: within how many of these times a span must lie.
        :param least: times that are shorter are left out.
        """
        parts = [(alike, tuple(alike.parts(request, first, last))) for alike in self._alike]
        key = (tuple(of_hosts for _, of_hosts in parts), needed, least)
        spans = self._known.get(key)
        if spans is None:
            times = [
                (start, end, part.weight * weight)
                for hosts, of_hosts in parts
                for part in of_hosts
                for (start, end), weight in hosts.times(part.limits)
                if end - start >= least
            ]
            spans = self._known[key] = timeline.shared(times, needed)
        return spans

    def most(
        self, request: PlacementRequest, span: timeline.Span, limit: int, affinity: bool | None
    ) -> int:
        """The largest number of instances that fit throughout a part of the span.

        :param request: a request that is contested on none of the hosts.
        :param limit: larger numbers don't matter.
        :param affinity: as in ``placing.Packing``.
        """
        number, found, last = 0, 0, 1 if affinity is False else limit
        while number < last and found < limit:
            steps = [(alike, alike.step(request, number + 1)) for alike in self._alike]
            hosts = sum(alike.count(limits, span) for alike, (limits, _) in steps)
            if not hosts:
                break
            # So many hosts have room for each of these numbers, of which each is one more.
            until = min(last, *(until for _, (limits, until) in steps if limits is not None))
            found = until if affinity else found + hosts * (until - number)
            number = until
        return min(found, limit)


class _Contested(NamedTuple):
    """Numbers of instances of a request that asks for what several providers of a host have.

    The room for such a request is counted for each host by itself.
    """

    request: PlacementRequest
    first: int
    last: int


#: What limits the times at which a number of instances fits: resource classes, each with the
#: largest amount that may be held. Classes that limit nothing are left out. Equal limits give equal
#: times. None: so many instances never fit.
_Limits = tuple[tuple[str, int], ...] | _Contested | None


class _Part(NamedTuple):
    """Numbers of instances that fit at the same times."""

    #: How many numbers.
    weight: int
    limits: _Limits


#: A time, and for how many numbers of instances it is one.
_WeightedRun = tuple[Run, int]


class _AlikeHosts:
    """Hosts that share a tree of providers, and what is held on them during a span."""

    def __init__(self, hosts: Sequence[BookableHost], window: timeline.Span) -> None:
        self._hosts, self._window = hosts, window
        self._levels: dict[str, list[int]] = {}
        self._times: dict[_Limits, list[_WeightedRun]] = {}
        self._bits: dict[_Limits, list[int]] = {}
        #: By a part of the span, the host's moments within it, as sets of bits.
        self._parts: dict[timeline.Span, list[int]] = {}
        self._counts: dict[tuple[_Limits, timeline.Span], int] = {}
        self._steps: dict[tuple[PlacementRequest, int], tuple[_Limits, int]] = {}

    @functools.cached_property
    def _held(self) -> list[Occupancy]:
        return [host.held(self._window) for host in self._hosts]

    def parts(self, request: PlacementRequest, first: int, last: int) -> Iterator[_Part]:
        """Divide the numbers of instances from ``first`` to ``last`` by what limits their times.

        Numbers that never fit are left out.
        """
        # What limits the room depends on the tree only, so the first host stands for all of them.
        if self._hosts[0].is_contested(request):
            yield _Part(1, _Contested(request, first, last))
            return
        while first <= last:
            limits, until = self.step(request, first)
            if limits is None:
                return
            until = min(until, last)
            yield _Part(until - first + 1, limits)
            first = until + 1

    def step(self, request: PlacementRequest, number: int) -> tuple[_Limits, int]:
        """What limits the times at which a number of instances fits.

        :param request: a request that isn't contested.
        :returns: the limits, and the largest number of instances that has the same limits.
        """
        # A search asks for the same number in each part of its time.
        if (request, number) not in self._steps:
            self._steps[request, number] = self._step(request, number)
        return self._steps[request, number]

    def _step(self, request: PlacementRequest, number: int) -> tuple[_Limits, int]:
        asked = self._hosts[0].asked(request)
        if not asked.plan.possible:
            return None, number
        limits, ends = [], []
        for capacity, (cls, amount) in zip(asked.capacities, request.amounts.items(), strict=True):
            levels = self._levels_of(cls)
            position = bisect.bisect_right(levels, capacity - number * amount)
            if not position:
                return None, number
            level = levels[position - 1]
            ends.append((capacity - level) // amount)
            if position < len(levels):
                limits.append((cls, level))
        return tuple(limits), min(ends)

    def _levels_of(self, cls: str) -> list[int]:
        """The amounts of a resource class that are held at any moment on any of the hosts."""
        levels = self._levels.get(cls)
        if levels is None:
            each = (held.of_class(cls).held for held in self._held)
            levels = self._levels[cls] = sorted(set().union(*each))
        return levels

    def times(self, limits: _Limits) -> list[_WeightedRun]:
        """The times at which the hosts have so much room. Each time is as long as possible."""
        assert limits is not None
        times = self._times.get(limits)
        if times is None:
            times = self._times[limits] = list(
                self._count(limits)
                if isinstance(limits, _Contested)
                else ((run, 1) for run in self._runs(limits))
            )
        return times

    def _runs(self, limits: tuple[tuple[str, int], ...]) -> Iterator[Run]:
        for held, bits in zip(self._held, self._moments(limits), strict=True):
            yield from held.runs(bits)

    def count(self, limits: _Limits, span: timeline.Span) -> int:
        """The number of hosts that have so much room throughout a part of the span."""
        if limits is None:
            return 0
        assert not isinstance(limits, _Contested)
        known = self._counts.get((limits, span))
        if known is None:
            parts = self._parts.get(span)
            if parts is None:
                parts = self._parts[span] = [held.moments_of(span) for held in self._held]
            each = zip(self._moments(limits), parts, strict=True)
            known = self._counts[limits, span] = sum(bits & part == part for bits, part in each)
        return known

    def _moments(self, limits: tuple[tuple[str, int], ...]) -> list[int]:
        """The moments at which a host holds no more than the limits say, for each host.

        They are sets of bits, as in ``HeldColumn.at_most``.
        """
        moments = self._bits.get(limits)
        if moments is None:
            moments = self._bits[limits] = []
            for held in self._held:
                bits = held.wholes.at_most(0)
                for cls, limit in limits:
                    bits &= held.of_class(cls).at_most(limit)
                moments.append(bits)
        return moments

    def _count(self, asked: _Contested) -> Iterator[_WeightedRun]:
        """Find the times at which numbers of instances of a contested request fit."""
        for host in self._hosts:
            swept = host.swept(asked.request, self._window)
            for weight, runs in swept.runs(asked.first, asked.last):
                yield from ((run, weight) for run in runs)
