"""Changes a reservation: promises a new time and writes a new count, in one transaction."""

import dataclasses
import datetime
import functools
from collections.abc import Iterable, Mapping

from oslo_utils import timeutils
from sqlalchemy.orm import Session

from warre_blazar.db import (
    backings,
    changes,
    executions,
    flavors,
    hosts,
    instance_reservations,
    leases,
    outbox,
    promises,
    reservations,
    session,
)
from warre_blazar.db import quotas as stored_quotas
from warre_blazar.domain import booking_rules, lease_states, placing, reservation_states, timeline
from warre_blazar.domain import quota as quota_rules
from warre_blazar.domain.booking_conditions import BookingConditions
from warre_blazar.domain.changes import Change, Kind
from warre_blazar.domain.flavor import Flavor
from warre_blazar.domain.quota import Amount
from warre_blazar.domain.reservation import Reservation
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import finding_room, quotas, shrinking
from warre_blazar.services.booking.quotas import Quota, QuotaStanding
from warre_blazar.services.hosts import new_hosts


@dataclasses.dataclass(frozen=True)
class _Change:
    """A change of a reservation: its new time and count, and the reservation as it was read."""

    #: The reservation as it was before the transaction.
    before: Reservation
    span: timeline.Span
    count: int
    conditions: BookingConditions
    now: datetime.datetime
    #: For a running reservation that gives up instances: where the remaining instances stay.
    shrunk: shrinking.Shrunk | None = None


def move(
    reservation_id: str,
    span: timeline.Span,
    conditions: BookingConditions,
    now: datetime.datetime,
    count: int | None = None,
) -> None:
    """Promise a reservation a new time, and write a new number of instances.

    The plugin calls this while the lease is UPDATING. Blazar writes the lease's new time
    afterwards. The reservation keeps its hosts if they have room. If they don't have room, a
    reservation that hasn't begun moves to other hosts, and the change of a reservation that has
    begun is refused.

    :param count: the new number of instances. It is written at once. None: the number stays the
        same.
    :raises ReservationNotFound, InvalidState, InvalidPeriod, FlavorNotBookable, InMaintenance,
        NoHostMatches, SlotsExhausted, HostsExhausted, QuotaExceeded, LimitsNotRegistered,
        ServiceUnavailable, ServiceRefused, TryAgain: nothing changed.
    """
    new_hosts.read()
    with session.reader() as db:
        reservation = reservations.require(db, reservation_id)
        opened = _is_opened(db, reservation)
    wanted = reservation.instance_count if count is None else count
    change = _Change(reservation, span, wanted, conditions, now)
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


def check_lengths(reservation_ids: Iterable[str], span: timeline.Span) -> None:
    """Check that the flavor of every reservation allows the new length of a lease.

    A time within a reservation's present time has any length, as for ``move``.

    :raises FlavorNotBookable: for the first flavor that doesn't allow the length.
    """
    with session.reader() as db:
        for reservation_id in reservation_ids:
            reservation = reservations.find(db, reservation_id)
            if reservation is not None and not reservation.span.contains(span):
                booking_rules.check_length(_flavor_of(db, reservation), span)


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
    with session.claiming() as db:
        _check_updating(db, change.before)
        reservation = reservations.require(db, change.before.reservation_id)
        if reservation.amount != change.before.amount or reservation.span != change.before.span:
            # Another update has changed the reservation since the quota was checked. So the check
            # was for a different growth.
            raise exceptions.TryAgain
        outcome = _outcome(db, reservation, change, quota)
        for refusal in outcome.refusals:
            raise refusal
        promises.make(db, reservation, outcome.span)
        place = outcome.place
        if place is None:
            # The reservation already holds all that it needs.
            if change.count < reservation.instance_count:
                kept = placing.kept(outcome.held, {}, change.count)
                flavor = _flavor_of(db, reservation)
                _write_place(db, reservation, flavor, kept, change.conditions.user_id)
            return
        if outcome.standing:
            stored_quotas.claim(db, reservation.project_id, outcome.standing.generation)
        hosts.claim(db, place.hosts)
        user_id = change.conditions.user_id
        _write_place(db, reservation, place.flavor, place.chosen, user_id)


