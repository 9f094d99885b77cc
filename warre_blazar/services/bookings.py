"""What the API does with reservations through the manager, who decides."""

import contextlib
import dataclasses
import datetime
from collections.abc import Callable, Mapping
from typing import Any

from blazar.db import api as db_api
from oslo_utils import timeutils, uuidutils

from warre_blazar import exceptions
from warre_blazar.clients import keystone, manager, trusts
from warre_blazar.db import leases, session
from warre_blazar.db.reservations import Reservation
from warre_blazar.domain import lease_states, rules, states
from warre_blazar.domain.flavor import Flavor
from warre_blazar.domain.timeline import Span
from warre_blazar.services import repair, reservations, successors, waiting
from warre_blazar.services.callers import Caller

_LEASE_TIME = "%Y-%m-%d %H:%M"
_BEING_CHANGED = (lease_states.UPDATING, lease_states.DELETING)

#: Seconds to wait until the database that the API reads has what a manager wrote: nodes of a
#: Galera cluster lag behind each other.
_SEEN_WITHIN = 5.0

#: Seconds to wait until a manager has started or ended a lease that is to be changed or deleted.
#: A start is claimed ten seconds ahead.
_FREE_WITHIN = 20.0


def create(caller: Caller, request: reservations.Request) -> tuple[Reservation, Flavor]:
    """Book. When the manager doesn't answer in time the reservation may still be PENDING_CREATE.

    :raises NoAnswer: it isn't known whether it will be booked.
    :raises WarreError: any other: nothing is booked.
    """
    # The manager decides again; what it would refuse needs no trust.
    reservations.check(request)
    name = f"reservation-{uuidutils.generate_uuid()}"
    trust_id = trusts.create(caller.token, caller.user_id, request.project_id, caller.roles)
    reservation = {
        "resource_type": reservations.RESOURCE_TYPE,
        "flavor_id": request.flavor,
        "amount": request.count,
        "affinity": request.affinity,
    }
    values = {
        "name": name,
        "start_date": request.span.start.strftime(_LEASE_TIME),
        "end_date": request.span.end.strftime(_LEASE_TIME),
        "user_id": caller.user_id,
        "trust_id": trust_id,
        "events": [],
        "reservations": [reservation],
    }
    lease = None
    try:
        with contextlib.suppress(manager.NoAnswer):
            lease = manager.create_lease(caller.context, values)
    except exceptions.WarreError as error:
        trusts.discard(caller.token, trust_id)
        if isinstance(error, manager.KeystoneRefused):
            keystone.check_service_login()
        raise
    if lease is not None:
        return waiting.until(lambda: _made(name), _SEEN_WITHIN) or _as_told(lease, request)
    found = reservations.get_by_lease_name(name)
    if found is None:
        raise exceptions.NoAnswer(name, f"a lease named {name} appears")
    return found


def _made(lease_name: str) -> tuple[Reservation, Flavor] | None:
    """A reservation that the manager says is made, if the database shows that already."""
    found = reservations.get_by_lease_name(lease_name)
    return found if found and found[0].state != states.PENDING_CREATE else None


def _as_told(lease: Mapping[str, Any], request: reservations.Request) -> tuple[Reservation, Flavor]:
    """A reservation as the manager's answer has it, which the database doesn't show yet."""
    flavor = reservations.flavor_of(request)
    (reservation,) = lease["reservations"]
    told = Reservation(
        id=reservation["id"],
        reservation_id=reservation["id"],
        lease_id=lease["id"],
        lease_name=lease["name"],
        flavor_id=flavor.id,
        instance_count=request.count,
        shape=flavor.shape,
        span=request.span,
        project_id=request.project_id,
        user_id=lease["user_id"],
        state=states.ALLOCATED,
        status_reason=None,
        created_at=request.now,
        affinity=request.affinity,
    )
    return told, flavor


def move(
    caller: Caller,
    reservation: Reservation,
    end: datetime.datetime,
    terms: reservations.Terms,
) -> tuple[Reservation, bool]:
    """Extend or shorten a reservation; the start stays.

    Where the creator is gone the caller takes the creator's place.

    :returns: the reservation, and whether the change is done; False: it goes on.
    :raises NoAnswer: it isn't known whether it will be done.
    :raises InvalidState: it is still being made, or takes long to start or end.
    :raises LeaseShared: the lease holds other reservations, which would move too.
    :raises OwnerGone: the creator is gone, and the caller can't take the creator's place.
    :raises WarreError: refused, and nothing has changed.
    """
    span = dataclasses.replace(reservation.span, end=end)
    rules.check_period(span)
    _check_made(reservation)
    reservations.check_sole(reservation)
    # The manager decides again. Without Keystone it would lose the lease, so isn't asked then.
    reservations.check_growth(reservation, span, terms)
    try:
        done = _update(caller, reservation, span)
    except manager.KeystoneRefused:
        if not successors.take_over(caller, reservation.lease_id):
            raise
        done = _update(caller, reservation, span)
    if not done:
        return reservations.get(reservation.id, None)[0], False
    moved = waiting.until(lambda: _moved(reservation, span), _SEEN_WITHIN)
    return moved or dataclasses.replace(reservation, span=span), True


