"""Changes reservations for the API, by calls to Blazar's manager, and foresees changes.

The manager decides whether a change is made. The API only checks it beforehand, so that it can
refuse the change sooner.
"""

import dataclasses
import datetime
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from oslo_db import exception as db_exc
from oslo_utils import timeutils

from warre_blazar import texts, times
from warre_blazar.domain.booking import booking_rules, constraints, reservation_states
from warre_blazar.domain.booking.booking_rules import BookingConditions
from warre_blazar.domain.booking.labels import Labels
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.etags import NOT_SAID, Shown, of_reservation
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.records.refusals import Asked
from warre_blazar.domain.running.snapshots import BeforeEndChoice
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.openstack import manager
from warre_blazar.openstack.locks import READING
from warre_blazar.services.booking import changing, dry_run, lookup
from warre_blazar.services.booking.change_decision import ChangeDecision
from warre_blazar.services.booking.dry_run import Foreseen
from warre_blazar.services.booking.through_manager.calls import (
    LEASE_TIME,
    Caller,
    answered,
    check_created,
    seen,
    settle,
)
from warre_blazar.services.records import refusals
from warre_blazar.services.slots import extension


@dataclasses.dataclass(frozen=True)
class ChangeRequest:
    """The new values of a reservation. None: the value stays as it is."""

    start: datetime.datetime | None = None
    end: datetime.datetime | None = None
    count: int | None = None
    #: The labels that change.
    labels: Mapping[str, str | None] | None = None
    before_end: BeforeEndChoice | None = None
    movable_hours: int | None = None
    #: What the client was shown of the reservation.
    shown: Shown = NOT_SAID

    @property
    def others(self) -> dict[str, Any]:
        """The values that the API itself writes, by their fields."""
        values: dict[str, Any] = dict(self.labels or {})
        if self.before_end:
            values["before_end"] = self.before_end.value
        if self.movable_hours is not None:
            values["movable_hours"] = self.movable_hours
        return values

    @property
    def is_of_lease(self) -> bool:
        """Whether the change includes a value that only the manager can change."""
        return bool(self.start or self.end or self.count)

    def of(self, reservation: Reservation) -> Reservation:
        """The reservation with the new values."""
        present = reservation.span
        span = Span(self.start or present.start, self.end or present.end)
        return dataclasses.replace(
            reservation,
            span=span,
            instance_count=self.count or reservation.instance_count,
            labels=dataclasses.replace(reservation.labels, **self.labels or {}),
            before_end=self.before_end.value if self.before_end else reservation.before_end,
            movable_hours=(
                reservation.movable_hours if self.movable_hours is None else self.movable_hours
            ),
        )

    def is_in(self, reservation: Reservation) -> bool:
        """Whether a reservation has the new time and count."""
        span = reservation.span
        pairs = (
            (self.start, span.start),
            (self.end, span.end),
            (self.count, reservation.instance_count),
        )
        return all(new is None or new == present for new, present in pairs)

    def of_lease(self, reservation: Reservation) -> dict[str, Any]:
        """The values to send to Blazar's manager for an update of the reservation's lease."""
        values: dict[str, Any] = {}
        if self.start:
            values["start_date"] = self.start.strftime(LEASE_TIME)
        if self.end:
            values["end_date"] = self.end.strftime(LEASE_TIME)
        ours: dict[str, Any] = {"amount": self.count} if self.count else {}
        if self.shown.tags:
            ours["shown"] = dataclasses.asdict(self.shown)
        if ours:
            values["reservations"] = [{"id": reservation.reservation_id, **ours}]
        return values


def change(
    caller: Caller,
    reservation: Reservation,
    new_values: ChangeRequest,
    conditions: BookingConditions,
    flavor: Flavor | None = None,
) -> tuple[Reservation, bool]:
    """Change a reservation's time, number of instances, labels or what is done before its end.

    :param flavor: the reservation's flavor, if a refusal is to say what would be possible instead.
    :returns: the reservation and a boolean. True: the change is done. False: the change is still
        under way.
    :raises NoAnswer: it isn't known whether the change will be made.
    :raises InvalidState: the reservation is still being created, or has been starting or ending for
        too long. This is also raised if the start would change although the reservation has begun.
    :raises LeaseShared: the lease holds other reservations, whose times would change too.
    :raises ChangedSinceShown: somebody else has changed what the client changes.
    :raises WarreError: after any other error nothing has changed.
    """
    _check(reservation, new_values)
    _raise_first(_state_refusals(reservation, new_values))
    done = True
    if new_values.is_of_lease:
        done = _change_lease(caller, reservation, new_values, conditions, flavor)
    # The others are written last, so that they stay as they were if the change of the lease is
    # refused.
    if new_values.others:
        _write(reservation, new_values, caller.user_id)
    if not done:
        return lookup.get(reservation.id, None)[0], False
    not_known = exceptions.NoAnswer(
        reservation.lease_name, texts.services.CHANGED(reservation=reservation.id)
    )
    changed = seen(lambda: _changed(reservation, new_values), not_known)
    return changed or new_values.of(reservation), True


