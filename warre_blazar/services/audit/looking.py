"""Reads the tables, Nova, Placement and Keystone, and compares them."""

import dataclasses
import datetime
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent import futures
from typing import TypeVar

from sqlalchemy.orm import Session

from warre_blazar import times, warre_import
from warre_blazar.db import audit, maintenance, session
from warre_blazar.db.booking import promises
from warre_blazar.db.hosts import reservable_hosts
from warre_blazar.db.messages import deliveries
from warre_blazar.db.running import leases as lease_rows
from warre_blazar.domain.audit import cloud_side, overselling, table_side
from warre_blazar.domain.audit.differences import Difference, DifferenceKind
from warre_blazar.domain.audit.facts import (
    Booking,
    HaltedLease,
    InWindow,
    KnownHost,
    LostNotices,
    NovaFacts,
    Offered,
    PlacementFacts,
    Promised,
    SeenLease,
    Taking,
    TrustedLease,
    WithoutBooking,
)
from warre_blazar.domain.hosts import provider_trees
from warre_blazar.domain.running import lease_states
from warre_blazar.domain.running.lease import END_EVENT, START_EVENT, Lease
from warre_blazar.domain.running.wanted import Backing
from warre_blazar.errors import exceptions
from warre_blazar.openstack import host_trees, nova, placement, trusts

T = TypeVar("T")
_Patience = Callable[[int], float]


@dataclasses.dataclass(frozen=True)
class StockTypes:
    """How Blazar's own resource types are booked."""

    #: A function of the number of a lease's reservations. It returns the seconds after which work
    #: on the lease must be over, and a request for it answered.
    patience: _Patience
    #: Whether the exact plugins are on.
    are_exact: bool


@dataclasses.dataclass(frozen=True)
class Tables:
    """The facts that were read from the database."""

    leases: Sequence[SeenLease]
    halted: Sequence[HaltedLease]
    #: Live reservations, except those whose leases a manager is working on.
    bookings: Sequence[Booking]
    standing: WithoutBooking
    hosts: Sequence[KnownHost]
    of_hosts: Sequence[Taking]
    of_flavors: Sequence[Taking]
    flavors: Sequence[Offered]
    promises: Sequence[Promised]
    in_windows: Sequence[InWindow]
    orphan_events: int
    lost_notices: Sequence[LostNotices]
    trusts_in_use: Collection[str]
    trusted_leases: Sequence[TrustedLease]


@dataclasses.dataclass(frozen=True)
class AuditReading:
    """All facts that were read at one moment. A field is None if its service didn't answer."""

    now: datetime.datetime
    neighbors: StockTypes
    tables: Tables
    nova: NovaFacts | None
    placement: PlacementFacts | None
    trusts: frozenset[str] | None
    #: Why a service couldn't be read, by the service's name.
    away: Mapping[str, str]
    #: What Nova and Placement hold for a reservation, by the reservation's id.
    backings: Mapping[str, Backing]


def look(now: datetime.datetime, patience: _Patience, neighbors: StockTypes) -> AuditReading:
    """Read Nova, Placement and Keystone, and then the tables.

    A note is written before anything is made in a service. So if the tables are read last, they
    have a note of everything that was read from the services.

    :raises oslo_db.exception.DBError: the database is unavailable, so nothing can be compared.
    """
    with session.reader() as db:
        known_hosts = _hosts(db)
    away: dict[str, str] = {}
    with futures.ThreadPoolExecutor(3) as pool:
        nova_answer = pool.submit(_nova)
        placement_answer = pool.submit(_placement, [host.hypervisor for host in known_hosts])
        keystone_answer = pool.submit(trusts.of_service_user)
    nova_facts = _result(nova_answer, away)
    placement_facts = _result(placement_answer, away)
    trust_ids = _result(keystone_answer, away)
    seen = cloud_side.actual(nova_facts, placement_facts)
    with session.reader() as db:
        tables = _tables(db, now, patience, neighbors, set(seen), known_hosts)
    return AuditReading(now, neighbors, tables, nova_facts, placement_facts, trust_ids, away, seen)


