"""Keeps since when running reservations have had no server, and ends them early."""

import datetime
from collections.abc import Collection, Mapping

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import session
from warre_blazar.db.records.changes import is_change
from warre_blazar.db.tables import bookings, bookings_in_leases, flavors, leases, log_entries
from warre_blazar.db.tables import reservations as blazars
from warre_blazar.domain.records.changes import ChangeKind
from warre_blazar.domain.running import lease_states
from warre_blazar.domain.running.idle import IdleReservation


def note(
    db: Session, servers: Mapping[str, int], at: datetime.datetime, *, without_gap: bool
) -> None:
    """Note which running reservations had no server at a sample.

    :param servers: the number of servers, by the id in Blazar's table.
    :param without_gap: whether the last sample was one interval ago. Otherwise nobody knows what
        was there between the two, so that all begin to be idle now.
    """
    used = [reservation_id for reservation_id, number in servers.items() if number]
    empty = [reservation_id for reservation_id, number in servers.items() if not number]
    forget(db, used)
    new = [bookings.c.reservation_id.in_(empty)]
    if without_gap:
        new.append(bookings.c.idle_from.is_(None))
    if empty:
        db.execute(bookings.update().where(*new).values(idle_from=at, idle_warned_at=None))


def forget(db: Session, reservation_ids: Collection[str]) -> None:
    """Note that reservations have a server."""
    if reservation_ids:
        idle = (bookings.c.reservation_id.in_(reservation_ids), bookings.c.idle_from.is_not(None))
        db.execute(bookings.update().where(*idle).values(idle_from=None, idle_warned_at=None))


def limited(db: Session, reservation_id: str | None = None) -> list[IdleReservation]:
    """The running reservations that are idle, and whose flavors limit that.

    :param reservation_id: only this one.
    """
    changed_at = (
        sa.select(sa.func.max(log_entries.c.at))
        .where(
            is_change(bookings.c.reservation_id),
            log_entries.c.kind == ChangeKind.RESCHEDULED.value,
        )
        .scalar_subquery()
    )
    query = (
        sa.select(
            bookings.c.reservation_id,
            leases.c.id,
            bookings.c.idle_from,
            bookings.c.idle_warned_at,
            changed_at,
            flavors.c.idle_warn_hours,
            flavors.c.idle_end_hours,
            leases.c.end_date,
        )
        .select_from(bookings_in_leases.join(flavors, flavors.c.id == bookings.c.flavor_id))
        .where(
            blazars.c.status == "active",
            leases.c.status == lease_states.ACTIVE,
            bookings.c.idle_from.is_not(None),
            sa.or_(flavors.c.idle_warn_hours.is_not(None), flavors.c.idle_end_hours.is_not(None)),
        )
    )
    if reservation_id is not None:
        query = query.where(bookings.c.reservation_id == reservation_id)
    return [IdleReservation(*row) for row in db.execute(query)]


def warn(db: Session, item: IdleReservation, now: datetime.datetime) -> bool:
    """Note that the user of an idle reservation is warned.

    :returns: False: somebody has warned before, or it isn't idle any more.
    """
    before = item.warned_at
    same = (
        bookings.c.reservation_id == item.reservation_id,
        bookings.c.idle_from == item.idle_from,
        bookings.c.idle_warned_at.is_(None)
        if before is None
        else bookings.c.idle_warned_at == before,
    )
    return session.changed(db, bookings.update().where(*same).values(idle_warned_at=now)) == 1
