"""What the API does with reservations through the manager, who decides."""

import contextlib
import dataclasses
import datetime
from collections.abc import Callable, Mapping
from typing import Any

from blazar.db import api as db_api
from oslo_utils import uuidutils

from warre_blazar import exceptions
from warre_blazar.clients import manager, trusts
from warre_blazar.db.reservations import Reservation
from warre_blazar.domain import rules, states
from warre_blazar.domain.flavor import Flavor
from warre_blazar.services import reservations

_LEASE_TIME = "%Y-%m-%d %H:%M"
_BEING_CHANGED = ("UPDATING", "DELETING")


@dataclasses.dataclass(frozen=True)
class Caller:
    """Who asks, as Keystone's middleware found; ``context`` is what the manager is told of them."""

    token: str
    user_id: str
    roles: list[str]
    context: Mapping[str, Any]


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
    lease = {
        "name": name,
        "start_date": request.span.start.strftime(_LEASE_TIME),
        "end_date": request.span.end.strftime(_LEASE_TIME),
        "user_id": caller.user_id,
        "trust_id": trust_id,
        "events": [],
        "reservations": [reservation],
    }
    try:
        with contextlib.suppress(manager.NoAnswer):
            manager.create_lease(caller.context, lease)
    except exceptions.WarreError:
        trusts.discard(caller.token, trust_id)
        raise
    found = reservations.get_by_lease_name(name)
    if found is None:
        raise exceptions.NoAnswer(name, f"a lease named {name} appears")
    return found


def move(
    caller: Caller,
    reservation: Reservation,
    end: datetime.datetime,
    terms: reservations.Terms,
) -> bool:
    """Extend or shorten a reservation; the start stays.

    :returns: whether that is done; False: it goes on.
    :raises NoAnswer: it isn't known whether it will be done.
    :raises InvalidState: it is still being made.
    :raises LeaseShared: the lease holds other reservations, which would move too.
    :raises WarreError: refused, and nothing has changed.
    """
    span = dataclasses.replace(reservation.span, end=end)
    rules.check_period(span)
    _check_made(reservation)
    reservations.check_sole(reservation)
    # The manager decides again. Without Keystone it would lose the lease, so isn't asked then.
    reservations.check_growth(reservation, span, terms)
    values = {"end_date": end.strftime(_LEASE_TIME)}
    return _answered(manager.update_lease, caller, reservation, values)


def delete(caller: Caller, reservation: Reservation) -> bool:
    """Delete a reservation with its lease, servers and all.

    :returns: whether that is done; False: it goes on.
    :raises NoAnswer: it isn't known whether it will be done.
    :raises InvalidState: it is still being made.
    :raises LeaseShared: the lease holds other reservations too.
    """
    _check_made(reservation)
    reservations.check_sole(reservation)
    try:
        return _answered(manager.delete_lease, caller, reservation)
    except exceptions.OwnerGone:
        # Blazar works for the owner only. What Nova has of it goes by its note.
        db_api.lease_destroy(reservation.lease_id)
        return True


def _answered(
    call: Callable[..., None], caller: Caller, reservation: Reservation, *args: Any
) -> bool:
    try:
        call(caller.context, reservation.lease_id, *args)
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


def _check_made(reservation: Reservation) -> None:
    """Blazar can't touch a lease that it is still making."""
    if reservation.state == states.PENDING_CREATE:
        raise exceptions.InvalidState(
            f"Reservation {reservation.id} is still being made, try again later"
        )
