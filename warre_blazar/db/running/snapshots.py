"""Reads and writes the snapshots that are made of servers before their reservation ends."""

import dataclasses
import datetime
from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import session
from warre_blazar.db.messages import outbox
from warre_blazar.db.tables import (
    backings,
    bookings,
    bookings_in_leases,
    flavors,
    leases,
    reservations,
    snapshots,
)
from warre_blazar.domain.messages.notices import Kind, News
from warre_blazar.domain.running.execution import pause
from warre_blazar.domain.running.holders import Server
from warre_blazar.domain.running.snapshots import (
    SNAPSHOT,
    UNFINISHED,
    BeforeEndRule,
    ServerSnapshot,
    Status,
    plain,
)

_UNFINISHED = tuple(status.value for status in UNFINISHED)
#: Why there is no snapshot of a server, if nothing else is known.
_TOO_LATE = "The reservation ended before a snapshot could be requested"
_NOT_LOOKED = "No manager looked for servers before the end"


@dataclasses.dataclass(frozen=True)
class Due:
    """A running reservation whose servers should have snapshots by now."""

    reservation_id: str
    project_id: str
    end: datetime.datetime
    #: The id of its Nova flavor.
    nova_flavor: str


@dataclasses.dataclass(frozen=True)
class Unfinished:
    """A snapshot for which something is left to do."""

    snapshot: ServerSnapshot
    #: The name that users have given the reservation.
    reservation_name: str | None
    #: The end of the reservation. None: it was deleted.
    end: datetime.datetime | None
    #: Whether the reservation is running, so that it may have servers.
    is_running: bool


def _wanted(rule: BeforeEndRule) -> sa.ColumnElement[bool]:
    """The SQL condition that snapshots are to be made of a reservation's servers."""
    chosen = sa.func.coalesce(bookings.c.before_end, flavors.c.before_end, rule.default)
    return chosen == SNAPSHOT


_IN_FLAVORS = bookings_in_leases.join(flavors, flavors.c.id == bookings.c.flavor_id)


def due(db: Session, rule: BeforeEndRule, now: datetime.datetime) -> list[Due]:
    """The running reservations that end soon, and of whose servers snapshots are to be made.

    Those whose servers couldn't be listed before come last.
    """
    query = (
        sa.select(
            bookings.c.reservation_id,
            leases.c.project_id,
            leases.c.end_date,
            backings.c.nova_flavor,
        )
        .select_from(
            _IN_FLAVORS.join(backings, backings.c.reservation_id == bookings.c.reservation_id)
        )
        .where(
            leases.c.end_date > now,
            leases.c.end_date <= now + rule.ahead,
            reservations.c.status == "active",
            _wanted(rule),
        )
        .order_by(bookings.c.look_error.is_not(None), leases.c.end_date, bookings.c.id)
    )
    return [Due(*row) for row in db.execute(query)]


def looked(
    db: Session,
    of: Due,
    servers: Sequence[Server],
    rule: BeforeEndRule,
    now: datetime.datetime,
) -> None:
    """Note which servers a reservation has, and of which of them a snapshot is to be made.

    A server needs a snapshot if its last one isn't so new that it is one from shortly before the
    present end. So if a reservation is extended by little, its snapshots hold for the new end too.

    :raises session.LostRace: another manager has noted a server at the same time.
    """
    latest: dict[str, ServerSnapshot] = {}
    for snapshot in of_reservation(db, of.reservation_id):
        latest[snapshot.server_id] = snapshot
    for server in servers:
        last = latest.pop(server.id, None)
        if last is None or (last.status not in UNFINISHED and last.at < of.end - rule.ahead):
            _insert(db, _new(of, server, last.number + 1 if last else 1, now))
        elif last.status is Status.WAITING and last.at < of.end - rule.ahead:
            update(db, last, at=now, next_at=None)
    for last in latest.values():
        if last.status is Status.WAITING:
            # The server is gone.
            db.execute(snapshots.delete().where(*_same(last)))
    seen = bookings.update().where(bookings.c.reservation_id == of.reservation_id)
    db.execute(seen.values(looked_at=now, look_error=None))


def _new(of: Due, server: Server, number: int, now: datetime.datetime) -> ServerSnapshot:
    error = None
    if server.on_volume:
        error = "The server's disk is a volume, of which no image is made"
    return ServerSnapshot(
        of.reservation_id,
        server.id,
        number,
        server.project_id,  # Perhaps that of a guest.
        plain(server.name),
        Status.FAILED if error else Status.WAITING,
        now,
        error=error,
    )


def _insert(db: Session, snapshot: ServerSnapshot) -> None:
    values = {**dataclasses.asdict(snapshot), "status": snapshot.status.value, "told": False}
    session.insert_or_lose(db, snapshots.insert().values(**values))


def look_failed(db: Session, reservation_id: str, error: str) -> None:
    """Note that a reservation's servers couldn't be listed."""
    same = bookings.c.reservation_id == reservation_id
    db.execute(bookings.update().where(same).values(look_error=plain(error)))


def of_reservation(db: Session, reservation_id: str) -> list[ServerSnapshot]:
    """The snapshots of a reservation's servers, the oldest first.

    :param reservation_id: the id of Blazar's reservation.
    """
    query = (
        sa.select(snapshots)
        .where(snapshots.c.reservation_id == reservation_id)
        .order_by(snapshots.c.at, snapshots.c.server_id, snapshots.c.number)
    )
    return [_snapshot(row) for row in db.execute(query).mappings()]


def _snapshot(row: sa.RowMapping) -> ServerSnapshot:
    values = {field.name: row[field.name] for field in dataclasses.fields(ServerSnapshot)}
    return ServerSnapshot(**{**values, "status": Status(row["status"])})