def _result(answer: "futures.Future[T]", away: dict[str, str]) -> T | None:
    """A service's answer, or None if the service failed. ``away`` gets the reason."""
    try:
        return answer.result()
    except exceptions.WarreError as error:
        service = str(error.detail.get("service", "A service"))
        away[service] = error.message
        return None


def _nova() -> NovaFacts:
    return NovaFacts(
        nova.flavors_of_reservations(),
        nova.aggregates_of_reservations(),
        nova.servers_of_reservations(),
    )


def _placement(hypervisors: Sequence[str]) -> PlacementFacts:
    trees = {
        hypervisor: tuple(provider_trees.bookable(provider) for provider in tree)
        for hypervisor, tree in host_trees.trees(hypervisors).items()
        if not isinstance(tree, exceptions.WarreError)
    }
    return PlacementFacts(
        placement.classes_of_reservations(), placement.providers(hypervisors), trees
    )


def _hosts(db: Session) -> list[KnownHost]:
    return [KnownHost.of(host) for host in reservable_hosts.empty(db)]


def _tables(
    db: Session,
    now: datetime.datetime,
    patience: _Patience,
    neighbors: StockTypes,
    present: Collection[str],
    known_hosts: Sequence[KnownHost],
) -> Tables:
    read_leases = lease_rows.read(db, lease_rows.unsettled(db, now))
    leases = [_seen(lease, now, patience) for lease in read_leases]
    bookings = audit.live_bookings(db)
    worked_on = {lease.id for lease in leases if lease.is_worked_on}
    lost = {
        d.subject
        for d in table_side.compare_leases(leases, now)
        if d.kind is DifferenceKind.LEASE_STATE_LOST
    }
    busy = {r.id for lease in read_leases if lease.id in worked_on for r in lease.reservations}
    of_hosts, of_flavors = audit.taken(db, now)
    return Tables(
        leases=leases,
        halted=[
            lease
            for lease in audit.halted_leases(db)
            if (now - lease.written).total_seconds() > neighbors.patience(len(lease.reservations))
        ],
        # If a lease must be ended or deleted, only the lease is reported, and not its reservations
        # too.
        bookings=[b for b in bookings if b.lease_id not in worked_on | lost],
        standing=_standing(db, now, present, busy | _reservation_ids(bookings, lost)),
        hosts=known_hosts,
        of_hosts=of_hosts,
        of_flavors=of_flavors,
        flavors=audit.offered(db),
        promises=_stale_promises(db),
        in_windows=_in_windows(db, now, busy),
        orphan_events=audit.orphan_event_count(db),
        lost_notices=deliveries.given_up(db),
        trusts_in_use=trusts_in_use(db),
        trusted_leases=audit.trusted_leases(db),
    )


def _in_windows(db: Session, now: datetime.datetime, busy: Collection[str]) -> list[InWindow]:
    """The reservations that maintenance windows have met, and that overlap them still.

    Reservations that are younger than the window were booked by users who may book inside windows.

    :param busy: the ids of reservations that are left out, because a manager is working on them.
    """
    return [
        InWindow(item.reservation_id, item.lease_id, item.span, window.id, window.span)
        for window, made_at in maintenance.not_over(db, now)
        if made_at + times.AUDIT_LEAVES_WINDOWS <= now
        for item in maintenance.met(
            db, [i for i, _ in window.flavors], [i for i, _ in window.hosts], window.span
        )
        if item.created_at <= made_at and item.reservation_id not in busy
    ]


def trusts_in_use(db: Session) -> set[str]:
    """The ids of the trusts that somebody needs.

    After an undo of an import, Warre needs the trusts of the leases that were adopted from it.
    """
    return audit.trusts_in_use(db, warre_import.leases_to_give_back(db))


