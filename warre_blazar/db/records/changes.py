"""Reads and writes the changes of reservations. Each change that is written is also told."""

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
    changes,
    leases,
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
    note(db, reservation_id, change)
    outbox.add(db, outbox.of_reservations([reservation_id]), News.of(change))


def note(db: Session | sa.Connection, reservation_id: str, change: Change) -> None:
    """Add a change of a reservation that the caller tells itself, or that isn't told."""
    db.execute(changes.insert().values(reservation_id=reservation_id, **_columns(change)))


def add_of_lease(db: Session | sa.Connection, lease_id: str, change: Change) -> None:
    """Add a change of each flavor:slot reservation of a lease."""
    _note_all(db, reservations.c.lease_id == lease_id, change)
    outbox.add(db, outbox.of_lease(lease_id), News.of(change))


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
    change = Change(at, kind)
    of = sa.and_(reservations.c.id.in_(reservation_ids), reservations.c.status != status)
    _note_all(db, of, change)
    if kind is ChangeKind.STARTED:
        refused = sa.and_(of, bookings.c.status_reason.is_not(None))
        _note_all(db, refused, Change(at, ChangeKind.REFUSED))
        outbox.begin_counting(db, of, at)
        outbox.add_start(db, of, at)
    else:
        outbox.end_counting(db, of, at)
        history.set_final_times(db, of)
        outbox.add(db, of, News.of(change))


def note_earlier_starts(db: Session) -> None:
    """Note the starts of running reservations that had begun before they were imported."""
    started = sa.exists().where(
        changes.c.reservation_id == bookings.c.reservation_id,
        changes.c.kind == ChangeKind.STARTED.value,
    )
    running = sa.and_(
        reservations.c.status == "active", bookings.c.counted_until.is_(None), sa.not_(started)
    )
    _note_all(db, running, Change(datetime.datetime.min, ChangeKind.STARTED), leases.c.start_date)


def _note_all(
    db: Session | sa.Connection,
    of: sa.ColumnElement[bool],
    change: Change,
    at: sa.ColumnElement[datetime.datetime] | None = None,
) -> None:
    """Add a change of each of some flavor:slot reservations.

    :param of: which reservations, as an SQL condition.
    :param at: the moment of the change, if it isn't the same for all.
    """
    values = _columns(change)
    same: dict[str, sa.ColumnElement[Any]] = {
        name: sa.literal(value, type_=changes.c[name].type) for name, value in values.items()
    }
    if at is not None:
        same["at"] = at
    affected = (
        sa.select(bookings.c.reservation_id, *same.values())
        .select_from(bookings_in_leases)
        .where(of)
    )
    db.execute(changes.insert().from_select(["reservation_id", *same], affected))


def _columns(change: Change) -> dict[str, Any]:
    return {
        "at": change.at.replace(microsecond=0),
        "user_id": change.user_id,
        "kind": change.kind.value,
        "before": _text(change.before),
        "after": _text(change.after),
    }


def _text(values: _Values) -> str | None:
    return None if values is None else jsonutils.dumps(values)


def of_reservation(db: Session, reservation_id: str) -> list[Change]:
    """The changes of a reservation, the oldest first.

    :param reservation_id: the id of Blazar's reservation.
    """
    of_it = changes.c.reservation_id == reservation_id
    return by_reservation(db, of_it)[reservation_id]


def by_reservation(db: Session, condition: sa.ColumnElement[bool]) -> Mapping[str, list[Change]]:
    """The changes that meet an SQL condition, by reservation, the oldest first."""
    query = sa.select(changes).where(condition).order_by(changes.c.at, changes.c.id)
    logs: dict[str, list[Change]] = collections.defaultdict(list)
    for row in db.execute(query).mappings():
        values = map(_values, _both(row))
        change = Change(row["at"], ChangeKind(row["kind"]), row["user_id"], *values)
        logs[row["reservation_id"]].append(change)
    return logs


def missing_instances(db: Session, reservation_id: str) -> int:
    """The number of a reservation's instances on failed hosts, as its log tells it."""
    noted = (changes.c.reservation_id == reservation_id, changes.c.kind == ChangeKind.MISSING.value)
    query = sa.select(changes.c.after).where(*noted).order_by(changes.c.id.desc()).limit(1)
    values = _values(db.scalar(query)) or {}
    return int(values.get(MISSING_INSTANCES, 0))


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
    known = sa.select(bookings.c.reservation_id).where(bookings.c.reservation_id.is_not(None))
    return session.changed(
        db,
        changes.delete().where(
            changes.c.at < before,
            changes.c.reservation_id.not_in(known),
        ),
    )
