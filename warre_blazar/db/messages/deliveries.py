"""Channels, and the notices that they have yet to send.

There is a notice for each channel and each entry of the log that it tells.
"""

import collections
import dataclasses
import datetime
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar import times
from warre_blazar.db import session
from warre_blazar.db.messages.outbox import LEASES, Telling
from warre_blazar.db.tables import bookings, channels, deliveries, log_entries, series
from warre_blazar.domain.audit.facts import LostNotices
from warre_blazar.domain.messages.groups import CHANGED
from warre_blazar.domain.messages.notices import BILLING, Kind, Notice
from warre_blazar.domain.series.series import SeriesStatus

#: The largest number of entries that are handled in one transaction.
_BATCH = 500


def set_channels(db: Session, billing: Mapping[str, bool]) -> None:
    """Write which channels there are. Only what happens from now on is told by new ones.

    :param billing: for each channel, whether it gets the notices that bills are made from.
    """
    if _billing(db) == dict(billing):
        return
    db.execute(channels.delete())
    if billing:
        db.execute(
            channels.insert(), [{"name": name, "billing": both} for name, both in billing.items()]
        )


def _billing(db: Session) -> dict[str, bool]:
    """For each channel, whether it gets the notices that bills are made from."""
    query = sa.select(channels.c.name, channels.c.billing)
    return {name: bool(both) for name, both in db.execute(query)}


def spread(db: Session) -> int:
    """Write the notices about entries of the log that are new, for each channel that gets them.

    :returns: how many entries there were.
    :raises session.LostRace: another manager does this at the same time.
    """
    entry = log_entries.c
    query = (
        sa.select(entry.id, entry.subject, entry.project_id, entry.at, entry.kind)
        .where(entry.telling == Telling.NEW.value)
        .order_by(entry.id)
        .limit(_BATCH)
    )
    new = db.execute(query).mappings().all()
    if not new:
        return 0
    ids = [row["id"] for row in new]
    # The function keeps MariaDB from using the index of this column. It would lock its gaps, into
    # which all others write.
    telling = sa.func.coalesce(entry.telling, "")
    still_new = sa.and_(entry.id.in_(ids), telling == Telling.NEW.value)
    taken = log_entries.update().where(still_new).values(telling=Telling.SPREAD.value)
    session.write_or_lose(db, taken, len(ids))
    billing = _billing(db)
    rows = [
        {
            "channel": channel,
            "entry_id": row["id"],
            **{name: row[name] for name in ("subject", "project_id", "at")},
            "attempts": 0,
        }
        for row in new
        for channel in _channels_of(Kind(row["kind"]), billing)
    ]
    if rows:
        db.execute(deliveries.insert(), rows)
    return len(new)


def _channels_of(kind: Kind, billing: Mapping[str, bool]) -> list[str]:
    """The channels that get the notices of a kind."""
    if kind is Kind.LEASE:
        return [LEASES]
    return [name for name, both in sorted(billing.items()) if both or kind not in BILLING]


def forget_told(db: Session) -> int:
    """Forget what isn't needed of entries of which all notices are sent, and return their number.

    Entries that aren't logged are deleted.
    """
    entry = log_entries.c
    left = sa.exists().where(deliveries.c.entry_id == entry.id)
    query = (
        sa.select(entry.id, entry.is_logged)
        .where(entry.telling == Telling.SPREAD.value, sa.not_(left))
        .order_by(entry.id)
        .limit(_BATCH)
    )
    told = db.execute(query).all()
    logged = [entry_id for entry_id, is_logged in told if is_logged]
    others = [entry_id for entry_id, is_logged in told if not is_logged]
    if logged:
        done = log_entries.update().where(entry.id.in_(logged))
        db.execute(done.values(telling=None, content=None))
    if others:
        db.execute(log_entries.delete().where(entry.id.in_(others)))
    return len(told)


