"""Reminds of reservations whose end comes near."""

import datetime
from collections.abc import Collection

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar import times
from warre_blazar.db import session, turns
from warre_blazar.db.messages import outbox
from warre_blazar.db.tables import bookings_in_leases, leases, reservations
from warre_blazar.domain.messages.notices import Kind, News
from warre_blazar.domain.timeline import Span

#: The turn of reminding. All reminders that were due until its ``done_until`` are written.
_TURN = "reminders"


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
