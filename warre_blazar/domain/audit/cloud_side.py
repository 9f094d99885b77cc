"""Compares reservations with their backings, and leases with their trusts in Keystone."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from warre_blazar.domain.audit.differences import Difference, DifferenceKind
from warre_blazar.domain.audit.facts import (
    Booking,
    NovaAggregate,
    NovaFacts,
    NovaFlavor,
    PlacementFacts,
    TrustedLease,
    WithoutBooking,
)
from warre_blazar.domain.running import backing_names
from warre_blazar.domain.running.backing import Phase
from warre_blazar.domain.wording import counted

ACTIVE = "active"


def compare_nova(bookings: Sequence[Booking], nova: NovaFacts) -> Iterator[Difference]:
    """Find missing, wrong and superfluous things in Nova, for reservations that haven't ended."""
    flavors = {flavor.id: flavor for flavor in nova.flavors}
    aggregates = {aggregate.name: aggregate for aggregate in nova.aggregates}
    servers = defaultdict(list)
    for server in nova.servers:
        servers[server.reservation_id].append(server.id)
    for booking in bookings:
        if booking.note is None or booking.shape is None:
            continue  # ``table_side`` reports the missing row or note
        if not booking.note.phase.is_made:
            if booking.status == ACTIVE:
                yield _about(
                    booking, DifferenceKind.NOT_OPENED, "runs, but has nothing in Nova yet"
                )
            continue
        yield from _flavor(booking, flavors.get(booking.note.flavor_id))
        yield from _aggregate(booking, aggregates.get(booking.reservation_id))
        if booking.status == ACTIVE:
            if booking.note.phase is not Phase.OPEN:
                what = "runs, but isn't completely opened to its project"
                yield _about(booking, DifferenceKind.NOT_OPENED, what)
            continue
        for server_id in servers[booking.reservation_id]:
            text = f"Server {server_id} uses reservation {_named(booking)}"
            yield Difference(
                DifferenceKind.SERVER_OUTSIDE, server_id, text, (booking.reservation_id, server_id)
            )


def _named(booking: Booking) -> str:
    return f"{booking.reservation_id}, which is {booking.status}"


def _about(booking: Booking, kind: DifferenceKind, what: str, part: str = "") -> Difference:
    """A difference about a reservation, or about one of its hosts, providers or projects."""
    subject = booking.reservation_id + (f" {part}" if part else "")
    text = f"Reservation {booking.reservation_id} {what}"
    return Difference(kind, subject, text, (booking.reservation_id, part))


def _flavor(booking: Booking, flavor: NovaFlavor | None) -> Iterator[Difference]:
    shape, note = booking.shape, booking.note
    assert shape is not None and note is not None
    if flavor is None:
        yield _about(booking, DifferenceKind.FLAVOR_MISSING, "has no Nova flavor")
        return
    wanted = {
        "name": backing_names.FLAVOR_PREFIX + booking.reservation_id,
        "vcpus": shape.vcpu,
        "ram": shape.memory_mb,
        "disk": shape.disk_gb,
        "ephemeral": shape.ephemeral_gb,
        "is_public": False,
    }
    wrong_fields = [
        f"{name} {getattr(flavor, name)} instead of {value}"
        for name, value in wanted.items()
        if getattr(flavor, name) != value
    ]
    if wrong_fields:
        what = f"has a Nova flavor with {', '.join(wrong_fields)}"
        yield _about(booking, DifferenceKind.FLAVOR_WRONG, what)
    specs = backing_names.flavor_specs(booking.reservation_id, shape)
    wrong_specs = sorted(
        key for key, value in specs.items() if flavor.extra_specs.get(key) != value
    )
    if wrong_specs:
        what = f"has a Nova flavor whose extra specs aren't as booked: {', '.join(wrong_specs)}"
        yield _about(booking, DifferenceKind.FLAVOR_SPECS, what)
    opened = booking.status == ACTIVE and note.phase is Phase.OPEN
    if opened and note.project_id not in flavor.projects:
        what = "runs, but its project can't use its Nova flavor"
        yield _about(booking, DifferenceKind.ACCESS_MISSING, what)
    allowed = {note.project_id} if booking.status == ACTIVE else set()
    for project_id in sorted(flavor.projects - allowed):
        what = f"is {booking.status}, but project {project_id} can use its Nova flavor"
        yield _about(booking, DifferenceKind.ACCESS_TOO_MANY, what, project_id)


def _aggregate(booking: Booking, aggregate: NovaAggregate | None) -> Iterator[Difference]:
    shape, note = booking.shape, booking.note
    assert shape is not None and note is not None
    if aggregate is None:
        yield _about(booking, DifferenceKind.AGGREGATE_MISSING, "has no aggregate")
        return
    metadata = backing_names.aggregate_metadata(booking.reservation_id, note.project_id, shape)
    wrong = sorted(key for key, value in metadata.items() if aggregate.metadata.get(key) != value)
    if wrong:
        what = f"has an aggregate whose metadata aren't as they should be: {', '.join(wrong)}"
        yield _about(booking, DifferenceKind.AGGREGATE_METADATA, what)
    recorded_ids = {note.aggregate_id}
    if booking.row is not None:
        recorded_ids.add(booking.row.aggregate_id)
    if recorded_ids != {aggregate.id}:
        what = f"has the aggregate {aggregate.id} in Nova, but the tables have another id or none"
        yield _about(booking, DifferenceKind.NOTE_WRONG, what)
    hosts = {place.service_name for place in booking.places}
    if booking.status == ACTIVE and note.phase is Phase.OPEN and hosts - aggregate.hosts:
        missing = ", ".join(sorted(hosts - aggregate.hosts))
        yield _about(
            booking, DifferenceKind.HOSTS_MISSING, f"runs, but its aggregate lacks {missing}"
        )
    for host in sorted(aggregate.hosts - (hosts if note.phase.is_opened else set())):
        what = f"has {host} in its aggregate, but isn't on that host or hasn't started there"
        yield _about(booking, DifferenceKind.HOST_TOO_MANY, what, host)


