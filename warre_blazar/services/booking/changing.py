"""Changes a reservation: promises a new time and writes a new count, in one transaction.

Blazar doesn't write the count, so a new count needs no promise: it is written at once, and counts
in the promised time and in the lease's own. If the plugin of another reservation of the lease then
refused the update, Blazar wouldn't tell this package, and the new count would stay. So only in a
lease of one reservation can the count be changed.
"""

import dataclasses
import datetime
from collections.abc import Iterable, Mapping

from oslo_utils import timeutils
from sqlalchemy.orm import Session

from warre_blazar import texts
from warre_blazar.db import generations, session
from warre_blazar.db.booking import promises, reservations
from warre_blazar.db.hosts import allocations
from warre_blazar.db.messages import outbox
from warre_blazar.db.records import changes
from warre_blazar.db.running import leases
from warre_blazar.domain import timeline
from warre_blazar.domain.booking import constraints
from warre_blazar.domain.booking.booking_rules import BookingConditions
from warre_blazar.domain.booking.quota import Amount
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.etags import NOT_SAID, Shown, of_reservation
from warre_blazar.domain.hosts import placing
from warre_blazar.domain.records.changes import Change, ChangeKind
from warre_blazar.domain.running import lease_states
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import change_decision, quotas, shrinking
from warre_blazar.services.booking.change_decision import ChangeDecision, ProposedChange
from warre_blazar.services.booking.quotas import Quota
from warre_blazar.services.hosts import new_hosts
from warre_blazar.services.moves import relocation


def move(
    reservation_id: str,
    span: timeline.Span,
    conditions: BookingConditions,
    now: datetime.datetime,
    count: int | None = None,
    shown: Shown = NOT_SAID,
) -> None:
    """Promise a reservation a new time, and write a new number of instances.

    The plugin calls this while the lease is UPDATING. Blazar writes the lease's new time
    afterwards. The reservation keeps its hosts if they have room. If they don't have room, a
    reservation that hasn't begun moves to other hosts, and the change of a reservation that has
    begun is refused.

    :param count: the new number of instances. It is written at once. None: the number stays the
        same.
    :param shown: what the client was shown of the reservation.
    :raises ChangedSinceShown, ReservationNotFound, InvalidState, InvalidPeriod, FlavorNotBookable,
        InMaintenance, NoHostMatches, SlotsExhausted, HostsExhausted, QuotaExceeded,
        LimitsNotRegistered, ServiceUnavailable, ServiceRefused, TryAgain: nothing changed.
    """
    new_hosts.read()
    with session.reader() as db:
        reservation = reservations.require(db, reservation_id)
        opened = change_decision.is_opened(db, reservation)
    wanted = reservation.instance_count if count is None else count
    change = ProposedChange(reservation, span, wanted, conditions, now, shown=shown)
    if not (opened and wanted < reservation.instance_count):
        _decide(change)
        return
    change_decision.check_state(reservation)
    with shrinking.shrunk(reservation_id, wanted) as shrunk:
        _decide(dataclasses.replace(change, shrunk=shrunk))


def _decide(change: ProposedChange) -> None:
    reservation = change.before
    if change_decision.growth(reservation, change.span, change.count) == Amount():
        # The change needs no more quota, so it must be possible even while Keystone is unavailable.
        _move(change, None)
    else:
        rule = change.conditions.quotas
        quotas.decided(rule, reservation.project_id, lambda quota: _move(change, quota))


def check_lengths(reservation_ids: Iterable[str], span: timeline.Span) -> None:
    """Check that the flavor of every reservation allows the new length of a lease.

    A time within a reservation's present time has any length, as for ``move``.

    :raises FlavorNotBookable: for the first flavor that doesn't allow the length.
    """
    with session.reader() as db:
        for reservation_id in reservation_ids:
            reservation = reservations.find(db, reservation_id)
            if reservation is not None and not reservation.span.contains(span):
                rule = constraints.length(change_decision.flavor_of(db, reservation))
                if refusal := rule.refusal(span, reservation.instance_count):
                    raise refusal


def check(
    reservation: Reservation,
    span: timeline.Span,
    count: int,
    conditions: BookingConditions,
    now: datetime.datetime,
) -> ChangeDecision | None:
    """Check whether a reservation can have a new time and count at this moment.

    Whether the reservation's state allows the change is left to ``move``, because the state may be
    another one when the manager comes to it. So are servers that are in the way.

    :returns: the decision that refuses the change, or None.
    """
    new_hosts.read()
    change = ProposedChange(reservation, span, count, conditions, now)

    def look(quota: Quota | None) -> ChangeDecision:
        with session.reader() as db:
            return change_decision.decide(db, reservation, change, quota, with_most=None)

    if change_decision.growth(reservation, span, count) == Amount():
        outcome = look(None)
    else:
        # Cached limits might let this accept what the manager, which has other ones, refuses.
        rule = conditions.quotas.fresh
        outcome = quotas.decided(rule, reservation.project_id, look, lambda found: found.refusals)
    refusal = next(iter(outcome.refusals), None)
    is_refused = refusal is not None and not isinstance(refusal, exceptions.InvalidState)
    return outcome if is_refused else None


