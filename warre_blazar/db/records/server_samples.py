"""Keeps how long the instances of reservations had servers, as sampled in Nova."""

import dataclasses
import datetime
from collections.abc import Collection, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import session
from warre_blazar.db.records.changes import is_change
from warre_blazar.db.tables import (
    bookings,
    bookings_in_leases,
    leases,
    log_entries,
    reservations,
    turns,
    usage,
)
from warre_blazar.domain.records.changes import ChangeKind

#: The turn of sampling. Its work is done up to the last sample.
TURN = "servers"


@dataclasses.dataclass(frozen=True)
class Running:
    """A running reservation, as a sample needs it."""

    reservation_id: str
    instance_count: int
    since: datetime.datetime
    #: The last sample that has found a server, or None.
    used_at: datetime.datetime | None


def _since() -> sa.ScalarSelect[Any]:
    """When a reservation in ``bookings`` has started, as its log tells it."""
    return (
        sa.select(sa.func.max(log_entries.c.at))
        .where(is_change(bookings.c.reservation_id), log_entries.c.kind == ChangeKind.STARTED.value)
        .scalar_subquery()
    )


def _used_at() -> sa.ScalarSelect[Any]:
    """The last sample that has found a server of a reservation in ``bookings``."""
    return (
        sa.select(sa.func.max(usage.c.used_at))
        .where(usage.c.reservation_id == bookings.c.reservation_id)
        .scalar_subquery()
    )


def running(db: Session) -> list[Running]:
    """All running reservations."""
    query = (
        sa.select(
            bookings.c.reservation_id,
            bookings.c.instance_count,
            sa.func.coalesce(_since(), leases.c.start_date),
            _used_at(),
        )
        .select_from(bookings_in_leases)
        .where(reservations.c.status == "active")
    )
    return [Running(*row) for row in db.execute(query)]


def add(
    db: Session, used: Mapping[tuple[str, datetime.date], int], used_at: datetime.datetime
) -> None:
    """Add to the time for which instances had servers.

    :param used: seconds, by reservation and day.
    :param used_at: the moment of the sample.
    """
    days = {day for _, day in used}
    query = sa.select(usage.c.reservation_id, usage.c.day).where(usage.c.day.in_(days))
    there = {(reservation_id, day) for reservation_id, day in db.execute(query)}
    rows = [
        {"b_id": reservation_id, "b_day": day, "b_seconds": seconds, "b_at": used_at}
        for (reservation_id, day), seconds in used.items()
    ]
    old = [row for row in rows if (row["b_id"], row["b_day"]) in there]
    new = [row for row in rows if (row["b_id"], row["b_day"]) not in there]
    at = sa.bindparam("b_at", type_=sa.DateTime())
    seconds = sa.bindparam("b_seconds", type_=sa.BigInteger())
    if old:
        same = (
            usage.c.reservation_id == sa.bindparam("b_id"),
            usage.c.day == sa.bindparam("b_day"),
        )
        added = usage.c.used_seconds + seconds
        connection = db.connection()
        connection.execute(usage.update().where(*same).values(used_seconds=added, used_at=at), old)
    if new:
        columns = ("reservation_id", "day", "used_seconds", "used_at")
        db.execute(usage.insert(), [dict(zip(columns, row.values(), strict=True)) for row in new])


def is_idle() -> sa.ColumnElement[bool]:
    """The SQL condition that a reservation is running, and had no server at the last sample.

    The query must be one of ``bookings_in_leases``. A reservation that has started since the last
    sample isn't idle.
    """
    last = sa.select(turns.c.done_until).where(turns.c.name == TURN).scalar_subquery()
    used_at = _used_at()
    return sa.and_(
        reservations.c.status == "active",
        sa.func.coalesce(_since(), leases.c.start_date) < last,
        sa.or_(used_at.is_(None), used_at < last),
    )


def idle_since(db: Session, reservation_ids: Collection[str]) -> dict[str, datetime.datetime]:
    """Since when reservations that are idle have had no server.

    :returns: the last sample with a server, or the start if there is none, by reservation.
    """
    since = sa.func.coalesce(_used_at(), _since(), leases.c.start_date)
    query = (
        sa.select(bookings.c.reservation_id, since)
        .select_from(bookings_in_leases)
        .where(bookings.c.reservation_id.in_(reservation_ids))
    )
    return {reservation_id: at for reservation_id, at in db.execute(query)}


def delete_orphans(db: Session, before: datetime.datetime) -> int:
    """Delete the sums of reservations that are in no table any more, and return their number.

    :param before: only sums of days before this moment are deleted.
    """
    known = sa.select(bookings.c.reservation_id).where(bookings.c.reservation_id.is_not(None))
    return session.changed(
        db,
        usage.delete().where(
            usage.c.day < before.date(),
            usage.c.reservation_id.not_in(known),
        ),
    )