def due(
    db: Session,
    channel: str,
    now: datetime.datetime,
    limit: int,
    *,
    in_groups: bool = False,
    served: Mapping[str, int] | None = None,
) -> list[Notice]:
    """Notices that a channel should send now: the oldest of each project, then the next of each.

    So no project delays the others, however many notices it has. A notice isn't due while an
    earlier one about the same subject waits for another attempt.

    :param limit: the largest number of notices, if each is told by itself.
    :param served: by project, a number that is higher the later the project had its turn. Such
        projects come after all others.
    :param in_groups: whether the channel tells what belongs together in one message. Then notices
        about a series aren't due until its request is over, and all of its bookings are due at
        once, whatever the limit. Deletions by a person, and changes of reservations of series,
        aren't due until the person deletes or changes nothing more.
    """
    waiting = (deliveries.c.channel == channel, deliveries.c.given_up_at.is_(None))
    postponed: sa.ColumnElement[bool] = deliveries.c.next_at > now
    if in_groups:
        postponed = sa.or_(postponed, deliveries.c.entry_id.in_(_of_unfinished_commands(now)))
    # A few rows, which the database reads once, and not again for each notice.
    blocked = (
        sa.select(deliveries.c.subject, sa.func.min(deliveries.c.id).label("first"))
        .where(*waiting, postponed)
        .group_by(deliveries.c.subject)
        .subquery()
    )
    is_blocked = sa.and_(
        blocked.c.subject == deliveries.c.subject, blocked.c.first <= deliveries.c.id
    )
    turn = sa.func.row_number().over(partition_by=deliveries.c.project_id, order_by=deliveries.c.id)
    last = sa.case(served, value=deliveries.c.project_id, else_=0) if served else sa.literal(0)
    # The contents are read afterwards, so that the database needn't sort them.
    found = (
        sa.select(deliveries.c.id, turn.label("turn"), last.label("last"))
        .outerjoin(blocked, is_blocked)
        .where(*waiting, blocked.c.subject.is_(None))
        .order_by("turn", "last", deliveries.c.id)
        .limit(limit)
    )
    if in_groups:
        found = found.where(deliveries.c.subject.not_in(_of_unfinished_series()))
    chosen = found.subquery()
    query = _NOTICES.join(chosen, chosen.c.id == deliveries.c.id)
    notices = _read(db, query.order_by(chosen.c.turn, chosen.c.last, chosen.c.id))
    return notices + (_rest_of_series(db, channel, now, notices) if in_groups else [])


_ENTRY = log_entries.c
#: The columns of ``Notice.read``.
_NOTICES = (
    sa.select(deliveries.c.id, deliveries.c.subject, deliveries.c.attempts)
    .add_columns(_ENTRY.kind, _ENTRY.at, _ENTRY.user_id, _ENTRY.before, _ENTRY.after)
    .add_columns(_ENTRY.content)
    .join(log_entries, log_entries.c.id == deliveries.c.entry_id)
)


def _read(db: Session, query: sa.Select[Any]) -> list[Notice]:
    return [Notice.read(dict(row)) for row in db.execute(query).mappings()]


def _of_unfinished_series() -> sa.Select[tuple[str]]:
    """The ids, in Blazar's table, of reservations whose request still books or undoes others."""
    unfinished = (SeriesStatus.BOOKING.value, SeriesStatus.UNDOING.value)
    return (
        sa.select(bookings.c.reservation_id)
        .join(series, series.c.id == bookings.c.series_id)
        .where(
            series.c.status.in_(unfinished),
            series.c.work_id == bookings.c.series_work,
            # NOT IN would match nothing if there was a NULL.
            bookings.c.reservation_id.is_not(None),
        )
    )


def _of_unfinished_commands(now: datetime.datetime) -> sa.Select[tuple[int]]:
    """The ids of entries about what people do who may be about to do more of it.

    One command deletes several reservations, by a request for each, or changes those of a series.
    """
    in_series = sa.select(bookings.c.reservation_id).where(
        bookings.c.series_id.is_not(None), bookings.c.reservation_id.is_not(None)
    )
    of_series = sa.and_(
        _ENTRY.kind.in_([kind.value for kind in CHANGED]), _ENTRY.subject.in_(in_series)
    )
    done = (
        _ENTRY.telling == Telling.SPREAD.value,
        _ENTRY.at > now - times.COMMAND_TOLD_AFTER,
        sa.or_(_ENTRY.kind == Kind.DELETED.value, of_series),
    )
    busy = sa.select(_ENTRY.user_id).where(
        *done, _ENTRY.user_id.is_not(None), _ENTRY.at > now - times.COMMAND_GATHERED_FOR
    )
    return sa.select(_ENTRY.id).where(*done, _ENTRY.user_id.in_(busy.correlate(None)))


