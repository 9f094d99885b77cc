"""Computes the room on a host from the host's data and from what is booked on it."""

import dataclasses
import datetime
import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from warre_blazar import times
from warre_blazar.domain import timeline
from warre_blazar.domain.flavors.flavor import Shape
from warre_blazar.domain.flavors.request_groups import PlacementRequest
from warre_blazar.domain.hosts import counting, demands, host_properties
from warre_blazar.domain.hosts.aggregates import NO_AGGREGATES, HostAggregates
from warre_blazar.domain.hosts.fixed_places import Places, Stay
from warre_blazar.domain.hosts.holdings import Holding, Occupancy, RoomQuestion, Swept
from warre_blazar.domain.hosts.providers import Inventory, Provider, Tree
from warre_blazar.domain.running import backing_names
from warre_blazar.domain.timeline import Claim, JointLevels, Levels, Span


@dataclasses.dataclass(frozen=True)
class BookableHost:
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
    #: The times at which maintenance windows close the host, as holdings of the whole host.
    closed: Sequence[Holding] = ()
    generation: int = 0
    #: The host's providers in Placement, the root first; empty as long as they haven't been read.
    providers: tuple[Provider, ...] = ()
    #: Whether anything is stored about the host's providers.
    is_read: bool = True
    aggregates: HostAggregates = NO_AGGREGATES

    def is_closed(self, span: timeline.Span) -> bool:
        """Whether a maintenance window closes the host for all of a span."""
        return any(holding.span.contains(span) for holding in self.closed)

    def matches(self, shape: Shape, project_id: str | None) -> bool:
        """Whether a project's instances of a shape may be on the host, if there is room.

        The zone, the aggregates, the traits and the properties of the host decide.

        :param project_id: None: whether those of any project may be there.
        """
        if not self.aggregates.admit_project(project_id):
            return False
        if shape.availability_zone and shape.availability_zone != self.availability_zone:
            return False
        return host_properties.satisfied(shape.comparisons, self.properties) and self.admits(shape)

    def admits(self, shape: Shape) -> bool:
        """Whether Nova may boot servers of a shape on the host, by its aggregates and traits."""
        return self.aggregates.admit(
            shape.aggregate_specs, shape.request.required_traits
        ) and self.has_traits(shape.request)

    def has_traits(self, request: PlacementRequest) -> bool:
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

    def when_empty(self, request: PlacementRequest) -> int:
        """How many instances of a request fit on the host when it is empty."""
        return self.asked(request).alone()

    def room(self, request: PlacementRequest, window: timeline.Span) -> int:
        """How many more instances of a request fit throughout ``window``."""
        return self.swept(request, window).room()

    def levels(self, request: PlacementRequest, window: timeline.Span) -> Levels | JointLevels:
        """For each part of ``window``, how many more instances of a request fit throughout it.

        If the instances must stay on their providers (``must_stay``), the host needs its
        holdings at any time, not only during the window.
        """
        levels = self.momentary(request, window)
        joint = [places.levels(self._stays(places), window) for places in self._places(request)]
        return functools.reduce(JointLevels.beside, joint, levels.joint()) if joint else levels

    def momentary(self, request: PlacementRequest, window: timeline.Span) -> Levels:
        """How many more instances of a request fit at each moment of ``window``."""
        swept = self.swept(request, window)
        return Levels(list(zip(swept.moments, swept.fitting(), strict=True)))

    def has_places(self, request: PlacementRequest) -> bool:
        """Whether it matters for instances beside those on the host on which providers they stay.

        If not, what fits at each moment of a time also fits throughout the time.
        """
        return bool(self._places(request))

    def is_contested(self, request: PlacementRequest) -> bool:
        """Whether a request asks for a resource class that several of the host's providers have."""
        return bool(self.providers) and counting.is_contested(self.tree, request)

    def must_stay(self, request: PlacementRequest, others: Iterable[PlacementRequest]) -> bool:
        """Whether it matters on which providers instances stay (``fixed_places``).

        :param others: requests of other instances that may be on the host, besides those that are.
        """
        together = [*others, *_distinct(self.holdings)]
        return self.is_contested(request) and bool(counting.places(self.tree, request, together))

    def lasting_room(
        self, request: PlacementRequest, spans: Sequence[timeline.Span], most: int
    ) -> int:
        """How many more instances of a request can stay on their providers throughout all spans.

        The host's holdings must be those of all times. What instances take besides the providers
        of which they have a choice isn't looked at.

        :param spans: spans that don't overlap.
        :param most: larger numbers don't matter.
        """
        for places in self._places(request):
            most = places.room(self._stays(places), spans, most)
        return most

    def _places(self, request: PlacementRequest) -> Sequence[Places]:
        if not self.is_contested(request):
            return ()
        return counting.places(self.tree, request, _distinct(self.holdings))

    def _stays(self, places: Places) -> list[Stay]:
        return places.stays((span, request) for _, span, request in self.holdings)

    def swept(self, request: PlacementRequest, window: timeline.Span) -> Swept:
        """What is held during ``window``, and the room that is left for a request.

        A maintenance window of the host holds all of it.

        Computing this is expensive. So callers keep the result if they need several answers from
        it.
        """
        held = self.held(window)
        return Swept(self.asked(request, [r for r in held.requests if r is not None]), held)

    def held(self, window: timeline.Span) -> Occupancy:
        """What is held during ``window``. It is kept for later questions."""
        held = self._held.get(window)
        if held is None:
            held = self._held[window] = Occupancy([*self.holdings, *self.closed], window)
        return held

    @functools.cached_property
    def _held(self) -> dict[timeline.Span, Occupancy]:
        """What is held during the spans that somebody has asked about."""
        return {}

    def asked(
        self, request: PlacementRequest, held: Iterable[PlacementRequest] = ()
    ) -> RoomQuestion:
        """How the room for a request is counted on this host.

        :param held: the requests whose instances are held on the host. They matter if the request
            is contested.
        """
        # The usual case comes first, for speed: the request is plain, and the root is the only
        # provider in use. So all instances on the host take all of their amounts from the root.
        if request.is_plain and not self.providers:
            return _of_root(request, self.inventories)
        if request.is_plain and len(self.providers_in_use) == 1:
            return _of_root(request, self.providers_in_use[0].inventories)
        tree = self.tree
        capacities = [tree.capacity(cls) for cls in request.amounts]
        return RoomQuestion(request, capacities, counting.plan(tree, request, held))

    def holding(self, holdings: Sequence[Holding]) -> "BookableHost":
        """A copy of the host with other holdings."""
        copy = dataclasses.replace(self, holdings=holdings)
        # The copy has the same providers. So it keeps what was computed from them.
        for name in _COMPUTED & self.__dict__.keys():
            copy.__dict__[name] = self.__dict__[name]
        return copy

    def without(self, reservation_id: str) -> "BookableHost":
        """A copy of the host without the holdings of one reservation."""
        return self.holding([h for h in self.holdings if h.reservation_id != reservation_id])


