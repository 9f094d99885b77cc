"""Computes the room on hosts, and chooses the hosts of a booking.

All functions work on a snapshot of the hosts and of what is already booked on them.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from warre_blazar.domain import (
    backing_names,
    counting,
    demands,
    host_properties,
    provider_search,
    timeline,
)
from warre_blazar.domain.fixed_places import Places, Stay
from warre_blazar.domain.flavor import Shape
from warre_blazar.domain.holdings import Asked, Holding, Swept
from warre_blazar.domain.providers import Inventory, Provider, Tree
from warre_blazar.domain.request_groups import Request
from warre_blazar.domain.timeline import JointLevels, Levels


@dataclasses.dataclass(frozen=True)
class Host:
    """A reservable host.

    ``properties`` are Blazar's columns and extra capabilities of the host, by name.
    """

    id: str
    name: str
    availability_zone: str | None
    properties: Mapping[str, Any]
    inventories: Mapping[str, Inventory]
    traits: frozenset[str]
    holdings: Sequence[Holding]
    generation: int = 0
    #: The host's providers in Placement, the root first; empty as long as they haven't been read.
    providers: tuple[Provider, ...] = ()

    def matches(self, shape: Shape) -> bool:
        """Whether the host has the zone, traits and properties that the shape requires."""
        if shape.availability_zone and shape.availability_zone != self.availability_zone:
            return False
        return host_properties.satisfied(shape.comparisons, self.properties) and self.has_traits(
            shape.request
        )

    def has_traits(self, request: Request) -> bool:
        """Whether the host's providers have all required and no forbidden traits of a request.

        For each group of the request, this looks only at providers that have a resource class of
        the group.
        """
        return request.is_plain or demands.has_traits(self.tree, request)

    @functools.cached_property
    def providers_in_use(self) -> tuple[Provider, ...]:
        """The providers from which instances can take something, the root first.

        The provider that Blazar makes below the root is left out. As long as the providers haven't
        been read, the result is a single root with what Blazar has recorded about the host.
        """
        if not self.providers:
            return (Provider(self.id, self.name, None, self.inventories, self.traits),)
        own = backing_names.PROVIDER_PREFIX + self.providers[0].name
        return tuple(p for p in self.providers if p.name != own)

    @functools.cached_property
    def tree(self) -> Tree:
        """The providers in use, reduced to the facts that decide what fits on the host."""
        return Tree.of(self.providers_in_use)

    def when_empty(self, request: Request) -> int:
        """How many instances of a request fit on the host when it is empty."""
        return self._asked(request, ()).alone()

    def room(self, request: Request, window: timeline.Span) -> int:
        """How many more instances of a request fit throughout ``window``."""
        return self.swept(request, window).room()

    def levels(self, request: Request, window: timeline.Span) -> Levels | JointLevels:
        """How many more instances of a request fit throughout any part of ``window``.

        If the instances have to stay on their providers (``stays``), the host's holdings must be
        those of all times.
        """
        swept = self.swept(request, window)
        levels = timeline.Levels(list(zip(swept.moments, swept.fitting(), strict=True)))
        joint = [places.levels(self._stays(places), window) for places in self._places(request)]
        return functools.reduce(JointLevels.beside, joint, levels.joint()) if joint else levels

    def is_contested(self, request: Request) -> bool:
        """Whether a request asks for a resource class that several of the host's providers have."""
        return bool(self.providers) and counting.is_contested(self.tree, request)

    def must_stay(self, request: Request, others: Iterable[Request]) -> bool:
        """Whether it matters on which providers instances stay (``fixed_places``).

        :param others: requests of other instances that may be on the host, besides those that are.
        """
        together = [*others, *_distinct(self.holdings)]
        return self.is_contested(request) and bool(counting.places(self.tree, request, together))

    def lasting_room(self, request: Request, spans: Sequence[timeline.Span], most: int) -> int:
        """How many more instances of a request can stay on their providers throughout all spans.

        The host's holdings must be those of all times. What instances take besides the providers
        of which they have a choice isn't looked at.

        :param spans: spans that don't overlap.
        :param most: larger numbers don't matter.
        """
        for places in self._places(request):
            most = places.room(self._stays(places), spans, most)
        return most

    def _places(self, request: Request) -> Sequence[Places]:
        if not self.is_contested(request):
            return ()
        return counting.places(self.tree, request, _distinct(self.holdings))

    def _stays(self, places: Places) -> list[Stay]:
        return places.stays((span, request) for _, span, request in self.holdings)

    def fullness(self, request: Request, window: timeline.Span) -> float:
        """How full the host is at its fullest moment in ``window``, from 0.0 to 1.0.

        At each moment, the host is as full as the fullest of the request's resource classes.
        """
        return self.swept(request, window).fullness()

    def swept(self, request: Request, window: timeline.Span) -> Swept:
        """What is held during ``window``, and the room that is left for a request.

        Computing this is expensive. So callers keep the result if they need several answers from
        it.
        """
        asked = self._asked(request, _requests(self.holdings, window))
        return Swept(asked, self.holdings, window)

    def _asked(self, request: Request, held: Iterable[Request]) -> Asked:
        """How the room for a request is counted on this host.

        :param held: the requests whose instances are held on the host.
        """
        # The usual case comes first, for speed: the request is plain, and the root is the only
        # provider in use. So all instances on the host take all of their amounts from the root.
        if request.is_plain and not self.providers:
            return _of_root(request, self.inventories)
        if request.is_plain and len(self.providers_in_use) == 1:
            return _of_root(request, self.providers_in_use[0].inventories)
        tree = self.tree
        capacities = [tree.capacity(cls) for cls in request.amounts]
        return Asked(request, capacities, counting.plan(tree, request, held))

    def holding(self, holdings: Sequence[Holding]) -> "Host":
        """A copy of the host with other holdings."""
        copy = dataclasses.replace(self, holdings=holdings)
        # The copy has the same providers. So it keeps what was computed from them.
        for name in _COMPUTED & self.__dict__.keys():
            copy.__dict__[name] = self.__dict__[name]
        return copy

    def without(self, reservation_id: str) -> "Host":
        """A copy of the host without the holdings of one reservation."""
        return self.holding([h for h in self.holdings if h.reservation_id != reservation_id])


