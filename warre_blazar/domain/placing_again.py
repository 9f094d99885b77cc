"""Makes room for a booking by placing again reservations that haven't begun.

Nothing of a reservation is on its hosts before it begins, so it can have other hosts without that
anybody notices. The search takes one host after the other, and clears it of as little as is needed
for the booking. What it has taken away is placed on other hosts: where there is room, or, some
levels deep, by clearing another host in the same way. These are ejection chains (Glover, "Ejection
chains, reference structures and alternating path methods for traveling salesman problems", 1996).
"""

import dataclasses
import datetime
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from warre_blazar.domain import placing, provider_search, timeline
from warre_blazar.domain.holdings import Holding
from warre_blazar.domain.hosts import Host
from warre_blazar.domain.placing import Packing, Wanted
from warre_blazar.domain.request_groups import PlacementRequest


@dataclasses.dataclass(frozen=True)
class Movable:
    """A reservation that hasn't begun, so that it can be placed again."""

    reservation_id: str
    request: PlacementRequest
    #: Its time, with the cleaning time.
    span: timeline.Span
    #: Instances by host id.
    hosts: Mapping[str, int]
    #: The ids of the hosts that match the shape with which it was booked.
    among: Collection[str]
    affinity: bool | None = None


@dataclasses.dataclass(frozen=True)
class Limits:
    """How long a search may be, and what it may do."""

    #: How many reservations may be placed again for a booking.
    moves: int
    #: Whether the time is over.
    is_over: Callable[[], bool] = lambda: False
    #: On how many levels hosts are cleared for what was taken away from other hosts.
    levels: int = 3
    #: How many hosts are tried on each level.
    breadth: int = 12


@dataclasses.dataclass(frozen=True)
class Rearrangement:
    """A placing with room for a booking."""

    #: The instances of the booking by host id.
    chosen: dict[str, int]
    #: By reservation id, the instances by host id of each reservation that is placed again.
    moved: dict[str, dict[str, int]]


def rearranged(
    hosts: Sequence[Host],
    wanted: Wanted,
    among: Collection[str],
    movables: Sequence[Movable],
    limits: Limits,
) -> Rearrangement | None:
    """Find room for all instances of a booking by placing other reservations again.

    :param hosts: all hosts, with everything that is booked on them from now on.
    :param among: the ids of the hosts that may hold the booking.
    :returns: None if nothing was found within the limits.
    """
    if limits.moves < 1 or not movables:
        return None
    asked = _Asked(wanted, among)
    with provider_search.bounded():
        found = _Search(movables, limits).place(_State({h.id: h for h in hosts}), asked, 0)
    return None if found is None else Rearrangement(found[1], found[0].moved)


@dataclasses.dataclass(frozen=True)
class _Asked:
    """Instances to place, and the hosts that may hold them."""

    wanted: Wanted
    among: Collection[str]
    #: The hosts that must not hold them.
    avoided: frozenset[str] = frozenset()

    def hosts(self, state: "_State") -> list[Host]:
        return [
            host
            for host_id, host in state.hosts.items()
            if host_id in self.among and host_id not in self.avoided
        ]


@dataclasses.dataclass
class _State:
    """The hosts and the reservations that were placed again, at some point of the search."""

    hosts: dict[str, Host]
    moved: dict[str, dict[str, int]] = dataclasses.field(default_factory=dict)

    def copy(self) -> "_State":
        return _State(dict(self.hosts), dict(self.moved))

    def hold(self, host_id: str, reservation_id: str, asked: Wanted, count: int) -> None:
        """Put instances of a reservation on a host."""
        host = self.hosts[host_id]
        new = [Holding(reservation_id, span, asked.request) for span in asked.spans] * count
        self.hosts[host_id] = host.holding([*host.holdings, *new])


@dataclasses.dataclass(frozen=True)
class _Clearing:
    """A host, and the reservations that must leave it so that instances fit."""

    host: Host
    leaving: list[Movable]
    #: Instance-hours that must find other hosts, by the largest share of a host.
    cost: float


_BOOKING = ""


