"""Makes room for a booking by chains of moves.

A chain clears a host of as little as is needed for the booking. What has left the host goes where
there is room, or, some levels deep, to another host that is cleared in the same way. These are
ejection chains (Glover, "Ejection chains, reference structures and alternating path methods for
traveling salesman problems", 1996). What a search finds depends on the booking. So nobody can
foresee it, and it is only asked when the plans (``vacating``) have no room.
"""

import dataclasses
import operator
from collections.abc import Collection, Iterable, Iterator, Sequence

from warre_blazar.domain.flavors.request_groups import PlacementRequest
from warre_blazar.domain.hosts import placing, provider_search
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.holdings import Holding
from warre_blazar.domain.hosts.placing import Wanted
from warre_blazar.domain.moves import must_move
from warre_blazar.domain.moves.move_plans import MovableHosts, MoveLimits, Rearrangement
from warre_blazar.domain.moves.must_move import Movable, MovablesOnHost
from warre_blazar.domain.timeline import Span

#: On how many levels hosts are cleared, at most.
_LEVELS = 3
#: How many hosts are tried for instances on each level.
_BREADTH = 12
#: Among how many hosts these are chosen.
_HOSTS = 36
#: The steps of adding up what is held on a host, besides a step for each holding. To look up a room
#: that is known is one step.
_SWEEP = 20
#: The steps of one search for devices (``MovablesOnHost.checks``).
_CHECK = 300


def place(
    site: MovableHosts, wanted: Wanted, among: Collection[str], limits: MoveLimits
) -> Rearrangement | None:
    """Find room for a booking by chains of moves.

    :param among: the ids of the hosts that may hold the booking.
    :returns: None if nothing was found within the limits.
    """
    if limits.steps < 1:
        return None
    hosts = [host for host_id, host in site.hosts.items() if host_id in among]
    with provider_search.bounded():
        chosen, room = placing.choose(hosts, wanted)
        affinity = wanted.packing.affinity
        if affinity and room < wanted.count:
            chosen = {}
        search, asked = _ChainSearch(site, limits), _Asked.by(wanted, among, affinity)
        state = _ChainState({}, {})
        for host_id, count in chosen.items():
            state = search.holding(state, host_id, asked, count)
        at_once = wanted.count if affinity else 1
        for _ in range(0, wanted.count - sum(chosen.values()), at_once):
            taken = frozenset(chosen) if affinity is False else frozenset()
            found = search.clear(state, dataclasses.replace(asked, avoided=taken), at_once)
            if found is None:
                return None
            state, host_id = found
            chosen[host_id] = chosen.get(host_id, 0) + at_once
    return Rearrangement(chosen, state.moved)


def keep(site: MovableHosts, wanted: Wanted, limits: MoveLimits) -> Rearrangement | None:
    """Find room for a reservation on the hosts where it is (``wanted.preferred``)."""
    held = wanted.preferred
    search, state = _ChainSearch(site, limits, closed=held), _ChainState({}, {})
    with provider_search.bounded():
        for host_id, count in held.items():
            found = search.clear(state, _Asked.by(wanted, [host_id], affinity=None), count)
            if found is None:
                return None
            state, _ = found
    return Rearrangement(dict(held), state.moved)


@dataclasses.dataclass(frozen=True)
class _Asked:
    """Instances that need hosts."""

    reservation_id: str
    request: PlacementRequest
    count: int
    spans: Sequence[Span]
    affinity: bool | None
    #: The ids of the hosts that may hold them, and of those hosts that must not.
    among: Collection[str]
    avoided: frozenset[str] = frozenset()

    @classmethod
    def by(cls, wanted: Wanted, among: Collection[str], affinity: bool | None) -> "_Asked":
        return cls("", wanted.request, wanted.count, wanted.spans, affinity, among)

    @classmethod
    def leaving(cls, movable: Movable, host_id: str) -> "_Asked":
        """The instances of a reservation that leave a host."""
        return cls(
            movable.reservation_id,
            movable.request,
            movable.hosts[host_id],
            [movable.span],
            movable.affinity,
            movable.among,
            movable.closed_when_leaving(host_id),
        )


@dataclasses.dataclass(frozen=True)
class _ChainState:
    """What differs from the hosts as they are, at some point of the search."""

    #: The hosts that something has left or got, by id.
    hosts: dict[str, BookableHost]
    #: The instances by host id of each reservation that has moved, by reservation id.
    moved: dict[str, dict[str, int]]


