"""Decides whether a reservation can be changed, and what the change does to it."""

import dataclasses
import datetime
import functools
from collections.abc import Iterable, Mapping

from oslo_utils import timeutils
from sqlalchemy.orm import Session

from warre_blazar import texts
from warre_blazar.db import flavors, generations, maintenance, waits
from warre_blazar.db.hosts import allocations
from warre_blazar.db.running import backings, executions
from warre_blazar.domain import timeline
from warre_blazar.domain.booking import (
    booking_rules,
    constraints,
    reservation_states,
    verdict,
)
from warre_blazar.domain.booking import quota as quota_rules
from warre_blazar.domain.booking.booking_rules import BookingConditions
from warre_blazar.domain.booking.constraints import Case, Constraint
from warre_blazar.domain.booking.quota import Amount
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.etags import NOT_SAID, Shown
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import finding_room
from warre_blazar.services.booking.quotas import Quota, QuotaStanding
from warre_blazar.services.slots import supply


@dataclasses.dataclass(frozen=True)
class ProposedChange:
    """A change of a reservation: its new time and count, and the reservation as it was read."""

    #: The reservation as it was before the transaction.
    before: Reservation
    span: timeline.Span
    count: int
    conditions: BookingConditions
    now: datetime.datetime
    #: For a running reservation that gives up instances: those that it keeps, by host id.
    shrunk: Mapping[str, int] | None = None
    #: Whether the caller writes the new time in the same transaction. Otherwise Blazar writes it
    #: later or never, so the reservation needs room at both times.
    at_once: bool = False
    #: What the client was shown of the reservation.
    shown: Shown = NOT_SAID


@dataclasses.dataclass(frozen=True)
class ChangeDecision:
    """What a change would do, or all rules that refuse it."""

    #: The reservation as it is.
    before: Reservation
    #: The new time. It contains any time that was promised to an earlier update.
    span: timeline.Span
    count: int
    #: Every rule that refuses the change, in the order in which a change checks them.
    refusals: tuple[exceptions.WarreError, ...] = ()
    #: The hosts after the change. None if the reservation already holds all that it needs.
    place: finding_room.Place | None = None
    #: The project's limits, usage and generation. None if the change needs no quota.
    standing: QuotaStanding | None = None
    #: The project's generation, if what else the project has booked decides about the change.
    generation: int | None = None
    #: Whether the reservation has begun, so that its instances stay where they are.
    stays: bool = False
    #: Where the reservation's instances are now: their number, by host id. If a running reservation
    #: gives up instances, these are the remaining ones.
    held: Mapping[str, int] = dataclasses.field(default_factory=dict)
    #: The most instances that the reservation could have then. None if nobody asked.
    most: int | None = None

    @property
    def growth(self) -> Amount:
        """The quota that the change needs beyond what the reservation already takes."""
        return growth(self.before, self.span, self.count)


def growth(reservation: Reservation, span: timeline.Span, count: int) -> Amount:
    """The quota that a change needs beyond what the reservation already takes."""
    return quota_rules.growth(reservation.amount, quota_rules.of_booking(span, count))


def decide(
    db: Session,
    reservation: Reservation,
    change: ProposedChange,
    quota: Quota | None,
    *,
    with_most: bool | None = False,
) -> ChangeDecision:
    """Evaluate every rule about a change. This is the only place that does.

    If the time isn't valid, the rules that depend on it can't be evaluated.

    :param with_most: whether to find out how many instances the reservation could have. None: only
        if a rule refuses the change.
    """
    state, stays = _state_refusals(db, reservation, change)
    held: Mapping[str, int] = allocations.allocated(db, reservation.reservation_id)
    if change.shrunk:
        held = change.shrunk
    growing = {reservation.reservation_id: reservation.amount}
    generation = generations.of_project(db, reservation.project_id) if reservation.handle else None
    standing = quota.standing(db, growing) if quota else None
    if generation is None and standing:
        generation = standing.generation
    outcome = ChangeDecision(
        reservation,
        change.span,
        change.count,
        tuple(state),
        standing=standing,
        generation=generation,
        stays=stays,
        held=held,
    )
    if change.span.end <= change.span.start:
        return outcome
    span = _with_earlier_promise(reservation, change.span)
    outcome = dataclasses.replace(outcome, span=span)
    is_growing = change.count > reservation.instance_count
    grows = is_growing or not reservation.span.contains(span)
    if not (grows or with_most):
        return outcome
    flavor, project_id = flavor_of(db, reservation), reservation.project_id
    need = finding_room.Need(
        project_id, reservation.shape, change.count, span, reservation.affinity
    )
    present = finding_room.PresentPlace(reservation, held, stays, change.at_once)
    offers = waits.offered(db, [flavor.id], project_id, timeutils.utcnow()) if grows else {}
    room = finding_room.Room(
        db, flavor, need, change.conditions, present, offers=offers.get(flavor.id)
    )
    rules = _rules(db, flavor, reservation, span, change)
    of_quota = []
    if standing:
        of_quota = [constraints.QuotaLimit(standing.limits, standing.used, reservation.amount)]
    if grows:
        refusals = verdict.refusals(rules, span, change.count)
        outcome = _grown(outcome, change, refusals, room)
        over = verdict.refusals(of_quota, span, change.count)
        outcome = dataclasses.replace(outcome, refusals=(*outcome.refusals, *over))
    if with_most or (with_most is None and outcome.refusals):
        most = verdict.most([*rules, *of_quota], span, room.most())
        outcome = dataclasses.replace(outcome, most=most)
    return outcome


