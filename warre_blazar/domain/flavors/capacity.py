"""Computes for operators how many instances of a flavor the hosts hold, and how many are booked."""

import dataclasses
import datetime
import enum
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from warre_blazar import times
from warre_blazar.domain import timeline
from warre_blazar.domain.flavors.flavor import Flavor, Shape
from warre_blazar.domain.flavors.request_groups import Group, PlacementRequest
from warre_blazar.domain.hosts import assigning, demands, host_properties
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.demands import Part
from warre_blazar.domain.hosts.providers import Provider
from warre_blazar.domain.timeline import Claim, Span


def count_devices_unlike(hosts: Iterable[BookableHost], one: Shape, other: Shape) -> list[str]:
    """The resource classes that two shapes take from the same devices in different ways.

    Both shapes have a choice of several devices for these classes. They take different amounts of a
    device, or may choose different devices, or Nova is told which devices the instances of one of
    them have. A server of which Nova isn't told may take what a server of the other shape needs.

    :returns: sorted; empty if this can't happen on any of the hosts.
    """
    found: set[str] = set()
    for host in hosts:
        if host.matches(one, None) and host.matches(other, None):
            told = [assigning.assigner(host.tree, s.request).told for s in (one, other)]
            if all(told):
                continue
            for mine in _choices(host, one):
                for others in _choices(host, other):
                    found |= _contested(mine, others, are_alike=not any(told))
    return sorted(found)


def _choices(host: BookableHost, shape: Shape) -> set[Part]:
    return {part for part in demands.demand(host.tree, shape.request).parts if part.is_choice}


def _contested(one: Part, other: Part, *, are_alike: bool) -> set[str]:
    if are_alike and (one.amounts, one.nodes) == (other.amounts, other.nodes):
        return set()
    if set(one.nodes).isdisjoint(other.nodes):
        return set()
    return {cls for cls, _ in one.amounts} & {cls for cls, _ in other.amounts}


@dataclasses.dataclass(frozen=True)
class HostRoom:
    """A host, and how many instances of a shape it holds when it is empty (at least one)."""

    host: BookableHost
    instances: int


def when_empty(
    hosts: Iterable[BookableHost], shape: Shape, project_id: str | None = None
) -> list[HostRoom]:
    """The hosts that match a shape and hold at least one instance when empty, sorted by name.

    :param project_id: the project whose instances they are. None: any project.
    """
    rooms = [
        HostRoom(host, host.when_empty(shape.request))
        for host in hosts
        if host.matches(shape, project_id)
    ]
    return sorted((r for r in rooms if r.instances), key=lambda r: (r.host.name, r.host.id))


class LimitKind(enum.Enum):
    """What can limit the number of instances of a shape that an empty host holds."""

    #: The host is in another zone.
    ZONE = "zone"
    #: No aggregate of the host has in its metadata what an extra spec wants there.
    AGGREGATE = "aggregate"
    #: An aggregate of the host is only for servers that require a trait, and the shape doesn't.
    ISOLATION = "isolation"
    #: The host's properties don't satisfy a comparison that the shape requires.
    PROPERTY = "property"
    #: The host doesn't have a property that the shape compares.
    MISSING_PROPERTY = "missing property"
    #: A required trait is missing on every provider from which the instance would take something.
    REQUIRED_TRAIT = "required trait"
    #: All providers from which the instance could take something have a forbidden trait.
    FORBIDDEN_TRAIT = "forbidden trait"
    #: The amount that the host has of a resource class.
    RESOURCE_CLASS = "resource class"
    #: Each resource class by itself would suffice for another instance. But the host's providers
    #: can't hold the request groups of another instance.
    GROUPS = "groups"


@dataclasses.dataclass(frozen=True)
class HostLimit:
    """A limit on the number of instances of a shape that an empty host holds."""

    kind: LimitKind
    #: The zone, the extra spec as ``key: value``, the comparison, the property, the trait, or the
    #: resource class. For GROUPS, the resource classes of the groups with a suffix.
    name: str
    #: How many instances the limit permits.
    instances: int
    #: For RESOURCE_CLASS, the names of the providers that have the class. For a trait, the names of
    #: the providers whose traits were examined.
    providers: tuple[str, ...] = ()
    #: For RESOURCE_CLASS, how much of the class one instance takes.
    asked: int | None = None
    #: For RESOURCE_CLASS, how much of the class these providers have together.
    capacity: int | None = None
    #: For PROPERTY, the host's own value.
    have: str | None = None


