"""The outbox: entries of the log that are to be told.

An entry is written in the transaction that makes the change, so it is told exactly if the change
was made. A manager then writes a notice for each channel (``deliveries.spread``).
"""

import datetime
import enum
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from oslo_serialization import jsonutils
from sqlalchemy.orm import Session

from warre_blazar.db.tables import (
    bookings,
    bookings_in_leases,
    channels,
    flavors,
    instance_reservations,
    leases,
    log_entries,
    reservations,
)
from warre_blazar.domain.booking import reservation_states
from warre_blazar.domain.messages.notices import (
    BILLING,
    STATES,
    Kind,
    News,
    time_text,
    to_text,
)
from warre_blazar.domain.records.changes import Change
from warre_blazar.domain.running import backing_names
from warre_blazar.domain.timeline import Span
from warre_blazar.domain.waits import Wait

#: The channel of Blazar's own notifications about leases. It is always there.
LEASES = "lease"


class Telling(enum.StrEnum):
    """How far an entry of the log is told."""

    #: No notices are written yet.
    NEW = "new"
    #: Notices are written, and some may have yet to be sent.
    SPREAD = "spread"
    #: It is the account of a lease (``db.credits``), which has notices again and again.
    KEPT = "kept"


_WHOLE = bookings_in_leases.join(flavors, flavors.c.id == bookings.c.flavor_id).outerjoin(
    instance_reservations, instance_reservations.c.reservation_id == bookings.c.reservation_id
)

#: What a notice says about the flavor.
_OF_FLAVOR = (
    *("id", "name", "vcpu", "memory_mb", "disk_gb", "ephemeral_gb", "active", "category"),
    *("availability_zone", "max_length_hours", "start_date", "end_date"),
)

_COLUMNS = (
    bookings.c.id,
    bookings.c.reservation_id,
    bookings.c.instance_count,
    bookings.c.name,
    bookings.c.contact,
    bookings.c.timezone,
    sa.func.coalesce(bookings.c.before_end, flavors.c.before_end).label("before_end"),
    bookings.c.status_reason,
    bookings.c.created_at,
    bookings.c.counted_until,
    bookings.c.series_id,
    reservations.c.status.label("reservation_status"),
    leases.c.id.label("lease_id"),
    leases.c.status.label("lease_status"),
    leases.c.start_date,
    leases.c.end_date,
    leases.c.project_id,
    leases.c.user_id,
    instance_reservations.c.affinity,
    instance_reservations.c.flavor_id.label("nova_flavor"),
    *(flavors.c[name].label(f"flavor_{name}") for name in _OF_FLAVOR),
)


def of_lease(lease_id: str) -> sa.ColumnElement[bool]:
    """The SQL condition for the reservations of a lease."""
    return leases.c.id == lease_id


def of_reservations(reservation_ids: Collection[str]) -> sa.ColumnElement[bool]:
    """The SQL condition for reservations.

    :param reservation_ids: the ids in Blazar's table.
    """
    return bookings.c.reservation_id.in_(list(reservation_ids))


def add(
    db: Session | sa.Connection,
    of: sa.ColumnElement[bool],
    news: News,
    *,
    is_logged: bool = False,
) -> None:
    """Write what has happened to each of some reservations, so that it is told.

    The entry has the reservation as the database has it now, but with the news' changed values.

    :param of: which reservations, as an SQL condition.
    :param is_logged: whether it is also in the reservations' log. If not, nothing is written unless
        there is a channel that tells it.
    """
    found = _snapshots(db, of, billing=news.kind in BILLING, only_told=not is_logged)
    _insert(db, (_entry(row, news, is_logged=is_logged) for row in found))


def add_start(
    db: Session | sa.Connection, of: sa.ColumnElement[bool], at: datetime.datetime
) -> None:
    """Write that reservations have begun. Those with a reason for it aren't open yet.

    The log has both. Only that they aren't open is told.

    :param of: which reservations, as an SQL condition.
    """
    entries = []
    for row in _snapshots(db, of, only_told=False):
        refused = bool(row["status_reason"])
        started = _entry(row, News(Kind.STARTED, at), is_logged=True, is_told=not refused)
        entries.append(started)
        if refused:
            entries.append(_entry(row, News(Kind.REFUSED, at), is_logged=True))
    _insert(db, entries)