def _distinct(holdings: Iterable[Holding]) -> Collection[PlacementRequest]:
    """The requests of all instances. Thousands of holdings share a few request objects."""
    return {id(h.request): h.request for h in holdings if h.request is not None}.values()


_COMPUTED = {"providers_in_use", "tree"}


def _of_root(request: PlacementRequest, inventories: Mapping[str, Inventory]) -> RoomQuestion:
    """How the room for a plain request is counted on a host with a single provider."""
    capacities = []
    plan = counting.POSSIBLE if request.amounts else counting.IMPOSSIBLE
    for cls, amount in request.amounts.items():
        inventory = inventories.get(cls)
        capacities.append(inventory.capacity if inventory else 0)
        if inventory is None or not inventory.takes(amount):
            plan = counting.IMPOSSIBLE
    return RoomQuestion(request, capacities, plan)


@dataclasses.dataclass(frozen=True)
class ClassUse:
    """How much of a resource class a host has, and how much of it is booked."""

    resource_class: str
    capacity: int
    #: The amount that is booked at the present minute.
    now: int
    #: The largest amount that is booked at any moment of a span.
    peak: int


def use(host: BookableHost, window: Span, now: datetime.datetime) -> Iterator[ClassUse]:
    """How much of each resource class of a host is booked, sorted by class.

    A reservation that takes the whole host takes all of each class. What is booked isn't asked of
    Placement, so servers without a reservation don't count.

    :param host: the host with everything that is booked on it now and during the window.
    """
    for cls in sorted(host.tree.carriers):
        capacity = host.tree.capacity(cls)
        claims = [
            Claim(span, capacity if request is None else request.amounts.get(cls, 0))
            for _, span, request in host.holdings
        ]
        present = timeline.peak(claims, Span(now, now + times.MINUTE))
        yield ClassUse(cls, capacity, present, timeline.peak(claims, window))
