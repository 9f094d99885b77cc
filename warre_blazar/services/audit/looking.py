"""Reads the tables, Nova, Placement and Keystone, and compares them."""

import dataclasses
import datetime
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent import futures
from typing import TypeVar

from sqlalchemy.orm import Session

from warre_blazar import times, warre_import
from warre_blazar.db import audit, maintenance, session
from warre_blazar.db.booking import promises
from warre_blazar.db.hosts import host_marks, reservable_hosts
from warre_blazar.db.messages import deliveries
from warre_blazar.db.running import leases as lease_rows
from warre_blazar.domain.audit import cloud_side, overselling, table_side, taken_room
from warre_blazar.domain.audit.differences import Difference, DifferenceKind
from warre_blazar.domain.audit.facts import (
    Booking,
    HaltedLease,
    InWindow,
    KnownHost,
    NovaFacts,
    PlacementFacts,
    Promised,
    SeenLease,
    WithoutBooking,
)
from warre_blazar.domain.hosts import provider_trees
from warre_blazar.domain.running import backing_names, lease_states
from warre_blazar.domain.running.holders import Holder
from warre_blazar.domain.running.lease import END_EVENT, START_EVENT, Lease
from warre_blazar.errors import exceptions
from warre_blazar.openstack import (
    device_traits,
    freepool,
    holders,
    host_trees,
    nova,
    placement,
    trusts,
)
from warre_blazar.services.hosts import room_taken

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
class Sight:
    """What an audit has found at one moment."""

    differences: Sequence[Difference]
    #: Why a service couldn't be read, by the service's name.
    away: Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class _Answers:
    """What was read from the services. A field is None if its service didn't answer."""

    nova: NovaFacts | None
    placement: PlacementFacts | None
    trusts: frozenset[str] | None


def look(now: datetime.datetime, patience: _Patience, neighbors: StockTypes) -> Sight:
    """Read Nova, Placement and Keystone, and then the tables, and compare them.

    A note is written before anything is made in a service. So if the tables are read last, they
    have a note of everything that was read from the services.

    :raises oslo_db.exception.DBError: the database is unavailable, so nothing can be compared.
    """
    with session.reader() as db:
        both = [reservable_hosts.empty(db, closed=is_closed) for is_closed in (False, True)]
        services = reservable_hosts.services(db)
        abandoned = {host.id: host.name for host in host_marks.abandoned(db)}
    hosts, closed = (list(map(KnownHost.of, read)) for read in both)
    away: dict[str, str] = {}
    with futures.ThreadPoolExecutor(3) as pool:
        nova_answer = pool.submit(read_nova)
        placement_answer = pool.submit(_placement, hosts, closed, services)
        keystone_answer = pool.submit(trusts.of_service_user)
    answers = _Answers(
        _result(nova_answer, away), _result(placement_answer, away), _result(keystone_answer, away)
    )
    held = _held(answers, services, away)
    working = {host.id: host.hypervisor for host in hosts} | abandoned
    with session.reader() as db:
        read_leases = lease_rows.read(db, lease_rows.unsettled(db, now))
        leases = [_seen(lease, now, patience) for lease in read_leases]
        worked_on = {lease.id for lease in leases if lease.is_worked_on}
        busy = {r.id for lease in read_leases if lease.id in worked_on for r in lease.reservations}
        of_leases = list(table_side.compare_leases(leases, now))
        lost = {d.subject for d in of_leases if d.kind is DifferenceKind.LEASE_STATE_LOST}
        bookings = audit.live_bookings(db)
        # If a lease must be ended or deleted, only the lease is reported, and not its reservations
        # too.
        left_alone = busy | {b.reservation_id for b in bookings if b.lease_id in lost}
        bookings = [b for b in bookings if b.lease_id not in worked_on | lost]
        found = [
            *of_leases,
            *table_side.halted_leases(_halted(db, now, neighbors), neighbors.are_exact),
            *table_side.compare_bookings(bookings),
            *table_side.unlike_hosts(bookings, {host.id: host for read in both for host in read}),
            *table_side.compare_promises(_stale_promises(db)),
            *table_side.booked_in_windows(_in_windows(db, now, busy)),
            *table_side.orphan_events(audit.orphan_event_count(db)),
            *table_side.lost_notices(deliveries.given_up(db)),
            *_oversold(db, now, hosts, answers.placement),
            *_misplaced([*hosts, *closed], answers),
            *cloud_side.hosts_out_of_service(hosts, answers.nova),
            *_in_the_cloud(db, now, bookings, left_alone, answers, held),
            *taken_room.compare(held, room_taken.entitled(db, now, working), left_alone),
        ]
    return Sight(found, away)


