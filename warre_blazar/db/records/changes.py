"""Reads and writes the changes of reservations, which are entries of the log.

Most changes that are written are also told.
"""

import collections
import datetime
from collections.abc import Collection, Mapping
from typing import Any

import sqlalchemy as sa
from oslo_serialization import jsonutils
from sqlalchemy.orm import Session

from warre_blazar.db import session
from warre_blazar.db.messages import outbox
from warre_blazar.db.records import history
from warre_blazar.db.tables import (
    bookings,
    bookings_in_leases,
    leases,
    log_entries,
    reservations,
)
from warre_blazar.domain.messages.notices import News, time_text
from warre_blazar.domain.records.changes import BY_STATUS, MISSING_INSTANCES, Change, ChangeKind
from warre_blazar.domain.timeline import Span

_Values = Mapping[str, Any] | None


def add(db: Session | sa.Connection, reservation_id: str, change: Change) -> None:
    """Add a change of a reservation, and tell it.

    :param reservation_id: the id of Blazar's reservation.
    """
    of = outbox.of_reservations([reservation_id])
    outbox.add(db, of, News.of(change), is_logged=True)


def note(db: Session | sa.Connection, reservation_id: str, change: Change) -> None:
    """Add a change of a reservation that the caller tells itself, or that isn't told."""
    entry = log_entries.insert().values(subject=reservation_id, is_logged=True)
    db.execute(entry.values(outbox.columns(change)))


def add_of_lease(db: Session | sa.Connection, lease_id: str, change: Change) -> None:
    """Add a change of each flavor:slot reservation of a lease, and tell it."""
    outbox.add(db, outbox.of_lease(lease_id), News.of(change), is_logged=True)


def add_status(
    db: Session | sa.Connection,
    reservation_ids: Collection[str],
    status: str,
    at: datetime.datetime,
) -> None:
    """Add a change of those flavor:slot reservations that don't have a status yet.

    Nothing is added for statuses that no user should hear of.

    :param status: Blazar's status, which the reservations are about to get.
    """
    kind = BY_STATUS.get(status)
    if kind is None:
        return
    of = sa.and_(reservations.c.id.in_(reservation_ids), reservations.c.status != status)
    if kind is ChangeKind.STARTED:
        outbox.begin_counting(db, of, at)
        outbox.add_start(db, of, at)
    else:
        outbox.end_counting(db, of, at)
        history.set_final_times(db, of)
        outbox.add(db, of, News.of(Change(at, kind)), is_logged=True)


def note_earlier_starts(db: Session) -> None:
    """Note the starts of running reservations that had begun before they were imported."""
    started = sa.exists().where(
        is_change(bookings.c.reservation_id), log_entries.c.kind == ChangeKind.STARTED.value
    )
    kind = sa.literal(ChangeKind.STARTED.value)
    query = (
        sa.select(bookings.c.reservation_id, kind, leases.c.start_date, sa.true())
        .select_from(bookings_in_leases)
        .where(
            reservations.c.status == "active", bookings.c.counted_until.is_(None), sa.not_(started)
        )
    )
    columns = ["subject", "kind", "at", "is_logged"]
    db.execute(log_entries.insert().from_select(columns, query))


def is_change(reservation_id: sa.ColumnElement[Any] | str) -> sa.ColumnElement[bool]:
    """The SQL condition that an entry of the log is a change of a reservation.

    :param reservation_id: the id of Blazar's reservation.
    """
    return sa.and_(log_entries.c.subject == reservation_id, log_entries.c.is_logged == sa.true())


def of_reservation(db: Session, reservation_id: str) -> list[Change]:
    """The changes of a reservation, the oldest first.

    :param reservation_id: the id of Blazar's reservation.
    """
    return by_reservation(db, is_change(reservation_id))[reservation_id]


def by_reservation(db: Session, condition: sa.ColumnElement[bool]) -> Mapping[str, list[Change]]:
    """The changes that meet an SQL condition, by reservation, the oldest first."""
    entry = log_entries.c
    columns = (entry.subject, entry.at, entry.kind, entry.user_id, entry.before, entry.after)
    query = sa.select(*columns).where(condition, entry.is_logged == sa.true())
    query = query.order_by(entry.at, entry.id)
    logs: dict[str, list[Change]] = collections.defaultdict(list)
    for row in db.execute(query).mappings():
        values = map(_values, _both(row))
        change = Change(row["at"], ChangeKind(row["kind"]), row["user_id"], *values)
        logs[row["subject"]].append(change)
    return logs


def counted(
    db: Session, reservation_ids: Collection[str]
) -> dict[str, tuple[int, datetime.datetime]]:
    """The number of changes of reservations, and the time of the last one.

    Reservations without changes are left out.
    """
    entry = log_entries.c
    columns = (entry.subject, sa.func.count(), sa.func.max(entry.at))
    query = sa.select(*columns).where(
        entry.subject.in_(reservation_ids), entry.is_logged == sa.true()
    )
    return {subject: (n, at) for subject, n, at in db.execute(query.group_by(entry.subject))}


def missing_instances(db: Session, reservation_id: str) -> int:
    """The number of a reservation's instances on failed hosts, as its log tells it."""
    noted = (is_change(reservation_id), log_entries.c.kind == ChangeKind.MISSING.value)
    query = sa.select(log_entries.c.after).where(*noted).order_by(log_entries.c.id.desc()).limit(1)
    values = _values(db.scalar(query)) or {}
    return int(values.get(MISSING_INSTANCES, 0))


def shut(db: Session, reservation_ids: Collection[str]) -> list[str]:
    """Those of reservations that couldn't be opened when they began, and weren't later, by the log.

    :param reservation_ids: the ids of Blazar's reservations.
    """
    kinds = [kind.value for kind in (ChangeKind.REFUSED, ChangeKind.OPENED)]
    query = (
        sa.select(log_entries.c.subject, log_entries.c.kind)
        .where(
            log_entries.c.subject.in_(reservation_ids),
            log_entries.c.is_logged == sa.true(),
            log_entries.c.kind.in_(kinds),
        )
        .order_by(log_entries.c.id)
    )
    last = {subject: kind for subject, kind in db.execute(query)}
    return [i for i, kind in last.items() if kind == ChangeKind.REFUSED.value]


def _both(row: sa.RowMapping) -> tuple[str | None, str | None]:
    return row["before"], row["after"]


def _values(text: str | None) -> _Values:
    return None if text is None else jsonutils.loads(text)


def span(value: Span) -> dict[str, str | None]:
    """A reservation's time as the values of a change."""
    return {"start": time_text(value.start), "end": time_text(value.end)}


def delete_orphans(db: Session, before: datetime.datetime) -> int:
    """Delete changes of reservations that are in no table any more, and return their number.

    :param before: only changes before this moment are deleted.
    """
    entry = log_entries.c
    known = sa.select(bookings.c.reservation_id).where(bookings.c.reservation_id.is_not(None))
    told = entry.telling.is_(None)
    old = (entry.at < before, entry.is_logged == sa.true(), told, entry.subject.not_in(known))
    return session.changed(db, log_entries.delete().where(*old))
