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
import itertools
import sys
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from warre_blazar.domain import timeline
from warre_blazar.domain.flavors.request_groups import PlacementRequest
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.holdings import Occupancy, Run
from warre_blazar.domain.hosts.host_devices import PoolTimes
from warre_blazar.domain.hosts.pools import Pool
from warre_blazar.domain.timeline import JointTimes, Span, TimeOf


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
        """Whether a request is contested on any of the hosts (``BookableHost.is_contested``)."""
        return any(host.is_contested(request) for host in self._each_kind.values())

    def is_summed(self, request: PlacementRequest, most: int) -> bool:
        """Whether a request is summed on all of the hosts (``BookableHost.is_summed``)."""
        return all(host.is_summed(request, most) for host in self._each_kind.values())

    def during(self, window: timeline.Span) -> "GroupRoom":
        """The room on the hosts during a span. It is kept for later questions."""
        room = self._during.get(window)
        if room is None:
            room = self._during[window] = GroupRoom(self.hosts, window)
        return room


class GroupRoom:
    """The room on hosts during a span, for any number of requests."""

    def __init__(self, hosts: Iterable[BookableHost], window: timeline.Span) -> None:
        self._window = window
        alike = defaultdict(list)
        for host in hosts:
            alike[host.tree].append(host)
        self._alike = [_AlikeHosts(each, window) for each in alike.values()]
        self._known: dict[Hashable, list[timeline.Span]] = {}

    def spans(self, asked: "TimesAsked") -> list[timeline.Span]:
        """The spans that lie within enough of the times at which hosts have room.

        For each host and each number that is asked about, these are the times at which so many
        instances fit on the host. Numbers that fit at the same times are looked at together. So the
        work depends on what hosts hold, and not on the numbers.

        :param asked: its request must be summed on all of the hosts.
        """
        parts = [(alike, alike.parts_of(asked)) for alike in self._alike]
        is_contested = any(alike.is_contested(asked.request) for alike in self._alike)
        key = (asked if is_contested else asked[-2:], tuple(of_hosts for _, of_hosts in parts))
        spans = self._known.get(key)
        if spans is None:
            spans = self._known[key] = self._spans(asked, parts)
        return spans

    def _spans(
        self, asked: "TimesAsked", parts: "Sequence[tuple[_AlikeHosts, tuple[_Part, ...]]]"
    ) -> list[timeline.Span]:
        window, throughout = self._window, 0
        times: list[TimeOf] = []
        supplies: list[JointTimes] = []
        for alike, of_hosts in parts:
            for of_host in alike.supplies(asked, of_hosts):
                if isinstance(of_host, JointTimes):
                    supplies.append(of_host)
                    continue
                found = [time for time in of_host if time[1] - time[0] >= asked.least]
                times += found
                throughout += sum(n for s, e, n in found if s == window.start and e == window.end)
                if throughout >= asked.needed:
                    return [window]
        if not supplies:
            return timeline.shared(times, asked.needed)
        return timeline.shared_jointly([JointTimes([times], sum), *supplies], asked.needed)

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


class TimesAsked(NamedTuple):
    """A question: when do hosts have room for instances?"""

    request: PlacementRequest
    #: Other times throughout which instances must have the same providers.
    also: tuple[timeline.Span, ...]
    #: The numbers of instances on one host that matter.
    first: int
    last: int
    #: Within how many times of such numbers on hosts a span must lie.
    needed: int
    #: Times that are shorter are left out.
    least: datetime.timedelta


#: What limits the times at which a number of instances fits: resource classes, each with the
#: largest amount that may be held. Classes that limit nothing are left out. Equal limits give equal
#: times. None: so many instances never fit.
_Limits = tuple[tuple[str, int], ...] | None


class _Part(NamedTuple):
    """Numbers of instances that fit at the same times."""

    #: How many numbers.
    weight: int
    limits: _Limits


