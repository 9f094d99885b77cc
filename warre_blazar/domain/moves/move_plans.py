"""Plans where reservations that haven't begun could go if they had to leave their hosts.

Nothing of a reservation is on its hosts before it begins, so it can have other hosts without that
anybody notices. What a plan says doesn't depend on who needs the room: all of its moves are
possible together, and so are any of them.
"""

import bisect
import collections
import copy
import dataclasses
import datetime
import functools
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from warre_blazar.domain.flavors.request_groups import PlacementRequest
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.holdings import Holding
from warre_blazar.domain.moves import must_move
from warre_blazar.domain.moves.must_move import Movable, MovablesOnHost, WayIn
from warre_blazar.domain.timeline import Levels, Span


@dataclasses.dataclass(frozen=True)
class MoveLimits:
    """How much may be done to make room for one booking.

    What is looked at is counted, and not timed, so that a decision doesn't depend on how busy the
    machine is. With the usual limits, a usual machine takes about a quarter of a second at most.
    """

    #: How many reservations may be moved.
    moves: int
    #: After so many reservations, plans vacate no further host.
    planned: int = 200
    #: How many hosts a plan looks at to find one that others could leave for a reservation.
    breadth: int = 12


@dataclasses.dataclass(frozen=True)
class Rearrangement:
    """A placing with room for a booking."""

    #: The instances of the booking by host id.
    chosen: dict[str, int]
    #: By reservation id, the instances by host id of each reservation that is moved.
    moved: dict[str, dict[str, int]]


@dataclasses.dataclass(frozen=True)
class HostMove:
    """The instances of a reservation that leave a host, and where they go."""

    movable: Movable
    #: The id of the host that they leave.
    source: str
    #: Instances by host id.
    chosen: Mapping[str, int]
    #: What must leave one of these hosts to make room for them.
    displaced: tuple["HostMove", ...] = ()

    @property
    def every(self) -> tuple["HostMove", ...]:
        """This move, and those that must be made with it."""
        return (self, *self.displaced)


def moved(moves: Iterable[HostMove]) -> dict[str, dict[str, int]]:
    """Where reservations are after some moves: by reservation id, the instances by host id."""
    places: dict[str, dict[str, int]] = {}
    for move in moves:
        movable = move.movable
        place = places.setdefault(movable.reservation_id, dict(movable.hosts))
        del place[move.source]
        for host_id, count in move.chosen.items():
            place[host_id] = place.get(host_id, 0) + count
    return places