@dataclasses.dataclass(frozen=True)
class Outcome:
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
    #: Whether the reservation has begun, so that its instances stay where they are.
    stays: bool = False
    #: Where the reservation's instances are now: their number, by host id. If a running reservation
    #: gives up instances, these are the remaining ones.
    held: Mapping[str, int] = dataclasses.field(default_factory=dict)
    #: The most instances for which there are slots and hosts. None if nobody asked.
    most: int | None = None

    @property
    def growth(self) -> Amount:
        """The quota that the change needs beyond what the reservation already takes."""
        return _growth(self.before, self.span, self.count)


def foresee(
    reservation: Reservation,
    span: timeline.Span,
    count: int,
    conditions: BookingConditions,
    now: datetime.datetime,
) -> Outcome:
    """What a change would do at this moment. Nothing is written.

    :raises ServiceUnavailable, ServiceRefused, LimitsNotRegistered: no decision is possible.
    """
    new_hosts.read()
    with session.reader() as db:
        opened = _is_opened(db, reservation)
        held = hosts.allocated(db, reservation.reservation_id)
    change, refusals = _Change(reservation, span, count, conditions, now), []
    if opened and count < reservation.instance_count:
        try:
            shrunk = shrinking.foreseen(reservation.reservation_id, count)
        except exceptions.InvalidState as error:
            refusals.append(error)
            shrunk = shrinking.Shrunk(placing.kept(held, {}, count))
        change = dataclasses.replace(change, shrunk=shrunk)

    def look(quota: Quota | None) -> Outcome:
        with session.reader() as db:
            return _outcome(db, reservation, change, quota, with_most=True)

    try:
        rule = conditions.quotas
        outcome = quotas.decided(rule, reservation.project_id, look, lambda found: found.refusals)
    except (exceptions.ServiceUnavailable, exceptions.LimitsNotRegistered):
        outcome = look(None)
        if outcome.growth != Amount():
            raise
    return dataclasses.replace(outcome, refusals=(*refusals, *outcome.refusals))


def _outcome(
    db: Session,
    reservation: Reservation,
    change: _Change,
    quota: Quota | None,
    *,
    with_most: bool = False,
) -> Outcome:
    """Evaluate every rule about a change. This is the only place that does.

    If the time isn't valid, the rules that depend on it can't be evaluated.

    :param with_most: whether to find out how many instances the reservation could have.
    """
    state, stays = _state_refusals(db, reservation, change)
    held: Mapping[str, int] = hosts.allocated(db, reservation.reservation_id)
    if change.shrunk:
        held = change.shrunk.kept
    growing = {reservation.reservation_id: reservation.amount}
    standing = quota.standing(db, growing) if quota else None
    outcome = Outcome(
        reservation, change.span, change.count, tuple(state), None, standing, stays, held
    )
    if change.span.end <= change.span.start:
        return outcome
    span = _with_earlier_promise(reservation, change.span)
    outcome = dataclasses.replace(outcome, span=span)
    is_growing = change.count > reservation.instance_count
    grows = is_growing or not reservation.span.contains(span)
    if not (grows or with_most):
        return outcome
    flavor = _flavor_of(db, reservation)
    need = finding_room.Need(reservation.shape, change.count, span, reservation.affinity)
    present = finding_room.PresentPlace(reservation, held, stays)
    room = finding_room.Room(db, flavor, need, change.conditions, present)
    if grows:
        terms = finding_room.terms(db, flavor, reservation.project_id, span, change.conditions)
        outcome = _grown(outcome, change, terms, room)
    if with_most:
        outcome = dataclasses.replace(outcome, most=room.most())
    return outcome


