"""Finds out for a message how far a reservation can be extended."""

import datetime

from oslo_utils import timeutils

from warre_blazar.domain.booking.booking_conditions import BookingConditions
from warre_blazar.services.booking import lookup
from warre_blazar.services.booking.through_manager import change
from warre_blazar.services.booking.through_manager.change import ChangeRequest
from warre_blazar.services.slots import extension


def latest_end(reservation_id: str, conditions: BookingConditions) -> datetime.datetime | None:
    """The latest end that a reservation can have at this moment. None: it can't be extended.

    :param conditions: the conditions of the user who would extend it.
    :raises ReservationNotFound, InvalidState: the reservation is gone or over.
    :raises WarreError: it can't be found out.
    """
    reservation, flavor = lookup.get(reservation_id, None)
    found = extension.find(reservation, flavor, conditions, timeutils.utcnow())
    latest = found.end.replace(second=0, microsecond=0)
    if latest <= reservation.span.end:
        return None
    # The latest end is made of rules that are calculated together. A dry run asks each rule.
    asked = change.foresee(reservation, flavor, ChangeRequest(end=latest), conditions)
    for refusal in asked.refusals:
        raise refusal
    return latest
