"""Computes the room on a host from the host's data and from what is booked on it."""

import dataclasses
import datetime
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from warre_blazar import times
from warre_blazar.domain import timeline
from warre_blazar.domain.flavors.flavor import Shape
from warre_blazar.domain.flavors.request_groups import PlacementRequest
from warre_blazar.domain.hosts import assigning, demands, host_devices, host_properties
from warre_blazar.domain.hosts.aggregates import NO_AGGREGATES, HostAggregates
from warre_blazar.domain.hosts.holdings import Holding, Occupancy, RoomQuestion, Swept
from warre_blazar.domain.hosts.host_devices import (
    NOTHING_KEPT,
    HeldCells,
    HostDevices,
    Kept,
    is_unsettled,
)
from warre_blazar.domain.hosts.pools import Places, Taken
from warre_blazar.domain.hosts.providers import Inventory, Provider, Tree, as_nodes
from warre_blazar.domain.running import backing_names
from warre_blazar.domain.timeline import Claim, JointLevels, Levels, Span

#: What an instance takes of a host's providers: for each, its id, a resource class, and an amount.
StoredPlaces = Sequence[tuple[str, str, int]]


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

    @functools.cached_property
    def provider_ids(self) -> tuple[str, ...]:
        """The id of each node's provider, in the order of the nodes of the tree."""
        return tuple(provider.id for provider in as_nodes(self.providers_in_use))

    def stored_places(
        self, request: PlacementRequest | None, stored: StoredPlaces
    ) -> Places | None:
        """The places of an instance, from the providers that are stored for it.

        :returns: None if the instance has no places: none are stored, its request has changed, or
            the host has changed.
        """
        if request is None or not self.is_contested(request):
            return None
        places, sums = [], dict.fromkeys(self.tree.contested & request.amounts.keys(), 0)
        for provider_id, cls, amount in stored:
            if cls in self.tree.contested:
                n = self._numbers.get(provider_id)
                if n is None or cls not in self.tree.nodes[n].stocks or cls not in sums:
                    return None
                places.append(Taken(n, cls, amount))
                sums[cls] += amount
        is_whole = all(request.amounts[cls] == amount for cls, amount in sums.items())
        return tuple(sorted(places)) if is_whole else None

    def to_store(self, places: Places) -> StoredPlaces:
        """What an instance takes of which of the host's providers."""
        return tuple((self.provider_ids[n], cls, amount) for n, cls, amount in places)

    @functools.cached_property
    def _numbers(self) -> dict[str, int]:
        return {provider_id: n for n, provider_id in enumerate(self.provider_ids)}

    # These two aren't kept: a host that refers to itself is only freed by the garbage collector.

    @property
    def devices(self) -> HostDevices:
        """The room on single providers of the host."""
        return HostDevices(self.tree, self._cells)

    @property
    def ever_devices(self) -> HostDevices:
        """As ``devices``, but what is held at any time that was read is added up once.

        It knows no ``levels`` and no ``times``, which are those of a span.
        """
        return HostDevices(self.tree, self._ever_cells)

    def _cells(self, span: timeline.Span, for_told: bool) -> HeldCells:
        """What is held of single providers during a span, or during a longer one.

        :param for_told: as in ``HeldCells``.

        If what is held during the very span is known already (``held``), it is of this span.
        """
        longer = (each for each in self._held if each.contains(span))
        window = span if span in self._held else next(longer, span)
        cells = self._known_cells.get((window, for_told))
        if cells is None:
            cells = self._cells_of(self.held(window), window, for_told)
            self._known_cells[window, for_told] = cells
        return cells

    @functools.cached_property
    def _known_cells(self) -> dict[tuple[timeline.Span, bool], HeldCells]:
        return {}

    def _ever_cells(self, _: timeline.Span, for_told: bool) -> HeldCells:
        """What is held of single providers at any time that was read."""
        cells = self._known_ever_cells.get(for_told)
        if cells is None:
            cells = self._cells_of(self.ever, _EVER, for_told)
            self._known_ever_cells[for_told] = cells
        return cells

    @functools.cached_property
    def _known_ever_cells(self) -> dict[bool, HeldCells]:
        return {}

    def _cells_of(self, held: Occupancy, window: timeline.Span, for_told: bool) -> HeldCells:
        """
        :param held: what is held during the window.
        """
        if host_devices.is_any_told(self.tree, held.requests):
            rests = host_devices.rests(self.tree, self.holdings)
            if rests:
                held = Occupancy([*self.holdings, *self.closed, *rests], window)
        return HeldCells(self.tree, held, for_told=for_told)

    @property
    def is_unsettled(self) -> bool:
        """Whether any instance needs places on the host's providers, and has none."""
        return self.has_choices and any(is_unsettled(self.tree, held) for held in self.holdings)

    def settled(self) -> "BookableHost":
        """A copy of the host on which instances have places, as far as there are some.

        All holdings must be known, however late they begin.
        """
        if not self.is_unsettled:
            return self
        return self.holding(host_devices.settled(self.tree, self.holdings))

    def when_empty(self, request: PlacementRequest) -> int:
        """How many instances of a request fit on the host when it is empty."""
        room = self.asked(request).alone()
        if not self.is_contested(request):
            return room
        return assigning.assigner(self.tree, request).when_empty(room)

    def room(self, request: PlacementRequest, *spans: timeline.Span) -> int:
        """How many more instances of a request fit, and can stay, throughout all of the spans."""
        room = min(self.swept(request, span).room() for span in spans)
        return self.lasting_room(request, spans, room)

    def lasting_room(
        self, request: PlacementRequest, spans: Sequence[timeline.Span], most: int
    ) -> int:
        """How many more instances of a request can stay on their providers throughout all spans.

        Only classes that several providers have are looked at.

        :param most: larger numbers don't matter.
        """
        if most <= 0 or not self.is_contested(request):
            return max(most, 0)
        return self.devices.room(request, spans, most)

    def levels(
        self,
        request: PlacementRequest,
        window: timeline.Span,
        most: int,
        kept: Kept = NOTHING_KEPT,
        also: Sequence[timeline.Span] = (),
    ) -> Levels | JointLevels:
        """For each part of ``window``, how many more instances of a request fit throughout it.

        :param most: larger numbers don't matter.
        :param kept: as in ``HostDevices.levels``.
        :param also: other times throughout which the instances must have the same providers.
        """
        swept = self.swept(request, window)
        levels = Levels(list(zip(swept.moments, swept.fitting(), strict=True)))
        if not self.is_contested(request):
            return levels
        return levels.joint().beside(self.devices.levels(request, window, most, kept, also))

    def is_summed(self, request: PlacementRequest, most: int) -> bool:
        """Whether the times with room for instances are found by sums (``GroupRoom``).

        :param most: how many instances there are at most on each host.
        """
        if not self.is_contested(request):
            return True
        asked = assigning.assigner(self.tree, request)
        if asked.pools is None or any(len(pool.amounts) > 1 for pool in asked.pools):
            return False
        # A single instance has the same places wherever others may be.
        return not asked.told or (most == 1 and all(pool.is_simple for pool in asked.pools))

    def is_contested(self, request: PlacementRequest) -> bool:
        """Whether a request asks for a resource class that several of the host's providers have."""
        return self.has_choices and not self.tree.contested.isdisjoint(request.amounts)

    @property
    def has_choices(self) -> bool:
        """Whether several of the host's providers have the same resource class."""
        # Usually the root is the only provider in use, and no tree needs to be made.
        return len(self.providers_in_use) > 1 and bool(self.tree.contested)

    def swept(self, request: PlacementRequest, window: timeline.Span) -> Swept:
        """What is held during ``window``, and the room that is left for a request.

        A maintenance window of the host holds all of it.

        Computing this is expensive. So callers keep the result if they need several answers from
        it.
        """
        return Swept(self.asked(request), self.held(window))

    def ever_swept(self, request: PlacementRequest) -> Swept:
        """What is held at any time that was read, and the room that is left for a request."""
        swept = self._ever_swept.get(request)
        if swept is None:
            if len(self._ever_swept) >= _MOST_SWEPT:
                self._ever_swept.clear()
            swept = self._ever_swept[request] = Swept(self.asked(request), self.ever)
        return swept

    @functools.cached_property
    def _ever_swept(self) -> dict[PlacementRequest, Swept]:
        return {}

    @functools.cached_property
    def ever(self) -> Occupancy:
        """What is held at any time that was read."""
        return Occupancy([*self.holdings, *self.closed], _EVER)

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

    def asked(self, request: PlacementRequest) -> RoomQuestion:
        """How the room for a request is counted on this host."""
        # The usual case comes first, for speed: the request is plain, and the root is the only
        # provider in use. So all instances on the host take all of their amounts from the root.
        if request.is_plain and not self.providers:
            return _of_root(request, self.inventories)
        if request.is_plain and len(self.providers_in_use) == 1:
            return _of_root(request, self.providers_in_use[0].inventories)
        return self.tree.kept(("asked", request), lambda: _of_tree(self.tree, request))

    def holding(self, holdings: Sequence[Holding], generation: int | None = None) -> "BookableHost":
        """A copy of the host with other holdings.

        :param generation: that of the copy. None: the host's own.
        """
        number = self.generation if generation is None else generation
        copy = dataclasses.replace(self, holdings=holdings, generation=number)
        # The copy has the same providers. So it keeps what was computed from them.
        for name in _COMPUTED & self.__dict__.keys():
            copy.__dict__[name] = self.__dict__[name]
        return copy

    def during(self, window: Span) -> "BookableHost":
        """A copy of the host with only those holdings that overlap a span."""
        return self.holding([h for h in self.holdings if h.span.overlaps(window)])

    def copy(self) -> "BookableHost":
        """A copy that keeps what it is asked by itself, but shares what is folded already.

        Several threads may use the copies of a host at the same time.
        """
        _ = self.ever, self._ever_swept, self._known_ever_cells, self.has_choices
        copy = object.__new__(BookableHost)
        copy.__dict__.update(self.__dict__)
        return copy

    def without(self, reservation_id: str) -> "BookableHost":
        """A copy of the host without the holdings of one reservation."""
        return self.holding([h for h in self.holdings if h.reservation_id != reservation_id])


