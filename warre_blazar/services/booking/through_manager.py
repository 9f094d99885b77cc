"""Creates, changes and deletes reservations for the API, by calls to Blazar's manager.

The manager decides whether a request is fulfilled. The API only checks a request beforehand, so
that it can refuse the request sooner.
"""

import contextlib
import dataclasses
import datetime
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from blazar.db import api as db_api
from oslo_db import exception as db_exc
from oslo_log import log as logging
from oslo_utils import timeutils, uuidutils

from warre_blazar import exceptions, waiting
from warre_blazar.booking_conditions import BookingConditions
from warre_blazar.clients import manager
from warre_blazar.db import lease_workers, leases, session
from warre_blazar.db.reservations import Reservation
from warre_blazar.domain import booking_rules, lease_states, reservation_states
from warre_blazar.domain.flavor import RESOURCE_TYPE, Flavor
from warre_blazar.domain.labels import Labels
from warre_blazar.domain.timeline import Span
from warre_blazar.services.booking import admission, changing, lookup
from warre_blazar.services.caller import Caller
from warre_blazar.services.keeping import history
from warre_blazar.services.running import repair

LOG = logging.getLogger(__name__)
T = TypeVar("T")

_LEASE_TIME = "%Y-%m-%d %H:%M"
_BEING_CHANGED = (lease_states.UPDATING, lease_states.DELETING)

#: Seconds to wait until the API can read what a manager has written. In a Galera cluster, the API's
#: node may be behind the manager's node.
_SEEN_WITHIN = 5.0

#: If a manager is starting or ending a lease, a change or a deletion of the lease waits for that
#: manager, but at most this many seconds. A manager claims a start ten seconds before it is due.
_FREE_WITHIN = 20.0


def create(caller: Caller, request: admission.Request) -> tuple[Reservation, Flavor]:
    """Book what a request asks for.

    :returns: the reservation and its flavor. The reservation may still be PENDING_CREATE if the
        manager didn't answer in time.
    :raises NoAnswer: it isn't known whether the request will be booked.
    :raises WarreError: another error. In that case nothing is booked.
    """
    # The manager checks the request again. Because of the check here, most refusals need no call of
    # the manager.
    lookup.check_labels(request.labels)
    admission.check(request)
    name = f"reservation-{uuidutils.generate_uuid()}"
    reservation = {
        "resource_type": RESOURCE_TYPE,
        "flavor_id": request.flavor,
        "amount": request.count,
        "affinity": request.affinity,
        **{k: v for k, v in dataclasses.asdict(request.labels).items() if v is not None},
    }
    values = {
        "name": name,
        "start_date": request.span.start.strftime(_LEASE_TIME),
        "end_date": request.span.end.strftime(_LEASE_TIME),
        "user_id": caller.user_id,
        "trust_id": None,
        "events": [],
        "reservations": [reservation],
    }
    lease = None
    try:
        with contextlib.suppress(manager.NoAnswer):
            lease = manager.create_lease(caller.context, values)
    except exceptions.WarreError as error:
        if booked := _booked_despite(error, name):
            return booked
        raise
    if lease is not None:
        created = _seen(lambda: _created(name), _not_known(name))
        return created or _from_answer(lease, request)
    pending = lookup.get_by_lease_name(name)
    if pending is None:
        raise _not_known(name)
    return pending


def _not_known(lease_name: str) -> exceptions.NoAnswer:
    return exceptions.NoAnswer(lease_name, f"a lease named {lease_name} appears")


def _seen(probe: Callable[[], T | None], not_known: exceptions.NoAnswer) -> T | None:
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

    found = waiting.until(read, _SEEN_WITHIN)
    if found is None and failure is not None:
        raise not_known from failure
    return found


def _booked_despite(
    error: exceptions.WarreError, lease_name: str
) -> tuple[Reservation, Flavor] | None:
    """The reservation, if the manager has booked it although it answered with an error.

    For example, the database may have committed the manager's last write, but the connection was
    lost before the manager heard of that.
    """
    if isinstance(error, exceptions.Refused):
        return None
    booked = _seen(lambda: _created(lease_name), _not_known(lease_name))
    if booked:
        LOG.warning("Lease %s was created in spite of an error: %s", lease_name, error)
    return booked


def _created(lease_name: str) -> tuple[Reservation, Flavor] | None:
    """The reservation, if the manager's writes can already be read from the database."""
    found = lookup.get_by_lease_name(lease_name)
    return found if found and found[0].state != reservation_states.PENDING_CREATE else None