class MovableHosts:
    """All hosts, with everything that is booked on them, and the reservations that can move."""

    def __init__(
        self, hosts: Iterable[BookableHost], movables: Iterable[Movable], limits: MoveLimits
    ) -> None:
        self.limits = limits
        self.hosts = {host.id: host for host in hosts}
        self._on: dict[str, list[Movable]] = collections.defaultdict(list)
        self._sorted: dict[str, Sequence[Movable]] = {}
        spans = []
        for movable in movables:
            spans.append(movable.span)
            for host_id in movable.hosts:
                self._on[host_id].append(movable)
        #: The time of all movable reservations. None if there are none.
        self.horizon = functools.reduce(Span.hull, spans) if spans else None
        self._lowest: dict[PlacementRequest, _LowestRoom] = {}
        self._orders: dict[PlacementRequest, list[str]] = {}
        self._with_room: dict[str, Iterator[tuple[str, int]]] = {}
        self._all_left: dict[tuple[str, Span], Levels] = {}
        self._ways_in: dict[tuple[str, str, int], WayIn | None] = {}
        self._emptied: dict[str, tuple[Sequence[Movable], BookableHost]] = {}

    def on(self, host_id: str) -> Sequence[Movable]:
        """The movable reservations on a host, the largest first."""
        found = self._sorted.get(host_id)
        if found is None:
            host = self.hosts[host_id]
            found = self._sorted[host_id] = sorted(
                self.there(host_id), key=lambda m: (-must_move.work(host, m), m.reservation_id)
            )
        return found

    def there(self, host_id: str) -> Sequence[Movable]:
        """The movable reservations on a host, in any order. This is faster than ``on``."""
        return self._on.get(host_id, ())

    def fullest(self, request: PlacementRequest) -> list[str]:
        """The ids of all hosts, the fullest first, as far as it matters for a request."""
        order = self._orders.get(request)
        if order is None:
            assert self.horizon is not None
            full = {
                h.id: h.swept(request, self.horizon).fullness(self.horizon)
                for h in self.hosts.values()
            }
            hosts = sorted(self.hosts.values(), key=lambda h: (-full[h.id], h.name, h.id))
            order = self._orders[request] = [host.id for host in hosts]
        return order

    def lowest(self, request: PlacementRequest) -> "_LowestRoom":
        """Tells how many instances of a request fit on a host throughout a time."""
        lowest = self._lowest.get(request)
        if lowest is None:
            assert self.horizon is not None
            lowest = self._lowest[request] = _LowestRoom(request, self.horizon)
        return lowest

    def with_room(self, movable: Movable) -> Iterator[tuple[str, int]]:
        """The hosts that have room for a reservation at its time, the fullest first.

        A host is looked at only when it is needed, because mostly one of the first is taken.

        :returns: their ids, and how many of its instances fit on each.
        """
        found = self._with_room.get(movable.reservation_id)
        if found is None:
            # The generators don't refer to this object, because it keeps them.
            lowest, hosts = self.lowest(movable.request), self.hosts
            among, span, order = movable.among, movable.span, self.fullest(movable.request)
            every = ((i, lowest.on(hosts[i], span)) for i in order if i in among)
            (found,) = itertools.tee(((host_id, room) for host_id, room in every if room), 1)
            self._with_room[movable.reservation_id] = found
        # The original is never advanced. So each copy begins at the first host, and gets what
        # others have computed.
        return copy.copy(found)

    def room(self, host_id: str, wanted: Movable, added: Sequence[Holding], most: int) -> int:
        """How many instances of a reservation fit on a host throughout its time.

        :param added: what is added to the host's holdings.
        :param most: how many fit without that. Larger numbers don't matter.
        """
        host, request = self.hosts[host_id], wanted.request
        if host.is_contested(request) and added:
            fuller = host.holding([*host.holdings, *added]).settled()
            return min(fuller.room(request, wanted.span), most)
        if any(held.span.overlaps(wanted.span) for held in added):
            return min(host.holding([*host.holdings, *added]).room(request, wanted.span), most)
        return most

    def ways_in(
        self, wanted: Movable, source: str, closed: Collection[str] = ()
    ) -> Iterator[WayIn]:
        """The hosts that may get what a reservation has on a host, once others have left them.

        Only the first hosts are looked at, beginning with the fullest. Each is looked at only when
        it is needed, and only once.

        :param closed: the ids of hosts that are left out.
        """
        count, among = wanted.hosts[source], wanted.among
        if count > 1 and not wanted.affinity:
            return  # Instances that may be on several hosts aren't worth the search.
        avoided = wanted.closed_when_leaving(source)
        others = (i for i in self.fullest(wanted.request) if i in among and i not in avoided)
        for target in itertools.islice(others, self.limits.breadth):
            if target in closed:
                continue
            key = target, wanted.reservation_id, count
            if key not in self._ways_in:
                self._ways_in[key] = self._way_in(target, wanted, count)
            way = self._ways_in[key]
            if way is not None:
                yield way

    def _way_in(self, target: str, wanted: Movable, count: int) -> WayIn | None:
        """The reservations that must leave a host so that instances of another one fit there.

        Only those leave for which another host has room. The largest stay if they can, so that what
        must leave is small.

        :returns: None if there is no room even if all of these leave.
        """
        leavers, emptied = self._emptied_of_leavers(target)
        near = [
            m
            for m in leavers
            if m.reservation_id != wanted.reservation_id and m.span.overlaps(wanted.span)
        ]
        if not near or self.lowest(wanted.request).on(emptied, wanted.span) < count:
            return None
        crowd = MovablesOnHost(self.hosts[target], near, wanted.request, [wanted.span], count)
        needed = crowd.by_columns(near)
        return None if needed is None else WayIn(target, crowd, needed)

    def _emptied_of_leavers(self, host_id: str) -> tuple[Sequence[Movable], BookableHost]:
        """The movable reservations on a host that others have room for, and the host without them.

        The largest come first.
        """
        found = self._emptied.get(host_id)
        if found is None:
            leavers = [m for m in self.on(host_id) if self._has_room_elsewhere(m, host_id)]
            emptied = must_move.without(self.hosts[host_id], leavers)
            found = self._emptied[host_id] = leavers, emptied
        return found

    def may_leave(self, movable: Movable, host_id: str) -> bool:
        """Whether a plan may find another place for what a reservation has on a host.

        :returns: False only if no plan finds one.
        """
        ways = (True for _ in self.ways_in(movable, host_id))
        return self._has_room_elsewhere(movable, host_id) or any(ways)

    def _has_room_elsewhere(self, movable: Movable, host_id: str) -> bool:
        """Whether any other host has room for an instance of a reservation as it is now."""
        return any(other != host_id for other, _ in self.with_room(movable))

    def is_full(self, request: PlacementRequest, spans: Sequence[Span], count: int) -> bool:
        """Whether all hosts together have too little left, so that no move makes room.

        Most searches would find nothing for this reason, and it is found much faster than by them.
        """
        window = functools.reduce(Span.hull, spans)
        for cls, amount in request.amounts.items():
            left = self._left(cls, window)
            if any(left.lowest(span) < count * amount for span in spans):
                return True
        return False

    def _left(self, resource_class: str, window: Span) -> Levels:
        """How much all hosts together have left during a span of time."""
        key = resource_class, window
        if key not in self._all_left:
            self._all_left[key] = self._added_up(resource_class, window)
        return self._all_left[key]

    def _added_up(self, resource_class: str, window: Span) -> Levels:
        capacity, changes = 0, {window.start: 0}
        for host in self.hosts.values():
            most, held, before = host.tree.capacity(resource_class), host.held(window), 0
            capacity += most
            column, wholes = held.of_class(resource_class).held, held.wholes.held
            for moment, amount, whole in zip(held.moments, column, wholes, strict=True):
                taken = most if whole else min(amount, most)
                if taken != before:
                    changes[moment] = changes.get(moment, 0) + before - taken
                    before = taken
        return Levels.changing(capacity, changes)

    def without(self, host_id: str, moves: Iterable[HostMove]) -> BookableHost:
        """A host that some reservations leave."""
        return must_move.without(self.hosts[host_id], (move.movable for move in moves))