def foresee(
    reservation: Reservation,
    flavor: Flavor,
    new_values: ChangeRequest,
    conditions: BookingConditions,
) -> Foreseen:
    """What ``change`` would do at this moment. Nothing is written.

    :raises ServiceUnavailable, ServiceRefused, LimitsNotRegistered: no decision is possible.
    """
    _check(reservation, new_values)
    now, wanted = timeutils.utcnow(), new_values.of(reservation)
    refusals = _state_refusals(reservation, new_values)
    outcome = ChangeDecision(reservation, wanted.span, wanted.instance_count)
    if new_values.is_of_lease:
        if not refusals:
            outcome = changing.foresee(
                reservation, wanted.span, wanted.instance_count, conditions, now
            )
        refusals += [*_time_refusals(reservation, wanted, now), *outcome.refusals]
    # The API and the manager have some rules in common.
    by_text = {error.message: error for error in reversed(refusals)}
    in_order = sorted(by_text.values(), key=refusals.index)
    outcome = dataclasses.replace(outcome, refusals=tuple(in_order))
    return dry_run.change(outcome, flavor, conditions, now, wanted.before_end)


def _check(reservation: Reservation, new_values: ChangeRequest) -> None:
    """Check what can be checked before anything is decided.

    :raises ChangedSinceShown: a change is checked again where it is written.
    :raises oslo_db.exception.DBError: as ``lookup.check_labels``.
    """
    new_values.shown.check(reservation.id, of_reservation(reservation))
    if new_values.labels:
        lookup.check_labels(Labels(**new_values.labels))


def _raise_first(refusals: Sequence[exceptions.WarreError]) -> None:
    for refusal in refusals:
        raise refusal


def _state_refusals(
    reservation: Reservation, new_values: ChangeRequest
) -> list[exceptions.WarreError]:
    """Why the reservation can't be changed, whatever its new time and number of instances are.

    :returns: InvalidState, LeaseShared and what ``check_before_end`` raises. After the end, labels
        can still change.
    """
    checks: list[Callable[[], None]] = []
    is_choice = new_values.before_end or new_values.movable_hours is not None
    if new_values.is_of_lease or is_choice or reservation.is_record:
        checks.append(functools.partial(_check_not_over, reservation))
    if new_values.is_of_lease:
        checks.append(functools.partial(check_created, reservation))
        checks.append(functools.partial(lookup.check_sole, reservation))
    if new_values.before_end:
        checks.append(functools.partial(_check_choice, reservation, new_values.before_end))
    return booking_rules.refusals(*checks)


def _check_choice(reservation: Reservation, choice: BeforeEndChoice) -> None:
    """Check by the reservation's flavor what is chosen to be done before the end.

    :raises WarreError: as ``check_before_end``.
    """
    _, flavor = lookup.get(reservation.id, None)
    booking_rules.check_before_end(flavor, choice.value)


def _time_refusals(
    reservation: Reservation, wanted: Reservation, now: datetime.datetime
) -> list[exceptions.WarreError]:
    """Why the reservation can't have the new time, by the rules that need no room."""
    return booking_rules.refusals(
        functools.partial(_check_period, reservation, wanted, now),
        functools.partial(_check_as_blazar, reservation, wanted, now),
    )


def _check_as_blazar(reservation: Reservation, wanted: Reservation, now: datetime.datetime) -> None:
    """Check a new time by those rules of Blazar's manager that this package doesn't have.

    :raises Refused: the manager would refuse the change.
    """
    minute = now.replace(second=0, microsecond=0)
    present, span = reservation.span, wanted.span
    if present.start < minute and span.start != present.start:
        said = texts.refusals.BLAZAR_BEGUN(reservation=reservation.id)
    elif present.end < minute:
        said = texts.refusals.BLAZAR_OVER(reservation=reservation.id)
    elif span.end < minute:
        said = texts.refusals.BLAZAR_END_PASSED(end=span.end, next_minute=minute + times.MINUTE)
    else:
        return
    raise exceptions.Refused(said)


