"""Calls Blazar's manager for a caller of the API, and finds out what became of a call.

The manager may answer late or not at all, it may fail after its work was done, and in a Galera
cluster the API's node may show its work later than the manager's node.

So the API reads the database after a timeout, and after an error that isn't a refusal. A booking
has been made if there is a finished lease with the name that the API has chosen for it, a change if
the lease has the values that were asked for, and a deletion if the lease is gone. If the lease's
status says that a manager is at work, nobody knows yet.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from blazar.db import api as db_api
from oslo_db import exception as db_exc
from oslo_utils import timeutils

from warre_blazar import texts, timer, times
from warre_blazar.db import session
from warre_blazar.db.running import executions, leases
from warre_blazar.domain.booking import reservation_states
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.running import lease_states
from warre_blazar.errors import exceptions
from warre_blazar.openstack import manager
from warre_blazar.services.running import repair


@dataclasses.dataclass(frozen=True)
class Caller:
    """The user who sends a request, as Keystone's middleware has identified them."""

    user_id: str
    #: The request context to send to the manager with each RPC call.
    context: Mapping[str, Any]


T = TypeVar("T")

#: The format of times in requests to Blazar's manager.
LEASE_TIME = "%Y-%m-%d %H:%M"
_BEING_CHANGED = (lease_states.UPDATING, lease_states.DELETING)


def seen(probe: Callable[[], T | None], not_known: exceptions.NoAnswer) -> T | None:
    """What the API reads of a manager's writes, as soon as it can read them.

    The manager has done its work, or may have. So an outage of the database doesn't say that
    nothing was done: reading is tried again.

    :param not_known: the error if the database can't be read.
    """
    failure: Exception | None = None

    def read() -> T | None:
        nonlocal failure
        try:
            failure = None
            return probe()
        except db_exc.DBError as error:
            failure = error
            return None

    found = timer.until(read, times.SEEN_WITHIN, times.PROBED_EVERY)
    if found is None and failure is not None:
        raise not_known from failure
    return found


#: Until when the last heartbeat that was read isn't too old ("until"), by this process's clock. So
#: long, reading it again couldn't say that all managers are dead.
_alive: dict[str, float] = {}


def check_alive() -> None:
    """Check that a manager lives, so that no request waits in vain for an answer.

    If no manager has ever had a heartbeat, there may be managers without this package's plugin.

    :raises ServiceUnavailable: the heartbeats of all managers have stopped.
    """
    now = timer.now()
    if now < _alive.get("until", -float("inf")):
        return
    with session.reader() as db:
        silence = executions.silence(db)
    if silence is None:
        return
    if silence > times.DEAD_AFTER:
        raise exceptions.ServiceUnavailable(
            "The reservation manager", texts.services.SILENT(seconds=silence)
        )
    # The silence is in whole seconds, and was possibly longer by nearly one. The clock of the
    # machine of a manager may be ahead.
    _alive["until"] = now + times.DEAD_AFTER - max(silence, 0) - 1


def answered(
    call: Callable[..., None], caller: Caller, reservation: Reservation, *args: Any
) -> bool:
    """Call the manager.

    :returns: True: the manager has done its work. False: the manager is still at work.
    :raises NoAnswer: no manager has answered, and the lease's status doesn't show that a manager is
        at work.
    :raises ServiceUnavailable: no manager lives.
    """
    check_alive()
    try:
        _called(call, caller, reservation, *args)
    except manager.ManagerSilent as error:
        # While a manager changes or deletes a lease, the lease's status says so. If the status says
        # anything else, either no manager has received the call, or the work is over already. So
        # the outcome isn't known.
        lease = db_api.lease_get(reservation.lease_id)
        if lease is None:
            return True
        if lease["status"] not in _BEING_CHANGED:
            raise exceptions.NoAnswer(
                reservation.lease_name, texts.services.CHANGED(reservation=reservation.id)
            ) from error
        return False
    return True


def _called(
    call: Callable[..., None], caller: Caller, reservation: Reservation, *args: Any
) -> None:
    """Call the manager, and call it again if it refuses because others work on the lease.

    The other work may be the same request, which an API has sent that was stopped since.

    :raises ReservationNotFound: the lease has been deleted meanwhile.
    """
    lease_id = reservation.lease_id
    deadline = timer.now() + times.FREE_WITHIN
    was_free = False
    while True:
        try:
            return call(caller.context, lease_id, *args)
        except exceptions.Refused as error:
            if error.code != exceptions.InvalidState.code or was_free:
                raise
            # If the lease is free now, the manager may have refused because of work that has
            # finished since. So the manager is called once more.
            was_free = _is_free(lease_id)
            left = deadline - timer.now()
            if not timer.until(lambda: _is_free(lease_id), left, times.PROBED_EVERY):
                raise
        if db_api.lease_get(lease_id) is None:
            raise exceptions.ReservationNotFound(reservation.id)


def _is_free(lease_id: str) -> bool:
    """Whether no manager works on the lease at this moment."""
    with session.reader() as db:
        return not leases.is_busy(db, lease_id)


def settle(reservation: Reservation, error: exceptions.WarreError) -> str | None:
    """Repair the reservation's lease at once if Blazar has left it after a failure.

    :returns: the lease's status afterwards, or None if the lease is gone.
    """
    if not isinstance(error, exceptions.Refused):
        # Blazar wrote ERROR before it answered, but the database node of this process may not show
        # ERROR yet.
        timer.until(
            lambda: _has_come_to_rest(reservation.lease_id),
            times.SEEN_WITHIN,
            times.PROBED_EVERY,
        )
    return repair.settle(reservation.lease_id, timeutils.utcnow())


def _has_come_to_rest(lease_id: str) -> bool:
    lease = db_api.lease_get(lease_id)
    if lease is None or lease["status"] not in _BEING_CHANGED:
        return True
    with session.reader() as db:
        return bool(executions.abandoned_works(db, [lease_id]))


def check_created(reservation: Reservation) -> None:
    """Check that Blazar has finished creating the reservation's lease, so that it can be changed.

    :raises InvalidState:
    """
    if reservation.state == reservation_states.PENDING_CREATE:
        raise exceptions.InvalidState(texts.refusals.BEING_CREATED(reservation=reservation.id))
