"""Reads what is booked on hosts, and writes host allocations.

Reading all reservable hosts takes a constant number of queries. If instances have a choice of
providers, the same query reads which providers they are on.
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
from warre_blazar.db.hosts import assignments as assigned
from warre_blazar.db.hosts import host_marks, host_providers, reservable_hosts
from warre_blazar.db.tables import (
    allocations,
    assignments,
    backings,
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
from warre_blazar.domain.hosts import host_devices
from warre_blazar.domain.hosts.bookable_host import BookableHost, StoredPlaces
from warre_blazar.domain.hosts.holdings import Holding
from warre_blazar.domain.hosts.placing import NO_NEW_PLACES, PlacesByHost
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
    requests: Sequence[PlacementRequest] = (),
) -> BookedHosts:
    """Read the hosts that match what is to be booked, and the claims on a flavor's slots.

    A reservation claims its slots as long as it has host allocations in Blazar's table.

    :param matches: whether a host is read.
    :param cleaning: the time for which each reservation keeps its hosts and slots after its end.
    :param device_rules: how devices of Blazar's own reservations (``flavor:instance``) are counted.
    :param requests: the requests of the instances that are to be booked. Empty: any requests.
    """
    reservable = reservable_hosts.empty(db)
    matching = [host for host in reservable if matches(host)]
    # If at least half of the reservable hosts match, the allocations of all hosts are read. A query
    # with a thousand ids would cost more than reading some allocations that aren't needed.
    ids = [host.id for host in matching] if len(matching) < len(reservable) / 2 else None
    read = _Reading(matching, Claims(window, cleaning), device_rules, requests)
    query = claiming(read.query(bookings.c.flavor_id == flavor_id, ids), window, cleaning)
    held, claims = read.rows(db.execute(query).all())
    unread = [host.id for host in reservable if not host.is_read]
    hosts = [host.holding(held[host.id]) for host in matching]
    return BookedHosts(hosts, claims[flavor_id], unread)


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

    :param of_flavor: as for ``_Reading.query``.
    """
    reservable = reservable_hosts.empty(db)
    read = _Reading(reservable, Claims(window, cleaning), device_rules)
    query = claiming(read.query(of_flavor, None), window, cleaning)
    held, claims = read.rows(db.execute(query).all())
    hosts = [host.holding(held[host.id]) for host in reservable]
    return hosts, claims


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
    held = _from_now_on(db, [host.id for host in of], of, cleaning, device_rules)
    found = [host.holding(held[host.id]) for host in of]
    return [host.without(without) for host in found] if without else found


def holdings_of(
    db: Session,
    host_ids: list[str],
    *,
    cleaning: datetime.timedelta = times.NO_TIME,
    device_rules: Rules = NO_DEVICES,
    without: str | None = None,
) -> Mapping[str, Sequence[Holding]]:
    """What is booked on hosts from now on, by host id. Places on providers aren't read."""
    held = _from_now_on(db, host_ids, (), cleaning, device_rules)
    return {i: [h for h in held[i] if h.reservation_id != without] for i in host_ids}


def _from_now_on(
    db: Session,
    host_ids: list[str],
    hosts: Collection[BookableHost],
    cleaning: datetime.timedelta,
    device_rules: Rules,
) -> Mapping[str, list[Holding]]:
    """What is booked on hosts from now on, by host id.

    :param hosts: the hosts of which places on providers are read.
    """
    now = timeutils.utcnow()
    read = _Reading(
        hosts, Claims(timeline.Span(now, datetime.datetime.max), cleaning), device_rules
    )
    since = now - cleaning
    query = read.query(sa.false(), host_ids).where(
        sa.or_(leases.c.end_date > since, bookings.c.claim_end > since)
    )
    held, _ = read.rows(db.execute(query).all())
    return held


@dataclasses.dataclass(frozen=True)
class Booked:
    """What is booked on all hosts and of all flavors at some times."""

    #: The holdings by host id.
    holdings: Mapping[str, Sequence[Holding]]
    #: The claims on slots by flavor id.
    claims: Mapping[str, Sequence[timeline.Claim]]


def everything(
    db: Session,
    hosts: Collection[BookableHost],
    spans: Sequence[timeline.Span],
    cleaning: datetime.timedelta = times.NO_TIME,
    device_rules: Rules = NO_DEVICES,
) -> Booked:
    """Read in one statement what is booked on all hosts and of all flavors at some times.

    :param hosts: all hosts, with or without their holdings.
    :param spans: spans of time, sorted by start. What has ended before a span is included for its
        cleaning time, but the times of holdings and claims don't contain the cleaning time.
    """
    window = timeline.Span(spans[0].start, spans[-1].padded(cleaning).end)
    read = _Reading(hosts, Claims(window, times.NO_TIME), device_rules)
    padded = [span.padded(cleaning) for span in spans]
    query = claiming(read.query(sa.true(), None), window, cleaning, padded)
    held, claims = read.rows(db.execute(query).all())
    return Booked(held, {f: [*itertools.chain(*each.values())] for f, each in claims.items()})


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