def _write(reservation: Reservation, new_values: ChangeRequest, user_id: str) -> None:
    """Write the values of a change that the API itself writes.

    :raises NoAnswer: it isn't known whether they have been written.
    :raises ChangedSinceShown: they weren't.
    """
    values = new_values.others
    try:
        lookup.write(reservation, values, user_id, new_values.shown)
    except exceptions.ChangedSinceShown as error:
        raise exceptions.ChangedSinceShown(
            error.detail["fields"], partly=new_values.is_of_lease
        ) from error
    except db_exc.DBError:
        # The database may have committed the write before the connection was lost.
        not_known = exceptions.NoAnswer(
            reservation.lease_name, texts.services.LABELED(reservation=reservation.id)
        )
        if not seen(lambda: _has(lookup.get(reservation.id, None)[0], values), not_known):
            raise


def _has(reservation: Reservation, values: Mapping[str, Any]) -> bool:
    return values.items() <= of_reservation(reservation).items()


def _change_lease(
    caller: Caller,
    reservation: Reservation,
    new_values: ChangeRequest,
    conditions: BookingConditions,
    flavor: Flavor | None,
) -> bool:
    """Let the manager change a reservation's lease.

    :returns: True: the change is done. False: the change is still under way.
    :raises: the same errors as ``change``.
    """
    wanted = new_values.of(reservation)
    asked = Asked(
        reservation.project_id,
        caller.user_id,
        reservation.flavor_id,
        wanted.instance_count,
        wanted.span,
        reservation.reservation_id,
    )
    # The manager writes down what it refuses itself.
    with refusals.recorded(asked, conditions.refusals_kept):
        now = timeutils.utcnow()
        _raise_first(_time_refusals(reservation, wanted, now))
        # The manager checks the change again. Because of the check here, most refusals need no call
        # of the manager. And if Keystone is unavailable when the manager checks the quota, Blazar
        # sets the lease to ERROR.
        refused = changing.check(reservation, wanted.span, wanted.instance_count, conditions, now)
        if refused and flavor:
            with READING.held("reading"):
                raise dry_run.change(refused, flavor, conditions, now).refusal
        if refused:
            raise refused.refusals[0]
    try:
        return _update(caller, reservation, new_values)
    except exceptions.Refused:
        # If the end has passed on the way to the manager, the manager's text doesn't say so.
        _check_as_blazar(reservation, wanted, timeutils.utcnow())
        raise


def _check_period(reservation: Reservation, wanted: Reservation, now: datetime.datetime) -> None:
    """Check a new time by Blazar's rules.

    If the time breaks a rule, this function raises the error that a booking would raise. Blazar
    would raise an error of its own.

    :raises InvalidPeriod, InvalidState:
    """
    booking_rules.check_period(wanted.span)
    if wanted.span.start == reservation.span.start:
        return
    if reservation.state == reservation_states.ACTIVE:
        raise exceptions.InvalidState(texts.refusals.BEGUN(reservation=reservation.id))
    if refusal := constraints.past(now).refusal(wanted.span, wanted.instance_count):
        raise refusal


def _update(caller: Caller, reservation: Reservation, new_values: ChangeRequest) -> bool:
    try:
        return answered(manager.update_lease, caller, reservation, new_values.of_lease(reservation))
    except exceptions.WarreError as error:
        settle(reservation, error)
        # Although there was an error, the change may already have been written.
        if not new_values.is_in(reservation) and _changed(reservation, new_values):
            return True
        raise


def _changed(reservation: Reservation, new_values: ChangeRequest) -> Reservation | None:
    """The reservation in the database. None if it doesn't have the new time and count yet."""
    present, _ = lookup.get(reservation.id, None)
    return present if new_values.is_in(present) else None


def _check_not_over(reservation: Reservation) -> None:
    """Check that a reservation hasn't ended.

    It makes no difference to the answer how long ago it ended, and whether it exists only as a
    record in the history.

    :raises InvalidState:
    """
    if reservation.is_record or reservation.state == reservation_states.COMPLETE:
        raise booking_rules.in_state(reservation)


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
    asked = foresee(reservation, flavor, ChangeRequest(end=latest), conditions)
    for refusal in asked.refusals:
        raise refusal
    return latest