def _distinct(holdings: Iterable[Holding]) -> Collection[Request]:
    """The requests of all instances. Thousands of holdings share a few request objects."""
    return {id(h.request): h.request for h in holdings if h.request is not None}.values()


def _requests(holdings: Iterable[Holding], window: timeline.Span) -> Iterator[Request]:
    """Yield the requests of all instances that are held at some time in ``window``, each once."""
    seen = set()
    for _, span, request in holdings:
        if request is not None and id(request) not in seen and span.overlaps(window):
            seen.add(id(request))
            yield request


_COMPUTED = {"providers_in_use", "tree"}


def _of_root(request: Request, inventories: Mapping[str, Inventory]) -> Asked:
    """How the room for a plain request is counted on a host with a single provider."""
    capacities = []
    plan = counting.POSSIBLE if request.amounts else counting.IMPOSSIBLE
    for cls, amount in request.amounts.items():
        inventory = inventories.get(cls)
        capacities.append(inventory.capacity if inventory else 0)
        if inventory is None or not inventory.takes(amount):
            plan = counting.IMPOSSIBLE
    return Asked(request, capacities, plan)


@dataclasses.dataclass(frozen=True)
class Packing:
    """How a booking's instances are distributed over hosts."""

    #: True: each host in turn gets one instance, the emptiest host first. False: the hosts are
    #: filled one after the other, the fullest host first.
    spread: bool = False
    #: True: all instances are on one host. False: each instance is on a host of its own. None: the
    #: instances may be on any hosts.
    affinity: bool | None = None