#: Which instance it is, and what it takes of one provider.
_PLACES = (
    allocations.c.id,
    assignments.c.provider_id,
    assignments.c.resource_class,
    assignments.c.amount,
)


class _Reading:
    """Reads host allocations and what they take."""

    def __init__(
        self,
        hosts: Iterable[BookableHost],
        claims: Claims,
        device_rules: Rules,
        requests: Sequence[PlacementRequest] = (),
    ) -> None:
        """
        :param hosts: hosts on which the allocations may be.
        :param claims: reads the times.
        :param requests: the requests of the instances that are to be booked. Empty: any requests.
        """
        self._hosts = {host.id: host for host in hosts}
        self._claims, self._device_rules = claims, device_rules
        #: Whether to read on which providers instances are.
        self.places = any(
            any(map(host.is_contested, requests)) if requests else host.has_choices
            for host in self._hosts.values()
        )

    def query(
        self, of_flavor: sa.ColumnElement[bool], host_ids: list[str] | None
    ) -> sa.Select[Any]:
        """A query of host allocations.

        The columns are the host's id, the reservation's id, the flavor's id, the number of slots,
        ``_TAKEN``, the times, and, if ``places``, ``_PLACES``. An instance that is on several
        providers has a row for each of them.

        :param of_flavor: the condition that a reservation's slots are read. For other reservations,
            the flavor's id and the number of slots are NULL.
        """
        source = (
            leases.join(reservations, reservations.c.lease_id == leases.c.id)
            .join(allocations, allocations.c.reservation_id == reservations.c.id)
            .outerjoin(bookings, bookings.c.reservation_id == reservations.c.id)
            # flavor:slot reservations have a row in instance_reservations too, but it isn't joined:
            # their row in ``bookings`` says what they take.
            .outerjoin(
                instance_reservations,
                sa.and_(
                    instance_reservations.c.reservation_id == reservations.c.id,
                    bookings.c.id.is_(None),
                ),
            )
        )
        if self.places:
            source = source.outerjoin(assignments, assignments.c.allocation_id == allocations.c.id)
        query = sa.select(
            allocations.c.compute_host_id,
            allocations.c.reservation_id,
            sa.case((of_flavor, bookings.c.flavor_id)),
            sa.case((of_flavor, bookings.c.instance_count)),
            *_TAKEN,
            *self._claims.columns,
            *(_PLACES if self.places else ()),
        ).select_from(source)
        if host_ids is not None:
            # A reservation of the flavor claims slots even if its hosts no longer match the shape.
            query = query.where(sa.or_(allocations.c.compute_host_id.in_(host_ids), of_flavor))
        return query

    def rows(
        self, rows: Sequence[Any]
    ) -> tuple[dict[str, list[Holding]], dict[str, dict[str, list[timeline.Claim]]]]:
        """What is booked on hosts, and what is booked of flavors.

        :param rows: the rows of ``query``.
        :returns: the holdings by host id, and the claims on slots by flavor id and reservation id.
        """
        held: dict[str, list[Holding]] = defaultdict(list)
        claims: dict[str, dict[str, list[timeline.Claim]]] = defaultdict(dict)
        spans_of: dict[str, list[timeline.Span]] = {}
        requests_of: dict[tuple[str, str | None], PlacementRequest | None] = {}
        for row, stored in self._instances(rows):
            host_id, reservation_id, flavor_id, slots, resource_type, taken, *when = row
            spans = spans_of.get(reservation_id)
            if spans is None:
                spans = spans_of[reservation_id] = self._claims.spans(*when)
                if flavor_id is not None:
                    claims[flavor_id][reservation_id] = [
                        timeline.Claim(span, slots) for span in spans
                    ]
            if (resource_type, taken) not in requests_of:
                request = _request(resource_type, taken, self._device_rules)
                requests_of[resource_type, taken] = request
            request = requests_of[resource_type, taken]
            host = self._hosts.get(host_id) if stored else None
            places = host.stored_places(request, stored) if host else None
            for span in spans:
                held[host_id].append(Holding(reservation_id, span, request, places))
        return held, claims

    def _instances(self, rows: Sequence[Any]) -> Iterable[tuple[Any, Sequence[Any]]]:
        """Each instance once: its row without ``_PLACES``, and what it takes of each provider."""
        if not self.places:
            return ((row, ()) for row in rows)
        width = len(_PLACES)
        by_id: dict[str, tuple[Any, list[Any]]] = {}
        for row in rows:
            allocation_id, *place = row[-width:]
            _, stored = by_id.setdefault(allocation_id, (row[:-width], []))
            if place[0] is not None:
                stored.append(place)
        return by_id.values()


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


