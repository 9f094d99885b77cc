"""Compares reservations with their backings, and leases with their trusts in Keystone."""

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from warre_blazar.domain.audit.differences import Difference, DifferenceKind
from warre_blazar.domain.audit.facts import (
    Booking,
    KnownHost,
    NovaFacts,
    PlacementFacts,
    TrustedLease,
    WithoutBooking,
)
from warre_blazar.domain.running import backing_names
from warre_blazar.domain.running.backing import Note, Phase
from warre_blazar.domain.running.holders import Holder
from warre_blazar.domain.running.wanted import (
    NOTHING,
    Backing,
    Do,
    Known,
    NovaAggregate,
    Step,
    in_nova,
    in_placement,
    tolerated,
)
from warre_blazar.domain.wording import counted

ACTIVE = "active"


def actual(
    nova: NovaFacts | None, placement: PlacementFacts | None, held: Iterable[Holder] = ()
) -> dict[str, Backing]:
    """What Nova and Placement hold for reservations, by the reservation's id.

    :param nova: None: Nova couldn't be read, so its part of each backing is empty. The same is true
        of ``placement``.
    :param held: who holds room on hosts.
    """
    parts: dict[str, dict[str, Any]] = defaultdict(dict)
    if nova is not None:
        _add_nova(parts, nova)
    if placement is not None:
        _add_placement(parts, placement)
    for holder in held:
        for reservation_id in holder.reservation_ids:
            of_reservation = parts[reservation_id]
            of_reservation["holders"] = (*of_reservation.get("holders", ()), holder)
    parts.pop("", None)
    return {reservation_id: Backing(**found) for reservation_id, found in parts.items()}


def _add_nova(parts: dict[str, dict[str, Any]], nova: NovaFacts) -> None:
    for flavor in nova.flavors:
        parts[flavor.reservation_id or ""]["flavor"] = flavor
    for aggregate in nova.aggregates:
        parts[aggregate.name]["aggregate"] = aggregate
    for server in nova.servers:
        of_reservation = parts[server.reservation_id or ""]
        of_reservation["servers"] = of_reservation.get("servers", frozenset()) | {server.id}


def _add_placement(parts: dict[str, dict[str, Any]], placement: PlacementFacts) -> None:
    for name in placement.classes:
        parts[backing_names.of_class(name) or ""]["resource_class"] = name
    for provider, inventories in placement.providers.items():
        for name, inventory in inventories.items():
            offered = parts[backing_names.of_class(name) or ""].setdefault("inventories", {})
            offered[provider] = inventory
    for name, carriers in placement.carriers.items():
        parts[backing_names.of_class(name) or ""] |= {"trait": name, "carriers": carriers}


def misplaced_hosts(
    hosts: Iterable[KnownHost], nova: NovaFacts | None, placement: PlacementFacts
) -> Iterator[Difference]:
    """Find hosts that Placement doesn't have, and hosts that aren't kept for bookings in Nova.

    :param hosts: all hosts of Blazar, also those that can't be booked.
    :param nova: None: Nova couldn't be read.
    """
    kept = nova.kept if nova else None
    for host in hosts:
        if host.hypervisor not in placement.providers:
            text = f"Placement has no resource provider {host.hypervisor}"
            yield Difference(DifferenceKind.HOST_GONE, host.name, text)
        elif kept is not None and host.service_name not in kept:
            text = f"Host {host.name} is neither in the freepool nor reserved"
            yield Difference(DifferenceKind.HOST_OUTSIDE_FREEPOOL, host.name, text, host)


def hosts_out_of_service(
    hosts: Iterable[KnownHost], nova: NovaFacts | None
) -> Iterator[Difference]:
    """Find hosts that can be booked, although Nova boots no server on them."""
    states = nova.out_of_service if nova else {}
    for host in hosts:
        if state := states.get(host.service_name):
            text = f"The compute service of host {host.name} is {state} in Nova"
            yield Difference(DifferenceKind.HOST_OUT_OF_SERVICE, host.name, text)


#: By the step that mends a difference, the kind of the difference.
_KINDS = {kind.value.step: kind for kind in DifferenceKind if kind.value.step}
#: The steps of which a reservation may need several, each about another part.
_ABOUT_PARTS = {Do.REVOKE, Do.OFFER, Do.LOWER, Do.KEEP_HOSTS}


def lack(step: Step) -> str:
    """What a running reservation lacks if a step is needed, as the end of a sentence about it."""
    return _KINDS[step.do].value.says.format(status=ACTIVE, about=step.about)


@dataclasses.dataclass(frozen=True)
class Remedy:
    """A step of those that lead from what was seen of a reservation's backing to what is wanted."""

    reservation_id: str
    seen: Backing
    step: Step


#: How to get the steps in Nova or in Placement.
Side = Callable[[Known, Known], Iterable[Step]]
BOTH: tuple[Side, ...] = (in_nova, in_placement)