@dataclasses.dataclass(frozen=True)
class _Clearing:
    """A host, and the reservations that must leave it so that instances fit."""

    host_id: str
    leaving: list[Movable]
    #: What the reservations take, as a share of the host, times their hours.
    cost: float


@dataclasses.dataclass(frozen=True)
class _RoomOnHost:
    """How many instances of a reservation that moves fit on a host."""

    host: BookableHost
    most: int
    #: How full the host is about that time.
    fullness: float = 0.0

    @property
    def order(self) -> tuple[float, str, str]:
        """The fullest hosts come first."""
        return -self.fullness, self.host.name, self.host.id


class _ChainSearch:
    def __init__(self, site: MovableHosts, limits: MoveLimits, closed: Iterable[str] = ()) -> None:
        """
        :param closed: the ids of hosts that get no reservation that moves.
        """
        self._site, self._limits, self._closed = site, limits, frozenset(closed)
        self._steps = limits.steps
        # The results for hosts that the search hasn't changed. On each branch of the search, nearly
        # all hosts are unchanged, and most branches ask for the same reservations.
        self._known_rooms: dict[tuple[str, str, int], _RoomOnHost] = {}
        self._known_ways: dict[tuple[str, str, int], list[_Clearing]] = {}

    def clear(
        self, state: _ChainState, asked: _Asked, count: int
    ) -> tuple[_ChainState, str] | None:
        """Clear a host for some instances, by chains that are as short as possible.

        :returns: the state once the instances are on the host, and the host's id.
        """
        clearings = self._clearings(state, asked, count)
        for levels in range(1, _LEVELS + 1):
            found = self._cleared(state, asked, count, clearings, levels)
            if found is not None:
                return found
        return None

    def holding(self, state: _ChainState, host_id: str, asked: _Asked, count: int) -> _ChainState:
        """The state once a host has got instances."""
        host = self._host(state, host_id)
        new = [Holding(asked.reservation_id, span, asked.request) for span in asked.spans] * count
        changed = state.hosts | {host_id: host.holding([*host.holdings, *new])}
        return dataclasses.replace(state, hosts=changed)

    def _cleared(
        self,
        state: _ChainState,
        asked: _Asked,
        count: int,
        clearings: Sequence[_Clearing],
        levels: int,
    ) -> tuple[_ChainState, str] | None:
        """Clear one of some hosts.

        :param levels: on how many levels hosts may be cleared, with this one.
        """
        for clearing in clearings:
            if self._steps <= 0:
                return None
            host_id, needed = clearing.host_id, clearing.leaving
            rest = must_move.without(self._host(state, host_id), needed)
            after = _ChainState(
                state.hosts | {host_id: rest},
                state.moved | {movable.reservation_id: {} for movable in needed},
            )
            found = self._placed(self.holding(after, host_id, asked, count), clearing, levels - 1)
            if found is not None:
                return found, host_id
        return None

    def _placed(
        self, state: _ChainState | None, clearing: _Clearing, levels: int
    ) -> _ChainState | None:
        """Place the reservations that have left a host."""
        for movable in clearing.leaving:
            assert state is not None
            state = self._place(state, movable, clearing.host_id, levels)
            if state is None:
                return None
        return state

    def _place(
        self, state: _ChainState, movable: Movable, source: str, levels: int
    ) -> _ChainState | None:
        """Place the instances of a reservation that have left a host."""
        asked = _Asked.leaving(movable, source)
        chosen = self._direct(state, asked)
        for host_id, count in chosen.items():
            state = self.holding(state, host_id, asked, count)
        missing = asked.count - sum(chosen.values())
        at_once = missing if movable.affinity else 1
        while missing:
            if not levels:
                return None
            clearings = self._clearings(state, asked, at_once)
            found = self._cleared(state, asked, at_once, clearings, levels)
            if found is None:
                return None
            state, host_id = found
            chosen[host_id] = chosen.get(host_id, 0) + at_once
            missing -= at_once
        place = {host_id: n for host_id, n in movable.hosts.items() if host_id != source}
        for host_id, count in chosen.items():
            place[host_id] = place.get(host_id, 0) + count
        return dataclasses.replace(state, moved=state.moved | {movable.reservation_id: place})

    def _direct(self, state: _ChainState, asked: _Asked) -> dict[str, int]:
        """Hosts with room for instances, or for some of them, by id, the fullest first."""
        rooms = [self._room(state, host_id, asked) for host_id in self._allowed(asked)]
        fitting = (r for r in rooms if r.most and (r.most >= asked.count or not asked.affinity))
        chosen: dict[str, int] = {}
        missing = asked.count
        for room in sorted(fitting, key=operator.attrgetter("order")):
            if not missing:
                break
            count = 1 if asked.affinity is False else min(room.most, missing)
            chosen[room.host.id] = count
            missing -= count
        return chosen

    def _room(self, state: _ChainState, host_id: str, asked: _Asked) -> _RoomOnHost:
        """How many instances of a reservation that moves fit on a host."""
        host = state.hosts.get(host_id)
        if host is not None:
            self._swept(host)
            return self._compute_room(host, asked, host.room(asked.request, asked.spans[0]))
        key = asked.reservation_id, host_id, asked.count
        room = self._known_rooms.get(key)
        self._steps -= 1
        if room is None:
            most = self._site.lowest(asked.request).on(host_id, asked.spans[0])
            room = self._compute_room(self._site.hosts[host_id], asked, most)
            self._known_rooms[key] = room
        return room

    def _compute_room(self, host: BookableHost, asked: _Asked, most: int) -> _RoomOnHost:
        most = min(most, asked.count)
        if most and host.is_contested(asked.request):
            self._swept(host)
            most = host.lasting_room(asked.request, asked.spans, most)
        if not most:
            return _RoomOnHost(host, 0)
        self._steps -= _SWEEP
        fullness = host.swept(asked.request, placing.around(asked.spans[0])).fullness()
        return _RoomOnHost(host, most, fullness)

    def _clearings(self, state: _ChainState, asked: _Asked, count: int) -> list[_Clearing]:
        """The ways to clear hosts for instances, those that move least first."""
        ways: list[_Clearing] = []
        looked_at, most = 0, self._limits.moves - len(state.moved)
        for host_id in self._emptiest(asked):
            found = [
                way for way in self._ways(state, host_id, asked, count) if len(way.leaving) <= most
            ]
            ways += found
            looked_at += bool(found)
            if looked_at >= _HOSTS or self._steps <= 0:
                break
        return sorted(ways, key=lambda way: (way.cost, way.host_id))[:_BREADTH]

    def _ways(
        self, state: _ChainState, host_id: str, asked: _Asked, count: int
    ) -> Sequence[_Clearing]:
        """The ways to clear a host: of little, or of few."""
        host, on_host = self._host(state, host_id), self._site.on(host_id)
        there = [m for m in on_host if m.reservation_id not in state.moved]
        if host_id in state.hosts or len(there) < len(on_host):
            return self._compute_ways(host, there, asked, count)
        key = asked.reservation_id, host_id, count
        ways = self._known_ways.get(key)
        self._steps -= 1
        if ways is None:
            ways = self._known_ways[key] = self._compute_ways(host, there, asked, count)
        return ways

    def _compute_ways(
        self, host: BookableHost, there: Sequence[Movable], asked: _Asked, count: int
    ) -> list[_Clearing]:
        near = [m for m in there if any(m.span.overlaps(span) for span in asked.spans)]
        self._swept(host)
        crowd = MovablesOnHost(host, near, asked.request, asked.spans, count)
        ways: dict[frozenset[str], _Clearing] = {}
        # What stays is found first: the largest, so that little must move, or the smallest, so that
        # few must move.
        for order in (near, near[::-1]):
            self._steps -= len(near)
            needed = crowd.in_the_way(order)
            if needed is None:
                break
            of_each = {m.reservation_id: must_move.work(host, m) for m in needed}
            needed.sort(key=lambda m: -of_each[m.reservation_id])
            way = _Clearing(host.id, needed, sum(of_each.values()))
            ways.setdefault(frozenset(of_each), way)
        self._steps -= _CHECK * crowd.checks
        return list(ways.values())

    def _allowed(self, asked: _Asked) -> Iterator[str]:
        closed = self._closed if asked.reservation_id else frozenset()
        return (
            host_id
            for host_id in self._site.fullest(asked.request)
            if host_id in asked.among and host_id not in asked.avoided and host_id not in closed
        )

    def _emptiest(self, asked: _Asked) -> list[str]:
        return list(self._allowed(asked))[::-1]

    def _host(self, state: _ChainState, host_id: str) -> BookableHost:
        return state.hosts.get(host_id) or self._site.hosts[host_id]

    def _swept(self, host: BookableHost) -> None:
        self._steps -= _SWEEP + len(host.holdings)
