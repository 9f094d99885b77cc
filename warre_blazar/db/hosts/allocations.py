"""Reads what is booked on hosts, and writes host allocations.

Reading all reservable hosts takes a constant number of queries.
"""

import dataclasses
import datetime
import itertools
import json
import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from oslo_utils import timeutils
from sqlalchemy.orm import Session

from warre_blazar import times
from warre_blazar.db.booking.claims import Claims, claiming
from warre_blazar.db.hosts import host_marks, host_providers, reservable_hosts
from warre_blazar.db.tables import (
    allocations,
    bookings,
    compute_hosts,
    instance_reservations,
    leases,
    reservations,
)
from warre_blazar.domain import timeline
from warre_blazar.domain.flavors import devices
from warre_blazar.domain.flavors.devices import NO_DEVICES, Rules
from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE, Shape
from warre_blazar.domain.flavors.request_groups import PlacementRequest
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.holdings import Holding
from warre_blazar.domain.running.wanted import HostUse


@dataclasses.dataclass(frozen=True)
class BookedHosts:
    """The hosts that match, and the claims on a flavor's slots, over a span of time."""

    #: The reservable hosts that match, with what is booked on them.
    hosts: list[BookableHost]
    #: The claims on the flavor's slots, by the reservation's id in Blazar's table.
    claims: Mapping[str, list[timeline.Claim]]
    #: The ids of the reservable hosts about whose providers nothing is stored.
    unread: Sequence[str] = ()


def booked_hosts(
    db: Session,
    flavor_id: str,
    matches: Callable[[BookableHost], bool],
    window: timeline.Span,
    cleaning: datetime.timedelta = times.NO_TIME,
    device_rules: Rules = NO_DEVICES,
) -> BookedHosts:
    """Read the hosts that match what is to be booked, and the claims on a flavor's slots.

    A reservation claims its slots as long as it has host allocations in Blazar's table.

    :param matches: whether a host is read.
    :param cleaning: the time for which each reservation keeps its hosts and slots after its end.
    :param device_rules: how devices of Blazar's own reservations (``flavor:instance``) are counted.
    """
    reservable = reservable_hosts.empty(db)
    matching = [host for host in reservable if matches(host)]
    # If at least half of the reservable hosts match, the allocations of all hosts are read. A query
    # with a thousand ids would cost more than reading some allocations that aren't needed.
    ids = [host.id for host in matching] if len(matching) < len(reservable) / 2 else None
    read = Claims(window, cleaning)
    query = claiming(_allocations(bookings.c.flavor_id == flavor_id, ids, read), window, cleaning)
    held, claims = _held(db.execute(query).all(), read, device_rules)
    unread = [host.id for host in reservable if not host.is_read]
    return BookedHosts([h.holding(held[h.id]) for h in matching], claims[flavor_id], unread)


def all_reservable_with_claims(
    db: Session,
    window: timeline.Span,
    cleaning: datetime.timedelta = times.NO_TIME,
    device_rules: Rules = NO_DEVICES,
) -> tuple[list[BookableHost], Mapping[str, Mapping[str, list[timeline.Claim]]]]:
    """Read all reservable hosts, and the claims on the slots of all flavors.

    The parameters are those of ``booked_hosts``.

    :returns: the hosts with what is booked on them, and the claims by the flavor's id and by the
        reservation's id in Blazar's table.
    """
    return _all_reservable(db, sa.true(), window, cleaning, device_rules)


def all_reservable(
    db: Session,
    window: timeline.Span,
    cleaning: datetime.timedelta = times.NO_TIME,
    device_rules: Rules = NO_DEVICES,
) -> list[BookableHost]:
    """Read all reservable hosts, with what is booked on them.

    The parameters are those of ``booked_hosts``.
    """
    found, _ = _all_reservable(db, sa.false(), window, cleaning, device_rules)
    return found