def _result(answer: "futures.Future[T]", away: dict[str, str]) -> T | None:
    """A service's answer, or None if the service failed. ``away`` gets the reason."""
    try:
        return answer.result()
    except exceptions.WarreError as error:
        service = str(error.detail.get("service", "A service"))
        away[service] = error.message
        return None


def read_nova() -> NovaFacts:
    """What Nova holds for reservations, and all servers.

    :raises ServiceUnavailable, ServiceRefused:
    """
    aggregates = nova.aggregates()
    return NovaFacts(
        nova.flavors_of_reservations(),
        tuple(a for a in aggregates if backing_names.of_aggregate(a.name, a.metadata)),
        nova.servers(),
        freepool.hosts(aggregates),
        nova.out_of_service(),
    )


def _placement(
    hosts: Sequence[KnownHost], closed: Sequence[KnownHost], registered: Collection[str]
) -> PlacementFacts:
    """Read what Placement holds. Of hosts that can't be booked, only their existence matters."""
    hypervisors = [host.hypervisor for host in hosts]
    every = [*hypervisors, *(host.hypervisor for host in closed)]
    trees = {
        hypervisor: tuple(provider_trees.bookable(provider) for provider in tree)
        for hypervisor, tree in host_trees.trees(hypervisors).items()
        if not isinstance(tree, exceptions.WarreError)
    }
    return PlacementFacts(
        placement.classes_of_reservations(),
        placement.providers(every),
        trees,
        holders.taken(registered),
        device_traits.of_reservations(),
    )


def _held(answers: _Answers, services: Mapping[str, str], away: dict[str, str]) -> list[Holder]:
    """Who holds room on hosts. Nobody, if Nova or Placement couldn't be read."""
    if answers.nova is None or answers.placement is None:
        return []
    try:
        return holders.name_all(answers.placement.taken, services, answers.nova.servers)
    except exceptions.WarreError as error:
        away[str(error.detail.get("service", "A service"))] = error.message
        return []


def _halted(db: Session, now: datetime.datetime, neighbors: StockTypes) -> list[HaltedLease]:
    """The leases of stock types on which nobody can be working any more."""
    return [
        lease
        for lease in audit.halted_leases(db)
        if (now - lease.written).total_seconds() > neighbors.patience(len(lease.reservations))
    ]


def _oversold(
    db: Session,
    now: datetime.datetime,
    hosts: Sequence[KnownHost],
    placement_facts: PlacementFacts | None,
) -> Iterator[Difference]:
    """Find flavors and hosts of which more is booked than there is."""
    of_hosts, of_flavors = audit.taken(db, now)
    yield from overselling.oversold_flavors(audit.offered(db), of_flavors, now)
    known = overselling.with_actual_capacities(hosts, placement_facts)
    yield from overselling.oversold_hosts(known, of_hosts, now)
    if placement_facts is not None:
        yield from overselling.shrunk_hosts(hosts, placement_facts)


def _misplaced(hosts: Sequence[KnownHost], answers: _Answers) -> Iterator[Difference]:
    if answers.placement is not None:
        yield from cloud_side.misplaced_hosts(hosts, answers.nova, answers.placement)


def _in_the_cloud(
    db: Session,
    now: datetime.datetime,
    bookings: Sequence[Booking],
    left_alone: set[str],
    answers: _Answers,
    held: Sequence[Holder],
) -> Iterator[Difference]:
    """Compare reservations and leases with what Nova, Placement and Keystone have."""
    seen = cloud_side.actual(answers.nova, answers.placement, held)
    services = zip(cloud_side.BOTH, (answers.nova, answers.placement), strict=True)
    sides = [side for side, facts in services if facts is not None]
    yield from cloud_side.compare(bookings, seen, sides)
    yield from cloud_side.strays(bookings, _standing(db, now, seen, left_alone), seen)
    if answers.trusts is not None:
        yield from cloud_side.compare_trusts(trusts_in_use(db), answers.trusts)
        yield from cloud_side.compare_leases(audit.trusted_leases(db), answers.trusts)


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
