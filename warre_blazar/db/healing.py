"""Finds reservations on failed hosts, and writes flags of reservations and marks of hosts.

Blazar's host monitor takes a failed host out of use: the host isn't ``reservable`` until the
monitor sees it working again. This package's table ``warre_hosts`` has two marks of a host:
``draining`` (an operator drains the host), and ``abandoned`` (servers may be left on it).
"""

import dataclasses
import datetime
from collections.abc import Collection, Mapping

import sqlalchemy as sa
from oslo_utils import timeutils
from sqlalchemy.orm import Session

from warre_blazar.db import hosts, session
from warre_blazar.db.tables import (
    allocations,
    bookings,
    bookings_in_leases,
    compute_hosts,
    host_generations,
    leases,
    reservations,
)
from warre_blazar.domain.lease import Lease
from warre_blazar.domain.timeline import Span

#: Blazar's statuses of reservations that wait for their start or are running.
_LIVE = ("pending", "active")


def _on_hosts(condition: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    """The SQL condition that a reservation has an instance on a host that meets ``condition``."""
    return sa.exists().where(
        allocations.c.reservation_id == reservations.c.id,
        compute_hosts.c.id == allocations.c.compute_host_id,
        condition,
    )


def suffering(
    db: Session,
    window: Span,
    host_ids: Collection[str] | None = None,
    *,
    unflagged: bool = False,
) -> list[str]:
    """The reservations with instances on failed hosts, the earliest start first.

    :param window: leave out reservations whose leases don't overlap this span.
    :param host_ids: consider only the failed hosts among these. None: consider all failed hosts.
    :param unflagged: whether to leave out reservations that are flagged with ``missing_resources``.
    :returns: ids of reservations in Blazar's table.
    """
    failed = sa.not_(compute_hosts.c.reservable)
    if host_ids is not None:
        failed = sa.and_(failed, compute_hosts.c.id.in_(host_ids))
    query = (
        sa.select(reservations.c.id)
        .select_from(bookings_in_leases)
        .where(
            reservations.c.status.in_(_LIVE),
            leases.c.start_date < window.end,
            leases.c.end_date > window.start,
            _on_hosts(failed),
        )
        .order_by(leases.c.start_date, reservations.c.id)
    )
    if unflagged:
        query = query.where(sa.not_(reservations.c.missing_resources))
    return list(db.scalars(query))


def recovered(db: Session, now: datetime.datetime) -> list[str]:
    """The reservations that are flagged with ``missing_resources`` and are on no failed host.

    :param now: leases that have ended by this time are left out.
    """
    query = (
        sa.select(reservations.c.id)
        .select_from(bookings_in_leases)
        .where(
            reservations.c.missing_resources,
            reservations.c.status.in_(_LIVE),
            leases.c.end_date > now,
            sa.not_(_on_hosts(sa.not_(compute_hosts.c.reservable))),
        )
    )
    return list(db.scalars(query))


def failed_hosts(db: Session) -> set[str]:
    """The ids of the hosts that have failed."""
    return set(db.scalars(sa.select(compute_hosts.c.id).where(sa.not_(compute_hosts.c.reservable))))


def set_flags(
    db: Session,
    lease: Lease,
    reservation_id: str,
    *,
    missing_resources: bool,
    resources_changed: bool,
) -> None:
    """Write Blazar's flags of a reservation, and whether its lease is degraded.

    A lease is degraded while one of its reservations, of any resource type, has one of the flags.

    The lease's row is always written, even if ``degraded`` stays the same. A manager also writes
    this row when it claims the lease to start it, and Blazar writes it at the beginning of an
    update. So neither the claim nor the update can commit at the same time as this transaction.

    :raises session.LostRace: the lease has changed since it was read.
    """
    db.execute(
        reservations.update()
        .where(reservations.c.id == reservation_id)
        .values(missing_resources=missing_resources, resources_changed=resources_changed)
    )
    flagged = sa.select(reservations.c.id).where(
        reservations.c.lease_id == lease.id,
        sa.or_(reservations.c.missing_resources, reservations.c.resources_changed),
    )
    session.write_or_lose(
        db,
        leases.update()
        .where(
            leases.c.id == lease.id,
            leases.c.status == lease.status,
            leases.c.start_date == lease.span.start,
            leases.c.end_date == lease.span.end,
        )
        .values(degraded=db.execute(flagged).first() is not None, updated_at=timeutils.utcnow()),
    )


@dataclasses.dataclass(frozen=True)
class Drain:
    """Who drains a host, since when, and why."""

    by: str | None
    at: datetime.datetime | None
    reason: str | None


def set_draining(db: Session, host_id: str, drain: Drain | None) -> None:
    """Mark a host as draining, or remove this mark.

    :param drain: None: nobody drains the host any more.
    :raises session.LostRace: another transaction has just added the host's row to ``warre_hosts``,
        or the host is gone.
    """
    said = drain or Drain(None, None, None)
    hosts.outdate(
        db,
        host_id,
        draining=drain is not None,
        drained_by=said.by,
        drained_at=said.at,
        drain_reason=said.reason,
    )


def abandon(db: Session, host_id: str) -> None:
    """Mark a failed host as abandoned.

    Servers may be left on the host. They belong to running reservations that were moved off it.

    :raises session.LostRace: another transaction has just added the host's row to ``warre_hosts``,
        or the host is gone.
    """
    hosts.outdate(db, host_id, abandoned=True)


@dataclasses.dataclass(frozen=True)
class Abandoned:
    """A host that works again, but may still have servers of reservations that were moved away."""

    id: str
    #: The hypervisor hostname.
    name: str
    generation: int
    #: The number of each reservation's instances on the host, by the reservation's id in Blazar's
    #: table.
    held: Mapping[str, int]


def abandoned(db: Session) -> list[Abandoned]:
    """The hosts that are marked as abandoned and work again."""
    hosts = db.execute(
        sa.select(
            compute_hosts.c.id, compute_hosts.c.hypervisor_hostname, host_generations.c.generation
        )
        .join(host_generations, host_generations.c.host_id == compute_hosts.c.id)
        .where(host_generations.c.abandoned, compute_hosts.c.reservable)
    )
    return [
        Abandoned(host_id, name, generation, _held(db, host_id))
        for host_id, name, generation in hosts.all()
    ]


def _held(db: Session, host_id: str) -> dict[str, int]:
    """The number of each reservation's instances on a host, by the reservation's id."""
    query = (
        sa.select(allocations.c.reservation_id, sa.func.count())
        .where(allocations.c.compute_host_id == host_id)
        .group_by(allocations.c.reservation_id)
    )
    return {reservation_id: count for reservation_id, count in db.execute(query)}


def take_back(db: Session, host: Abandoned) -> bool:
    """Remove the mark ``abandoned`` of a host, so that the host can be booked again.

    The caller has checked that no servers are left on the host. A booking that has read the hosts
    before this write doesn't use the host. That does no harm, so the host's generation stays the
    same.

    :returns: False if the host has changed since it was read. In that case nothing is written.
    """
    taken_back = (
        host_generations.update()
        .where(
            host_generations.c.host_id == host.id, host_generations.c.generation == host.generation
        )
        .values(abandoned=False)
    )
    return session.changed(db, taken_back) == 1


@dataclasses.dataclass(frozen=True)
class OnHost:
    """A reservation of any resource type that has instances on a host."""

    reservation_id: str
    #: For a flavor:slot reservation, the id in the v2 API. For a reservation of another resource
    #: type, the same id as ``reservation_id``.
    shown_id: str
    resource_type: str
    project_id: str
    #: Blazar's status of the reservation.
    status: str
    instances: int
    start: datetime.datetime
    end: datetime.datetime


def on_host(db: Session, host_id: str) -> list[OnHost]:
    """The reservations on a host, sorted by start."""
    return [each for _, each in on_hosts(db, host_id)]


def on_hosts(db: Session, host_id: str | None = None) -> list[tuple[str, OnHost]]:
    """The reservations on hosts, each with the host's id, sorted by start.

    :param host_id: the only host to look at. None: all hosts.
    """
    columns = (
        reservations.c.id,
        sa.func.coalesce(bookings.c.id, reservations.c.id),
        reservations.c.resource_type,
        leases.c.project_id,
        reservations.c.status,
        leases.c.start_date,
        leases.c.end_date,
    )
    query = (
        sa.select(allocations.c.compute_host_id, *columns[:5], sa.func.count(), *columns[5:])
        .select_from(
            allocations.join(reservations, reservations.c.id == allocations.c.reservation_id)
            .join(leases, leases.c.id == reservations.c.lease_id)
            .outerjoin(bookings, bookings.c.reservation_id == reservations.c.id)
        )
        .group_by(allocations.c.compute_host_id, *columns)
        .order_by(leases.c.start_date, reservations.c.id)
    )
    if host_id is not None:
        query = query.where(allocations.c.compute_host_id == host_id)
    return [(each_host, OnHost(*row)) for each_host, *row in db.execute(query)]