def _all_reservable(
    db: Session,
    of_flavor: sa.ColumnElement[bool],
    window: timeline.Span,
    cleaning: datetime.timedelta,
    device_rules: Rules,
) -> tuple[list[BookableHost], Mapping[str, Mapping[str, list[timeline.Claim]]]]:
    """All reservable hosts and claims.

    :param of_flavor: as for ``_allocations``.
    """
    reservable = reservable_hosts.empty(db)
    read = Claims(window, cleaning)
    query = claiming(_allocations(of_flavor, None, read), window, cleaning)
    held, claims = _held(db.execute(query).all(), read, device_rules)
    return [host.holding(held[host.id]) for host in reservable], claims


def complete(
    db: Session,
    of: Collection[BookableHost],
    *,
    cleaning: datetime.timedelta = times.NO_TIME,
    device_rules: Rules = NO_DEVICES,
    without: str | None = None,
) -> list[BookableHost]:
    """Hosts with everything that is booked on them, however late it begins.

    What has ended, with its cleaning time, is left out.

    :param of: the hosts, with some or none of their holdings.
    :param without: the id of a reservation whose holdings are left out.
    """
    ids = [host.id for host in of]
    held = holdings_of(db, ids, cleaning=cleaning, device_rules=device_rules, without=without)
    return [host.holding(held[host.id]) for host in of]


def holdings_of(
    db: Session,
    host_ids: list[str],
    *,
    cleaning: datetime.timedelta = times.NO_TIME,
    device_rules: Rules = NO_DEVICES,
    without: str | None = None,
) -> Mapping[str, Sequence[Holding]]:
    """What is booked on hosts from now on, by host id, as ``complete`` reads it."""
    now = timeutils.utcnow()
    read = Claims(timeline.Span(now, datetime.datetime.max), cleaning)
    since = now - cleaning
    query = _allocations(sa.false(), host_ids, read).where(
        sa.or_(leases.c.end_date > since, bookings.c.claim_end > since)
    )
    held, _ = _held(db.execute(query).all(), read, device_rules)
    return {i: [h for h in held[i] if h.reservation_id != without] for i in host_ids}


@dataclasses.dataclass(frozen=True)
class Booked:
    """What is booked on all hosts and of all flavors at some times."""

    #: The holdings by host id.
    holdings: Mapping[str, Sequence[Holding]]
    #: The claims on slots by flavor id.
    claims: Mapping[str, Sequence[timeline.Claim]]


def everything(
    db: Session,
    spans: Sequence[timeline.Span],
    cleaning: datetime.timedelta = times.NO_TIME,
    device_rules: Rules = NO_DEVICES,
) -> Booked:
    """Read in one statement what is booked on all hosts and of all flavors at some times.

    :param spans: spans of time, sorted by start. What has ended before a span is included for its
        cleaning time, but the times of holdings and claims don't contain the cleaning time.
    """
    window = timeline.Span(spans[0].start, spans[-1].padded(cleaning).end)
    read = Claims(window, times.NO_TIME)
    padded = [span.padded(cleaning) for span in spans]
    query = claiming(_allocations(sa.true(), None, read), window, cleaning, padded)
    held, claims = _held(db.execute(query).all(), read, device_rules)
    return Booked(held, {f: [*itertools.chain(*each.values())] for f, each in claims.items()})


def _held(
    rows: Iterable[Any], read: Claims, device_rules: Rules
) -> tuple[dict[str, list[Holding]], dict[str, dict[str, list[timeline.Claim]]]]:
    """What is booked on hosts, and what is booked of flavors.

    :param rows: the rows of ``_allocations``.
    :param read: the reader of the times in the rows.
    :returns: the holdings by host id, and the claims on slots by flavor id and reservation id.
    """
    held: dict[str, list[Holding]] = defaultdict(list)
    claims: dict[str, dict[str, list[timeline.Claim]]] = defaultdict(dict)
    spans_of: dict[str, list[timeline.Span]] = {}
    requests_of: dict[tuple[str, str | None], PlacementRequest | None] = {}
    for host_id, reservation_id, flavor_id, slots, resource_type, taken, *when in rows:
        spans = spans_of.get(reservation_id)
        if spans is None:
            spans = spans_of[reservation_id] = read.spans(*when)
            if flavor_id is not None:
                claims[flavor_id][reservation_id] = [timeline.Claim(span, slots) for span in spans]
        if (resource_type, taken) not in requests_of:
            requests_of[resource_type, taken] = _request(resource_type, taken, device_rules)
        request = requests_of[resource_type, taken]
        for span in spans:
            held[host_id].append(Holding(reservation_id, span, request))
    return held, claims


