"""Finds out how far a reservation can be extended."""

import dataclasses
import datetime

from warre_blazar import times
from warre_blazar.db import flavors, session
from warre_blazar.db.booking import quotas as stored_quotas
from warre_blazar.db.hosts import allocations
from warre_blazar.db.running import backings
from warre_blazar.domain.booking import booking_rules
from warre_blazar.domain.booking.booking_rules import BookingConditions
from warre_blazar.domain.booking.constraints import QuotaLimit
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.booking.reservation_states import ACTIVE, ALLOCATED
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.slots.free_time import ChangedReservation, Question
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.openstack import limits
from warre_blazar.services import searches
from warre_blazar.services.hosts import new_hosts
from warre_blazar.services.slots import free_slots, supply


@dataclasses.dataclass(frozen=True)
class PossibleExtension:
    """How far a reservation can be extended."""

    #: The latest end: the present end if the reservation can't be extended.
    end: datetime.datetime
    #: What would be said about a later end. None: nothing stops it within a year.
    stop: exceptions.WarreError | None


@searches.uncollected()
def find(
    reservation: Reservation, flavor: Flavor, conditions: BookingConditions, now: datetime.datetime
) -> PossibleExtension:
    """How far a reservation can be extended at this moment.

    :raises InvalidState: the reservation is over, or isn't booked yet.
    :raises LimitsNotRegistered, ServiceUnavailable:
    """
    span, rule, project_id = reservation.span, conditions.quotas, reservation.project_id
    if reservation.state not in (ALLOCATED, ACTIVE):
        raise booking_rules.in_state(reservation)
    allowed = limits.of_project(project_id) if rule.enforced else None
    new_hosts.read()
    with session.reader() as db:
        backing = backings.get(db, reservation.reservation_id)
        has_begun = reservation.state == ACTIVE or (
            backing is not None and backing.phase.is_opened and span.start <= now
        )
        held = allocations.allocated(db, reservation.reservation_id)
        ahead = min(times.LOOK_AHEAD, datetime.datetime.max - span.end)
        question = Question(
            flavor=flavor.id,
            project_id=project_id,
            everything=True,
            count=reservation.instance_count,
            window=Span(span.start, span.end + ahead),
            now=now,
            cleaning=conditions.cleaning,
            affinity=reservation.affinity,
            any_length=project_id in conditions.any_length,
            device_rules=conditions.device_rules,
            own=ChangedReservation(reservation, held if has_begun else None),
            moves=conditions.moves,
            in_windows=conditions.in_windows,
            accessible=flavors.is_accessible(db, flavor, project_id),
        )
        handle = supply.with_handle(
            db, reservation.handle, project_id, question.window, reservation.reservation_id
        )
        quota = None
        if allowed is not None:
            growing, own = [reservation.reservation_id], reservation.amount
            used = stored_quotas.usage(db, project_id, rule.types, growing) + own
            quota = QuotaLimit(allowed, used, own)
        free = free_slots.read(db, flavor, question, quota, handle)
    end, stop = free.latest_end(span.start)
    why = stop.error(question.window, reservation.instance_count) if stop else None
    return PossibleExtension(max(end, span.end), why)