def _update(caller: Caller, reservation: Reservation, span: Span) -> bool:
    values = {"end_date": span.end.strftime(_LEASE_TIME)}
    try:
        return _answered(manager.update_lease, caller, reservation, values)
    except exceptions.WarreError as error:
        _settle(reservation, error)
        # Blazar speaks to Keystone once more after it has written the new dates.
        if span != reservation.span and _moved(reservation, span):
            return True
        raise


def _moved(reservation: Reservation, span: Span) -> Reservation | None:
    found, _ = reservations.get(reservation.id, None)
    return found if found.span == span else None


def delete(caller: Caller, reservation: Reservation) -> bool:
    """Delete a reservation with its lease, servers and all, also where its creator is gone.

    :returns: whether that is done; False: it goes on.
    :raises NoAnswer: it isn't known whether it will be done.
    :raises InvalidState: it is still being made, or takes long to start or end.
    :raises LeaseShared: the lease holds other reservations too.
    """
    _check_made(reservation)
    reservations.check_sole(reservation)
    try:
        return _answered(manager.delete_lease, caller, reservation)
    except exceptions.ReservationNotFound:
        return True  # somebody else was first
    except exceptions.WarreError as error:
        _settle(reservation, error)
        if not isinstance(error, manager.KeystoneRefused):
            raise
        if not successors.is_orphan(reservation.lease_id):
            raise
        return successors.delete(reservation.lease_id)


def _answered(
    call: Callable[..., None], caller: Caller, reservation: Reservation, *args: Any
) -> bool:
    try:
        _called(call, caller, reservation, *args)
    except manager.NoAnswer as error:
        # A manager that is at it says so in the lease. What none took in time is lost.
        lease = db_api.lease_get(reservation.lease_id)
        if lease is None:
            return True
        if lease["status"] not in _BEING_CHANGED:
            raise exceptions.NoAnswer(
                reservation.lease_name, f"reservation {reservation.id} has changed"
            ) from error
        return False
    return True


def _called(
    call: Callable[..., None], caller: Caller, reservation: Reservation, *args: Any
) -> None:
    """Call the manager, and again if it refused only because the lease is started or ended.

    :raises ReservationNotFound: the lease was deleted meanwhile.
    """
    lease_id = reservation.lease_id
    deadline = waiting.clock.now() + _FREE_WITHIN
    was_free = False
    while True:
        try:
            return call(caller.context, lease_id, *args)
        except exceptions.Refused as error:
            if error.code != exceptions.InvalidState.code or was_free:
                raise
            # A start that is over by now may have been the reason: that is worth another call.
            was_free = _is_free(lease_id)
            if not waiting.until(lambda: _is_free(lease_id), deadline - waiting.clock.now()):
                raise
        if db_api.lease_get(lease_id) is None:
            raise exceptions.ReservationNotFound(reservation.id)


def _is_free(lease_id: str) -> bool:
    """Whether no manager starts, ends or deletes a lease at this moment."""
    with session.reader() as db:
        return not leases.is_executed(db, lease_id)


def _settle(reservation: Reservation, error: exceptions.WarreError) -> None:
    """Bring a lease back at once that a failure of Blazar's has left in ERROR."""
    if not isinstance(error, exceptions.Refused):
        # Blazar wrote ERROR before it answered; this node of the database may not show it yet.
        waiting.until(lambda: _has_come_to_rest(reservation.lease_id), _SEEN_WITHIN)
    repair.settle(reservation.lease_id, timeutils.utcnow())


def _has_come_to_rest(lease_id: str) -> bool:
    lease = db_api.lease_get(lease_id)
    return lease is None or lease["status"] not in _BEING_CHANGED


def _check_made(reservation: Reservation) -> None:
    """Blazar can't touch a lease that it is still making."""
    if reservation.state == states.PENDING_CREATE:
        raise exceptions.InvalidState(
            f"Reservation {reservation.id} is still being made, try again later"
        )