def _virtual_instance() -> sa.ColumnElement[str]:
    """The amounts of a ``virtual:instance`` reservation as one text. NULL: an amount is missing."""
    vcpus, memory, disk = (
        sa.cast(column, sa.String(20))
        for column in (
            instance_reservations.c.vcpus,
            instance_reservations.c.memory_mb,
            instance_reservations.c.disk_gb,
        )
    )
    return vcpus + " " + memory + " " + disk


#: The resource type and what one allocation takes, in the form that ``_request`` reads. All
#: resource types share one column for the amounts, because a database driver written in Python
#: takes time for each further column.
_TAKEN = (
    reservations.c.resource_type,
    sa.case(
        (bookings.c.id.is_not(None), bookings.c.shape),
        (reservations.c.resource_type == "virtual:instance", _virtual_instance()),
        (
            reservations.c.resource_type == "flavor:instance",
            instance_reservations.c.resource_properties,
        ),
    ),
)


def _allocations(
    of_flavor: sa.ColumnElement[bool], host_ids: list[str] | None, read: Claims
) -> sa.Select[Any]:
    """A query of host allocations.

    The columns are the host's id, the reservation's id, the flavor's id, the number of slots,
    ``_TAKEN``, and the times that ``read`` selects.

    :param of_flavor: the condition that a reservation's slots are read. For other reservations, the
        flavor's id and the number of slots are NULL.
    """
    query = sa.select(
        allocations.c.compute_host_id,
        allocations.c.reservation_id,
        sa.case((of_flavor, bookings.c.flavor_id)),
        sa.case((of_flavor, bookings.c.instance_count)),
        *_TAKEN,
        *read.columns,
    ).select_from(
        leases.join(reservations, reservations.c.lease_id == leases.c.id)
        .join(allocations, allocations.c.reservation_id == reservations.c.id)
        .outerjoin(bookings, bookings.c.reservation_id == reservations.c.id)
        # flavor:slot reservations have a row in instance_reservations too, but it isn't joined:
        # their row in ``bookings`` says what they take.
        .outerjoin(
            instance_reservations,
            sa.and_(
                instance_reservations.c.reservation_id == reservations.c.id, bookings.c.id.is_(None)
            ),
        )
    )
    if host_ids is not None:
        # A reservation of the flavor claims slots even if its hosts no longer match the shape.
        query = query.where(sa.or_(allocations.c.compute_host_id.in_(host_ids), of_flavor))
    return query


def _request(resource_type: str, taken: str | None, device_rules: Rules) -> PlacementRequest | None:
    """What one allocation takes.

    None means the whole host. This is also assumed for unknown resource types.
    """
    if taken is None:
        return None
    if resource_type == RESOURCE_TYPE:
        return Shape.from_json(taken).request
    if resource_type == "virtual:instance":
        vcpus, memory_mb, disk_gb = map(int, taken.split())
        return PlacementRequest.plain({"VCPU": vcpus, "MEMORY_MB": memory_mb, "DISK_GB": disk_gb})
    return source_flavor_request(taken, device_rules)


def source_flavor_request(text: str | None, device_rules: Rules) -> PlacementRequest | None:
    """What one instance of a ``flavor:instance`` reservation takes. None: it can't be told.

    :param text: the instance's Nova flavor, which Blazar's flavor plugin has recorded as JSON.
    """
    try:
        source = json.loads(text or "")
        return Shape(
            vcpu=int(source["vcpus"]),
            memory_mb=int(source["ram"]),
            disk_gb=int(source["disk"]),
            ephemeral_gb=int(source["OS-FLV-EXT-DATA:ephemeral"]),
            extra_specs=source["extra_specs"],
            properties=None,
            availability_zone=None,
            device_groups=devices.known_groups(source["extra_specs"], device_rules),
        ).request
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def reallocate(db: Session, reservation_id: str, chosen: Mapping[str, int]) -> None:
    """Replace a reservation's host allocations, as ``allocate`` writes them."""
    release(db, reservation_id)
    allocate(db, reservation_id, chosen)


