"""Reads and writes the changes of reservations. Each change that is written is also told."""

import datetime
from collections.abc import Collection, Mapping
from typing import Any

import sqlalchemy as sa
from oslo_serialization import jsonutils
from sqlalchemy.orm import Session

from warre_blazar.db import outbox, session
from warre_blazar.db.tables import bookings, changes, history, reservations
from warre_blazar.domain.changes import BY_STATUS, Change, ChangeKind
from warre_blazar.domain.notices import News, time_text
from warre_blazar.domain.timeline import Span

_Values = Mapping[str, Any] | None


def add(db: Session | sa.Connection, reservation_id: str, change: Change) -> None:
    """Add a change of a reservation.

    :param reservation_id: the id of Blazar's reservation.
    """
    db.execute(changes.insert().values(reservation_id=reservation_id, **_columns(change)))
    outbox.add(db, outbox.of_reservations([reservation_id]), News.of(change))


def add_of_lease(db: Session | sa.Connection, lease_id: str, change: Change) -> None:
    """Add a change of each flavor:slot reservation of a lease."""
    same = [sa.literal(value, type_=changes.c[n].type) for n, value in _columns(change).items()]
    of_lease = (
        sa.select(bookings.c.reservation_id, *same)
        .join(reservations, reservations.c.id == bookings.c.reservation_id)
        .where(reservations.c.lease_id == lease_id)
    )
    db.execute(changes.insert().from_select(["reservation_id", *_columns(change)], of_lease))
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
    values = _columns(change)
    same = [sa.literal(value, type_=changes.c[name].type) for name, value in values.items()]
    of = sa.and_(reservations.c.id.in_(reservation_ids), reservations.c.status != status)
    affected = (
        sa.select(bookings.c.reservation_id, *same)
        .join(reservations, reservations.c.id == bookings.c.reservation_id)
        .where(of)
    )
    db.execute(changes.insert().from_select(["reservation_id", *values], affected))
    if kind is ChangeKind.STARTED:
        outbox.begin_counting(db, of, at)
        outbox.add_start(db, of, at)
    else:
        outbox.end_counting(db, of, at)
        outbox.add(db, of, News.of(change))


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
    query = (
        sa.select(changes)
        .where(changes.c.reservation_id == reservation_id)
        .order_by(changes.c.at, changes.c.id)
    )
    return [
        Change(row["at"], ChangeKind(row["kind"]), row["user_id"], *map(_values, _both(row)))
        for row in db.execute(query).mappings()
    ]


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
    booked = sa.select(bookings.c.reservation_id)
    recorded = sa.select(history.c.reservation_id).where(history.c.reservation_id.is_not(None))
    return session.changed(
        db,
        changes.delete().where(
            changes.c.at < before,
            changes.c.reservation_id.not_in(booked),
            changes.c.reservation_id.not_in(recorded),
        ),
    )