def _grown(
    outcome: Outcome,
    change: _Change,
    terms: Iterable[exceptions.WarreError],
    room: finding_room.Room,
) -> Outcome:
    """Find hosts and quota for a reservation whose new time or count goes beyond what it holds.

    :param terms: why the project may not have the flavor at the new time.
    """
    reservation, refusals = outcome.before, [*outcome.refusals, *terms]
    place, lacking = room.find()
    refusals += lacking
    if outcome.stays and place and place.elsewhere:
        # The reservation's servers may be running on its present hosts, so it can't move to others.
        matching = len(place.hosts)
        refusals.append(exceptions.HostsExhausted(change.count, 0, matching, reservation.affinity))
    if outcome.standing:
        limits, used = outcome.standing.limits, outcome.standing.used
        check = functools.partial(quota_rules.check, limits, used, outcome.growth)
        refusals += booking_rules.refusals(check)
    return dataclasses.replace(outcome, refusals=tuple(refusals), place=place)


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


def _state_refusals(
    db: Session, reservation: Reservation, change: _Change
) -> tuple[list[exceptions.WarreError], bool]:
    """Why a reservation's state or the new time doesn't allow the change.

    :returns: InvalidState and InvalidPeriod, and whether the reservation has begun (see
        ``_has_begun``).
    """
    refusals = booking_rules.refusals(functools.partial(_check_state, reservation))
    try:
        begun = _has_begun(db, reservation, change.now)
    except exceptions.InvalidState as error:
        refusals.append(error)
        begun = reservation.state == reservation_states.ACTIVE
    opened = _is_opened(db, reservation)
    refusals += booking_rules.refusals(
        functools.partial(_check_start, reservation, change, begun),
        functools.partial(_check_count, reservation, change, begun=begun, opened=opened),
        functools.partial(booking_rules.check_period, change.span),
    )
    if change.span.start != reservation.span.start:
        refusals += booking_rules.refusals(
            functools.partial(booking_rules.check_future, change.span, change.now)
        )
    return refusals, begun


def _check_start(reservation: Reservation, change: _Change, begun: bool) -> None:
    if begun and change.span.start != reservation.span.start:
        is_active = reservation.state == reservation_states.ACTIVE
        doing = "has begun" if is_active else "is being started"
        raise exceptions.InvalidState(
            f"Reservation {reservation.id} {doing}, so its start can't change"
        )


def _check_count(reservation: Reservation, change: _Change, *, begun: bool, opened: bool) -> None:
    if (begun or opened) and change.count > reservation.instance_count:
        raise exceptions.InvalidState(
            f"Reservation {reservation.id} has begun, so it can have fewer instances but not more; "
            "book another reservation for more"
        )
    if opened and change.count < reservation.instance_count and change.shrunk is None:
        raise exceptions.InvalidState(
            f"Reservation {reservation.id} is being started; try again in a few seconds"
        )


def _check_state(reservation: Reservation) -> None:
    if reservation.state not in (reservation_states.ALLOCATED, reservation_states.ACTIVE):
        raise exceptions.InvalidState(f"Reservation {reservation.id} is {reservation.state}")


def _flavor_of(db: Session, reservation: Reservation) -> Flavor:
    return flavors.get_many(db, {reservation.flavor_id})[reservation.flavor_id]


def _write_place(
    db: Session,
    reservation: Reservation,
    flavor: Flavor,
    chosen: Mapping[str, int],
    user_id: str | None,
) -> None:
    """Write the hosts and the number of instances of a changed reservation.

    :param chosen: instances by host id.
    :param user_id: the user who changes the reservation.
    :raises session.LostRace: the flavor was claimed or changed since it was read.
    """
    flavors.update(db, flavor, {})
    hosts.reallocate(db, reservation.reservation_id, chosen)
    instance_reservations.set_amounts(db, reservation.reservation_id, reservation.shape, chosen)
    count = sum(chosen.values())
    if count != reservation.instance_count:
        now = timeutils.utcnow()
        outbox.count_until(db, outbox.of_reservations([reservation.reservation_id]), now)
        reservations.set_count(db, reservation.reservation_id, count)
        resized = Change(
            now,
            Kind.RESIZED,
            user_id,
            {"instance_count": reservation.instance_count},
            {"instance_count": count},
        )
        changes.add(db, reservation.reservation_id, resized)


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