class _Search:
    def __init__(self, movables: Sequence[Movable], limits: Limits) -> None:
        self._limits = limits
        self._on_host: dict[str, list[Movable]] = {}
        for movable in movables:
            for host_id in movable.hosts:
                self._on_host.setdefault(host_id, []).append(movable)

    def place(
        self, state: _State, asked: _Asked, level: int, name: str = _BOOKING
    ) -> tuple[_State, dict[str, int]] | None:
        """Place instances, and whatever must make room for them.

        :param name: the id of the instances' reservation.
        :returns: the state after it, and the instances by host id.
        """
        wanted = asked.wanted
        chosen, room = placing.choose(asked.hosts(state), wanted)
        if wanted.packing.affinity and room < wanted.count:
            chosen, room = {}, 0
        state = state.copy()
        for host_id, count in chosen.items():
            state.hold(host_id, name, wanted, count)
        while room < wanted.count:
            at_once = wanted.count if wanted.packing.affinity else 1
            avoided = asked.avoided | (
                chosen.keys() if wanted.packing.affinity is False else frozenset()
            )
            found = self._by_clearing(
                state, dataclasses.replace(asked, avoided=avoided), at_once, level, name
            )
            if found is None:
                return None
            state, host_id = found
            chosen[host_id] = chosen.get(host_id, 0) + at_once
            room += at_once
        return state, chosen

    def _by_clearing(
        self, state: _State, asked: _Asked, count: int, level: int, name: str
    ) -> tuple[_State, str] | None:
        """Clear a host for some instances, and put them there."""
        if level >= self._limits.levels:
            return None
        clearings = sorted(self._clearings(state, asked, count), key=lambda c: c.cost)
        for clearing in clearings[: self._limits.breadth]:
            if self._limits.is_over():
                return None
            after = state.copy()
            leaving = {movable.reservation_id for movable in clearing.leaving}
            host = clearing.host
            after.hosts[host.id] = host.holding(
                [held for held in host.holdings if held.reservation_id not in leaving]
            )
            after.hold(host.id, name, asked.wanted, count)
            after.moved |= {movable.reservation_id: {} for movable in clearing.leaving}
            found = self._placed_again(after, clearing, level)
            if found is not None:
                return found, host.id
        return None

    def _placed_again(self, state: _State, clearing: _Clearing, level: int) -> _State | None:
        """Place the reservations that have left a host on other hosts."""
        left = clearing.host.id
        for movable in clearing.leaving:
            present = movable.hosts
            avoided = frozenset(present) if movable.affinity is False else frozenset({left})
            packing = Packing(affinity=movable.affinity)
            wanted = Wanted(movable.request, present[left], movable.span, packing=packing)
            asked = _Asked(wanted, movable.among, avoided)
            found = self.place(state, asked, level + 1, movable.reservation_id)
            if found is None:
                return None
            state, chosen = found
            merged = {host_id: n for host_id, n in present.items() if host_id != left}
            for host_id, count in chosen.items():
                merged[host_id] = merged.get(host_id, 0) + count
            state.moved[movable.reservation_id] = merged
        return state

    def _clearings(self, state: _State, asked: _Asked, count: int) -> Iterator[_Clearing]:
        """Yield the ways to clear hosts.

        The emptiest hosts come first, and only so many hosts are looked at. To find the ways for
        hundreds of hosts would take all the time.
        """
        budget = self._limits.moves - len(state.moved)
        wanted, looked_at = asked.wanted, 0

        def fullness(host: Host) -> float:
            return host.swept(wanted.request, wanted.window).fullness()

        for host in sorted(asked.hosts(state), key=fullness):
            known: set[frozenset[str]] = set()
            for leaving in self._leaving(state, host, asked.wanted, count):
                ids = frozenset(movable.reservation_id for movable in leaving)
                if 0 < len(leaving) <= budget and ids not in known:
                    known.add(ids)
                    yield _Clearing(host, leaving, sum(_work(host, m) for m in leaving))
            looked_at += bool(known)
            if looked_at >= 3 * self._limits.breadth or self._limits.is_over():
                return

    def _leaving(
        self, state: _State, host: Host, wanted: Wanted, count: int
    ) -> Iterator[list[Movable]]:
        """Yield sets of reservations, each as small as possible, without which instances fit."""
        near = [
            movable
            for movable in self._on_host.get(host.id, ())
            if movable.reservation_id not in state.moved
            and any(movable.span.overlaps(span) for span in wanted.spans)
        ]
        if not near or not _fits(host, near, wanted, count):
            return
        by_work = sorted(near, key=lambda m: _work(host, m))
        # What stays is found first: the largest, so that little must move, or the smallest, so that
        # few must move.
        for order in (by_work[::-1], by_work):
            leaving = list(order)
            for movable in order:
                rest = [other for other in leaving if other is not movable]
                if _fits(host, rest, wanted, count):
                    leaving = rest
            yield sorted(leaving, key=lambda m: -_work(host, m))


def _fits(host: Host, leaving: Collection[Movable], wanted: Wanted, count: int) -> bool:
    """Whether instances fit on a host once some reservations have left it."""
    ids = {movable.reservation_id for movable in leaving}
    rest = host.holding([held for held in host.holdings if held.reservation_id not in ids])
    if any(rest.room(wanted.request, span) < count for span in wanted.spans):
        return False
    return rest.lasting_room(wanted.request, wanted.spans, count) >= count


_HOUR = datetime.timedelta(hours=1)


def _work(host: Host, movable: Movable) -> float:
    """What a reservation takes of a host, as a share of the host, times its hours."""
    tree = host.tree
    share = max(
        (
            amount / capacity
            for cls, amount in movable.request.amounts.items()
            if (capacity := tree.capacity(cls))
        ),
        default=0.0,
    )
    hours = (movable.span.end - movable.span.start) / _HOUR
    return share * movable.hosts[host.id] * hours
