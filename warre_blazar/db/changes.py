"""Reads and writes the changes of reservations."""

import datetime
from collections.abc import Collection, Mapping
from typing import Any

import sqlalchemy as sa
from oslo_serialization import jsonutils
from sqlalchemy.orm import Session

from warre_blazar.db import session
from warre_blazar.db.tables import bookings, changes, history, reservations
from warre_blazar.domain.changes import BY_STATUS, Change, Kind
from warre_blazar.domain.timeline import Span

_Values = Mapping[str, Any] | None


def add(db: Session | sa.Connection, reservation_id: str, change: Change) -> None:
    """Add a change of a reservation.

    :param reservation_id: the id of Blazar's reservation.
    """
    db.execute(changes.insert().values(reservation_id=reservation_id, **_columns(change)))


def add_of_lease(db: Session | sa.Connection, lease_id: str, change: Change) -> None:
    """Add a change of each flavor:slot reservation of a lease."""
    same = [sa.literal(value, type_=changes.c[n].type) for n, value in _columns(change).items()]
    of_lease = (
        sa.select(bookings.c.reservation_id, *same)
        .join(reservations, reservations.c.id == bookings.c.reservation_id)
        .where(reservations.c.lease_id == lease_id)
    )
    db.execute(changes.insert().from_select(["reservation_id", *_columns(change)], of_lease))


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
    values = _columns(Change(at, kind))
    same = [sa.literal(value, type_=changes.c[name].type) for name, value in values.items()]
    affected = (
        sa.select(bookings.c.reservation_id, *same)
        .join(reservations, reservations.c.id == bookings.c.reservation_id)
        .where(reservations.c.id.in_(reservation_ids), reservations.c.status != status)
    )
    db.execute(changes.insert().from_select(["reservation_id", *values], affected))


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
        Change(row["at"], Kind(row["kind"]), row["user_id"], *map(_values, _both(row)))
        for row in db.execute(query).mappings()
    ]


def _both(row: sa.RowMapping) -> tuple[str | None, str | None]:
    return row["before"], row["after"]


def _values(text: str | None) -> _Values:
    return None if text is None else jsonutils.loads(text)


def span(value: Span) -> dict[str, str]:
    """A reservation's time as the values of a change."""
    return {
        "start": f"{value.start.isoformat(timespec='seconds')}+00:00",
        "end": f"{value.end.isoformat(timespec='seconds')}+00:00",
    }


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
