"""The outbox: notices that the managers have yet to send, once for each channel.

A notice is written in the transaction that makes the change, so it is told exactly if the change
was made.
"""

import datetime
from collections.abc import Callable, Collection, Mapping
from typing import Any

import sqlalchemy as sa
from oslo_serialization import jsonutils
from sqlalchemy.orm import Session

from warre_blazar.db import session
from warre_blazar.db.tables import (
    bookings,
    bookings_in_leases,
    channels,
    flavors,
    instance_reservations,
    leases,
    outbox,
    reservations,
)
from warre_blazar.domain.audit.facts import LostNotices
from warre_blazar.domain.booking import reservation_states
from warre_blazar.domain.messages.notices import (
    BILLING,
    STATES,
    Kind,
    News,
    Notice,
    time_text,
    to_text,
)
from warre_blazar.domain.running import backing_names
from warre_blazar.domain.timeline import Span
from warre_blazar.domain.waits import Wait

#: The channel of Blazar's own notifications about leases. It is always there.
LEASES = "lease"

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


def add(db: Session | sa.Connection, of: sa.ColumnElement[bool], news: News) -> None:
    """Write a notice about each of some reservations, once for each channel.

    The notice has the reservation as the database has it now, but with the news' changed values.

    :param of: which reservations, as an SQL condition.
    """
    _insert(db, _snapshots(db, of, news.kind in BILLING), lambda _: news)


def add_start(
    db: Session | sa.Connection, of: sa.ColumnElement[bool], at: datetime.datetime
) -> None:
    """Write that reservations have begun. Those with a reason for it aren't open yet.

    :param of: which reservations, as an SQL condition.
    """

    def news(row: sa.RowMapping) -> News:
        return News(Kind.REFUSED if row["status_reason"] else Kind.STARTED, at)

    _insert(db, _snapshots(db, of, billing=False), news)


def add_in_use(
    db: Session | sa.Connection, servers: Mapping[str, int], at: datetime.datetime
) -> None:
    """Write whether reservations have servers.

    :param servers: the number of servers, by the id in Blazar's table.
    """

    def news(row: sa.RowMapping) -> News:
        number = servers[row["reservation_id"]]
        return News(Kind.IN_USE, at, after={"in_use": number > 0, "servers": number})

    _insert(db, _snapshots(db, of_reservations(servers), billing=True), news)


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

    _insert(db, _snapshots(db, bookings.c.id.in_(before), billing=True), period)
    return before


def _set_counted(
    db: Session | sa.Connection, ids: Collection[str], at: datetime.datetime | None
) -> None:
    if ids:
        db.execute(bookings.update().where(bookings.c.id.in_(list(ids))).values(counted_until=at))


def _snapshots(
    db: Session | sa.Connection, of: sa.ColumnElement[bool], billing: bool
) -> list[sa.RowMapping]:
    """Reservations as they are now, once for each channel that gets notices about them."""
    # Each channel with each reservation. On MariaDB, SQLAlchemy warns of joins without a condition
    # that names both tables, so there is one that is always true.
    wanted = channels.c.name.is_not(None) == bookings.c.id.is_not(None)
    if billing:
        wanted = sa.and_(wanted, channels.c.billing)
    query = (
        sa.select(channels.c.name.label("channel"), *_COLUMNS)
        .select_from(_WHOLE.join(channels, wanted))
        .where(of)
        .order_by(bookings.c.id, channels.c.name)
    )
    return list(db.execute(query).mappings())


def _insert(
    db: Session | sa.Connection,
    snapshots: list[sa.RowMapping],
    news_of: Callable[[sa.RowMapping], News],
) -> None:
    rows = []
    for row in snapshots:
        news, reservation = news_of(row), _reservation(row)
        reservation["status"] = STATES.get(news.kind, reservation["status"])
        reservation |= {k: v for k, v in (news.after or {}).items() if k in reservation}
        rows.append(_row(row["channel"], row["reservation_id"], news, reservation))
    if rows:
        db.execute(outbox.insert(), rows)


def _row(channel: str, subject: str, news: News, content: Mapping[str, Any]) -> dict[str, Any]:
    """
    :param content: as ``Notice.content``.
    """
    return {
        "channel": channel,
        "subject": subject,
        "kind": news.kind.value,
        "at": news.at.replace(microsecond=0),
        "user_id": news.user_id,
        "project_id": content["project_id"],
        "content": to_text(news, content),
        "attempts": 0,
    }


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
    }


