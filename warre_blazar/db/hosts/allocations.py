"""Reads what is booked on hosts, and writes host allocations.

Reading all reservable hosts takes a constant number of queries. If instances have a choice of
providers, the same query reads which providers they are on.
"""

import dataclasses
import datetime
import itertools
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence

import sqlalchemy as sa
from oslo_utils import timeutils
from sqlalchemy.orm import Session

from warre_blazar import times
from warre_blazar.db import generations
from warre_blazar.db.booking.claims import Claims, claiming
from warre_blazar.db.hosts import assignments as assigned
from warre_blazar.db.hosts import host_marks, host_providers, kept_hosts
from warre_blazar.db.hosts.readings import AllocationReading
from warre_blazar.db.tables import (
    allocations,
    backings,
    bookings,
    compute_hosts,
    leases,
    reservations,
)
from warre_blazar.domain import timeline
from warre_blazar.domain.flavors.devices import NO_DEVICES, Rules
from warre_blazar.domain.hosts import host_devices
from warre_blazar.domain.hosts.bookable_host import BookableHost, StoredPlaces
from warre_blazar.domain.hosts.holdings import Holding
from warre_blazar.domain.hosts.placing import NO_NEW_PLACES, PlacesByHost
from warre_blazar.domain.running.wanted import HostUse
from warre_blazar.domain.taken import TakenOverTime


@dataclasses.dataclass(frozen=True)
class MatchingHosts:
    """The hosts that match what is to be booked, and what is taken of a flavor's slots."""

    #: The reservable hosts that match, with all that is booked on them.
    hosts: list[BookableHost]
    #: What other reservations take of the flavor's slots.
    taken: TakenOverTime
    #: The ids of the reservable hosts about whose providers nothing is stored.
    unread: Sequence[str] = ()


def matching_hosts(
    db: Session,
    flavor_id: str,
    matches: Callable[[BookableHost], bool],
    cleaning: datetime.timedelta = times.NO_TIME,
    device_rules: Rules = NO_DEVICES,
    without: str | None = None,
) -> MatchingHosts:
    """Read the hosts that match what is to be booked, and what is taken of a flavor's slots.

    A reservation claims its slots as long as it has host allocations in Blazar's table.

    :param matches: whether a host matches.
    :param without: the id of a reservation whose slots don't count.

    The other parameters are those of ``kept_hosts.read``.
    """
    booked = kept_hosts.read(db, cleaning, device_rules, flavor_ids=[flavor_id], without=without)
    unread = [host.id for host in booked.hosts if not host.is_read]
    matching = [host for host in booked.hosts if matches(host)]
    return MatchingHosts(matching, booked.taken[flavor_id], unread)


def all_reservable(
    db: Session,
    window: timeline.Span,
    cleaning: datetime.timedelta = times.NO_TIME,
    device_rules: Rules = NO_DEVICES,
) -> list[BookableHost]:
    """Read all reservable hosts, with what is booked on them during a span.

    The other parameters are those of ``kept_hosts.read``.
    """
    return [host.during(window) for host in kept_hosts.read(db, cleaning, device_rules).hosts]


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
    read = AllocationReading(
        hosts, Claims(timeline.Span(now, datetime.datetime.max), cleaning), device_rules
    )
    since = now - cleaning
    query = read.query(sa.false()).where(
        allocations.c.compute_host_id.in_(host_ids),
        sa.or_(leases.c.end_date > since, bookings.c.claim_end > since),
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
    read = AllocationReading(hosts, Claims(window, times.NO_TIME), device_rules)
    padded = [span.padded(cleaning) for span in spans]
    query = claiming(read.query(sa.true()), window, cleaning, padded)
    held, claims = read.rows(db.execute(query).all())
    return Booked(held, {f: [*itertools.chain(*each.values())] for f, each in claims.items()})


def reallocate(
    db: Session,
    reservation_id: str,
    chosen: Mapping[str, int],
    places: PlacesByHost = NO_NEW_PLACES,
) -> None:
    """Replace a reservation's host allocations, as ``allocate`` writes them.

    The caller has claimed the hosts that gain instances.
    Instances that stay on their hosts keep their places, unless ``places`` has others.
    """
    present = assigned.ids(db, allocations.c.reservation_id == reservation_id)
    surplus = {h: ids[chosen.get(h, 0) :] for (_, h), ids in present.items()}
    if lost := [*itertools.chain(*surplus.values())]:
        db.execute(allocations.delete().where(allocations.c.id.in_(lost)))
    before = Counter({host_id: len(ids) for (_, host_id), ids in present.items()})
    after = Counter(chosen)
    generations.outdate(db, {*places, *(before - after), *(after - before)})
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

    The caller has claimed the hosts.

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
    before = generations.outdate_known(db, reservations.c.id == reservation_id)
    kept_hosts.remove(db, reservation_id, before)
    db.execute(allocations.delete().where(allocations.c.reservation_id == reservation_id))


def allocated(db: Session, reservation_id: str) -> dict[str, int]:
    """The number of a reservation's instances on each host, by host id."""
    query = (
        sa.select(allocations.c.compute_host_id, sa.func.count())
        .where(allocations.c.reservation_id == reservation_id)
        .group_by(allocations.c.compute_host_id)
    )
    return {host_id: count for host_id, count in db.execute(query)}


#: What a reservation may have to wait for: tables, an alias of each, and the shared column.
_SHARED = (
    (allocations, allocations.alias(), "compute_host_id"),
    (backings, backings.alias(), "nova_flavor"),
)


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
    for table, other, shared in _SHARED:
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
    return host_uses(db, of_reservations([reservation_id])).get(reservation_id, [])


def of_reservations(reservation_ids: Collection[str]) -> sa.ColumnElement[bool]:
    """The SQL condition that an allocation is one of the reservations'."""
    return allocations.c.reservation_id.in_(reservation_ids)


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
