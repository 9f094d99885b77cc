"""Reads the past, present and future reservations of a flavor, for operators."""

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db.booking.claims import slot_claims
from warre_blazar.db.tables import allocations, bookings, bookings_in_leases, leases, reservations
from warre_blazar.domain.timeline import Claim, Span


def booked(db: Session, flavor_id: str, window: Span) -> list[Claim]:
    """The reservations of a flavor that overlap a span, as claims.

    Reservations that have ended are included until their leases are deleted, although they don't
    claim slots any more.

    :param window: the span.
    """
    held = sa.exists().where(allocations.c.reservation_id == reservations.c.id)
    over = (
        sa.select(leases.c.start_date, leases.c.end_date, bookings.c.instance_count)
        .select_from(bookings_in_leases)
        .where(
            bookings.c.flavor_id == flavor_id,
            reservations.c.status == "deleted",
            ~held,
            leases.c.start_date < window.end,
            leases.c.end_date > window.start,
        )
    )
    past = [Claim(Span(start, end), count) for start, end, count in db.execute(over)]
    return past + slot_claims(db, flavor_id, window)