def _from_answer(
    lease: Mapping[str, Any], request: admission.Request
) -> tuple[Reservation, Flavor]:
    """The reservation as the manager's answer describes it, if the database doesn't show it yet."""
    flavor = lookup.find_flavor(request.flavor, request.project_id)
    (answered,) = lease["reservations"]
    reservation = Reservation(
        id=answered["id"],
        reservation_id=answered["id"],
        lease_id=lease["id"],
        lease_name=lease["name"],
        flavor_id=flavor.id,
        instance_count=request.count,
        shape=flavor.shape,
        span=request.span,
        project_id=request.project_id,
        user_id=lease["user_id"],
        state=reservation_states.ALLOCATED,
        status_reason=None,
        created_at=request.now,
        affinity=request.affinity,
        labels=request.labels,
    )
    return reservation, flavor


@dataclasses.dataclass(frozen=True)
class Change:
    """The new values of a reservation. None: the value stays as it is."""

    start: datetime.datetime | None = None
    end: datetime.datetime | None = None
    count: int | None = None
    #: The new name and the new note, even if only one of the two changes.
    labels: Labels | None = None

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
            labels=self.labels or reservation.labels,
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
            values["start_date"] = self.start.strftime(_LEASE_TIME)
        if self.end:
            values["end_date"] = self.end.strftime(_LEASE_TIME)
        if self.count:
            values["reservations"] = [{"id": reservation.reservation_id, "amount": self.count}]
        return values


def change(
    caller: Caller, reservation: Reservation, new_values: Change, conditions: BookingConditions
) -> tuple[Reservation, bool]:
    """Change a reservation's time, number of instances, name or note.

    :returns: the reservation and a boolean. True: the change is done. False: the change is still
        under way.
    :raises NoAnswer: it isn't known whether the change will be made.
    :raises InvalidState: the reservation is still being created, or has been starting or ending for
        too long. This is also raised if the start would change although the reservation has begun.
    :raises LeaseShared: the lease holds other reservations, whose times would change too.
    :raises WarreError: after any other error nothing has changed.
    """
    if new_values.labels:
        lookup.check_labels(new_values.labels)
    if reservation.is_record:
        _check_not_over(reservation)
    done = True
    if new_values.is_of_lease:
        done = _change_lease(caller, reservation, new_values, conditions)
    # The labels are written last, so that they stay as they were if the change of the lease is
    # refused.
    if new_values.labels and new_values.labels != reservation.labels:
        _label(reservation, new_values.labels)
    if not done:
        return lookup.get(reservation.id, None)[0], False
    not_known = exceptions.NoAnswer(
        reservation.lease_name, f"reservation {reservation.id} has changed"
    )
    changed = _seen(lambda: _changed(reservation, new_values), not_known)
    return changed or new_values.of(reservation), True


def _label(reservation: Reservation, labels: Labels) -> None:
    """Write a reservation's name and note.

    :raises NoAnswer: it isn't known whether they have been written.
    """
    try:
        lookup.label(reservation, labels)
    except db_exc.DBError:
        # The database may have committed the write before the connection was lost.
        not_known = exceptions.NoAnswer(
            reservation.lease_name, f"reservation {reservation.id} has its new name and note"
        )
        if not _seen(lambda: lookup.get(reservation.id, None)[0].labels == labels, not_known):
            raise


def _change_lease(
    caller: Caller, reservation: Reservation, new_values: Change, conditions: BookingConditions
) -> bool:
    """Let the manager change a reservation's lease.

    :returns: True: the change is done. False: the change is still under way.
    :raises: the same errors as ``change``.
    """
    wanted = new_values.of(reservation)
    _check_period(reservation, wanted)
    _check_not_over(reservation)
    _check_created(reservation)
    lookup.check_sole(reservation)
    # The manager checks the quota too. But if Keystone is unavailable during that check, Blazar
    # sets the lease to ERROR. So the quota is checked here first. If Keystone is unavailable or the
    # quota would be exceeded, the change is refused before the manager is called.
    changing.check_growth(reservation, wanted.span, conditions, wanted.instance_count)
    return _update(caller, reservation, new_values)


def _check_period(reservation: Reservation, wanted: Reservation) -> None:
    """Check a new time by Blazar's rules.

    If the time breaks a rule, this function raises the error that a booking would raise. Blazar
    would raise an error of its own.

    :raises InvalidPeriod, InvalidState:
    """
    booking_rules.check_period(wanted.span)
    if wanted.span.start == reservation.span.start:
        return
    if reservation.state == reservation_states.ACTIVE:
        raise exceptions.InvalidState(
            f"Reservation {reservation.id} has begun, so its start can't change"
        )
    booking_rules.check_future(wanted.span, timeutils.utcnow())


