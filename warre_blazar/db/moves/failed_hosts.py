"""Finds reservations on failed hosts, and writes what is wrong with reservations.

Blazar's host monitor takes a failed host out of use: the host isn't ``reservable`` until the
monitor sees it working again. A host that has left Nova counts as failed too. Blazar's monitor
can't see it, because Nova doesn't list it.
"""

import datetime
from collections.abc import Collection

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import generations
from warre_blazar.db.hosts import host_marks
from warre_blazar.db.running import lease_writes
from warre_blazar.db.tables import (
    allocations,
    bookings_in_leases,
    compute_hosts,
    leases,
    reservations,
)
from warre_blazar.domain.running.lease import Lease
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
    failed = sa.not_(host_marks.works())
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
            sa.not_(_on_hosts(sa.not_(host_marks.works()))),
        )
    )
    return list(db.scalars(query))


def failed_hosts(db: Session) -> set[str]:
    """The ids of the hosts that have failed."""
    return set(db.scalars(sa.select(compute_hosts.c.id).where(sa.not_(host_marks.works()))))


def set_reservable(db: Session, host_id: str, reservable: bool) -> None:
    """Take a host out of use, or let it be used again, as Blazar's host monitor does.

    :raises session.LostRace: as in ``generations.outdate_host``.
    """
    mine = compute_hosts.c.id == host_id
    db.execute(compute_hosts.update().where(mine).values(reservable=reservable))
    generations.outdate_host(db, host_id)


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
    is_degraded = db.execute(flagged).first() is not None
    lease_writes.write_unchanged(db, [lease], degraded=is_degraded)
