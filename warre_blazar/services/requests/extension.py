"""Finds out how far a reservation can be extended."""

import datetime

from warre_blazar.domain.booking_conditions import BookingConditions
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import lookup
from warre_blazar.services.requests import change
from warre_blazar.services.requests.change import ChangeRequest


def latest_end(reservation_id: str, conditions: BookingConditions) -> datetime.datetime | None:
    """The latest end that a reservation can have at this moment. None: it can't be extended.

    :param conditions: the conditions of the user who would extend it.
    :raises ReservationNotFound, InvalidState: the reservation is gone or over.
    :raises WarreError: it can't be found out.
    """
    reservation, flavor = lookup.get(reservation_id, None)
    span = reservation.span
    present = change.foresee(reservation, flavor, ChangeRequest(end=span.end), conditions)
    for refusal in present.refusals:
        if isinstance(refusal, exceptions.InvalidState):
            raise refusal
    latest = (span.start + present.longest).replace(second=0, microsecond=0)
    if latest <= span.end:
        return None
    # The longest free time is made of rules that are calculated together. A dry run asks each rule.
    asked = change.foresee(reservation, flavor, ChangeRequest(end=latest), conditions)
    for refusal in asked.refusals:
        raise refusal
    return latest