def reallocate(
    db: Session,
    reservation_id: str,
    chosen: Mapping[str, int],
    places: PlacesByHost = NO_NEW_PLACES,
) -> None:
    """Replace a reservation's host allocations, as ``allocate`` writes them.

    Instances that stay on their hosts keep their places, unless ``places`` has others.
    """
    present = assigned.ids(db, allocations.c.reservation_id == reservation_id)
    surplus = [
        allocation_id
        for (_, host_id), ids in present.items()
        for allocation_id in ids[chosen.get(host_id, 0) :]
    ]
    if surplus:
        db.execute(allocations.delete().where(allocations.c.id.in_(surplus)))
    kept = {h: ids[: chosen.get(h, 0)] for (_, h), ids in present.items()}
    anew = [i for host_id in places for i in kept.get(host_id, ())]
    assigned.remove(db, anew)
    _allocate(db, reservation_id, chosen, places, kept)


def allocate(
    db: Session,
    reservation_id: str,
    chosen: Mapping[str, int],
    places: PlacesByHost = NO_NEW_PLACES,
) -> None:
    """Write a reservation's host allocations into Blazar's table. Each instance has one row.

    :param chosen: the number of instances on each host, by host id.
    :param places: the places of instances that have a choice of providers.
    """
    _allocate(db, reservation_id, chosen, places, {})


def _allocate(
    db: Session,
    reservation_id: str,
    chosen: Mapping[str, int],
    places: PlacesByHost,
    present: Mapping[str, Sequence[str]],
) -> None:
    """
    :param present: the ids of the allocations that there are already, by host id.
    """
    ids = {host_id: list(present.get(host_id, ())) for host_id in chosen}
    new = []
    for host_id, count in chosen.items():
        for _ in range(count - len(ids[host_id])):
            ids[host_id].append(str(uuid.uuid4()))
            new.append(
                {
                    "id": ids[host_id][-1],
                    "compute_host_id": host_id,
                    "reservation_id": reservation_id,
                }
            )
    if new:
        db.execute(allocations.insert(), new)
    assigned.write(db, [(ids[host_id], of_host) for host_id, of_host in places.items()])


def settle(
    db: Session,
    hosts: Collection[BookableHost],
    cleaning: datetime.timedelta = times.NO_TIME,
    device_rules: Rules = NO_DEVICES,
) -> None:
    """Write places for all instances that have none.

    :param hosts: hosts that were claimed in this transaction.
    """
    for host_id, places in settled(db, hosts, cleaning, device_rules).items():
        assigned.assign(db, {owner: {host_id: of_owner} for owner, of_owner in places.items()})


def settled(
    db: Session,
    hosts: Collection[BookableHost],
    cleaning: datetime.timedelta = times.NO_TIME,
    device_rules: Rules = NO_DEVICES,
) -> Mapping[str, Mapping[str, Sequence[StoredPlaces]]]:
    """The places of reservations of which instances had none, by host id and reservation id."""
    with_choices = [host for host in hosts if host.has_choices]
    if not with_choices:
        return {}
    found = {}
    for host in complete(db, with_choices, cleaning=cleaning, device_rules=device_rules):
        new = host_devices.newly_settled(host.holdings, host.settled().holdings)
        if new:
            found[host.id] = {i: [host.to_store(p) for p in places] for i, places in new.items()}
    return found


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

    They also wait for one from which they get the Nova flavor of their handle. The other
    reservation should have ended, but its status isn't "deleted" yet.

    :param since: other reservations that should have ended before this time are ignored, unless
        their lease is UPDATING. Such a lease ends only after its update, so its servers still run.
    """
    queries = []
    for table, shared in ((allocations, "compute_host_id"), (backings, "nova_flavor")):
        other = table.alias()
        queries.append(
            sa.select(table.c.reservation_id)
            .select_from(
                table.join(other, other.c[shared] == table.c[shared])
                .join(reservations, reservations.c.id == other.c.reservation_id)
                .join(leases, leases.c.id == reservations.c.lease_id)
            )
            .where(
                table.c.reservation_id.in_(reservation_ids),
                other.c.reservation_id != table.c.reservation_id,
                leases.c.end_date <= now,
                sa.or_(leases.c.end_date > since, leases.c.status == "UPDATING"),
                reservations.c.status != "deleted",
            )
        )
    return set(db.scalars(sa.union(*queries)))


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
    is_told = backings.c.told.is_not(None)
    query = (
        sa.select(is_told, allocations.c.reservation_id, *columns)
        .join(compute_hosts, compute_hosts.c.id == allocations.c.compute_host_id)
        .outerjoin(backings, backings.c.reservation_id == allocations.c.reservation_id)
        .where(of)
        .group_by(is_told, allocations.c.reservation_id, *columns[:3], compute_hosts.c.reservable)
        .order_by(compute_hosts.c.service_name, compute_hosts.c.hypervisor_hostname)
    )
    uses: dict[str, list[HostUse]] = defaultdict(list)
    told = set[str]()
    for has_trait, reservation_id, *values in db.execute(query):
        uses[reservation_id].append(HostUse(*values))
        if has_trait:
            told.add(reservation_id)
    carriers = assigned.carriers(db, told) if told else {}
    for reservation_id in told:
        uses[reservation_id] = [
            dataclasses.replace(use, carriers=carriers.get((reservation_id, use.host_id), _NONE))
            for use in uses[reservation_id]
        ]
    return uses


_NONE = frozenset[str]()