def _rest_of_series(
    db: Session, channel: str, now: datetime.datetime, notices: Sequence[Notice]
) -> list[Notice]:
    """Due notices about bookings of the same series as bookings in some notices.

    A booking is the first that is told of a reservation. So these notices overtake no other one
    about the same reservation.
    """
    ids = {
        notice.content["series_id"]
        for notice in notices
        if notice.news.kind is Kind.CREATED and notice.content.get("series_id")
    }
    if not ids:
        return []
    query = (
        _NOTICES.join(bookings, bookings.c.reservation_id == deliveries.c.subject)
        .where(
            bookings.c.series_id.in_(ids),
            deliveries.c.subject.not_in(_of_unfinished_series()),
            deliveries.c.channel == channel,
            deliveries.c.given_up_at.is_(None),
            sa.or_(deliveries.c.next_at.is_(None), deliveries.c.next_at <= now),
            deliveries.c.id.not_in([notice.id for notice in notices]),
            log_entries.c.kind == Kind.CREATED.value,
        )
        .order_by(deliveries.c.id)
    )
    return _read(db, query)


def deleted(db: Session, reservation_ids: Collection[str]) -> set[str]:
    """Which of some reservations are deleted by now.

    :param reservation_ids: the ids in Blazar's table.
    """
    query = sa.select(bookings.c.reservation_id).where(
        bookings.c.reservation_id.in_(reservation_ids), bookings.c.live_id.is_(None)
    )
    return {str(each) for each in db.scalars(query)}


@dataclasses.dataclass
class Outcomes:
    """What became of notices."""

    #: The ids of those that are sent.
    sent: list[int] = dataclasses.field(default_factory=list)
    #: Those that can't be sent, with the errors.
    given_up: list[tuple[Notice, str]] = dataclasses.field(default_factory=list)
    #: Those that couldn't be sent this time, with the errors.
    postponed: list[tuple[Notice, str]] = dataclasses.field(default_factory=list)


def write(db: Session, outcomes: Outcomes, now: datetime.datetime) -> None:
    """Write what became of notices: one statement for those of which the same is written."""
    if outcomes.sent:
        db.execute(deliveries.delete().where(deliveries.c.id.in_(outcomes.sent)))
    values: dict[tuple[Any, ...], list[int]] = collections.defaultdict(list)
    for notice, error in outcomes.given_up:
        values[notice.attempts, error, None, now].append(notice.id)
    for notice, error in outcomes.postponed:
        pause = times.doubled(times.NOTICE_FIRST_PAUSE, notice.attempts, times.NOTICE_LONGEST_PAUSE)
        values[notice.attempts + 1, error, now + pause, None].append(notice.id)
    for (attempts, error, next_at, given_up_at), ids in values.items():
        db.execute(
            deliveries.update()
            .where(deliveries.c.id.in_(ids))
            .values(attempts=attempts, error=error, next_at=next_at, given_up_at=given_up_at)
        )


def give_up_old(db: Session, before: datetime.datetime, now: datetime.datetime) -> int:
    """Give up all notices that were written before a moment, and return their number."""
    waiting = (deliveries.c.given_up_at.is_(None), deliveries.c.at < before)
    text = sa.func.coalesce(deliveries.c.error, "It waited for too long")
    return session.changed(
        db, deliveries.update().where(*waiting).values(given_up_at=now, error=text)
    )