def unfinished(db: Session) -> list[Unfinished]:
    """The snapshots for which something is left to do. Those that have failed often come last."""
    query = (
        sa.select(
            snapshots,
            bookings.c.name.label("reservation_name"),
            leases.c.end_date,
            reservations.c.status.label("reservation_status"),
        )
        .select_from(
            snapshots.outerjoin(
                bookings_in_leases, bookings.c.reservation_id == snapshots.c.reservation_id
            )
        )
        .where(snapshots.c.told.is_(False), snapshots.c.status.in_(_UNFINISHED))
        .order_by(snapshots.c.attempts, snapshots.c.at, snapshots.c.server_id)
    )
    return [
        Unfinished(
            _snapshot(row),
            row["reservation_name"],
            row["end_date"],
            row["reservation_status"] == "active",
        )
        for row in db.execute(query).mappings()
    ]


def _same(snapshot: ServerSnapshot) -> list[sa.ColumnElement[bool]]:
    """The conditions that a row is the snapshot, and is as it was read."""
    return [
        snapshots.c.reservation_id == snapshot.reservation_id,
        snapshots.c.server_id == snapshot.server_id,
        snapshots.c.number == snapshot.number,
        snapshots.c.status == snapshot.status.value,
        snapshots.c.attempts == snapshot.attempts,
    ]


def begin_attempt(db: Session, snapshot: ServerSnapshot, now: datetime.datetime) -> bool:
    """Note that an attempt to make a snapshot begins, and when the next one would be due.

    :returns: False: the snapshot has changed. Another manager makes it.
    """
    attempts = snapshot.attempts + 1
    return update(db, snapshot, attempts=attempts, next_at=now + pause(attempts))


def update(db: Session, snapshot: ServerSnapshot, **values: Any) -> bool:
    """Write what has become of a snapshot, unless it has changed since it was read.

    :returns: whether it was written.
    """
    return bool(session.changed(db, snapshots.update().where(*_same(snapshot)).values(**values)))


def close(
    db: Session, reservation_ids: Collection[str], rule: BeforeEndRule, now: datetime.datetime
) -> None:
    """Note which snapshots weren't made by the end of reservations, and tell it.

    Snapshots that have been requested stay unfinished: Nova may make the image, or have made it,
    although nobody has heard of it.

    :param reservation_ids: the ids of running reservations that are about to end.
    """
    of = snapshots.c.reservation_id.in_(reservation_ids)
    waiting = (snapshots.c.status == Status.WAITING.value, snapshots.c.attempts == 0)
    never_requested = snapshots.update().where(of, *waiting)
    db.execute(never_requested.values(status=Status.FAILED.value, error=_TOO_LATE))
    columns = (
        *(bookings.c.reservation_id, leases.c.project_id, leases.c.end_date),
        *(bookings.c.looked_at, bookings.c.look_error),
    )
    query = (
        sa.select(*columns)
        .select_from(_IN_FLAVORS)
        .where(bookings.c.reservation_id.in_(reservation_ids), _wanted(rule))
    )
    for reservation_id, project_id, end, looked_at, error in db.execute(query).all():
        if error or looked_at is None or looked_at < end - rule.ahead:
            _insert(db, _not_found(reservation_id, project_id, error or _NOT_LOOKED, now))
    for reservation_id in reservation_ids:
        tell(db, reservation_id, now)


def _not_found(
    reservation_id: str, project_id: str, error: str, now: datetime.datetime
) -> ServerSnapshot:
    """What is noted if it isn't known which servers a reservation had."""
    return ServerSnapshot(reservation_id, "", 1, project_id, None, Status.FAILED, now, error=error)


def repeated(db: Session, since: datetime.datetime) -> list[ServerSnapshot]:
    """The images that were requested more than once, and are complete since a time or later."""
    query = sa.select(snapshots).where(
        snapshots.c.status == Status.SAVED.value,
        snapshots.c.attempts > 1,
        snapshots.c.next_at > since,
    )
    return [_snapshot(row) for row in db.execute(query).mappings()]


def untold(db: Session) -> list[str]:
    """The ids of reservations whose snapshots are finished and not told yet."""
    open_ones = snapshots.alias()
    left = sa.exists().where(
        open_ones.c.reservation_id == snapshots.c.reservation_id,
        open_ones.c.status.in_(_UNFINISHED),
    )
    query = (
        sa.select(snapshots.c.reservation_id)
        .distinct()
        .where(snapshots.c.told.is_(False), sa.not_(left))
    )
    return list(db.scalars(query))


def tell(db: Session, reservation_id: str, now: datetime.datetime) -> None:
    """Write a notice about a reservation's snapshots, if all are finished and some aren't told."""
    made = of_reservation(db, reservation_id)
    if not made or any(snapshot.status in UNFINISHED for snapshot in made):
        return
    # Another manager may note a snapshot meanwhile. That one isn't told yet.
    read = sa.or_(*(sa.and_(*_same(snapshot)) for snapshot in made))
    fresh = snapshots.update().where(read, snapshots.c.told.is_(False))
    if session.changed(db, fresh.values(told=True)):
        news = News(Kind.SNAPSHOT, now, after={"snapshots": [each.document() for each in made]})
        outbox.add(db, outbox.of_reservations([reservation_id]), news)


def delete_orphans(db: Session, before: datetime.datetime) -> int:
    """Delete snapshots of reservations that are in no table any more, and return their number.

    :param before: only snapshots from before this moment are deleted. The images stay.
    """
    known = sa.select(bookings.c.reservation_id).where(bookings.c.reservation_id.is_not(None))
    return session.changed(
        db,
        snapshots.delete().where(
            snapshots.c.at < before,
            snapshots.c.reservation_id.not_in(known),
        ),
    )
