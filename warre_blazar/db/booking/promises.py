"""Promises: new times to which the plugin has agreed, until Blazar has written them.

When Blazar updates a lease, it asks the plugin first. If the plugin agrees, it promises the new
time. From then on the lease claims both its own time and the promised time. The promise is deleted
when Blazar has written the new dates, or certainly won't write them any more.
"""

import dataclasses

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import generations, session
from warre_blazar.db.sql_functions import seconds_between, utc_now
from warre_blazar.db.tables import bookings, bookings_in_leases, leases, reservations
from warre_blazar.domain import timeline
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE
from warre_blazar.domain.running import lease_states


def make(db: Session, reservation: Reservation, span: timeline.Span) -> None:
    """Write a promise: the new time of a reservation. It replaces an earlier promise.

    The caller has claimed the hosts that it needs.

    :raises session.LostRace: since the reservation was read, another update has got a promise or
        has changed the number of instances.
    """
    before = reservation.promised
    start, end = (before.start, before.end) if before else (None, None)
    session.write_or_lose(
        db,
        bookings.update()
        .where(
            bookings.c.reservation_id == reservation.reservation_id,
            bookings.c.claim_start.is_(None) if start is None else bookings.c.claim_start == start,
            bookings.c.claim_end.is_(None) if end is None else bookings.c.claim_end == end,
            bookings.c.instance_count == reservation.instance_count,
        )
        .values(claim_start=span.start, claim_end=span.end, promised_at=utc_now()),
    )
    generations.outdate_hosts_of(db, reservations.c.id == reservation.reservation_id)


def cover(db: Session, lease_id: str, span: timeline.Span) -> bool:
    """Whether a span was promised to each flavor:slot reservation of a lease.

    Until the caller's transaction is over, others can't change or drop the promises.
    """
    of_lease = sa.select(reservations.c.id).where(
        reservations.c.lease_id == lease_id, reservations.c.resource_type == RESOURCE_TYPE
    )
    ids = list(db.scalars(of_lease))
    promised = db.execute(
        sa.select(bookings.c.claim_start, bookings.c.claim_end)
        .where(bookings.c.reservation_id.in_(ids))
        .with_for_update()
    ).all()
    return len(promised) == len(ids) and all(
        start is not None and start <= span.start and span.end <= end for start, end in promised
    )


@dataclasses.dataclass(frozen=True)
class Promise:
    """A promise of a lease that isn't UPDATING any more."""

    reservation_id: str
    span: timeline.Span
    #: The seconds since the promise was made, by the database's clock.
    age: int


def pending(db: Session) -> list[Promise]:
    """The promises of leases that aren't UPDATING. Their updates are finished or abandoned."""
    query = (
        sa.select(
            bookings.c.reservation_id,
            bookings.c.claim_start,
            bookings.c.claim_end,
            seconds_between(bookings.c.promised_at, utc_now()),
        )
        .select_from(bookings_in_leases)
        .where(bookings.c.claim_end.is_not(None), leases.c.status != lease_states.UPDATING)
    )
    return [
        Promise(reservation_id, timeline.Span(start, end), age or 0)
        for reservation_id, start, end, age in db.execute(query)
    ]


def drop(db: Session, promise: Promise) -> None:
    """Delete a promise, unless it has changed since it was read or an update has begun.

    An update that comes to its last write only now is refused, because no promise covers it.
    """
    updating = sa.exists().where(
        reservations.c.id == bookings.c.reservation_id,
        leases.c.id == reservations.c.lease_id,
        leases.c.status == lease_states.UPDATING,
    )
    db.execute(
        bookings.update()
        .where(
            bookings.c.reservation_id == promise.reservation_id,
            bookings.c.claim_start == promise.span.start,
            bookings.c.claim_end == promise.span.end,
            sa.not_(updating),
        )
        .values(claim_start=None, claim_end=None, promised_at=None)
    )
    generations.outdate_hosts_of(db, reservations.c.id == promise.reservation_id)