def compare_placement(
    bookings: Sequence[Booking], placement: PlacementFacts
) -> Iterator[Difference]:
    """Find missing, wrong and superfluous things in Placement, as ``compare_nova`` does in Nova."""
    offered = _offered(placement)
    for booking in bookings:
        if booking.note is None or booking.shape is None or not booking.note.phase.is_made:
            continue
        cls = backing_names.resource_class(booking.reservation_id)
        if cls not in placement.classes:
            yield _about(booking, DifferenceKind.CLASS_MISSING, f"has no resource class {cls}")
        actual = offered[cls]
        wanted = {
            backing_names.PROVIDER_PREFIX + place.hypervisor: place.instances
            for place in booking.places
        }
        if booking.status == ACTIVE and booking.note.phase is Phase.OPEN:
            for name, instances in sorted(wanted.items()):
                if actual.get(name) != backing_names.inventory(instances):
                    its = counted(instances, "instance")
                    what = f"runs, but provider {name} doesn't offer its {its}"
                    yield _about(booking, DifferenceKind.INVENTORY_MISSING, what, name)
        for name in sorted(set(actual) - set(wanted if booking.note.phase.is_opened else ())):
            what = (
                f"has a resource class that provider {name} offers, although the reservation has "
                "no instances on that host, or hasn't started there yet"
            )
            yield _about(booking, DifferenceKind.INVENTORY_TOO_MANY, what, name)


def _offered(placement: PlacementFacts) -> Mapping[str, dict[str, Mapping[str, object]]]:
    """The inventories of the reservations' resource classes, by class and by provider name."""
    offered: dict[str, dict[str, Mapping[str, object]]] = defaultdict(dict)
    for provider in placement.providers.values():
        for cls, inventory in provider.inventories.items():
            if backing_names.of_class(cls):
                offered[cls][provider.name] = inventory
    return offered


def present(nova: NovaFacts | None, placement: PlacementFacts | None) -> dict[str, list[str]]:
    """Descriptions of everything that Nova and Placement hold for reservations.

    :returns: descriptions such as "aggregate 7", by the reservation's id.
    """
    descriptions: dict[str, list[str]] = defaultdict(list)
    if nova is not None:
        for flavor in nova.flavors:
            reservation_id = backing_names.of_flavor(flavor.name) or ""
            descriptions[reservation_id].append(f"Nova flavor {flavor.id}")
        for aggregate in nova.aggregates:
            descriptions[aggregate.name].append(f"aggregate {aggregate.id}")
        for server in nova.servers:
            descriptions[server.reservation_id].append(f"server {server.id}")
    if placement is not None:
        names = set(placement.classes).union(
            *(provider.inventories for provider in placement.providers.values())
        )
        for name in sorted(names):
            descriptions[backing_names.of_class(name) or ""].append(f"resource class {name}")
    descriptions.pop("", None)
    return descriptions


def strays(
    bookings: Iterable[Booking], standing: WithoutBooking, found: Mapping[str, Sequence[str]]
) -> Iterator[Difference]:
    """Find leftovers: backings and notes whose reservation has ended, or is in no table.

    :param found: the descriptions that ``present`` returned.
    """
    for reservation_id, note in standing.leftovers.items():
        there = ", ".join(found.get(reservation_id, ())) or "a note and nothing else"
        text = f"Reservation {reservation_id} is over, but this is left of it: {there}"
        yield Difference(DifferenceKind.LEFTOVER, reservation_id, text, note)
    known = {booking.reservation_id for booking in bookings}
    for reservation_id in sorted(set(found) - known - standing.left_alone):
        if reservation_id in standing.leftovers:
            continue
        there = ", ".join(found[reservation_id])
        if reservation_id in standing.over:
            text = f"Reservation {reservation_id} is over, but this is left of it: {there}"
        else:
            text = f"Reservation {reservation_id} is in no table, but has this: {there}"
        yield Difference(DifferenceKind.LEFTOVER, reservation_id, text)


_MOST = 5


def compare_trusts(used: Collection[str], trusts: Collection[str]) -> Iterator[Difference]:
    """Find trusts that no lease and no host uses.

    :param used: the ids of the trusts that are in use.
    :param trusts: the ids of all trusts whose trustee is Blazar's service user.
    """
    unused = set(trusts) - set(used)
    if unused:
        shown = sorted(unused)[:_MOST]
        more = f" and {len(unused) - len(shown)} more" if len(unused) > len(shown) else ""
        text = f"No lease and no host uses {len(unused)} trusts: {', '.join(shown)}{more}"
        yield Difference(DifferenceKind.TRUSTS_UNUSED, "trusts", text, frozenset(unused))


def compare_leases(leases: Iterable[TrustedLease], trusts: Collection[str]) -> Iterator[Difference]:
    """Find live leases of stock resource types whose trusts are gone.

    :param trusts: the ids of all trusts whose trustee is Blazar's service user.
    """
    for lease in leases:
        if lease.trust_id not in trusts:
            text = (
                f"Blazar's user has no trust {lease.trust_id} in Keystone, which lease {lease.id} "
                f"({lease.name}, {lease.status}) of user {lease.user_id} needs until its end at "
                f"{lease.end} UTC"
            )
            yield Difference(DifferenceKind.TRUST_GONE, lease.id, text)