def remedies(booking: Booking, seen: Backing, sides: Sequence[Side] = BOTH) -> list[Remedy]:
    """The steps from what was seen of a reservation's backing to what is wanted.

    :param sides: those of the services that could be read.
    """
    assert booking.note is not None
    to = tolerated(booking.note, booking.places, is_running=booking.status == ACTIVE)
    todo = [step for side in sides for step in side(seen, to)]
    todo.sort(key=lambda step: step.do)
    return [Remedy(booking.reservation_id, seen, step) for step in todo]


def compare(
    bookings: Iterable[Booking], seen: Mapping[str, Backing], sides: Sequence[Side] = BOTH
) -> Iterator[Difference]:
    """Find missing, wrong and superfluous things of reservations that haven't ended.

    :param seen: what ``actual`` has returned.
    :param sides: as in ``remedies``.
    """
    for booking in bookings:
        note = booking.note
        if note is None or booking.shape is None:
            continue  # ``table_side`` reports the missing row or note
        if note.phase.is_made:
            backing = seen.get(booking.reservation_id, NOTHING)
            yield from (_difference(booking, each) for each in remedies(booking, backing, sides))
            yield from _wrong_note(booking, note, backing.aggregate)
        if in_nova in sides and booking.status == ACTIVE and note.phase is not Phase.OPEN:
            half = "runs, but isn't completely opened to its project"
            what = half if note.phase.is_made else "runs, but has nothing in Nova yet"
            yield _about(booking, DifferenceKind.NOT_OPENED, what)


def _about(
    booking: Booking, kind: DifferenceKind, what: str, part: str = "", details: Any = None
) -> Difference:
    """A difference about a reservation, or about one of its hosts, providers or projects."""
    subject = booking.reservation_id + (f" {part}" if part else "")
    return Difference(kind, subject, f"Reservation {booking.reservation_id} {what}", details)


def _difference(booking: Booking, remedy: Remedy) -> Difference:
    """What it means that a step is needed."""
    step = remedy.step
    if step.do is Do.DELETE_SERVER:
        its = f"{booking.reservation_id}, which is {booking.status}"
        text = f"Server {step.about} uses reservation {its}"
        return Difference(DifferenceKind.SERVER_OUTSIDE, step.about, text, remedy)
    amount = step.args[-1]
    # A host that offers too many instances doesn't offer those that it should.
    kind = _KINDS[Do.OFFER if step.do is Do.LOWER and amount else step.do]
    its = counted(amount, "instance") if kind is DifferenceKind.INVENTORY_MISSING else ""
    text = kind.value.says.format(status=booking.status, about=step.about, amount=its)
    return _about(booking, kind, text, step.about if step.do in _ABOUT_PARTS else "", remedy)


def _wrong_note(
    booking: Booking, note: Note, aggregate: NovaAggregate | None
) -> Iterator[Difference]:
    recorded_ids = {note.aggregate_id}
    if booking.row is not None:
        recorded_ids.add(booking.row.aggregate_id)
    if aggregate is not None and recorded_ids != {aggregate.id}:
        what = f"has the aggregate {aggregate.id} in Nova, but the tables have another id or none"
        yield _about(booking, DifferenceKind.NOTE_WRONG, what, details=aggregate.id)


def strays(
    bookings: Iterable[Booking], standing: WithoutBooking, seen: Mapping[str, Backing]
) -> Iterator[Difference]:
    """Find leftovers: backings and notes whose reservation has ended, or is in no table.

    :param seen: what ``actual`` has returned.
    """
    known = {booking.reservation_id for booking in bookings}
    unknown = sorted(set(seen) - known - standing.left_alone - standing.leftovers)
    for reservation_id in (*sorted(standing.leftovers), *unknown):
        backing = seen.get(reservation_id, NOTHING)
        there = ", ".join(_present(reservation_id, backing)) or "a note and nothing else"
        text = f"Reservation {reservation_id} is over, but this is left of it: {there}"
        if reservation_id not in standing.leftovers | standing.over:
            text = f"Reservation {reservation_id} is in no table, but has this: {there}"
        flavor_id = backing.flavor.id if backing.flavor else None
        yield Difference(DifferenceKind.LEFTOVER, reservation_id, text, flavor_id)


def _present(reservation_id: str, backing: Backing) -> Iterator[str]:
    """Descriptions of everything in a backing, such as "aggregate 7"."""
    if backing.flavor:
        yield f"Nova flavor {backing.flavor.id}"
    if backing.aggregate:
        yield f"aggregate {backing.aggregate.id}"
    yield from (f"server {server_id}" for server_id in sorted(backing.servers or ()))
    if backing.trait:
        yield f"trait {backing.trait}"
    if backing.resource_class or backing.inventories:
        by = "; ".join(map(str, backing.holders))
        name = f"resource class {backing_names.resource_class(reservation_id)}"
        yield f"{name}, held by {by}" if by else name


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
