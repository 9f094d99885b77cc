"""The table ``warre_history``: records of reservations that aren't in Blazar's tables.

Most of these reservations were deleted. The others had ended before they were imported from Warre.
Until a user deletes such an imported reservation, the API shows it in the same way as a
reservation in Blazar's tables.
"""

import datetime
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db.booking.reservations import SORT_KEYS, Filter, by_id, keys
from warre_blazar.db.messages import outbox
from warre_blazar.db.running.leases import ours
from warre_blazar.db.tables import (
    allocations,
    backings,
    bookings,
    events,
    history,
    instance_reservations,
    leases,
    reservations,
)
from warre_blazar.domain.booking import reservation_states
from warre_blazar.domain.booking.labels import Labels
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE, Shape
from warre_blazar.domain.messages.notices import Kind, News
from warre_blazar.domain.running import backing_names, lease_states
from warre_blazar.domain.timeline import Span

#: The column that a listing is sorted by, for each key of ``SORT_KEYS``.
_SORTED = {
    "start": history.c.start_date,
    "end": history.c.end_date,
    "created_at": history.c.created_at,
    "project_id": history.c.project_id,
    "user_id": history.c.user_id,
}
#: The columns that a record copies from the deleted lease and reservation.
_SAME = (
    *("id", "reservation_id", "lease_id", "flavor_id", "instance_count", "affinity", "name"),
    *("note", "contact", "timezone", "before_end", "series_id", "shape", "start_date"),
    *("end_date", "project_id", "user_id", "status_reason", "created_at"),
)