def add_in_use(
    db: Session | sa.Connection, servers: Mapping[str, int], at: datetime.datetime
) -> None:
    """Write whether reservations have servers.

    :param servers: the number of servers, by the id in Blazar's table.
    """

    def news(row: sa.RowMapping) -> News:
        number = servers[row["reservation_id"]]
        return News(Kind.IN_USE, at, after={"in_use": number > 0, "servers": number})

    found = _snapshots(db, of_reservations(servers), billing=True)
    _insert(db, (_entry(row, news(row)) for row in found))


def count_until(
    db: Session | sa.Connection, of: sa.ColumnElement[bool], at: datetime.datetime
) -> None:
    """Write that reservations were running until a moment, if they were.

    :param of: which reservations, as an SQL condition.
    """
    at = at.replace(microsecond=0)
    _set_counted(db, _add_periods(db, _counted(db, of), at), at)


def begin_counting(
    db: Session | sa.Connection, of: sa.ColumnElement[bool], at: datetime.datetime
) -> None:
    """Note that reservations are running from a moment on, unless this is noted already."""
    fresh = _locked(db, sa.and_(of, bookings.c.counted_until.is_(None)))
    _set_counted(db, [i for i, until in fresh.items() if until is None], at.replace(microsecond=0))


def end_counting(
    db: Session | sa.Connection, of: sa.ColumnElement[bool], at: datetime.datetime
) -> None:
    """Write that reservations were running until a moment, and aren't running any more."""
    counted = _counted(db, of)
    _add_periods(db, counted, at.replace(microsecond=0))
    _set_counted(db, counted, None)


def _counted(
    db: Session | sa.Connection, of: sa.ColumnElement[bool]
) -> dict[str, datetime.datetime]:
    """Until when the time of running reservations has been told, by id. The rows are locked."""
    found = _locked(db, sa.and_(of, bookings.c.counted_until.is_not(None)))
    return {i: until for i, until in found.items() if until is not None}


def _locked(
    db: Session | sa.Connection, of: sa.ColumnElement[bool]
) -> dict[str, datetime.datetime | None]:
    """The column ``counted_until`` of reservations, by id.

    Another transaction may have told the time of a reservation since this one has begun. So the
    rows are read once more with a lock, which shows them as they are now. Only the rows of this
    table are locked: Blazar doesn't repeat its writes to the others after a deadlock.
    """
    ids = db.scalars(sa.select(bookings.c.id).select_from(bookings_in_leases).where(of)).all()
    if not ids:
        return {}
    query = sa.select(bookings.c.id, bookings.c.counted_until).where(bookings.c.id.in_(ids))
    rows = db.execute(query.order_by(bookings.c.id).with_for_update())
    return {row.id: row.counted_until for row in rows}


def _add_periods(
    db: Session | sa.Connection,
    counted: Mapping[str, datetime.datetime],
    at: datetime.datetime,
) -> list[str]:
    """Write notices about the time for which reservations were running until a moment.

    :param counted: until when this has been told already, by id.
    :returns: the ids of the reservations that were running before this moment.
    """
    before = [i for i, until in counted.items() if until < at]

    def period(row: sa.RowMapping) -> News:
        return News(Kind.EXISTS, at, period=Span(counted[row["id"]], at))

    found = _snapshots(db, bookings.c.id.in_(before), billing=True)
    _insert(db, (_entry(row, period(row)) for row in found))
    return before


def _set_counted(
    db: Session | sa.Connection, ids: Collection[str], at: datetime.datetime | None
) -> None:
    if ids:
        db.execute(bookings.update().where(bookings.c.id.in_(list(ids))).values(counted_until=at))


def _snapshots(
    db: Session | sa.Connection,
    of: sa.ColumnElement[bool],
    *,
    billing: bool = False,
    only_told: bool = True,
) -> list[sa.RowMapping]:
    """Reservations as they are now, and whether a channel gets notices about them (``is_told``).

    :param billing: whether only channels count that get what bills are made from.
    :param only_told: whether to read nothing if there is no channel.
    """
    is_told = sa.exists().where(channels.c.billing if billing else channels.c.name.is_not(None))
    query = sa.select(is_told.label("is_told"), *_COLUMNS).select_from(_WHOLE).where(of)
    if only_told:
        query = query.where(is_told)
    return list(db.execute(query.order_by(bookings.c.id)).mappings())