@dataclasses.dataclass(frozen=True)
class HostLimits:
    """How many instances of a shape a host holds when it is empty, and what limits the number."""

    host: BookableHost
    instances: int
    #: Sorted by the number of instances that they permit, the smallest number first.
    limits: tuple[HostLimit, ...]

    @property
    def tightest(self) -> tuple[HostLimit, ...]:
        """The limits that permit the fewest instances."""
        return tuple(x for x in self.limits if x.instances == self.limits[0].instances)


def limits(host: BookableHost, shape: Shape) -> HostLimits:
    """How many instances of a shape a host holds when it is empty, and all limits on the number."""
    found = [
        *_zone(host, shape),
        *_aggregates(host, shape),
        *_properties(host, shape),
        *_traits(host, shape.request),
        *_classes(host, shape.request),
    ]
    alone = host.when_empty(shape.request)
    if alone < min((limit.instances for limit in found), default=alone + 1):
        groups = shape.request.suffixed or shape.request.groups
        classes = sorted({cls for group in groups for cls, _ in group.resources})
        found.append(HostLimit(LimitKind.GROUPS, ", ".join(classes), alone))
    instances = alone if host.matches(shape, None) else 0
    return HostLimits(host, instances, tuple(sorted(found, key=lambda limit: limit.instances)))


def _zone(host: BookableHost, shape: Shape) -> Iterator[HostLimit]:
    if shape.availability_zone and shape.availability_zone != host.availability_zone:
        yield HostLimit(LimitKind.ZONE, shape.availability_zone, 0)


def _aggregates(host: BookableHost, shape: Shape) -> Iterator[HostLimit]:
    for key, value in filter(host.aggregates.lacks, shape.aggregate_specs):
        yield HostLimit(LimitKind.AGGREGATE, f"{key}: {value}", 0)
    for trait in sorted(host.aggregates.isolating - shape.request.required_traits):
        yield HostLimit(LimitKind.ISOLATION, trait, 0)


def _properties(host: BookableHost, shape: Shape) -> Iterator[HostLimit]:
    for comparison in shape.comparisons:
        name, operator, value = comparison
        if host.properties.get(name) is None:
            yield HostLimit(LimitKind.MISSING_PROPERTY, name, 0)
        elif not host_properties.satisfied([comparison], host.properties):
            have = str(host.properties[name])
            yield HostLimit(LimitKind.PROPERTY, f"{name} {operator} {value}", 0, have=have)


def _traits(host: BookableHost, request: PlacementRequest) -> Iterator[HostLimit]:
    if host.has_traits(request):
        return
    root = host.providers_in_use[0]
    for trait in sorted(request.root_required - root.traits):
        yield HostLimit(LimitKind.REQUIRED_TRAIT, trait, 0, (root.name,))
    for group in request.groups:
        givers = _givers(host, group)
        names = tuple(provider.name for provider in givers)
        for trait in sorted(group.required.difference(*(p.traits for p in givers))):
            yield HostLimit(LimitKind.REQUIRED_TRAIT, trait, 0, names)
        for trait in sorted(group.forbidden.intersection(*(p.traits for p in givers))):
            yield HostLimit(LimitKind.FORBIDDEN_TRAIT, trait, 0, names)


def _givers(host: BookableHost, group: Group) -> list[Provider]:
    """The providers that have a resource class of the group. If there are none, the root."""
    classes = {cls for cls, _ in group.resources}
    own = host.providers_in_use
    return [p for p in own if classes & p.inventories.keys()] or [own[0]]


def _classes(host: BookableHost, request: PlacementRequest) -> Iterator[HostLimit]:
    for cls, amount in request.amounts.items():
        givers = [p for p in host.providers_in_use if cls in p.inventories]
        yield HostLimit(
            LimitKind.RESOURCE_CLASS,
            cls,
            host.when_empty(request.only(cls)),
            tuple(provider.name for provider in givers),
            amount,
            host.tree.capacity(cls),
        )


@dataclasses.dataclass(frozen=True)
class Sharing:
    """A flavor that shares hosts with another flavor, and the names of the shared hosts."""

    flavor: Flavor
    hosts: list[str]


def sharing(rooms: Iterable[HostRoom], others: Iterable[Flavor]) -> list[Sharing]:
    """The other flavors whose instances can be on at least one of the hosts of ``rooms``.

    They are returned in the order of ``others``.
    """
    hosts = [room.host for room in rooms]
    sharings = [
        Sharing(flavor, [r.host.name for r in when_empty(hosts, flavor.shape)]) for flavor in others
    ]
    return [s for s in sharings if s.hosts]


