"""Finds the times at which hosts have room, and shares the work between requests.

A search over many flavors asks the same hosts about many requests. Most requests are limited by
few things. For example, memory limits nothing if it suffices for as many instances as the vCPUs
allow. Then all flavors with the same number of vCPUs fit at the same times, and these times are
computed once.
"""

import bisect
import datetime
import functools
import itertools
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from warre_blazar.domain import timeline
from warre_blazar.domain.holdings import Occupancy, Run
from warre_blazar.domain.hosts import Host
from warre_blazar.domain.request_groups import PlacementRequest


class HostGroup:
    """Hosts on which the instances of some requests may be."""

    def __init__(self, hosts: Iterable[Host]) -> None:
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

    def __init__(self, hosts: Iterable[Host], window: timeline.Span) -> None:
        alike = defaultdict(list)
        for host in hosts:
            alike[host.tree].append(host)
        self._alike = [_AlikeHosts(each, window) for each in alike.values()]
        self._known: dict[Hashable, list[timeline.Span]] = {}

    def spans(
        self,
        request: PlacementRequest,
        numbers: range,
        needed: int,
        least: datetime.timedelta,
    ) -> list[timeline.Span]:
        """The spans that lie within enough of the times at which hosts have room.

        For each host and each number in ``numbers``, these are the times at which so many
        instances fit on the host.

        :param needed: within how many of these times a span must lie.
        :param least: times that are shorter are left out.
        """
        limits = [(a, a.limits(request, n, numbers.stop - 1)) for n in numbers for a in self._alike]
        key = (tuple(of_number for _, of_number in limits), needed, least)
        spans = self._known.get(key)
        if spans is None:
            times = [run for hosts, of_number in limits for run in hosts.times(of_number)]
            long = [run for run in times if run[1] - run[0] >= least]
            spans = self._known[key] = timeline.shared(long, needed)
        return spans

    def most(
        self, request: PlacementRequest, span: timeline.Span, limit: int, affinity: bool | None
    ) -> int:
        """The largest number of instances that fit throughout a part of the span.

        :param request: a request that is contested on none of the hosts.
        :param limit: larger numbers don't matter.
        :param affinity: as in ``placing.Packing``.
        """
        found = 0
        for number in range(1, (1 if affinity is False else limit) + 1):
            limits = [(alike, alike.limits(request, number, limit)) for alike in self._alike]
            hosts = sum(alike.count(of_number, span) for alike, of_number in limits)
            if not hosts:
                break
            # So many hosts have room for this number of instances, which is one more than before.
            found = number if affinity else found + hosts
            if found >= limit:
                break
        return min(found, limit)


class _Contested(NamedTuple):
    """So many instances of a request that asks for what several providers of a host have.

    The room for such a request is counted for each host by itself.
    """

    request: PlacementRequest
    number: int
    #: Larger numbers of instances don't matter.
    most: int


#: What limits the times at which a number of instances fits: resource classes, each with the
#: largest amount that may be held. Classes that limit nothing are left out. Equal limits give equal
#: times. None: so many instances never fit.
_Limits = tuple[tuple[str, int], ...] | _Contested | None


class _AlikeHosts:
    """Hosts that share a tree of providers, and what is held on them during a span."""

    def __init__(self, hosts: Sequence[Host], window: timeline.Span) -> None:
        self._hosts, self._window = hosts, window
        self._levels: dict[str, list[int]] = {}
        self._times: dict[_Limits, list[Run]] = {None: []}
        self._bits: dict[_Limits, list[int]] = {}
        #: By a part of the span, the host's moments within it, as sets of bits.
        self._parts: dict[timeline.Span, list[int]] = {}
        self._counts: dict[tuple[_Limits, timeline.Span], int] = {}
        self._limits: dict[tuple[PlacementRequest, int], _Limits] = {}

    @functools.cached_property
    def _held(self) -> list[Occupancy]:
        return [host.held(self._window) for host in self._hosts]

    def limits(self, request: PlacementRequest, number: int, most: int) -> _Limits:
        """What limits the times at which a number of instances fits.

        :param most: larger numbers of instances don't matter.
        """
        # What limits the room depends on the tree only, so the first host stands for all of them.
        first = self._hosts[0]
        if first.is_contested(request):
            return _Contested(request, number, most)
        # A search asks for the same number in each part of its time.
        if (request, number) not in self._limits:
            self._limits[request, number] = self._plain_limits(request, number)
        return self._limits[request, number]

    def _plain_limits(self, request: PlacementRequest, number: int) -> _Limits:
        """As ``limits``, for a request that isn't contested."""
        asked = self._hosts[0].asked(request)
        if not asked.plan.possible:
            return None
        limits = []
        for capacity, (cls, amount) in zip(asked.capacities, request.amounts.items(), strict=True):
            levels, limit = self._levels_of(cls), capacity - number * amount
            if levels[-1] <= limit:
                continue
            position = bisect.bisect_right(levels, limit)
            if not position:
                return None
            limits.append((cls, levels[position - 1]))
        return tuple(limits)

    def _levels_of(self, cls: str) -> list[int]:
        """The amounts of a resource class that are held at any moment on any of the hosts."""
        levels = self._levels.get(cls)
        if levels is None:
            each = (held.of_class(cls).held for held in self._held)
            levels = self._levels[cls] = sorted(set().union(*each))
        return levels

    def times(self, limits: _Limits) -> list[Run]:
        """The times at which the hosts have so much room. Each time is as long as possible."""
        if limits not in self._times:
            if isinstance(limits, _Contested):
                self._count(limits.request, limits.most)
            elif limits is not None:
                pairs = zip(self._held, self._moments(limits), strict=True)
                runs = (held.runs(bits) for held, bits in pairs)
                self._times[limits] = list(itertools.chain.from_iterable(runs))
        return self._times[limits]

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

    def _count(self, request: PlacementRequest, most: int) -> None:
        """Find the times at which each number of instances of a contested request fits."""
        times: list[list[Run]] = [[] for _ in range(most)]
        for host in self._hosts:
            runs = host.swept(request, self._window).runs(most)
            for number, of_host in enumerate(runs):
                times[number] += of_host
        for number, of_number in enumerate(times, start=1):
            self._times[_Contested(request, number, most)] = of_number
