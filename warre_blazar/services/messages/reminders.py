"""Reminds of reservations whose end comes near, and of those that begin without enough quota."""

import datetime
from collections.abc import Collection, Iterator

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar import times
from warre_blazar.db import session, turns
from warre_blazar.db.booking import reservations as stored
from warre_blazar.db.messages import outbox
from warre_blazar.db.tables import bookings_in_leases, leases, reservations
from warre_blazar.domain.booking import nova_quota
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.messages.notices import Kind, News
from warre_blazar.domain.timeline import Span
from warre_blazar.openstack import nova

#: The turn of reminding. All reminders that were due until its ``done_until`` are written.
_TURN = "reminders"
#: The same for reminders of Nova's quota.
_QUOTA_TURN = "quota reminders"


def remind(now: datetime.datetime, manager_id: str, hours: Collection[int]) -> None:
    """Write a reminder of each running reservation whose end has come near.

    A reminder is due at a moment that is some hours before the end. Each moment is looked at by one
    manager, once. So a reservation gets a reminder once for each end and number of hours, even if
    no manager has run for a while. An extension moves the moment, so that a reminder is due again.

    :param hours: how many hours before the end.
    """
    with session.reader() as db:
        done = turns.done_until(db, _TURN)
    if done is None or now - done >= times.REMINDED_EVERY:
        session.change(_remind, manager_id, now.replace(microsecond=0), frozenset(hours))


def _remind(db: Session, manager_id: str, now: datetime.datetime, hours: Collection[int]) -> None:
    done = turns.done_until(db, _TURN)
    # The first manager of a site doesn't know what was due before it.
    if not turns.advance(db, _TURN, manager_id, now) or done is None:
        return
    reminded: set[str] = set()
    # After an outage, several reminders of a reservation may be due. Only the last one is true.
    for number in sorted(hours):
        ids = _due(db, number, Span(done, now)) - reminded
        if ids:
            news = News(Kind.REMINDED, now, after={"hours": number})
            outbox.add(db, outbox.of_reservations(ids), news)
        reminded |= ids


def _due(db: Session, hours: int, looked_at: Span) -> set[str]:
    """The ids, in Blazar's table, of running reservations of which a reminder has become due.

    Reservations that aren't longer than the reminder's number of hours are left out.
    """
    ahead = hours * times.HOUR
    query = (
        sa.select(reservations.c.id, leases.c.start_date, leases.c.end_date)
        .select_from(bookings_in_leases)
        .where(
            reservations.c.status == "active",
            leases.c.end_date > max(looked_at.start + ahead, looked_at.end),
            leases.c.end_date <= looked_at.end + ahead,
        )
    )
    return {row.id for row in db.execute(query) if row.end_date - row.start_date > ahead}


def remind_of_quota(now: datetime.datetime, manager_id: str) -> None:
    """Write a reminder of each reservation that begins in a day and for which Nova has no quota.

    As with ``remind``, each moment is looked at once. Nova is asked once for each project that has
    a reservation then.

    :raises ServiceUnavailable, ServiceRefused: the next call looks at the same moments again.
    """
    now = now.replace(microsecond=0)
    with session.reader() as db:
        done = turns.done_until(db, _QUOTA_TURN)
        if done is not None and now - done < times.REMINDED_EVERY:
            return
        ahead = times.NOVA_QUOTA_REMINDED
        beginning = done and _beginning(db, Span(done + ahead, now + ahead))
    session.change(_remind_of_quota, manager_id, now, list(_short_of_quota(beginning or ())))


def _beginning(db: Session, starts: Span) -> list[Reservation]:
    """The reservations that begin after one moment, and at another one at the latest."""
    return stored.where(
        db,
        (
            leases.c.start_date > starts.start,
            leases.c.start_date <= starts.end,
            reservations.c.status == "pending",
        ),
    )


def _short_of_quota(beginning: Collection[Reservation]) -> Iterator[tuple[str, str]]:
    """The ids, in Blazar's table, of reservations that lack quota in Nova, and what they lack."""
    limits = {p: nova.quota_of(p) for p in sorted({each.project_id for each in beginning})}
    for each in beginning:
        of_project = limits[each.project_id]
        for warning in nova_quota.shortage(of_project, each.shape, each.instance_count):
            yield each.reservation_id, warning


def _remind_of_quota(
    db: Session, manager_id: str, now: datetime.datetime, found: Collection[tuple[str, str]]
) -> None:
    if turns.advance(db, _QUOTA_TURN, manager_id, now):
        for reservation_id, warning in found:
            news = News(Kind.NOVA_QUOTA, now, after={"warning": str(warning)})
            outbox.add(db, outbox.of_reservations([reservation_id]), news)