def _update(caller: Caller, reservation: Reservation, new_values: Change) -> bool:
    try:
        return _answered(
            manager.update_lease, caller, reservation, new_values.of_lease(reservation)
        )
    except exceptions.WarreError as error:
        _settle(reservation, error)
        # Although there was an error, the change may already have been written.
        if not new_values.is_in(reservation) and _changed(reservation, new_values):
            return True
        raise


def _changed(reservation: Reservation, new_values: Change) -> Reservation | None:
    """The reservation in the database. None if it doesn't have the new time and count yet."""
    present, _ = lookup.get(reservation.id, None)
    return present if new_values.is_in(present) else None


def delete(caller: Caller, reservation: Reservation) -> bool:
    """Delete a reservation with its lease and its servers.

    :returns: True: the deletion is done. False: the deletion is still under way.
    :raises NoAnswer: it isn't known whether the reservation will be deleted.
    :raises InvalidState: the reservation is still being created, or has been starting or ending for
        too long.
    :raises LeaseShared: the lease holds other reservations too.
    """
    if reservation.is_record:
        history.delete(reservation, caller.user_id)
        return True
    _check_created(reservation)
    lookup.check_sole(reservation)
    try:
        return _answered(manager.delete_lease, caller, reservation)
    except exceptions.ReservationNotFound:
        return True  # Somebody else has deleted the reservation.
    except exceptions.WarreError as error:
        status = _settle(reservation, error)
        if status is None:
            return True  # The error occurred after the lease had been deleted.
        if status == lease_states.DELETING:
            return False  # A manager completes the deletion.
        raise


def _answered(
    call: Callable[..., None], caller: Caller, reservation: Reservation, *args: Any
) -> bool:
    """Call the manager.

    :returns: True: the manager has done its work. False: the manager is still at work.
    :raises NoAnswer: no manager has answered, and the lease's status doesn't show that a manager is
        at work.
    """
    try:
        _called(call, caller, reservation, *args)
    except manager.NoAnswer as error:
        # While a manager changes or deletes a lease, the lease's status says so. If the status says
        # anything else, either no manager has received the call, or the work is over already. So
        # the outcome isn't known.
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
    """Call the manager, and call it again if it refuses because the lease is starting or ending.

    :raises ReservationNotFound: the lease has been deleted meanwhile.
    """
    lease_id = reservation.lease_id
    deadline = waiting.now() + _FREE_WITHIN
    was_free = False
    while True:
        try:
            return call(caller.context, lease_id, *args)
        except exceptions.Refused as error:
            if error.code != exceptions.InvalidState.code or was_free:
                raise
            # If the lease is free now, the manager may have refused because of a start that has
            # finished since. So the manager is called once more.
            was_free = _is_free(lease_id)
            if not waiting.until(lambda: _is_free(lease_id), deadline - waiting.now()):
                raise
        if db_api.lease_get(lease_id) is None:
            raise exceptions.ReservationNotFound(reservation.id)


def _is_free(lease_id: str) -> bool:
    """Whether no manager is starting, ending or deleting the lease at this moment."""
    with session.reader() as db:
        return not leases.is_executed(db, lease_id)


def _settle(reservation: Reservation, error: exceptions.WarreError) -> str | None:
    """Repair the reservation's lease at once if Blazar has left it after a failure.

    :returns: the lease's status afterwards, or None if the lease is gone.
    """
    if not isinstance(error, exceptions.Refused):
        # Blazar wrote ERROR before it answered, but the database node of this process may not show
        # ERROR yet.
        waiting.until(lambda: _has_come_to_rest(reservation.lease_id), _SEEN_WITHIN)
    return repair.settle(reservation.lease_id, timeutils.utcnow())


def _has_come_to_rest(lease_id: str) -> bool:
    lease = db_api.lease_get(lease_id)
    if lease is None or lease["status"] not in _BEING_CHANGED:
        return True
    with session.reader() as db:
        return bool(lease_workers.abandoned(db, [lease_id]))


def _check_not_over(reservation: Reservation) -> None:
    """Check that a reservation hasn't ended.

    It makes no difference to the answer how long ago it ended, and whether it exists only as a
    record in the history.

    :raises InvalidState:
    """
    if reservation.is_record or reservation.state == reservation_states.COMPLETE:
        raise exceptions.InvalidState(f"Reservation {reservation.id} is {reservation.state}")


def _check_created(reservation: Reservation) -> None:
    """Check that Blazar has finished creating the reservation's lease, so that it can be changed.

    :raises InvalidState:
    """
    if reservation.state == reservation_states.PENDING_CREATE:
        raise exceptions.InvalidState(
            f"Reservation {reservation.id} is still being created; try again later"
        )