@dataclasses.dataclass(frozen=True)
class Wanted:
    """The instances of a booking that need hosts."""

    #: What one instance asks for.
    request: Request
    count: int
    window: timeline.Span
    #: Another span throughout which the instances must fit.
    also: timeline.Span | None = None
    #: For a booking that already has hosts: its instances by host id.
    preferred: Mapping[str, int] = dataclasses.field(default_factory=dict)
    packing: Packing = Packing()

    @property
    def spans(self) -> list[timeline.Span]:
        """The times of the instances, as spans that don't overlap."""
        return [self.window] if self.also is None else timeline.union(self.window, self.also)


def choose(
    hosts: Sequence[Host],
    wanted: Wanted,
    complete: Callable[[Sequence[Host]], Iterable[Host]] = lambda hosts: hosts,
) -> tuple[dict[str, int], int]:
    """Choose hosts for instances, or for fewer of them if there isn't room for all of them.

    If the booking already has instances on a host, they stay there as far as the host has room.
    The other instances go where ``wanted.packing`` says: by default to the fullest hosts first, so
    that whole hosts stay free for other bookings. Hosts that are equally full are sorted by name,
    so that the choice is repeatable.

    :param hosts: the hosts, with all holdings during the times of the instances.
    :param complete: returns hosts with their holdings of all times.
    :returns: instances by host id, and their sum, which is at most ``wanted.count``.
    """
    choice = _Choice(hosts, wanted)
    with provider_search.bounded():
        while True:
            chosen = choice.make()
            unsure = choice.unsure(chosen)
            if not unsure:
                return chosen, sum(chosen.values())
            for host in complete(unsure):
                choice.limit(host)


class _Choice:
    """Chooses hosts. What is found out about hosts after a choice limits the next one."""

    def __init__(self, hosts: Sequence[Host], wanted: Wanted) -> None:
        self._wanted = wanted
        # The room and the fullness of a host both come from one sweep over its holdings.
        self._swept = {host.id: host.swept(wanted.request, wanted.window) for host in hosts}
        swept, first = self._swept, 1 if wanted.packing.spread else -1
        self._order = sorted(hosts, key=lambda h: (first * swept[h.id].fullness(), h.name, h.id))
        #: By host id, how many instances fit at each moment.
        self._rooms: dict[str, int] = {}
        #: By host id, how many instances can stay on the host's providers.
        self._limits: dict[str, int] = {}

    def _room(self, host: Host) -> int:
        wanted = self._wanted
        room = self._rooms.get(host.id)
        if room is None:
            room = self._swept[host.id].room()
            if wanted.also and wanted.also != wanted.window:
                room = min(room, host.room(wanted.request, wanted.also))
            self._rooms[host.id] = room
        return min(room, self._limits.get(host.id, room))

    def make(self) -> dict[str, int]:
        """Choose hosts, and return the instances by host id."""
        count, preferred, packing = (
            self._wanted.count,
            self._wanted.preferred,
            self._wanted.packing,
        )
        order = self._order
        if packing == Packing():
            rooms = _rooms_for(order, self._room, count, preferred)
        else:
            rooms = {host.id: self._room(host) for host in order}
        if packing.affinity is False:
            rooms = {host_id: min(room, 1) for host_id, room in rooms.items()}
        elif packing.affinity and order:
            # All instances go to the host with the most room. Room for more than ``count`` doesn't
            # matter. Among equal hosts, a host that the booking already has is preferred, and after
            # that the first host in order.
            sole = max(order, key=lambda h: (min(rooms[h.id], count), h.id in preferred))
            order = [sole]
        ids = [host.id for host in order if host.id in rooms]
        kept = {i: min(preferred[i], rooms[i]) for i in ids if i in preferred}
        chosen: dict[str, int] = {}
        _fill(chosen, kept, count, at_once=count)
        # Packing fills each host before it goes on to the next. Spreading puts one instance on each
        # host, round after round.
        at_once = 1 if packing.spread else count
        _fill(chosen, {i: rooms[i] for i in ids}, count, at_once=at_once)
        return chosen

    def unsure(self, chosen: Mapping[str, int]) -> list[Host]:
        """Hosts of which it isn't known yet how many instances can stay on their providers.

        The result is empty if this is known of all chosen hosts. If not, it also has as many other
        hosts as were limited before. So a choice takes few rounds even if nothing can stay on most
        hosts.
        """
        unknown = [
            host
            for host in self._order
            if host.id not in self._limits and host.is_contested(self._wanted.request)
        ]
        unsure = [host for host in unknown if host.id in chosen]
        if unsure:
            others = (host for host in unknown if host.id not in chosen and self._room(host) > 0)
            unsure += itertools.islice(others, len(self._limits))
        return unsure

    def limit(self, host: Host) -> None:
        """Find out how many instances can stay on a host's providers.

        :param host: a host of ``unsure``, with its holdings of all times.
        """
        wanted = self._wanted
        most = min(wanted.count, self._rooms[host.id])
        self._limits[host.id] = host.lasting_room(wanted.request, wanted.spans, most)


