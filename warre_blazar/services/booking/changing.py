"""Changes a reservation: promises a new time and writes a new count, in one transaction."""

import dataclasses
import datetime
from collections.abc import Mapping

from sqlalchemy.orm import Session

from warre_blazar import exceptions
from warre_blazar.booking_conditions import BookingConditions
from warre_blazar.db import (
    backings,
    executions,
    flavors,
    hosts,
    instance_reservations,
    leases,
    promises,
    reservations,
    session,
)
from warre_blazar.db.reservations import Reservation
from warre_blazar.domain import booking_rules, lease_states, placing, reservation_states, timeline
from warre_blazar.domain.flavor import Flavor
from warre_blazar.domain.quota import Amount
from warre_blazar.services import new_hosts
from warre_blazar.services.booking import finding_room, quotas, shrinking
from warre_blazar.services.booking.quotas import Quota
from warre_blazar.services.booking.turns import NO_TURN, Turn


@dataclasses.dataclass(frozen=True)
class _Change:
    """A change of a reservation: its new time and count, and the reservation as it was read."""

    #: The reservation as it was before the transaction.
    before: Reservation
    span: timeline.Span
    count: int
    conditions: BookingConditions
    now: datetime.datetime
    turn: Turn
    #: For a running reservation that gives up instances: where the remaining instances stay.
    shrunk: shrinking.Shrunk | None = None


def move(
    reservation_id: str,
    span: timeline.Span,
    conditions: BookingConditions,
    now: datetime.datetime,
    count: int | None = None,
    turn: Turn = NO_TURN,
) -> None:
    """Promise a reservation a new time, and write a new number of instances.

    The plugin calls this while the lease is UPDATING. Blazar writes the lease's new time
    afterwards. The reservation keeps its hosts if they have room. If they don't have room, a
    reservation that hasn't begun moves to other hosts, and the change of a reservation that has
    begun is refused.

    :param count: the new number of instances. It is written at once. None: the number stays the
        same.
    :param turn: bookings and changes that share a turn wait for each other.
    :raises ReservationNotFound, InvalidState, InvalidPeriod, FlavorNotBookable, InMaintenance,
        NoHostMatches, SlotsExhausted, HostsExhausted, QuotaExceeded, LimitsNotRegistered,
        ServiceUnavailable, ServiceRefused, TryAgain: nothing changed.
    """
    new_hosts.read()
    with session.reader() as db:
        reservation = reservations.require(db, reservation_id)
        opened = _is_opened(db, reservation)
    wanted = reservation.instance_count if count is None else count
    change = _Change(reservation, span, wanted, conditions, now, turn)
    if not (opened and wanted < reservation.instance_count):
        _decide(change)
        return
    _check_state(reservation)
    with shrinking.shrunk(reservation_id, wanted) as shrunk:
        _decide(dataclasses.replace(change, shrunk=shrunk))


def _decide(change: _Change) -> None:
    reservation = change.before
    if _growth(reservation, change.span, change.count) == Amount():
        # The change needs no more quota, so it must be possible even while Keystone is unavailable.
        _move(change, None)
    else:
        rule = change.conditions.quotas
        quotas.decided(rule, reservation.project_id, lambda quota: _move(change, quota))


def check_growth(
    reservation: Reservation, span: timeline.Span, conditions: BookingConditions, count: int
) -> None:
    """Check whether the quota now allows the new time and the new count of a reservation.

    :raises QuotaExceeded, LimitsNotRegistered, ServiceUnavailable:
    """
    growing = {reservation.reservation_id: reservation.amount}
    growth = _growth(reservation, span, count)
    quotas.check(conditions.quotas, reservation.project_id, growth, growing)


def _growth(reservation: Reservation, span: timeline.Span, count: int) -> Amount:
    """The quota that a change needs beyond what the reservation already takes."""
    more_hours = span.hours() * count - reservation.amount.hours
    return Amount(hours=max(more_hours, 0))


@session.retried
def _move(change: _Change, quota: Quota | None) -> None:
    with change.turn, session.writer() as db:
        _check_updating(db, change.before)
        reservation = reservations.require(db, change.before.reservation_id)
        if reservation.amount != change.before.amount or reservation.span != change.before.span:
            # Another update has changed the reservation since the quota was checked. So the check
            # was for a different growth.
            raise exceptions.TryAgain
        begun = _check_change(db, reservation, change)
        span = _with_earlier_promise(reservation, change.span)
        promises.make(db, reservation, span)
        is_growing = change.count > reservation.instance_count
        if not is_growing and reservation.span.contains(span):
            # The reservation already holds all that it needs.
            if change.count < reservation.instance_count:
                flavor = _flavor_of(db, reservation)
                _write_place(db, reservation, flavor, _kept_instances(db, change))
            return
        place = _changed_place(db, reservation, span, change, stays=begun)
        if begun and place.elsewhere:
            # The reservation's servers may be running on its present hosts, so it can't move to
            # others.
            raise exceptions.HostsExhausted(change.count, 0, len(place.hosts), reservation.affinity)
        if quota:
            growth = _growth(reservation, span, change.count)
            quota.claim(db, growth, {reservation.reservation_id: reservation.amount})
        hosts.claim(db, place.hosts)
        _write_place(db, reservation, place.flavor, place.chosen)


