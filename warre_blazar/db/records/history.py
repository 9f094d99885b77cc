"""Makes reservations past, and removes old leases and past reservations.

Blazar's rows of a past reservation are gone: it was deleted, or it had ended before it was imported
from Warre. Until a user deletes such an imported reservation, the API shows it in the same way as a
reservation in Blazar's tables.
"""

import datetime
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import generations
from warre_blazar.db.messages import outbox
from warre_blazar.db.running.leases import ours
from warre_blazar.db.tables import (
    allocations,
    backings,
    bookings,
    bookings_in_leases,
    events,
    instance_reservations,
    leases,
    reservations,
)
from warre_blazar.domain.booking import reservation_states
from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE
from warre_blazar.domain.messages.notices import Kind, News
from warre_blazar.domain.running import backing_names, lease_states

#: The values of a promise, which ends with the lease.
_NO_PROMISE = dict.fromkeys(("claim_start", "claim_end", "promised_at"))


def insert(db: Session, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add reservations that ended before they were imported from Warre.

    :param rows: for each of them, its values by column name.
    """
    if rows:
        db.execute(bookings.insert(), list(rows))


def set_final_times(db: Session | sa.Connection, of: sa.ColumnElement[bool]) -> None:
    """Write the times of reservations that end. Nothing changes a lease's times after its end.

    :param of: which reservations, as an SQL condition on ``bookings_in_leases``.
    """
    times = (leases.c.start_date, leases.c.end_date)
    query = sa.select(bookings.c.id, *times).select_from(bookings_in_leases).where(of)
    for row in db.execute(query.order_by(bookings.c.id)).mappings().all():
        same = bookings.c.id == row["id"]
        final = {time.name: row[time.name] for time in times}
        db.execute(bookings.update().where(same).values(final))


def record_deletion(
    connection: sa.Connection,
    lease_id: str,
    now: datetime.datetime,
    user_id: str | None,
    *,
    is_half_made: bool = False,
) -> None:
    """Let the flavor:slot reservations in a lease about to be deleted become past, and tell it.

    Their last state is written, so that they outlive Blazar's rows. If a lease was never
    completely created, its reservations are deleted with it, unless ``is_half_made`` was said
    before. If a reservation already has a last state, this isn't changed, and nothing is told.

    :param connection: the connection of the transaction that deletes the lease.
    :param now: the time of the deletion, in naive UTC.
    :param user_id: the user who deletes the lease, or None if no user deletes it.
    :param is_half_made: whether the lease was never completely created, and is deleted for this.
        Nothing is told, because nobody was told of the booking. The lease is deleted later, and
        until then the reservations aren't past.
    """
    query = (
        sa.select(
            bookings.c.id,
            bookings.c.reservation_id,
            bookings.c.status.label("last"),
            leases.c.start_date,
            leases.c.end_date,
            leases.c.status.label("lease_status"),
            reservations.c.status.label("reservation_status"),
            instance_reservations.c.affinity,
            instance_reservations.c.flavor_id.label("nova_flavor"),
        )
        .select_from(
            bookings_in_leases.outerjoin(
                instance_reservations, instance_reservations.c.reservation_id == reservations.c.id
            )
        )
        .where(leases.c.id == lease_id)
    )
    for row in connection.execute(query).mappings().all():
        state = reservation_states.derive(row["lease_status"], row["reservation_status"])
        values: dict[str, Any] = {} if is_half_made else {"live_id": None, **_NO_PROMISE}
        if row["last"] is None:
            if state == reservation_states.PENDING_CREATE and not is_half_made:
                continue
            if not is_half_made:
                _tell_deletion(connection, row, now, user_id)
            values |= _last_values(row, state, now, user_id)
        if values:
            same = bookings.c.id == row["id"]
            connection.execute(bookings.update().where(same).values(values))


def _tell_deletion(
    connection: sa.Connection, row: sa.RowMapping, now: datetime.datetime, user_id: str | None
) -> None:
    same = outbox.of_reservations([row["reservation_id"]])
    if row["reservation_status"] != "deleted":
        outbox.end_counting(connection, same, now)
    outbox.add(connection, same, News(Kind.DELETED, now, user_id))


def _last_values(
    row: sa.RowMapping, state: str, now: datetime.datetime, user_id: str | None
) -> dict[str, Any]:
    """What is kept of Blazar's rows, and of the deletion."""
    nova_flavor = row["nova_flavor"] or backing_names.nova_flavor_id(row["reservation_id"])
    return {
        **{name: row[name] for name in ("start_date", "end_date", "affinity")},
        "status": state,
        "compute_flavor": nova_flavor,
        # Some database systems would round it to another second.
        "deleted_at": now.replace(microsecond=0),
        "deleted_by": user_id,
    }


def delete(db: Session, ref: str, now: datetime.datetime, user_id: str | None) -> None:
    """Mark a past reservation as deleted by a user.

    A reservation that is already marked as deleted stays as it is.
    """
    not_deleted = (bookings.c.id == ref, bookings.c.deleted_at.is_(None))
    values = {"deleted_at": now, "deleted_by": user_id}
    db.execute(bookings.update().where(*not_deleted).values(values))


def old_leases(db: Session, before: datetime.datetime, limit: int) -> list[str]:
    """The ids of leases that ended before a time and can be removed, the oldest first.

    A lease can be removed if it has only flavor:slot reservations, is TERMINATED, and has no
    allocations and no backing any more.
    """
    of_lease = reservations.c.lease_id == leases.c.id
    held = sa.exists().where(of_lease, allocations.c.reservation_id == reservations.c.id)
    backed = sa.exists().where(of_lease, backings.c.reservation_id == reservations.c.id)
    # Older releases let a lease have reservations of other types beside ours.
    others = sa.exists().where(of_lease, reservations.c.resource_type != RESOURCE_TYPE)
    query = (
        sa.select(leases.c.id)
        .where(
            leases.c.end_date < before,
            leases.c.status == lease_states.TERMINATED,
            ours(),
            sa.not_(others),
            sa.not_(held),
            sa.not_(backed),
        )
        .order_by(leases.c.end_date, leases.c.id)
        .limit(limit)
    )
    return list(db.scalars(query))


def delete_leases(db: Session, lease_ids: Collection[str]) -> int:
    """Delete flavor:slot leases with their reservations, events and other rows.

    Nothing is left of the reservations. A lease stays if its status isn't TERMINATED any more.

    :returns: the number of leases that were deleted.
    """
    over = sa.and_(leases.c.id.in_(lease_ids), leases.c.status == lease_states.TERMINATED)
    ids = list(db.scalars(sa.select(leases.c.id).where(over).with_for_update()))
    of_leases = sa.select(reservations.c.id).where(
        reservations.c.lease_id.in_(ids), reservations.c.resource_type == RESOURCE_TYPE
    )
    reservation_ids = list(db.scalars(of_leases))
    generations.outdate_hosts_of(db, reservations.c.id.in_(reservation_ids))
    for table in (bookings, allocations):
        db.execute(table.delete().where(table.c.reservation_id.in_(reservation_ids)))
    delete_rows(db, ids, reservation_ids)
    return len(ids)


def delete_rows(db: Session, lease_ids: Collection[str], reservation_ids: Collection[str]) -> None:
    """Delete leases, which have released their hosts, with all of their reservations and events."""
    of_reservations = instance_reservations.c.reservation_id.in_(reservation_ids)
    db.execute(instance_reservations.delete().where(of_reservations))
    db.execute(reservations.delete().where(reservations.c.id.in_(reservation_ids)))
    db.execute(events.delete().where(events.c.lease_id.in_(lease_ids)))
    db.execute(leases.delete().where(leases.c.id.in_(lease_ids)))


def _old(before: datetime.datetime) -> sa.ColumnElement[bool]:
    """The SQL condition that a reservation is past, and older than a time.

    Its age counts from its deletion, or from its end if nobody has deleted it.
    """
    ended = sa.and_(bookings.c.deleted_at.is_(None), bookings.c.end_date < before)
    return sa.and_(bookings.c.live_id.is_(None), sa.or_(bookings.c.deleted_at < before, ended))


def count_old(db: Session, before: datetime.datetime) -> tuple[int, int]:
    """How many leases and past reservations ``services.records.history.purge`` would remove."""
    past = sa.select(sa.func.count()).select_from(bookings).where(_old(before))
    return len(old_leases(db, before, 2**31 - 1)), db.execute(past).scalar_one()


def delete_old(db: Session, before: datetime.datetime, limit: int) -> int:
    """Delete some of the past reservations that ``count_old`` counts.

    :param limit: the largest number of reservations to delete.
    :returns: how many were deleted.
    """
    ids = list(db.scalars(sa.select(bookings.c.id).where(_old(before)).limit(limit)))
    if ids:
        db.execute(bookings.delete().where(bookings.c.id.in_(ids)))
    return len(ids)