@session.retried
def _move(change: ProposedChange, quota: Quota | None) -> None:
    with session.claiming() as db:
        _check_updating(db, change.before)
        reservation = reservations.require(db, change.before.reservation_id)
        if change.shown.tags and reservation.promised not in (None, reservation.span):
            # An earlier update of which nobody knows whether it will still write its time.
            raise _busy(reservation)
        change.shown.check(reservation.id, of_reservation(reservation))
        if reservation.amount != change.before.amount or reservation.span != change.before.span:
            # Another update has changed the reservation since the quota was checked. So the check
            # was for a different growth.
            raise exceptions.TryAgain
        outcome = change_decision.decide(db, reservation, change, quota)
        for refusal in outcome.refusals:
            raise refusal
        place = outcome.place
        if place is None:
            # The reservation already holds all that it needs.
            promises.make(db, reservation, outcome.span)
            if change.count < reservation.instance_count:
                kept = placing.kept(outcome.held, {}, change.count)
                relocation.claim(db, change_decision.flavor_of(db, reservation))
                _write_place(db, reservation, kept, change.conditions.user_id)
            return
        if outcome.generation is not None:
            generations.increase_project(db, reservation.project_id, outcome.generation)
        relocation.claim(db, place.flavor, place.hosts, place.placed_again)
        promises.make(db, reservation, outcome.span)
        _write_place(db, reservation, place.chosen, change.conditions.user_id, place.places)
        place.settle_moved(db, change.conditions)


def foresee(
    reservation: Reservation,
    span: timeline.Span,
    count: int,
    conditions: BookingConditions,
    now: datetime.datetime,
) -> ChangeDecision:
    """What a change would do at this moment. Nothing is written.

    :raises ServiceUnavailable, ServiceRefused, LimitsNotRegistered: no decision is possible.
    """
    new_hosts.read()
    with session.reader() as db:
        opened = change_decision.is_opened(db, reservation)
        held = allocations.allocated(db, reservation.reservation_id)
    change, refusals = ProposedChange(reservation, span, count, conditions, now), []
    if opened and count < reservation.instance_count:
        try:
            shrunk = shrinking.foreseen(reservation.reservation_id, count)
        except exceptions.InvalidState as error:
            refusals.append(error)
            shrunk = placing.kept(held, {}, count)
        change = dataclasses.replace(change, shrunk=shrunk)

    def look(quota: Quota | None) -> ChangeDecision:
        with session.reader() as db:
            return change_decision.decide(db, reservation, change, quota, with_most=True)

    try:
        # Cached limits might let this accept what the manager, which has other ones, refuses.
        rule = conditions.quotas.fresh
        outcome = quotas.decided(rule, reservation.project_id, look, lambda found: found.refusals)
    except (exceptions.ServiceUnavailable, exceptions.LimitsNotRegistered):
        outcome = look(None)
        if outcome.growth != Amount():
            raise
    return dataclasses.replace(outcome, refusals=(*refusals, *outcome.refusals))


def _check_updating(db: Session, reservation: Reservation) -> None:
    """Check that Blazar is still updating a reservation's lease, and keep it from changing.

    A request that deletes the lease may have begun meanwhile. Hosts that were claimed after it had
    released the reservation's hosts would stay claimed.

    :raises InvalidState:
    """
    present = leases.lock(db, reservation.lease_id)
    if present is None or present.status != lease_states.UPDATING:
        raise _busy(reservation)


def _busy(reservation: Reservation) -> exceptions.InvalidState:
    return exceptions.InvalidState(texts.refusals.BEING_CHANGED(reservation=reservation.id))


def _write_place(
    db: Session,
    reservation: Reservation,
    chosen: Mapping[str, int],
    user_id: str | None,
    places: placing.PlacesByHost = placing.NO_NEW_PLACES,
) -> None:
    """Write the hosts and the number of instances of a changed reservation.

    :param chosen: instances by host id.
    :param places: the new places of instances. Instances that aren't listed keep theirs.
    :param user_id: the user who changes the reservation.
    """
    relocation.write_hosts(db, reservation.reservation_id, reservation.shape, chosen, places)
    count = sum(chosen.values())
    if count != reservation.instance_count:
        now = timeutils.utcnow()
        outbox.count_until(db, outbox.of_reservations([reservation.reservation_id]), now)
        reservations.set_count(db, reservation.reservation_id, count)
        resized = Change(
            now,
            ChangeKind.RESIZED,
            user_id,
            {"instance_count": reservation.instance_count},
            {"instance_count": count},
        )
        changes.add(db, reservation.reservation_id, resized)