def _stale_promises(db: Session) -> list[Promised]:
    """The promises that managers should have dropped by now."""
    return [
        Promised(promise.reservation_id, promise.span, promise)
        for promise in promises.pending(db)
        if promise.age > times.AUDIT_LEAVES_PROMISES
    ]


def _reservation_ids(bookings: Sequence[Booking], lease_ids: set[str]) -> set[str]:
    """The ids of the reservations that belong to the given leases."""
    return {b.reservation_id for b in bookings if b.lease_id in lease_ids}


def _seen(lease: Lease, now: datetime.datetime, patience: _Patience) -> SeenLease:
    """The lease with its state.

    The column ``updated_at`` of the lease says since when the lease has been in this state.
    """
    written = lease.updated_at
    age = lease_states.Age.STUCK
    if written is not None:
        unchanged = (now - written).total_seconds()
        age = lease_states.age(unchanged, patience(len(lease.reservations)))
    requested = lease.claim is not None and lease.claim.manager_id is None
    return SeenLease(
        id=lease.id,
        state=lease.state(now, age),
        due=_due(lease),
        is_requested=requested and lease.claim.action != "start",  # type: ignore[union-attr]
        read=lease,
    )


def _due(lease: Lease) -> datetime.datetime | None:
    """When the lease's next start or end, or the next attempt at it, is due."""
    next_events = {lease_states.PENDING: START_EVENT, lease_states.ACTIVE: END_EVENT}
    written = [
        event.time
        for event in lease.of_type(next_events.get(lease.status, ""))
        if event.status == lease_states.UNDONE and event.time is not None and lease.is_ours()
    ]
    return max(written, default=None)


def _standing(
    db: Session,
    now: datetime.datetime,
    present: Collection[str],
    busy: set[str],
) -> WithoutBooking:
    notes = audit.leftovers(db, now - times.AUDIT_LEAVES_ENDED, now)
    statuses = audit.statuses(db, present)
    being_tidied = {i for i, is_fresh in notes.items() if is_fresh}
    stock = {i for i, (is_ours, _) in statuses.items() if not is_ours}
    alive = {i for i, (is_ours, status) in statuses.items() if is_ours and status != "deleted"}
    return WithoutBooking(
        left_alone=frozenset(stock | busy | being_tidied | alive),
        over=frozenset(i for i, (is_ours, status) in statuses.items() if status == "deleted"),
        leftovers=frozenset(set(notes) - being_tidied - busy),
    )


def differences(seen: AuditReading) -> list[Difference]:
    """All differences between the facts of a look."""
    tables = seen.tables
    differences = [
        *table_side.compare_leases(tables.leases, seen.now),
        *table_side.halted_leases(tables.halted, seen.neighbors.are_exact),
        *table_side.compare_bookings(tables.bookings),
        *table_side.compare_promises(tables.promises),
        *table_side.booked_in_windows(tables.in_windows),
        *table_side.orphan_events(tables.orphan_events),
        *table_side.lost_notices(tables.lost_notices),
        *overselling.oversold_flavors(tables.flavors, tables.of_flavors, seen.now),
    ]
    actual = overselling.with_actual_capacities(tables.hosts, seen.placement)
    differences += overselling.oversold_hosts(actual, tables.of_hosts, seen.now)
    services = zip(cloud_side.BOTH, (seen.nova, seen.placement), strict=True)
    sides = [side for side, facts in services if facts is not None]
    differences += cloud_side.compare(tables.bookings, seen.backings, sides)
    if seen.placement is not None:
        differences += overselling.shrunk_hosts(tables.hosts, seen.placement)
    differences += cloud_side.strays(tables.bookings, tables.standing, seen.backings)
    if seen.trusts is not None:
        differences += cloud_side.compare_trusts(tables.trusts_in_use, seen.trusts)
        differences += cloud_side.compare_leases(tables.trusted_leases, seen.trusts)
    return differences