def give_up_surplus(db: Session, most: int, now: datetime.datetime) -> int:
    """Give up the oldest notices of each channel and project beyond a number of waiting ones.

    :returns: how many notices were given up.
    """
    waiting = deliveries.c.given_up_at.is_(None)
    groups = (
        sa.select(deliveries.c.channel, deliveries.c.project_id, sa.func.count())
        .where(waiting)
        .group_by(deliveries.c.channel, deliveries.c.project_id)
        .having(sa.func.count() > most)
    )
    given_up = 0
    for channel, project_id, number in db.execute(groups).all():
        same = (waiting, deliveries.c.channel == channel, deliveries.c.project_id == project_id)
        oldest = (
            sa.select(deliveries.c.id).where(*same).order_by(deliveries.c.id).limit(number - most)
        )
        ids = list(db.scalars(oldest))
        text = f"More than {most} notices of the project were waiting"
        db.execute(
            deliveries.update().where(deliveries.c.id.in_(ids)).values(given_up_at=now, error=text)
        )
        given_up += len(ids)
    return given_up


def delete_given_up(db: Session, before: datetime.datetime) -> int:
    """Delete the notices that were given up before a moment, and return their number."""
    return session.changed(db, deliveries.delete().where(deliveries.c.given_up_at < before))


@dataclasses.dataclass(frozen=True)
class FailedNotice:
    """A notice that couldn't be sent."""

    #: A value of ``Kind``.
    kind: str
    error: str
    is_given_up: bool


def last_failure(db: Session, channel: str, subject: str) -> FailedNotice | None:
    """The last notice about a subject that a channel couldn't send, and hasn't sent since."""
    query = (
        sa.select(log_entries.c.kind, deliveries.c.error, deliveries.c.given_up_at.is_not(None))
        .join(log_entries, log_entries.c.id == deliveries.c.entry_id)
        .where(
            deliveries.c.channel == channel,
            deliveries.c.subject == subject,
            deliveries.c.error.is_not(None),
        )
        .order_by(deliveries.c.id.desc())
        .limit(1)
    )
    row = db.execute(query).first()
    return FailedNotice(row[0], row[1], bool(row[2])) if row else None


def given_up(db: Session) -> list[LostNotices]:
    """For each channel that has given up notices, how many, and the newest of them."""
    number, newest = sa.func.count().label("number"), sa.func.max(deliveries.c.id).label("newest")
    lost = (
        sa.select(number, newest)
        .where(deliveries.c.given_up_at.is_not(None))
        .group_by(deliveries.c.channel)
        .subquery()
    )
    query = (
        sa.select(deliveries.c.channel, lost.c.number, deliveries.c.subject)
        .add_columns(log_entries.c.kind, deliveries.c.error)
        .join(lost, lost.c.newest == deliveries.c.id)
        .join(log_entries, log_entries.c.id == deliveries.c.entry_id)
        .order_by(deliveries.c.channel)
    )
    return [LostNotices(*row) for row in db.execute(query)]


@dataclasses.dataclass
class Backlog:
    """What one channel has yet to send, and what it has given up."""

    waiting: int = 0
    #: The time of the oldest notice that waits. None: no notice waits.
    oldest: datetime.datetime | None = None
    given_up: int = 0

    def add(self, number: int, oldest: datetime.datetime | None) -> None:
        """Add notices that wait."""
        self.waiting += number
        times = [each for each in (self.oldest, oldest) if each is not None]
        self.oldest = min(times, default=None)


def backlogs(db: Session) -> dict[str, Backlog]:
    """The backlog of each channel, also with what no notices are written of yet."""
    billing = _billing(db)
    found = {name: Backlog() for name in (LEASES, *billing)}
    entry, notice = log_entries.c, deliveries.c
    given_up = sa.func.count(notice.given_up_at)
    written = sa.select(
        notice.channel,
        sa.func.count() - given_up,
        sa.func.min(sa.case((notice.given_up_at.is_(None), notice.at))),
        given_up,
    ).group_by(notice.channel)
    for channel, number, oldest, lost in db.execute(written):
        backlog = found.setdefault(channel, Backlog())
        backlog.add(number, oldest)
        backlog.given_up = lost
    unwritten = (
        sa.select(entry.kind, sa.func.count(), sa.func.min(entry.at))
        .where(entry.telling == Telling.NEW.value)
        .group_by(entry.kind)
    )
    for kind, number, oldest in db.execute(unwritten):
        for channel in _channels_of(Kind(kind), billing):
            found[channel].add(number, oldest)
    return found