def allocate(db: Session, reservation_id: str, chosen: Mapping[str, int]) -> None:
    """Write a reservation's host allocations into Blazar's table. Each instance has one row.

    :param chosen: the number of instances on each host, by host id.
    """
    rows = [
        {"id": str(uuid.uuid4()), "compute_host_id": host_id, "reservation_id": reservation_id}
        for host_id, count in chosen.items()
        for _ in range(count)
    ]
    db.execute(allocations.insert(), rows)


def release(db: Session, reservation_id: str) -> None:
    """Delete a reservation's host allocations. This releases its hosts and its slots."""
    db.execute(allocations.delete().where(allocations.c.reservation_id == reservation_id))


def allocated(db: Session, reservation_id: str) -> dict[str, int]:
    """The number of a reservation's instances on each host, by host id."""
    query = (
        sa.select(allocations.c.compute_host_id, sa.func.count())
        .where(allocations.c.reservation_id == reservation_id)
        .group_by(allocations.c.compute_host_id)
    )
    return {host_id: count for host_id, count in db.execute(query)}


def still_ending(
    db: Session,
    reservation_ids: Collection[str],
    since: datetime.datetime,
    now: datetime.datetime,
) -> set[str]:
    """Which of the given reservations must wait until another reservation leaves their hosts.

    The other reservation should have ended, but its status isn't "deleted" yet.

    :param since: other reservations that should have ended before this time are ignored, unless
        their lease is UPDATING. Such a lease ends only after its update, so its servers still run.
    """
    other, host = allocations.alias(), allocations.c.compute_host_id
    query = (
        sa.select(allocations.c.reservation_id)
        .distinct()
        .select_from(
            allocations.join(other, other.c.compute_host_id == host)
            .join(reservations, reservations.c.id == other.c.reservation_id)
            .join(leases, leases.c.id == reservations.c.lease_id)
        )
        .where(
            allocations.c.reservation_id.in_(reservation_ids),
            other.c.reservation_id != allocations.c.reservation_id,
            leases.c.end_date <= now,
            sa.or_(leases.c.end_date > since, leases.c.status == "UPDATING"),
            reservations.c.status != "deleted",
        )
    )
    return set(db.scalars(query))


def find_ids(db: Session, ref: str) -> frozenset[str]:
    """The ids of the hosts that have this id or hypervisor hostname, reservable or not."""
    named = sa.or_(compute_hosts.c.id == ref, compute_hosts.c.hypervisor_hostname == ref)
    return frozenset(db.scalars(sa.select(compute_hosts.c.id).where(named)))


def hosts_of(db: Session, reservation_id: str) -> list[HostUse]:
    """The hosts on which a reservation has instances."""
    return host_uses(db, allocations.c.reservation_id == reservation_id).get(reservation_id, [])


def zones_of(db: Session, reservation_id: str) -> list[str]:
    """The known zones of the hosts on which a reservation has instances, sorted by name."""
    host_ids = [host.host_id for host in hosts_of(db, reservation_id)]
    return sorted(set(host_providers.zones(db, host_ids).values()))


def host_uses(db: Session, of: sa.ColumnElement[bool]) -> dict[str, list[HostUse]]:
    """The hosts on which reservations have instances, by the reservation's id.

    :param of: a condition of Blazar's table of allocations.
    """
    columns = (
        compute_hosts.c.id,
        compute_hosts.c.service_name,
        compute_hosts.c.hypervisor_hostname,
        sa.func.count(),
        host_marks.works(),
    )
    query = (
        sa.select(allocations.c.reservation_id, *columns)
        .join(compute_hosts, compute_hosts.c.id == allocations.c.compute_host_id)
        .where(of)
        .group_by(allocations.c.reservation_id, *columns[:3], compute_hosts.c.reservable)
        .order_by(compute_hosts.c.service_name, compute_hosts.c.hypervisor_hostname)
    )
    uses: dict[str, list[HostUse]] = defaultdict(list)
    for reservation_id, *values in db.execute(query):
        uses[reservation_id].append(HostUse(*values))
    return uses
