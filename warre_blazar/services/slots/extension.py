"""Finds out how far a reservation can be extended."""

import dataclasses
import datetime

from warre_blazar import texts, times
from warre_blazar.db import session
from warre_blazar.db.booking import quotas as stored_quotas
from warre_blazar.db.hosts import allocations
from warre_blazar.db.running import backings
from warre_blazar.domain.booking import booking_rules
from warre_blazar.domain.booking.booking_rules import BookingConditions
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.booking.reservation_states import ACTIVE, ALLOCATED
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.slots import extensions
from warre_blazar.domain.slots.extensions import LatestEnd, Stop
from warre_blazar.domain.slots.free_time import ChangedReservation, Question
from warre_blazar.domain.slots.offers import QuotaLeft
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.openstack import limits
from warre_blazar.services import searches
from warre_blazar.services.hosts import new_hosts
from warre_blazar.services.slots import free_slots


@dataclasses.dataclass(frozen=True)
class PossibleExtension:
    """How far a reservation can be extended."""

    #: The latest end: the present end if the reservation can't be extended.
    end: datetime.datetime
    #: What stops a later end. None: nothing within a year.
    stop: Stop | None
    #: From when on the flavor's terms allow an extension. None: they allow it now.
    extend_from: datetime.datetime | None = None


@searches.uncollected()
def find(
    reservation: Reservation, flavor: Flavor, conditions: BookingConditions, now: datetime.datetime
) -> PossibleExtension:
    """How far a reservation can be extended at this moment.

    :raises InvalidState: the reservation is over, or isn't booked yet.
    :raises LimitsNotRegistered, ServiceUnavailable:
    """
    span, rule = reservation.span, conditions.quotas
    if reservation.state not in (ALLOCATED, ACTIVE):
        raise exceptions.InvalidState(
            texts.refusals.IN_STATE(reservation=reservation.id, status=reservation.state)
        )
    earliest = booking_rules.extendable_from(flavor, span)
    if earliest is not None and now < earliest:
        return PossibleExtension(span.end, Stop.TERMS, earliest)
    allowed = limits.of_project(reservation.project_id) if rule.enforced else None
    new_hosts.read()
    with session.reader() as db:
        backing = backings.get(db, reservation.reservation_id)
        has_begun = reservation.state == ACTIVE or (
            backing is not None and backing.phase.is_opened and span.start <= now
        )
        held = allocations.allocated(db, reservation.reservation_id)
        question = Question(
            flavor=flavor.id,
            project_id=reservation.project_id,
            everything=True,
            count=reservation.instance_count,
            window=Span(
                span.start, span.end + min(times.LOOK_AHEAD, datetime.datetime.max - span.end)
            ),
            now=now,
            cleaning=conditions.cleaning,
            affinity=reservation.affinity,
            device_rules=conditions.device_rules,
            own=ChangedReservation(reservation, held if has_begun else None),
            moves=conditions.moves,
        )
        free = free_slots.read(db, flavor, question)
        quota = None
        if allowed is not None:
            used = stored_quotas.usage(
                db, reservation.project_id, rule.types, [reservation.reservation_id]
            )
            quota = QuotaLeft(hours=QuotaLeft.of(allowed, used).hours).longest(
                reservation.instance_count
            )
    with searches.logged(f"an extension of reservation {reservation.id}"):
        found = extensions.latest_end(
            flavor,
            free,
            span.start,
            quota,
            any_length=reservation.project_id in conditions.any_length,
            with_windows=not conditions.in_windows,
        )
    return _not_shorter(found, span)


def _not_shorter(found: LatestEnd, span: Span) -> PossibleExtension:
    return PossibleExtension(max(found.end, span.end), found.stop)