def add_wait(db: Session, wait: Wait, news: News, flavor_name: str) -> None:
    """Write a notice about a wait, once for each channel.

    Its content has the fields of a reservation, as far as the wait has them.

    :param flavor_name: the flavor that was found, or what the wait is for.
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
    }
    rows = [_row(name, wait.id, news, content) for name in db.scalars(sa.select(channels.c.name))]
    if rows:
        db.execute(outbox.insert(), rows)


def add_lease(db: Session, lease: Mapping[str, Any], event: str, at: datetime.datetime) -> None:
    """Write Blazar's notification ``lease.EVENT`` into the outbox.

    :param lease: the payload of the notification.
    """
    content = jsonutils.to_primitive({**lease, "event": event})
    db.execute(
        outbox.insert().values(**_row(LEASES, lease["lease_id"], News(Kind.LEASE, at), content))
    )


# What the managers do with the outbox.


def set_channels(db: Session, billing: Mapping[str, bool]) -> None:
    """Write which channels there are. Notices are written for these only.

    :param billing: for each channel, whether it gets the notices that bills are made from.
    """
    query = sa.select(channels.c.name, channels.c.billing)
    stored = {name: bool(both) for name, both in db.execute(query)}
    if stored == dict(billing):
        return
    db.execute(channels.delete())
    if billing:
        db.execute(
            channels.insert(), [{"name": name, "billing": both} for name, both in billing.items()]
        )


def due(db: Session, channel: str, now: datetime.datetime, limit: int) -> list[Notice]:
    """Notices that a channel should send now: the oldest of each project, then the next of each.

    So no project delays the others, however many notices it has. A notice isn't due while an
    earlier one about the same subject waits for another attempt.
    """
    waiting = (outbox.c.channel == channel, outbox.c.given_up_at.is_(None))
    # A few rows, which the database reads once, and not again for each notice.
    blocked = (
        sa.select(outbox.c.subject, sa.func.min(outbox.c.id).label("first"))
        .where(*waiting, outbox.c.next_at > now)
        .group_by(outbox.c.subject)
        .subquery()
    )
    is_blocked = sa.and_(blocked.c.subject == outbox.c.subject, blocked.c.first <= outbox.c.id)
    turn = sa.func.row_number().over(partition_by=outbox.c.project_id, order_by=outbox.c.id)
    # The contents are read afterwards, so that the database needn't sort them.
    found = (
        sa.select(outbox.c.id, turn.label("turn"))
        .outerjoin(blocked, is_blocked)
        .where(*waiting, blocked.c.subject.is_(None))
        .order_by("turn", outbox.c.id)
        .limit(limit)
        .subquery()
    )
    query = (
        sa.select(outbox).join(found, found.c.id == outbox.c.id).order_by(found.c.turn, found.c.id)
    )
    return [Notice.read(dict(row)) for row in db.execute(query).mappings()]


def delete(db: Session, notice_id: int) -> None:
    """Remove a notice that is sent."""
    db.execute(outbox.delete().where(outbox.c.id == notice_id))


def postpone(db: Session, notice: Notice, error: str, next_at: datetime.datetime) -> None:
    """Note that an attempt to send a notice has failed, and when the next one is due."""
    db.execute(
        outbox.update()
        .where(outbox.c.id == notice.id)
        .values(attempts=notice.attempts + 1, error=error, next_at=next_at)
    )


def give_up(db: Session, notice_id: int, error: str, now: datetime.datetime) -> None:
    """Note that a notice can't be sent."""
    db.execute(outbox.update().where(outbox.c.id == notice_id).values(given_up_at=now, error=error))


def give_up_old(db: Session, before: datetime.datetime, now: datetime.datetime) -> int:
    """Give up all notices that were written before a moment, and return their number."""
    waiting = (outbox.c.given_up_at.is_(None), outbox.c.at < before)
    text = sa.func.coalesce(outbox.c.error, "It waited for too long")
    return session.changed(db, outbox.update().where(*waiting).values(given_up_at=now, error=text))


def give_up_surplus(db: Session, most: int, now: datetime.datetime) -> int:
    """Give up the oldest notices of each channel and project beyond a number of waiting ones.

    :returns: how many notices were given up.
    """
    waiting = outbox.c.given_up_at.is_(None)
    groups = (
        sa.select(outbox.c.channel, outbox.c.project_id, sa.func.count())
        .where(waiting)
        .group_by(outbox.c.channel, outbox.c.project_id)
        .having(sa.func.count() > most)
    )
    given_up = 0
    for channel, project_id, number in db.execute(groups).all():
        same = (waiting, outbox.c.channel == channel, outbox.c.project_id == project_id)
        oldest = sa.select(outbox.c.id).where(*same).order_by(outbox.c.id).limit(number - most)
        ids = list(db.scalars(oldest))
        text = f"More than {most} notices of the project were waiting"
        db.execute(outbox.update().where(outbox.c.id.in_(ids)).values(given_up_at=now, error=text))
        given_up += len(ids)
    return given_up


def delete_given_up(db: Session, before: datetime.datetime) -> int:
    """Delete the notices that were given up before a moment, and return their number."""
    return session.changed(db, outbox.delete().where(outbox.c.given_up_at < before))


def given_up(db: Session) -> list[LostNotices]:
    """For each channel that has given up notices, how many, and the newest of them."""
    number, newest = sa.func.count().label("number"), sa.func.max(outbox.c.id).label("newest")
    lost = (
        sa.select(number, newest)
        .where(outbox.c.given_up_at.is_not(None))
        .group_by(outbox.c.channel)
        .subquery()
    )
    query = (
        sa.select(outbox.c.channel, lost.c.number, outbox.c.subject, outbox.c.kind, outbox.c.error)
        .join(lost, lost.c.newest == outbox.c.id)
        .order_by(outbox.c.channel)
    )
    return [LostNotices(*row) for row in db.execute(query)]


def waiting(db: Session) -> list[tuple[str, int, datetime.datetime | None, int]]:
    """What is in the outbox for each channel that has a notice there.

    :returns: for each channel, its name, the number of notices that wait, the time of the oldest of
        these (None if no notice waits), and the number of notices that were given up.
    """
    given_up = sa.func.count(outbox.c.given_up_at)
    query = (
        sa.select(
            outbox.c.channel,
            sa.func.count() - given_up,
            sa.func.min(sa.case((outbox.c.given_up_at.is_(None), outbox.c.at))),
            given_up,
        )
        .group_by(outbox.c.channel)
        .order_by(outbox.c.channel)
    )
    return [(c, number, oldest, lost) for c, number, oldest, lost in db.execute(query)]


def channel_names(db: Session) -> set[str]:
    """The names of all channels for which notices are written."""
    return {LEASES, *db.scalars(sa.select(channels.c.name))}
