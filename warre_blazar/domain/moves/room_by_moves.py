"""Says what can be booked if reservations that haven't begun are moved.

Free slots and bookings both ask here, so what is shown as free is what can be booked: if a span is
free once the reservations that overlap it have left a host, so is each part of the span.
"""

import datetime
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from warre_blazar import times
from warre_blazar.domain import timeline
from warre_blazar.domain.flavors.request_groups import PlacementRequest
from warre_blazar.domain.hosts import placing
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.placing import FreeSpans, Wanted
from warre_blazar.domain.hosts.shared_room import HostGroup
from warre_blazar.domain.moves import move_plans, must_move
from warre_blazar.domain.moves.move_plans import (
    HostMove,
    MovableHosts,
    MoveLimits,
    MovePlan,
    Rearrangement,
)
from warre_blazar.domain.moves.must_move import Movable, MovablesOnHost
from warre_blazar.domain.timeline import Span

#: After so many steps, an answer such as free slots or offers shows only what is free without
#: moves. To plan where a reservation could go is a step, and so is to look at a vacated host for a
#: request. A usual machine takes so many in about a second. Steps are counted, and not time, so
#: that an answer doesn't depend on how busy the machine is. A booking has limits of its own
#: (``MoveLimits``).
_MOST_STEPS = 3000


