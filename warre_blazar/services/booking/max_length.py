"""Checks a lease's length against ``max_length_hours`` of its flavors."""

from collections.abc import Iterable

from warre_blazar.db import flavors, reservations, session
from warre_blazar.domain import booking_rules
from warre_blazar.domain.timeline import Span


def check_flavors(refs: Iterable[str], span: Span, project_id: str) -> None:
    """Check that every flavor allows the length of a new lease.

    A flavor that the project can't book, or whose name belongs to several flavors, is skipped,
    because the plugin refuses to book it anyway.

    :param refs: ids or names of flavors.
    :param project_id: the project that books the flavors.
    :raises FlavorNotBookable: for the first flavor that doesn't allow the length.
    """
    with session.reader() as db:
        for ref in refs:
            candidates = flavors.find(db, ref, project_id=project_id, everything=False)
            if len(candidates) == 1:
                booking_rules.check_length(candidates[0], span)


def check_reservations(ids: Iterable[str], span: Span) -> None:
    """Check that the flavor of every reservation allows the lease's new length.

    If the new time lies within the reservation's present time, any length is allowed. The flavor's
    limit may have been lowered since the reservation was booked.

    :param ids: ids of reservations.
    :raises FlavorNotBookable: for the first flavor that doesn't allow the length.
    """
    with session.reader() as db:
        for reservation_id in ids:
            reservation = reservations.find(db, reservation_id)
            if reservation is None or reservation.span.contains(span):
                continue
            flavor = flavors.get_many(db, {reservation.flavor_id})[reservation.flavor_id]
            booking_rules.check_length(flavor, span)