@dataclasses.dataclass(frozen=True)
class FlavorUse:
    """How many instances of a flavor are booked now, and how many during a span."""

    #: Instances that are booked at the present moment.
    now: int
    #: The largest number of instances that is booked at any moment of the span.
    peak: int
    #: The sum of the times for which each instance is booked within the span. Two instances that
    #: are booked for 3 hours make 6 hours.
    time: datetime.timedelta

    def utilisation(self, instances: int, window: timeline.Span) -> float | None:
        """The booked share of the time that can be booked within ``window``.

        The time that can be booked is the length of ``window`` times ``instances``. If all of this
        time is booked, the share is 1.0. The share is above 1.0 if the flavor has lost slots or
        hosts since the bookings were made.

        :param instances: the number of instances that can be booked at the same time.
        :returns: None if ``instances`` is 0.
        """
        return self.time / (instances * (window.end - window.start)) if instances else None


@dataclasses.dataclass(frozen=True)
class OverbookedSlots:
    """More instances are booked than the flavor has slots."""

    #: The largest number of instances that are booked at the same moment.
    peak: int
    #: From this moment on, the slots suffice.
    until: datetime.datetime


def overbooked(claims: Iterable[timeline.Claim], slots: int) -> OverbookedSlots | None:
    """Whether claims take more than a number of slots at any moment, and until when."""
    changes: Counter[datetime.datetime] = Counter()
    for claim in claims:
        changes[claim.span.start] += claim.amount
        changes[claim.span.end] -= claim.amount
    level = peak = 0
    until = None
    for moment, change in sorted(changes.items()):
        if level > slots:
            until = moment
        level += change
        peak = max(peak, level)
    return OverbookedSlots(peak, until) if until else None


def use(
    claims: Sequence[timeline.Claim], window: timeline.Span, now: datetime.datetime
) -> FlavorUse:
    """How many instances are booked now and during ``window``.

    :param claims: the claims on the flavor's slots.
    """
    time = sum(
        (
            claim.amount * (min(claim.span.end, window.end) - max(claim.span.start, window.start))
            for claim in claims
            if claim.span.overlaps(window)
        ),
        times.NO_TIME,
    )
    present = timeline.Span(now, now + times.MINUTE)
    return FlavorUse(timeline.peak(claims, present), timeline.peak(claims, window), time)


@dataclasses.dataclass(frozen=True)
class SlotUse:
    """How the slots of a flavor are used at a moment.

    The three numbers may add up to less than the flavor's slots. The other slots are in the
    cleaning time after a reservation, or no host has room for them.
    """

    #: Slots that reservations claim.
    booked: int
    #: Slots that could be booked at the moment, for a minute.
    free: int
    #: Other slots, if the flavor is inactive, outside of its validity, or in a maintenance window.
    closed: int


def minute(moment: datetime.datetime) -> Span:
    """The minute in which a moment is."""
    start = moment.replace(second=0, microsecond=0)
    return Span(start, start + times.MINUTE)


def slot_use(
    flavor: Flavor,
    claims: Sequence[Claim],
    windows: Iterable[Span],
    room: Callable[[int], int],
    at: Span,
    cleaning: datetime.timedelta,
) -> SlotUse:
    """How the slots of a flavor are used during a minute.

    :param claims: the claims on the flavor's slots, without the cleaning time.
    :param windows: the times of the maintenance windows that close the flavor.
    :param room: how many more instances the hosts hold during the minute and the cleaning time
        after it. The argument is a number above which it doesn't matter how many.
    :param at: the minute.
    """
    booked = timeline.peak(claims, at)
    most = booked
    if cleaning:
        cleaned = [Claim(claim.span.padded(cleaning), claim.amount) for claim in claims]
        most = timeline.peak(cleaned, at.padded(cleaning))
    left = max(flavor.slots - most, 0)
    if _is_closed(flavor, windows, at):
        return SlotUse(booked, free=0, closed=left)
    return SlotUse(booked, free=room(left) if left else 0, closed=0)


def _is_closed(flavor: Flavor, windows: Iterable[Span], at: Span) -> bool:
    too_early = flavor.start is not None and at.start < flavor.start
    too_late = flavor.end is not None and at.end > flavor.end
    return (
        not flavor.active or too_early or too_late or any(window.overlaps(at) for window in windows)
    )