def insert(db: Session, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add records of reservations that ended before they were imported from Warre.

    :param rows: for each record, the values of all columns except ``deleted_at`` and
        ``deleted_by``.
    """
    if rows:
        db.execute(history.insert(), list(rows))


def record_deletion(
    connection: sa.Connection,
    lease_id: str,
    now: datetime.datetime,
    user_id: str | None,
    *,
    is_half_made: bool = False,
) -> None:
    """Add a record of each flavor:slot reservation in a lease about to be deleted, and tell it.

    If a lease was never completely created, its reservations get a record only if
    ``is_half_made``, and nothing is told, because nobody was told of the booking. If a reservation
    already has a record, this record isn't changed, and nothing is told.

    :param connection: the connection of the transaction that deletes the lease.
    :param now: the time of the deletion, in naive UTC.
    :param user_id: the user who deletes the lease, or None if no user deletes it.
    :param is_half_made: whether the lease was never completely created, and is deleted for this.
    """
    query = (
        sa.select(
            bookings,
            leases.c.id.label("lease_id"),
            leases.c.start_date,
            leases.c.end_date,
            leases.c.project_id,
            leases.c.user_id,
            leases.c.status.label("lease_status"),
            reservations.c.status.label("reservation_status"),
            instance_reservations.c.affinity,
            instance_reservations.c.flavor_id.label("nova_flavor"),
        )
        .select_from(
            leases.join(reservations, reservations.c.lease_id == leases.c.id)
            .join(bookings, bookings.c.reservation_id == reservations.c.id)
            .outerjoin(
                instance_reservations, instance_reservations.c.reservation_id == reservations.c.id
            )
            .outerjoin(history, history.c.id == bookings.c.id)
        )
        .where(leases.c.id == lease_id, history.c.id.is_(None))
    )
    for row in connection.execute(query).mappings().all():
        state = reservation_states.derive(row["lease_status"], row["reservation_status"])
        if state == reservation_states.PENDING_CREATE and not is_half_made:
            continue
        if not is_half_made:
            same = outbox.of_reservations([row["reservation_id"]])
            if row["reservation_status"] != "deleted":
                outbox.end_counting(connection, same, now)
            outbox.add(connection, same, News(Kind.DELETED, now, user_id))
        nova_flavor = row["nova_flavor"] or backing_names.nova_flavor_id(row["reservation_id"])
        connection.execute(
            history.insert().values(
                **{name: row[name] for name in _SAME},
                status=state,
                compute_flavor=nova_flavor,
                # Some database systems would round it to another second.
                deleted_at=now.replace(microsecond=0),
                deleted_by=user_id,
            )
        )


def find(
    db: Session, ref: str, project_id: str | None = None, *, deleted: bool = False
) -> Reservation | None:
    """A reservation from the history, or None if the history has no such record.

    :param ref: the id in the API, or the id in Blazar's table.
    :param deleted: whether records of deleted reservations are found too.
    :param project_id: the project that the reservation must belong to. None: any project.
    """
    conditions = [sa.or_(history.c.id == ref, history.c.reservation_id == ref)]
    if not deleted:
        conditions.append(history.c.deleted_at.is_(None))
    if project_id is not None:
        conditions.append(history.c.project_id == project_id)
    row = db.execute(sa.select(history).where(*conditions)).mappings().first()
    return _reservation(row) if row else None


def find_by_lease(db: Session, lease_id: str) -> Reservation | None:
    """The record of the reservation of a lease that was deleted, or None.

    A lease that was deleted half made counts as one that never was.
    """
    query = sa.select(history).where(
        history.c.lease_id == lease_id, history.c.status != reservation_states.PENDING_CREATE
    )
    row = db.execute(query).mappings().first()
    return _reservation(row) if row else None


def where(db: Session, conditions: Collection[sa.ColumnElement[bool]]) -> list[Reservation]:
    """The reservations whose records meet SQL conditions, the earliest first."""
    query = sa.select(history).where(*conditions).order_by(history.c.start_date, history.c.id)
    return [_reservation(row) for row in db.execute(query).mappings()]


def delete(db: Session, ref: str, now: datetime.datetime, user_id: str | None) -> None:
    """Mark a reservation in the history as deleted by a user.

    A reservation that is already marked as deleted stays as it is.
    """
    not_deleted = (history.c.id == ref, history.c.deleted_at.is_(None))
    db.execute(history.update().where(*not_deleted).values(deleted_at=now, deleted_by=user_id))


def count(db: Session, wanted: Filter) -> int:
    """The number of records that pass a filter. Records of deleted reservations don't count."""
    query = sa.select(sa.func.count()).select_from(history)
    return db.execute(query.where(*_conditions(wanted, deleted=False))).scalar_one()


def listing(
    db: Session,
    wanted: Filter,
    *,
    sort: str,
    descending: bool,
    limit: int | None,
    offset: int,
) -> list[Reservation]:
    """A page of the reservations in Blazar's tables and in the history.

    Deleted reservations are left out.

    :param sort: one of ``SORT_KEYS``.
    """
    past = sa.select(history.c.id, *(_SORTED[key].label(key) for key in SORT_KEYS)).where(
        *_conditions(wanted, deleted=False)
    )
    both = sa.union_all(keys(wanted), past).subquery()
    order = (both.c[sort], both.c.start, both.c.id)
    query = sa.select(both.c.id).order_by(*(c.desc() if descending else c.asc() for c in order))
    if limit is not None:
        query = query.limit(limit).offset(offset)
    ids = list(db.scalars(query))
    page = {**_by_id(db, ids), **by_id(db, ids)}
    return [page[reservation_id] for reservation_id in ids]


def _by_id(db: Session, ids: Collection[str]) -> dict[str, Reservation]:
    rows = db.execute(sa.select(history).where(history.c.id.in_(ids))).mappings()
    return {row["id"]: _reservation(row) for row in rows}


def deleted(
    db: Session,
    wanted: Filter,
    *,
    sort: str,
    descending: bool,
    limit: int | None,
    offset: int,
) -> tuple[list[Reservation], int]:
    """A page of deleted reservations, and the number of deleted reservations on all pages.

    :param sort: one of ``SORT_KEYS``.
    """
    conditions = _conditions(wanted, deleted=True)
    total = sa.select(sa.func.count()).select_from(history).where(*conditions)
    order = (_SORTED[sort], history.c.start_date, history.c.id)
    query = (
        sa.select(history)
        .where(*conditions)
        .order_by(*(c.desc() if descending else c.asc() for c in order))
    )
    if limit is not None:
        query = query.limit(limit).offset(offset)
    page = [_reservation(row) for row in db.execute(query).mappings()]
    return page, db.execute(total).scalar_one()


def _conditions(wanted: Filter, *, deleted: bool) -> list[sa.ColumnElement[bool]]:
    """The SQL conditions of a filter, for the table ``warre_history``.

    For Blazar's tables, ``Filter.conditions`` returns the conditions. The history doesn't know on
    which hosts a reservation was. So no record passes a filter that names hosts, or a filter for
    idle reservations.

    :param deleted: whether to select the records of deleted reservations, or all other records.
    """
    equal = (
        (history.c.project_id, wanted.project_id),
        (history.c.user_id, wanted.user_id),
        (history.c.flavor_id, wanted.flavor_id),
        (history.c.name, wanted.name),
        (history.c.series_id, wanted.series_id),
    )
    conditions: list[sa.ColumnElement[bool]] = [c == v for c, v in equal if v is not None]
    conditions.append(
        history.c.deleted_at.is_not(None) if deleted else history.c.deleted_at.is_(None)
    )
    if wanted.after is not None:
        conditions.append(history.c.end_date > wanted.after)
    if wanted.before is not None:
        conditions.append(history.c.start_date < wanted.before)
    if wanted.states is not None:
        conditions.append(history.c.status.in_(wanted.states))
    if wanted.host_ids is not None or wanted.is_idle:
        conditions.append(sa.false())
    return conditions


def _reservation(row: sa.RowMapping) -> Reservation:
    return Reservation(
        id=row["id"],
        reservation_id=row["reservation_id"] or row["id"],
        lease_id=row["lease_id"] or "",
        lease_name="",
        flavor_id=row["flavor_id"],
        instance_count=row["instance_count"],
        shape=Shape.from_json(row["shape"]),
        span=Span(row["start_date"], row["end_date"]),
        project_id=row["project_id"],
        user_id=row["user_id"],
        state=row["status"],
        status_reason=row["status_reason"],
        created_at=row["created_at"],
        affinity=row["affinity"],
        labels=Labels.read(row),
        before_end=row["before_end"],
        series_id=row["series_id"],
        nova_flavor=row["compute_flavor"],
        is_record=True,
        deleted_at=row["deleted_at"],
        deleted_by=row["deleted_by"],
    )


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

    No records are added to the history. A lease stays if its status isn't TERMINATED any more.

    :returns: the number of leases that were deleted.
    """
    over = sa.and_(leases.c.id.in_(lease_ids), leases.c.status == lease_states.TERMINATED)
    ids = list(db.scalars(sa.select(leases.c.id).where(over).with_for_update()))
    of_leases = sa.select(reservations.c.id).where(
        reservations.c.lease_id.in_(ids), reservations.c.resource_type == RESOURCE_TYPE
    )
    reservation_ids = list(db.scalars(of_leases))
    for table in (bookings, instance_reservations, allocations):
        db.execute(table.delete().where(table.c.reservation_id.in_(reservation_ids)))
    db.execute(reservations.delete().where(reservations.c.id.in_(reservation_ids)))
    db.execute(events.delete().where(events.c.lease_id.in_(ids)))
    db.execute(leases.delete().where(leases.c.id.in_(ids)))
    return len(ids)


def _old(before: datetime.datetime) -> sa.ColumnElement[bool]:
    """The SQL condition that a record is older than a time.

    The age of a record counts from the reservation's deletion, or from its end if nobody has
    deleted it.
    """
    return sa.func.coalesce(history.c.deleted_at, history.c.end_date) < before


def count_old(db: Session, before: datetime.datetime) -> tuple[int, int]:
    """The numbers of leases and of records that ``services.records.history.purge`` would remove."""
    records = sa.select(sa.func.count()).select_from(history).where(_old(before))
    return len(old_leases(db, before, 2**31 - 1)), db.execute(records).scalar_one()


def delete_old(db: Session, before: datetime.datetime, limit: int) -> int:
    """Delete some of the records that ``count_old`` counts.

    :param limit: the largest number of records to delete.
    :returns: the number of records that were deleted.
    """
    ids = list(db.scalars(sa.select(history.c.id).where(_old(before)).limit(limit)))
    if ids:
        db.execute(history.delete().where(history.c.id.in_(ids)))
    return len(ids)