class RoomByMoves:
    """What hosts have room for if some reservations leave them.

    A booking that needs a single host gets a host that is vacated alone. At most ``moves``
    reservations that overlap the booking leave this host. A booking that may be on several hosts
    gets hosts that are vacated together. Each of them loses an equal share of the moves at most.
    """

    def __init__(
        self,
        hosts: Iterable[BookableHost],
        movables: Iterable[Movable],
        limits: MoveLimits,
    ) -> None:
        """
        :param hosts: all hosts, with everything that is booked on them from now on.
        :param movables: the reservations that can be moved.
        """
        self._site = MovableHosts(hosts, movables, limits)
        self._limits, self._moves = limits, limits.moves
        self._plans: dict[tuple[tuple[str, ...], bool, bool], MovePlan] = {}
        self._free: dict[tuple[object, ...], FreeSpans] = {}
        # Hosts that some reservations have left, by host id and the ids of the reservations. What
        # is held on them then is added up once for all questions.
        self._left: dict[tuple[str, frozenset[str]], BookableHost] = {}
        self._groups: dict[tuple[int, ...], HostGroup] = {}
        #: By the same key, when few enough reservations leave.
        self._times: dict[tuple[str, frozenset[str]], list[Span]] = {}
        self.renew()

    def renew(self) -> None:
        """Let the next answer take as many steps as the first one."""
        self._steps = _MOST_STEPS

    def spans(
        self,
        request: PlacementRequest,
        count: int,
        among: Collection[str],
        window: Span,
        affinity: bool | None,
        least: datetime.timedelta = times.NO_TIME,
    ) -> list[Span]:
        """The spans throughout which instances can be had by placing others again.

        Spans for which nothing must be moved may be left out.

        :param among: the ids of the hosts that may hold the instances.
        :param least: spans that are shorter may be left out.
        """
        if not self._moves_anything:
            return []
        if count > 1 and not affinity:
            free = self._on_several(request, count, among, window, affinity)
            return free.of(count, least) if free else []
        found: list[Span] = []
        for host_id in self._sources(request, among):
            if self._steps <= 0:
                break
            for moves in self._ways(host_id):
                self._steps -= 1
                group = self._group([self._without(host_id, moves)])
                free_there = FreeSpans(group, request, count, window).of(count, least)
                found += timeline.intersect(free_there, self._few_enough(host_id, moves))
        return timeline.widest(span for span in found if span.end - span.start >= least)

    def most(
        self,
        request: PlacementRequest,
        among: Collection[str],
        window: Span,
        span: Span,
        affinity: bool | None,
        most: int,
        limit: int,
    ) -> int:
        """The largest number of instances that can be had throughout a span.

        :param window: a span that contains this span and others that are asked about.
        :param most: how many can be had without placing others again.
        :param limit: larger numbers don't matter.
        """

        def fits(count: int) -> bool:
            if count > limit or self._site.is_full(request, [span], count):
                return False
            return bool(self.spans(request, count, among, span, affinity, span.end - span.start))

        if self._moves_anything and affinity:
            return _largest(fits, most)
        while self._moves_anything and most < limit:
            count = most + 1
            if count == 1:
                if not fits(count):
                    return most
                most = count
                continue
            if self._site.is_full(request, [span], count):
                return most
            free = self._on_several(request, count, among, window, affinity)
            found = free.most(span, limit) if free else 0
            if found <= most:
                return most
            # Of more instances, each host has a smaller share of the moves.
            most = min(found, self._moves // self._share(count))
        return most

    def staying(self, held: Mapping[str, int]) -> list[BookableHost]:
        """The hosts of a reservation that has begun, once others have left them.

        :param held: the reservation's instances by host id.
        """
        plan, share = self._plan(*sorted(held), closed=True), self._share(len(held))
        return [self._vacated(plan, i, share) for i in held if i in self._site.hosts]

    def place(self, wanted: Wanted, among: Collection[str]) -> Rearrangement | None:
        """Find room for a booking by placing others again.

        :param among: the ids of the hosts that may hold the booking.
        :returns: None if there is none.
        """
        if not self._can_move_for(wanted):
            return None
        if wanted.count > 1 and not wanted.packing.affinity:
            return self._placed_on_several(wanted, among)
        return self._placed_on_one(wanted, among)

    def keep(self, wanted: Wanted) -> Rearrangement | None:
        """Find room for a reservation on the hosts where it is (``wanted.preferred``)."""
        held = wanted.preferred
        if not self._can_move_for(wanted) or not held.keys() <= self._site.hosts.keys():
            return None
        plan, share = self._plan(*sorted(held), closed=True), self._share(len(held))
        moves = {i: _first(plan.of(i), share) for i in held}
        return self._rearranged(wanted, held, moves)

    def _placed_on_one(self, wanted: Wanted, among: Collection[str]) -> Rearrangement | None:
        for host_id, crowd in self._crowds(wanted, among):
            # If a large one has to stay, it mostly leaves too little, and the rest doesn't matter.
            largest_first = _near(self._site.on(host_id), wanted)
            staying = (m for m in largest_first if not self._site.may_leave(m, host_id))
            if not crowd.can_make_room(staying):
                continue
            for moves in self._ways(host_id):
                if _weight(move for move in moves if _near([move.movable], wanted)) <= self._moves:
                    found = self._rearranged(wanted, {host_id: wanted.count}, {host_id: moves})
                    if found is not None:
                        return found
        return None

    def _crowds(self, wanted: Wanted, among: Collection[str]) -> list[tuple[str, MovablesOnHost]]:
        """The hosts that have room once everything that can move has left.

        :returns: their ids and what can move, the hosts with the least of it first.
        """
        crowds: dict[str, MovablesOnHost] = {}
        work: dict[str, float] = {}
        for host_id in self._sources(wanted.request, among):
            host, near = self._site.hosts[host_id], _near(self._site.there(host_id), wanted)
            if not near:
                continue
            crowd = _crowd(host, near, wanted, wanted.count)
            if crowd.can_make_room():
                crowds[host_id] = crowd
                work[host_id] = math.fsum(must_move.work(host, m) for m in near)
        return [(i, crowds[i]) for i in sorted(crowds, key=lambda i: (work[i], i))]

    def _placed_on_several(self, wanted: Wanted, among: Collection[str]) -> Rearrangement | None:
        share = self._share(wanted.count)
        if not share:
            return None
        plan = self._plan_of(wanted.request, among)
        hosts = self._all_vacated(plan, among, share)
        chosen, room = placing.choose(hosts, wanted)
        if room < wanted.count:
            return None
        return self._rearranged(wanted, chosen, {i: _first(plan.of(i), share) for i in chosen})

    def _ways(self, host_id: str) -> list[list[HostMove]]:
        """The moves that vacate a host, by plans that differ in what they place first.

        If they are too many, there are also ways to vacate it of the largest reservations only.
        What is too many for one booking may be few enough for a shorter one. So each way counts for
        the times at which it has few enough moves.
        """
        ways, host = [], self._site.hosts[host_id]
        for smallest_first in (False, True):
            moves = self._plan(host_id, smallest_first=smallest_first).of(host_id)
            sizes = [must_move.share(host, move.movable) for move in moves]
            levels = sorted(set(sizes))
            for least in levels if _weight(moves) > self._moves else levels[:1]:
                ways.append([m for m, size in zip(moves, sizes, strict=True) if size >= least])
        return ways

    def _rearranged(
        self, wanted: Wanted, chosen: Mapping[str, int], moves: Mapping[str, Sequence[HostMove]]
    ) -> Rearrangement | None:
        """Move what is in the way of instances, and nothing else.

        :param chosen: the instances by host id.
        :param moves: the possible moves by host id.
        """
        made: list[HostMove] = []
        for host_id, count in chosen.items():
            host = self._site.hosts[host_id]
            by_id = {move.movable.reservation_id: move for move in moves[host_id]}
            near = _near([move.movable for move in moves[host_id]], wanted)
            crowd = _crowd(host, near, wanted, count)
            needed = crowd.in_the_way(near)
            if needed is None:
                return None
            made += [each for m in needed for each in by_id[m.reservation_id].every]
        return Rearrangement(dict(chosen), move_plans.moved(made))

    def _on_several(
        self,
        request: PlacementRequest,
        count: int,
        among: Collection[str],
        window: Span,
        affinity: bool | None,
    ) -> FreeSpans | None:
        """When instances fit on hosts that were vacated together. None: never."""
        share = self._share(count)
        if not share:
            return None
        key = (request, share, frozenset(among), window, affinity)
        free = self._free.get(key)
        if free is None and self._steps > 0:
            self._steps -= len(among)
            group = self._group(self._all_vacated(self._plan_of(request, among), among, share))
            most = self._moves // share
            free = self._free[key] = FreeSpans(group, request, most, window, affinity)
        return free

    def _group(self, hosts: Sequence[BookableHost]) -> HostGroup:
        return self._groups.setdefault(tuple(map(id, hosts)), HostGroup(hosts))

    def _without(self, host_id: str, moves: Sequence[HostMove]) -> BookableHost:
        """A host that some reservations leave."""
        key = _key(host_id, moves)
        if key not in self._left:
            self._left[key] = self._site.without(host_id, moves)
        return self._left[key]

    def _few_enough(self, host_id: str, moves: Sequence[HostMove]) -> list[Span]:
        key = _key(host_id, moves)
        if key not in self._times:
            self._times[key] = _times(moves, self._moves)
        return self._times[key]

    def _all_vacated(
        self, plan: MovePlan, among: Collection[str], share: int
    ) -> list[BookableHost]:
        """Some hosts once all hosts of a plan were vacated.

        :param among: the ids of these hosts.
        """
        wanted = set(among)
        return [self._vacated(plan, i, share) for i in self._site.hosts if i in wanted]

    def _vacated(self, plan: MovePlan, host_id: str, share: int) -> BookableHost:
        """A host once all hosts of a plan were vacated."""
        moves = _first(plan.of(host_id), share)
        return self._without(host_id, moves) if moves else plan.fuller(host_id)

    def _plan_of(self, request: PlacementRequest, among: Collection[str]) -> MovePlan:
        """The plan that vacates hosts together, the emptiest first."""
        return self._plan(*self._sources(request, among))

    def _sources(self, request: PlacementRequest, among: Collection[str]) -> list[str]:
        """The hosts that may be vacated for a request, the emptiest first.

        All but the last one have fewer than ``MoveLimits.planned`` movable reservations together.
        They don't depend on the time of a booking, so that what is shown can be booked.
        """
        wanted, sources, planned = set(among), [], 0
        for host_id in reversed(self._site.fullest(request)):
            if planned >= self._limits.planned:
                break
            if host_id in wanted and (there := self._site.there(host_id)):
                planned += len(there)
                sources.append(host_id)
        return sources

    def _plan(self, *sources: str, closed: bool = False, smallest_first: bool = False) -> MovePlan:
        """
        :param closed: whether none of the sources may get anything, even if it isn't vacated.
        :param smallest_first: as for ``MovePlan``.
        """
        key = (sources, closed, smallest_first)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = MovePlan(
                self._site,
                sources,
                sources if closed else (),
                smallest_first=smallest_first,
            )
            self._steps -= plan.planned
        return plan

    def _share(self, number: int) -> int:
        """How many reservations may leave each of some hosts."""
        return self._moves // max(number, 1)

    def _can_move_for(self, wanted: Wanted) -> bool:
        """Whether a search may find room by placing others again."""
        return self._moves_anything and not self._site.is_full(
            wanted.request, wanted.spans, wanted.count
        )

    @property
    def _moves_anything(self) -> bool:
        """Whether any reservation can be moved."""
        return self._moves > 0 and self._site.horizon is not None


def _key(host_id: str, moves: Iterable[HostMove]) -> tuple[str, frozenset[str]]:
    return host_id, frozenset(move.movable.reservation_id for move in moves)


def _largest(fits: Callable[[int], bool], least: int) -> int:
    """The largest number that fits. If a number doesn't fit, no larger number fits.

    :param least: a number that fits.
    """
    low, high = least, least + 1
    while fits(high):
        low, high = high, 2 * high - least
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _near(movables: Iterable[Movable], wanted: Wanted) -> list[Movable]:
    return [m for m in movables if any(m.span.overlaps(span) for span in wanted.spans)]


def _crowd(
    host: BookableHost, near: Sequence[Movable], wanted: Wanted, count: int
) -> MovablesOnHost:
    return MovablesOnHost(host, near, wanted.request, wanted.spans, count)


def _weight(moves: Iterable[HostMove]) -> int:
    """How many reservations get other hosts by some moves."""
    return sum(len(move.every) for move in moves)


def _first(moves: Sequence[HostMove], most: int) -> list[HostMove]:
    """The moves of the reservations that begin first, as many as may be made."""
    first: list[HostMove] = []
    for move in sorted(moves, key=lambda m: (m.movable.span.start, m.movable.reservation_id)):
        if _weight(first) + len(move.every) > most:
            break
        first.append(move)
    return first


def _times(moves: Sequence[HostMove], most: int) -> list[Span]:
    """The spans that no more reservations overlap than may be moved, each as long as possible."""
    if _weight(moves) <= most:
        return [Span(datetime.datetime.min, datetime.datetime.max)]
    by_start = sorted(moves, key=lambda m: m.movable.span.start)
    spans = []
    for start in [datetime.datetime.min, *(move.movable.span.end for move in moves)]:
        end, weight = datetime.datetime.max, 0
        for move in by_start:
            if move.movable.span.end > start:
                weight += len(move.every)
                if weight > most:
                    end = max(move.movable.span.start, start)
                    break
        if start < end:
            spans.append(Span(start, end))
    return timeline.widest(spans)