class _AlikeHosts:
    """Hosts that share a tree of providers, and what is held on them during a span."""

    def __init__(self, hosts: Sequence[BookableHost], window: timeline.Span) -> None:
        self._hosts, self._window = hosts, window
        self._levels: dict[str, list[int]] = {}
        self._times: dict[_Limits, list[Run]] = {}
        self._bits: dict[_Limits, list[int]] = {}
        #: By a part of the span, the host's moments within it, as sets of bits.
        self._parts: dict[timeline.Span, list[int]] = {}
        self._counts: dict[tuple[_Limits, timeline.Span], int] = {}
        self._steps: dict[tuple[PlacementRequest, int], tuple[_Limits, int]] = {}

    @functools.cached_property
    def _held(self) -> list[Occupancy]:
        return [host.held(self._window) for host in self._hosts]

    def is_contested(self, request: PlacementRequest) -> bool:
        # What fits on an empty host depends on the tree only, so the first host stands for all.
        return self._hosts[0].is_contested(request)

    def parts_of(self, asked: TimesAsked) -> tuple[_Part, ...]:
        """What limits the numbers of instances that a question is about (``parts``)."""
        request, first, last = asked.request, asked.first, asked.last
        if not self.is_contested(request):
            return tuple(self.parts(request, first, last))
        last = min(last, self._hosts[0].when_empty(request))
        return tuple(self.parts(request, 1, last)) if first <= last else ()

    def parts(self, request: PlacementRequest, first: int, last: int) -> Iterator[_Part]:
        """Divide the numbers of instances from ``first`` to ``last`` by what limits their times.

        Numbers that never fit are left out. Of a contested request, this is about the classes that
        only one provider has.
        """
        while first <= last:
            limits, until = self.step(request, first)
            if limits is None:
                return
            until = min(until, last)
            yield _Part(until - first + 1, limits)
            first = until + 1

    def supplies(
        self, asked: TimesAsked, parts: Sequence[_Part]
    ) -> Iterator[Sequence[TimeOf] | JointTimes]:
        """When instances fit on hosts. Of the result, the numbers of all times are added up."""
        if not self.is_contested(asked.request):
            yield [
                (start, end, part.weight)
                for part in parts
                for start, end in self.times(part.limits)
            ]
        elif parts:
            yield from self._supplies_with_devices(asked, parts)

    def _supplies_with_devices(
        self, asked: TimesAsked, parts: Sequence[_Part]
    ) -> Iterator[Sequence[TimeOf] | JointTimes]:
        most = sum(part.weight for part in parts)
        if most < asked.first:
            return
        for held, host, *bits in zip(
            self._held, self._hosts, *(self._moments(part.limits) for part in parts), strict=True
        ):
            of_others = [
                (*run, part.weight)
                for part, of_part in zip(parts, bits, strict=True)
                for run in held.runs(of_part)
            ]
            if of_others:
                pools = host.devices.times(asked.request, self._window, most, asked.also)
                room = _DeviceRoom(self._window, of_others, pools, most)
                is_one = asked.first == asked.last
                yield room.of_number(asked) if is_one else room.of_numbers(asked)

    def step(self, request: PlacementRequest, number: int) -> tuple[_Limits, int]:
        """What limits the times at which a number of instances fits.

        :returns: the limits, and the largest number of instances that has the same limits.
        """
        # A search asks for the same number in each part of its time.
        if (request, number) not in self._steps:
            self._steps[request, number] = self._step(request, number)
        return self._steps[request, number]

    def _step(self, request: PlacementRequest, number: int) -> tuple[_Limits, int]:
        # What limits the room depends on the tree only, so the first host stands for all of them.
        asked, contested = self._hosts[0].asked(request), self._hosts[0].tree.contested
        if not asked.possible:
            return None, number
        limits, ends = [], []
        for capacity, (cls, amount) in zip(asked.capacities, request.amounts.items(), strict=True):
            if cls in contested:
                continue
            levels = self._levels_of(cls)
            position = bisect.bisect_right(levels, capacity - number * amount)
            if not position:
                return None, number
            level = levels[position - 1]
            ends.append((capacity - level) // amount)
            if position < len(levels):
                limits.append((cls, level))
        return tuple(limits), min(ends, default=sys.maxsize)

    def _levels_of(self, cls: str) -> list[int]:
        """The amounts of a resource class that are held at any moment on any of the hosts."""
        levels = self._levels.get(cls)
        if levels is None:
            each = (held.of_class(cls).levels for held in self._held)
            levels = self._levels[cls] = sorted(set().union(*each))
        return levels

    def times(self, limits: _Limits) -> list[Run]:
        """The times at which the hosts have so much room. Each time is as long as possible."""
        assert limits is not None
        times = self._times.get(limits)
        if times is None:
            times = self._times[limits] = list(self._runs(limits))
        return times

    def _runs(self, limits: tuple[tuple[str, int], ...]) -> Iterator[Run]:
        for held, bits in zip(self._held, self._moments(limits), strict=True):
            yield from held.runs(bits)

    def count(self, limits: _Limits, span: timeline.Span) -> int:
        """The number of hosts that have so much room throughout a part of the span."""
        if limits is None:
            return 0
        known = self._counts.get((limits, span))
        if known is None:
            parts = self._parts.get(span)
            if parts is None:
                parts = self._parts[span] = [held.moments_of(span) for held in self._held]
            each = zip(self._moments(limits), parts, strict=True)
            known = self._counts[limits, span] = sum(bits & part == part for bits, part in each)
        return known

    def _moments(self, limits: _Limits) -> list[int]:
        """The moments at which a host holds no more than the limits say, for each host.

        They are sets of bits, as in ``HeldColumn.at_most``.
        """
        assert limits is not None
        moments = self._bits.get(limits)
        if moments is None:
            moments = self._bits[limits] = []
            for held in self._held:
                bits = held.wholes.at_most(0)
                for cls, limit in limits:
                    bits &= held.of_class(cls).at_most(limit)
                moments.append(bits)
        return moments


class _DeviceRoom(NamedTuple):
    """The room on a host for a contested request."""

    window: Span
    #: When there is enough of what only one provider has, and for how many instances.
    of_others: Sequence[TimeOf]
    pools: Sequence[PoolTimes]
    #: More instances don't matter.
    most: int

    def of_number(self, asked: TimesAsked) -> Sequence[TimeOf] | JointTimes:
        """When a single number of instances fits."""
        # For how many numbers there is enough is added up.
        spans = timeline.shared(self.of_others, self.most)
        for pool, of_nodes, _ in self.pools:
            units = itertools.chain.from_iterable(of_nodes)
            found = timeline.shared(units, self.most * pool.parts)
            spans = found if spans == [self.window] else timeline.intersect(spans, found)
        times = [(span.start, span.end, 1) for span in spans]
        if asked.needed == 1 or len(times) < 2:
            return times
        # The times of a host may overlap.
        return JointTimes([times], lambda there: min(there[0], 1))

    def of_numbers(self, asked: TimesAsked) -> Sequence[TimeOf] | JointTimes:
        """When numbers of instances from 1 on fit."""
        columns: list[Sequence[TimeOf]] = [self.of_others]
        rooms: list[tuple[Pool, slice]] = []
        for pool, of_nodes, _ in self.pools:
            first = len(columns)
            columns += of_nodes if pool.spread else [[*itertools.chain.from_iterable(of_nodes)]]
            rooms.append((pool, slice(first, len(columns))))
        (pool, _, units), *others = self.pools
        is_sum = not others and pool.parts == 1 and min(units, asked.needed) <= self.most
        if is_sum and self.of_others == [(self.window.start, self.window.end, self.most)]:
            return columns[1]
        return JointTimes(columns, functools.partial(_room, rooms, self.most))


def _room(pools: Iterable[tuple[Pool, slice]], most: int, there: Sequence[int]) -> int:
    """How many instances fit.

    :param there: for how many instances there is enough of what only one provider has, and then, by
        pool, how many parts its nodes can give.
    """
    return min(most, there[0], *(pool.room_of(there[of_pool]) for pool, of_pool in pools))