def _check_updating(db: Session, reservation: Reservation) -> None:
    """Check that Blazar is still updating a reservation's lease, and keep it from changing.

    A request that deletes the lease may have begun meanwhile. Hosts that were claimed after it had
    released the reservation's hosts would stay claimed.

    :raises InvalidState:
    """
    present = leases.lock(db, reservation.lease_id)
    if present is None or present.status != lease_states.UPDATING:
        raise exceptions.InvalidState(
            f"Reservation {reservation.id} is being changed or deleted by another request; try "
            "again in a few seconds"
        )


def _check_change(db: Session, reservation: Reservation, change: _Change) -> bool:
    """Check whether a reservation's state allows the change.

    :returns: whether the reservation has begun (see ``_has_begun``).
    :raises InvalidState, InvalidPeriod:
    """
    _check_state(reservation)
    begun = _has_begun(db, reservation, change.now)
    if begun and change.span.start != reservation.span.start:
        is_active = reservation.state == reservation_states.ACTIVE
        doing = "has begun" if is_active else "is being started"
        raise exceptions.InvalidState(
            f"Reservation {reservation.id} {doing}, so its start can't change"
        )
    opened = _is_opened(db, reservation)
    if (begun or opened) and change.count > reservation.instance_count:
        raise exceptions.InvalidState(
            f"Reservation {reservation.id} has begun, so it can have fewer instances but not more; "
            "book another reservation for more"
        )
    if opened and change.count < reservation.instance_count and change.shrunk is None:
        raise exceptions.InvalidState(
            f"Reservation {reservation.id} is being started; try again in a few seconds"
        )
    booking_rules.check_period(change.span)
    if change.span.start != reservation.span.start:
        booking_rules.check_future(change.span, change.now)
    return begun


def _check_state(reservation: Reservation) -> None:
    if reservation.state not in (reservation_states.ALLOCATED, reservation_states.ACTIVE):
        raise exceptions.InvalidState(f"Reservation {reservation.id} is {reservation.state}")


def _changed_place(
    db: Session, reservation: Reservation, span: timeline.Span, change: _Change, *, stays: bool
) -> finding_room.Place:
    """Find hosts for a reservation whose new time or count goes beyond what it holds.

    :param stays: whether the reservation must stay on its present hosts.
    :raises FlavorNotBookable, InMaintenance, NoHostMatches, SlotsExhausted, HostsExhausted:
    """
    conditions = change.conditions
    flavor = _flavor_of(db, reservation)
    finding_room.check_flavor(db, flavor, reservation.project_id, span, conditions)
    present: Mapping[str, int] = hosts.allocated(db, reservation.reservation_id)
    if change.shrunk:
        present = change.shrunk.kept
    need = finding_room.Need(reservation.shape, change.count, span, reservation.affinity)
    return finding_room.find_place(
        db, flavor, need, conditions, finding_room.Present(reservation, present, stays)
    )


def _flavor_of(db: Session, reservation: Reservation) -> Flavor:
    return flavors.get_many(db, {reservation.flavor_id})[reservation.flavor_id]


def _kept_instances(db: Session, change: _Change) -> Mapping[str, int]:
    """The instances that a reservation keeps if it gives up some and gets no more time.

    :returns: instances by host id.
    """
    if change.shrunk:
        return change.shrunk.kept
    held = hosts.allocated(db, change.before.reservation_id)
    return placing.kept(held, {}, change.count)


def _write_place(
    db: Session, reservation: Reservation, flavor: Flavor, chosen: Mapping[str, int]
) -> None:
    """Write the hosts and the number of instances of a changed reservation.

    :param chosen: instances by host id.
    :raises session.LostRace: the flavor was claimed or changed since it was read.
    """
    flavors.update(db, flavor, {})
    hosts.allocate(db, reservation.reservation_id, chosen)
    instance_reservations.set_amounts(db, reservation.reservation_id, reservation.shape, chosen)
    reservations.set_count(db, reservation.reservation_id, sum(chosen.values()))


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
            f"Reservation {reservation.id} is being started or ended; try again in a few seconds"
        )
    if reservation.state == reservation_states.ACTIVE:
        return True
    return reservation.span.start <= now and _is_opened(db, reservation)


def _is_opened(db: Session, reservation: Reservation) -> bool:
    """Whether the reservation's hosts may have inventories of its resource class."""
    backing = backings.get(db, reservation.reservation_id)
    return backing is not None and backing.phase.is_opened