class _LowestRoom:
    """How many instances of a request fit on hosts, beside what is booked on them."""

    def __init__(self, request: PlacementRequest, horizon: Span) -> None:
        self._request, self._horizon = request, horizon
        #: By ``id(host)``, moments, and how many instances fit from each of them on.
        self._of: dict[int, tuple[Sequence[datetime.datetime], Sequence[int]]] = {}

    def on(self, host: BookableHost, span: Span) -> int:
        """How many fit at each moment of a span on a host that its caller keeps."""
        of_host = self._of.get(id(host))
        if of_host is None:
            swept = host.swept(self._request, self._horizon)
            of_host = self._of[id(host)] = (swept.moments, swept.fitting())
        moments, fitting = of_host
        first = bisect.bisect_right(moments, span.start) - 1
        room = min(fitting[first : bisect.bisect_left(moments, span.end)])
        return host.lasting_room(self._request, [span], room)


class MovePlan:
    """Where the reservations on some hosts could go.

    A host that is vacated gets nothing, and a host that gets something isn't vacated. So each move
    is possible whether or not the others are made.
    """

    def __init__(
        self,
        site: MovableHosts,
        sources: Iterable[str],
        closed: Collection[str] = (),
        *,
        smallest_first: bool = False,
    ) -> None:
        """
        :param sources: the ids of the hosts to vacate, in this order.
        :param closed: the ids of hosts that get nothing.
        :param smallest_first: whether the smallest reservations of a host choose their hosts first.
        """
        self._closed = frozenset(closed)
        self._site = site
        #: What hosts get.
        self._added: dict[str, list[Holding]] = collections.defaultdict(list)
        #: The hosts of which reservations are displaced. They get nothing else.
        self._settled: set[str] = set()
        #: By reservation id, the hosts that its instances get.
        self._taken: dict[str, set[str]] = collections.defaultdict(set)
        #: The moves, by the id of the host that is vacated.
        self.moves: dict[str, list[HostMove]] = {}
        self._fuller: dict[str, BookableHost] = {}
        #: For how many reservations a place was looked for.
        self.planned = 0
        for source in sources:
            if self.planned >= site.limits.planned:
                break
            if source not in self._added and source not in self._settled and site.on(source):
                moves = self.moves[source] = []
                self.planned += len(site.on(source))
                for movable in site.on(source)[:: -1 if smallest_first else 1]:
                    move = self._direct(movable, source) or self._displacing(movable, source)
                    if move is not None:
                        moves.append(move)

    def of(self, host_id: str) -> Sequence[HostMove]:
        """The moves from a host; none if the host isn't vacated."""
        return self.moves.get(host_id, ())

    def fuller(self, host_id: str) -> BookableHost:
        """A host that isn't vacated, with all that it may get."""
        host, added = self._site.hosts[host_id], self._added.get(host_id)
        if not added:
            return host
        if host_id not in self._fuller:
            self._fuller[host_id] = host.holding([*host.holdings, *added])
        return self._fuller[host_id]

    def _not_for(self, movable: Movable, source: str) -> Collection[str]:
        """The ids of the hosts that can't get a reservation that leaves a host."""
        avoided = self._closed | self.moves.keys() | self._settled
        avoided |= movable.closed_when_leaving(source)
        if movable.affinity is False:
            avoided |= self._taken[movable.reservation_id]
        return avoided

    def _direct(
        self, movable: Movable, source: str, avoided: Collection[str] = ()
    ) -> HostMove | None:
        """Move a reservation off a host to where there is room."""
        chosen: dict[str, int] = {}
        left = movable.hosts[source]
        closed = self._not_for(movable, source)
        for target, most in self._site.with_room(movable):
            if target in closed or target in avoided:
                continue
            wanted = 1 if movable.affinity is False else min(most, left)
            room = self._site.room(target, movable, self._added.get(target, ()), wanted)
            if room and (room >= left or not movable.affinity):
                chosen[target] = room
                left -= room
                if not left:
                    return self._made(HostMove(movable, source, chosen))
        return None

    def _displacing(self, movable: Movable, source: str) -> HostMove | None:
        """Move a reservation off a host to another one that others leave for it."""
        # What is tried for one way is undone before the next.
        fuller = {host_id for host_id, added in self._added.items() if added}
        closed = fuller.union(self._not_for(movable, source))
        for way in self._site.ways_in(movable, source, closed):
            displaced = self._displaced(way, source)
            if displaced:
                self._settled.add(way.host_id)
                chosen = {way.host_id: movable.hosts[source]}
                return self._made(HostMove(movable, source, chosen, displaced))
        return None

    def _displaced(self, way: WayIn, source: str) -> tuple[HostMove, ...]:
        """The moves by which others leave a host.

        :returns: nothing if what would have to leave has no other place, or if its leaving isn't
            enough.
        """
        moves: list[HostMove] = []
        for other in way.leaving:
            move = self._direct(other, way.host_id, {source})
            if move is None:
                break
            moves.append(move)
        # Mostly, what would have to leave has no other place. So the search comes last.
        if len(moves) == len(way.leaving) and way.is_enough:
            return tuple(moves)
        for made in moves:
            self._undo(made)
        return ()

    def _made(self, move: HostMove) -> HostMove:
        movable = move.movable
        for target, count in move.chosen.items():
            self._added[target] += [_holding(movable)] * count
            self._taken[movable.reservation_id].add(target)
        return move

    def _undo(self, move: HostMove) -> None:
        for target, count in move.chosen.items():
            del self._added[target][-count:]
            self._taken[move.movable.reservation_id].discard(target)


def _holding(movable: Movable) -> Holding:
    return Holding(movable.reservation_id, movable.span, movable.request)