#: A host that is kept for long remembers the room for at most so many requests.
_MOST_SWEPT = 64
#: All times.
_EVER = Span(datetime.datetime.min, datetime.datetime.max)

_COMPUTED = {"providers_in_use", "provider_ids", "_numbers", "tree"}


def _of_root(request: PlacementRequest, inventories: Mapping[str, Inventory]) -> RoomQuestion:
    """How the room for a plain request is counted on a host with a single provider."""
    capacities = []
    # Placement refuses an empty request.
    possible = bool(request.amounts)
    for cls, amount in request.amounts.items():
        inventory = inventories.get(cls)
        capacities.append(inventory.capacity if inventory else 0)
        if inventory is None or not inventory.takes(amount):
            possible = False
    return RoomQuestion(request, capacities, possible)


def _of_tree(tree: Tree, request: PlacementRequest) -> RoomQuestion:
    """How the room for a request is counted on a host with several providers."""
    capacities = [tree.capacity(cls) for cls in request.amounts]
    possible = bool(request.amounts) and demands.demand(tree, request).possible
    return RoomQuestion(request, capacities, possible)


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
            for _, span, request, _ in host.holdings
        ]
        present = timeline.peak(claims, Span(now, now + times.MINUTE))
        yield ClassUse(cls, capacity, present, timeline.peak(claims, window))