def _rules(
    db: Session,
    flavor: Flavor,
    reservation: Reservation,
    span: timeline.Span,
    change: ProposedChange,
) -> list[Constraint]:
    """The constraints apart from slots, hosts, the quota and the present."""
    conditions, project_id = change.conditions, reservation.project_id
    case = Case(
        flavor,
        change.now,
        accessible=flavors.is_accessible(db, flavor, project_id),
        any_length=project_id in conditions.any_length,
        before=reservation.span,
    )
    closed = [] if conditions.in_windows else maintenance.closing(db, flavor.id, span)
    booked = finding_room.booked_by(db, flavor, project_id, span, reservation.reservation_id)
    return [
        *constraints.access(case),
        *constraints.terms(case),
        *constraints.windows(closed),
        *constraints.of_project(flavor, booked),
        *supply.with_handle(db, reservation.handle, project_id, span, reservation.reservation_id),
    ]


def _grown(
    outcome: ChangeDecision,
    change: ProposedChange,
    terms: Iterable[exceptions.WarreError],
    room: finding_room.Room,
) -> ChangeDecision:
    """Find hosts for a reservation whose new time or count goes beyond what it holds.

    :param terms: why the project may not have the flavor at the new time.
    """
    reservation, refusals = outcome.before, [*outcome.refusals, *terms]
    place, lacking = room.find()
    refusals += lacking
    if outcome.stays and place and place.elsewhere:
        # The reservation's servers may be running on its present hosts, so it can't move to others.
        matching = len(place.hosts)
        refusals.append(exceptions.HostsExhausted(change.count, 0, matching, reservation.affinity))
    return dataclasses.replace(outcome, refusals=tuple(refusals), place=place)


def _state_refusals(
    db: Session, reservation: Reservation, change: ProposedChange
) -> tuple[list[exceptions.WarreError], bool]:
    """Why a reservation's state or the new time doesn't allow the change.

    :returns: InvalidState and InvalidPeriod, and whether the reservation has begun (see
        ``_has_begun``).
    """
    refusals = booking_rules.refusals(functools.partial(check_state, reservation))
    try:
        begun = _has_begun(db, reservation, change.now)
    except exceptions.InvalidState as error:
        refusals.append(error)
        begun = reservation.state == reservation_states.ACTIVE
    opened = is_opened(db, reservation)
    refusals += booking_rules.refusals(
        functools.partial(_check_start, reservation, change, begun),
        functools.partial(_check_count, reservation, change, begun=begun, opened=opened),
        functools.partial(booking_rules.check_period, change.span),
    )
    if change.span.start != reservation.span.start:
        refusals += verdict.refusals([constraints.past(change.now)], change.span, change.count)
    return refusals, begun


def _check_start(reservation: Reservation, change: ProposedChange, begun: bool) -> None:
    if begun and change.span.start != reservation.span.start:
        is_active = reservation.state == reservation_states.ACTIVE
        entry = texts.refusals.BEGUN if is_active else texts.refusals.BEGINNING
        raise exceptions.InvalidState(entry(reservation=reservation.id))


def _check_count(
    reservation: Reservation, change: ProposedChange, *, begun: bool, opened: bool
) -> None:
    if (begun or opened) and change.count > reservation.instance_count:
        raise exceptions.InvalidState(texts.refusals.ONLY_FEWER(reservation=reservation.id))
    if opened and change.count < reservation.instance_count and change.shrunk is None:
        raise exceptions.InvalidState(texts.refusals.BEING_STARTED(reservation=reservation.id))


def check_state(reservation: Reservation) -> None:
    """Check that a reservation waits for its start or is running.

    :raises InvalidState:
    """
    if reservation.state not in (reservation_states.ALLOCATED, reservation_states.ACTIVE):
        raise booking_rules.in_state(reservation)


def flavor_of(db: Session, reservation: Reservation) -> Flavor:
    """The flavor of a reservation, even if it was deleted."""
    return flavors.get_many(db, {reservation.flavor_id})[reservation.flavor_id]


def _with_earlier_promise(reservation: Reservation, span: timeline.Span) -> timeline.Span:
    """The time to promise to an update. It contains any time promised to an earlier update.

    Blazar accepts two simultaneous updates of a lease. Either update may be the last one that
    writes the lease's dates. So if an earlier update was promised a time other than the lease's
    own, this update is promised the shortest span that contains both times.
    """
    if reservation.promised is None or reservation.promised == reservation.span:
        return span
    return span.hull(reservation.promised)


def _has_begun(db: Session, reservation: Reservation, now: datetime.datetime) -> bool:
    """Whether a reservation is open to its project, or is about to be opened.

    :raises InvalidState: a manager is starting or ending the reservation at this moment.
    """
    if executions.is_claimed(db, reservation.lease_id):
        raise exceptions.InvalidState(
            texts.refusals.BEING_STARTED_OR_ENDED(reservation=reservation.id)
        )
    if reservation.state == reservation_states.ACTIVE:
        return True
    return reservation.span.start <= now and is_opened(db, reservation)


def is_opened(db: Session, reservation: Reservation) -> bool:
    """Whether the reservation's hosts may have inventories of its resource class."""
    backing = backings.get(db, reservation.reservation_id)
    return backing is not None and backing.phase.is_opened