def _rooms_for(
    order: Sequence[Host], room: Callable[[Host], int], count: int, preferred: Mapping[str, int]
) -> dict[str, int]:
    """The rooms of those hosts that a booking may get if hosts are filled one after the other.

    The room on other hosts doesn't matter, and may take a long search.

    :param order: the hosts in the order in which they are filled.
    :param room: tells how many instances fit on a host.
    """
    rooms = {host.id: room(host) for host in order if host.id in preferred}
    found = sum(min(preferred[host_id], n) for host_id, n in rooms.items())
    for host in order:
        if found >= count:
            break
        if host.id not in rooms:
            rooms[host.id] = room(host)
        found += rooms[host.id] - min(preferred.get(host.id, 0), rooms[host.id])
    return rooms


def kept(held: Mapping[str, int], used: Mapping[str, int], count: int) -> dict[str, int]:
    """Choose the instances that a booking keeps when it gives up some of them.

    The hosts with the most servers keep their instances first, and after them the hosts with the
    most instances. In this way whole hosts become free. Each mapping has numbers of instances, by
    host id.

    :param held: the instances that the booking has.
    :param used: how many of these instances have servers. Instances with servers stay.
    :param count: how many instances the booking is to keep.
    :returns: the instances to keep. Their number is ``count``, or more if more instances have
        servers.
    """
    chosen = {i: min(used[i], n) for i, n in held.items() if used.get(i)}
    order = sorted(held, key=lambda i: (-chosen.get(i, 0), -held[i], i))
    _fill(chosen, {i: held[i] for i in order}, max(count, sum(chosen.values())), at_once=count)
    return chosen


def _fill(chosen: dict[str, int], rooms: Mapping[str, int], count: int, at_once: int) -> None:
    """Add instances to ``chosen``, until it has ``count`` instances or the hosts have no room left.

    :param rooms: by host id, how many instances the host may have in all. The order of the hosts is
        the order of preference.
    :param at_once: how many instances a host gets before it is the next host's turn.
    """
    left = count - sum(chosen.values())
    before = None
    while left and left != before:
        before = left
        for host_id, room in rooms.items():
            held = chosen.get(host_id, 0)
            more = min(room - held, left, at_once)
            if more > 0:
                chosen[host_id] = held + more
                left -= more


def free_spans(
    hosts: Sequence[Host],
    request: Request,
    count: int,
    window: timeline.Span,
    affinity: bool | None = None,
) -> list[timeline.Span]:
    """The spans within ``window`` throughout which ``count`` more instances fit on the hosts.

    Each span is as long as possible. The spans may overlap.

    :param request: what one instance asks for.
    :param affinity: as in ``Packing``.
    """
    with provider_search.bounded():
        levels = [host.levels(request, window) for host in hosts]
        if affinity:
            alone = [timeline.maximal_spans([level], count, window) for level in levels]
            return timeline.widest(span for spans in alone for span in spans)
        if affinity is False:
            levels = [level.at_most(1) for level in levels]
        return timeline.maximal_spans(levels, count, window)