def _entry(
    row: sa.RowMapping, news: News, *, is_logged: bool = False, is_told: bool = True
) -> dict[str, Any]:
    """An entry about a reservation.

    :param row: a row of ``_snapshots``.
    """
    reservation = _reservation(row)
    reservation["status"] = STATES.get(news.kind, reservation["status"])
    reservation |= {k: v for k, v in (news.after or {}).items() if k in reservation}
    told = reservation if is_told and row["is_told"] else None
    values = _values(row["reservation_id"], news, told, is_logged=is_logged)
    return {**values, "project_id": row["project_id"]}


def _values(
    subject: str, news: News, told: Mapping[str, Any] | None, *, is_logged: bool = False
) -> dict[str, Any]:
    """The values of an entry.

    :param told: what is told of the subject, as ``Notice.content``. None: nothing is told.
    """
    return {
        "subject": subject,
        **columns(news),
        "project_id": told["project_id"] if told else None,
        "is_logged": is_logged,
        "telling": Telling.NEW.value if told else None,
        "content": to_text(news, told) if told else None,
    }


def columns(what: News | Change) -> dict[str, Any]:
    """The columns of the log that say what has happened."""
    return {
        "kind": what.kind.value,
        "at": what.at.replace(microsecond=0),
        "user_id": what.user_id,
        "before": _json(what.before),
        "after": _json(what.after),
    }


def _json(values: Mapping[str, Any] | None) -> str | None:
    return None if values is None else jsonutils.dumps(values)


def _insert(db: Session | sa.Connection, entries: Iterable[Mapping[str, Any]]) -> None:
    if rows := list(entries):
        db.execute(log_entries.insert(), rows)


def _reservation(row: sa.RowMapping) -> dict[str, Any]:
    """What a notice says about a reservation."""
    derived = reservation_states.derive(row["lease_status"], row["reservation_status"])
    flavor = {name: row[f"flavor_{name}"] for name in _OF_FLAVOR}
    flavor["start"] = time_text(flavor.pop("start_date"))
    flavor["end"] = time_text(flavor.pop("end_date"))
    affinity = row["affinity"]
    return {
        "id": row["id"],
        "reservation_id": row["reservation_id"],
        "lease_id": row["lease_id"],
        "project_id": row["project_id"],
        "user_id": row["user_id"],
        "name": row["name"],
        "contact": row["contact"],
        "timezone": row["timezone"],
        "before_end": row["before_end"],
        "flavor": flavor,
        "instance_count": row["instance_count"],
        "start": time_text(row["start_date"]),
        "end": time_text(row["end_date"]),
        "status": derived,
        "status_reason": row["status_reason"],
        "affinity": None if affinity is None else bool(affinity),
        "compute_flavor": row["nova_flavor"] or backing_names.nova_flavor_id(row["reservation_id"]),
        "created_at": time_text(row["created_at"]),
        "series_id": row["series_id"],
    }


def add_wait(
    db: Session, wait: Wait, news: News, flavor_name: str, *, is_kept: bool = False
) -> None:
    """Write what has become of a wait, if there is a channel that tells it.

    Its content has the fields of a reservation, as far as the wait has them.

    :param flavor_name: the flavor that was found, or what the wait is for.
    :param is_kept: whether the room is kept for the project for some minutes.
    """
    span = wait.found or wait.window
    content = {
        **{name: getattr(wait, name) for name in ("id", "project_id", "user_id", "instance_count")},
        **{name: getattr(wait.labels, name) for name in ("name", "contact", "timezone")},
        "flavor": {"id": wait.found_flavor_id or wait.flavor_id, "name": flavor_name},
        "start": time_text(span.start),
        "end": time_text(span.end),
        "status": wait.state.value,
        "status_reason": wait.status_reason,
        "affinity": wait.affinity,
        "before_end": wait.before_end,
        "created_at": time_text(wait.created_at),
        "is_kept": is_kept,
    }
    if db.scalar(sa.select(sa.exists(sa.select(channels.c.name)))):
        _insert(db, [_values(wait.id, news, content)])


def add_leases(
    db: Session, leases: Iterable[Mapping[str, Any]], event: str, at: datetime.datetime
) -> None:
    """Write Blazar's notifications ``lease.EVENT`` into the outbox.

    :param leases: the payloads of the notifications.
    """
    news = News(Kind.LEASE, at)
    contents = [jsonutils.to_primitive({**lease, "event": event}) for lease in leases]
    _insert(db, [_values(content["lease_id"], news, content) for content in contents])
