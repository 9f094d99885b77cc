"""Creates and deletes reservations for the API, by calls to Blazar's manager.

The manager decides whether a request is fulfilled. The API only checks a request beforehand, so
that it can refuse the request sooner.
"""

import contextlib
import dataclasses
from collections.abc import Mapping
from typing import Any

from blazar.db import api as db_api
from oslo_log import log as logging
from oslo_utils import uuidutils

from warre_blazar import texts, timer, times
from warre_blazar.domain.booking import reservation_states, verdict
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE, Flavor
from warre_blazar.domain.records.refusals import Asked
from warre_blazar.domain.running import lease_states
from warre_blazar.errors import exceptions
from warre_blazar.openstack import manager
from warre_blazar.openstack.locks import READING
from warre_blazar.services.booking import admission, dry_run, lookup
from warre_blazar.services.booking.through_manager.calls import (
    LEASE_TIME,
    Caller,
    answered,
    check_alive,
    check_created,
    seen,
    settle,
)
from warre_blazar.services.records import history, refusals

LOG = logging.getLogger(__name__)


def create(
    caller: Caller,
    request: admission.BookingRequest,
    lease_id: str | None = None,
    *,
    explained: bool = False,
) -> tuple[Reservation, Flavor]:
    """Book what a request asks for.

    :param lease_id: the id for the new lease. None: any new id.
    :param explained: whether a refusal is to say what could be booked instead.
    :returns: the reservation and its flavor. The reservation may still be PENDING_CREATE if the
        manager didn't answer in time.
    :raises NoAnswer: it isn't known whether the request will be booked.
    :raises WarreError: another error. In that case nothing is booked.
    """
    # The manager evaluates all rules. Here only those are evaluated that cost little, so that the
    # refusals by them need no call of the manager. The manager writes down what it refuses itself.
    lookup.check_labels(request.labels)
    asked = Asked(request.project_id, caller.user_id, request.flavor, request.count, request.span)
    with refusals.recorded(asked, request.conditions.refusals_kept):
        flavor, refused = admission.flavor_and_refusals(request)
        if refused or _was_refused(request):
            _refuse(request, explained=explained)
    lease_id = lease_id or uuidutils.generate_uuid()
    values = _lease_values(caller, request, lease_id)
    check_alive()
    lease = None
    try:
        with contextlib.suppress(manager.ManagerSilent):
            lease = manager.create_lease(caller.context, values)
    except exceptions.WarreError as error:
        if booked := _booked_despite(error, lease_id):
            return lookup.with_flavor(booked, flavor)
        if error.code in verdict.CODES:
            _note_refusal(request)
            if explained:
                _refuse(request, explained=True)
        raise
    if lease is not None:
        created = seen(lambda: _created(lease_id), _not_known(lease_id))
        return lookup.with_flavor(created or _from_answer(lease, request, flavor), flavor)
    pending = lookup.get_by_lease(lease_id)
    if pending is None:
        raise _not_known(lease_id)
    return lookup.with_flavor(pending, flavor)


def _lease_values(
    caller: Caller, request: admission.BookingRequest, lease_id: str
) -> dict[str, Any]:
    """The lease with the requested reservation, in the form of Blazar's API."""
    optional = {
        **dataclasses.asdict(request.labels),
        "before_end": request.before_end,
        "wait_id": request.wait_id,
    }
    if request.series:
        optional |= {
            "series_id": request.series.series_id,
            "series_work": request.series.work_id,
        }
    if request.handle:
        optional |= request.handle.values
    if request.movable_hours:
        optional["movable_hours"] = request.movable_hours
    reservation = {
        "resource_type": RESOURCE_TYPE,
        "flavor_id": request.flavor,
        "amount": request.count,
        "affinity": request.affinity,
        **{k: v for k, v in optional.items() if v is not None},
    }
    return {
        "id": lease_id,
        "name": f"reservation-{lease_id}",
        "start_date": request.span.start.strftime(LEASE_TIME),
        "end_date": request.span.end.strftime(LEASE_TIME),
        "user_id": caller.user_id,
        "trust_id": None,
        "events": [],
        "reservations": [reservation],
    }


#: Until when somebody who was refused is expected to try again, by this process's clock. The keys
#: are the project, and the flavor as the request names it.
_refused_until: dict[tuple[str, str], float] = {}
_MOST_REFUSED = 1000


def _was_refused(request: admission.BookingRequest) -> bool:
    """Whether the project was refused the flavor a moment ago.

    Then the API looks for room before it calls the manager, so that somebody who tries again and
    again doesn't keep the manager from others' bookings.
    """
    return timer.now() < _refused_until.get((request.project_id, request.flavor), -float("inf"))


def _note_refusal(request: admission.BookingRequest) -> None:
    if len(_refused_until) >= _MOST_REFUSED:
        _refused_until.clear()
    _refused_until[request.project_id, request.flavor] = timer.now() + times.REFUSED_LATELY


def _refuse(request: admission.BookingRequest, *, explained: bool) -> None:
    """Raise the error with which a request is refused, if a rule refuses it at this moment.

    :param explained: whether the error is to say what could be booked instead.
    """
    decision = admission.decide(request, with_most=None if explained else False)
    if decision.refusals and explained:
        with READING.held("reading"):
            raise dry_run.of(decision).refusal
    decision.require()


def find(lease_id: str) -> tuple[Reservation, Flavor] | None:
    """The reservation that a request has created, and its flavor. It may have been deleted since.

    If the manager is creating it at this moment, this function waits for the manager.

    :returns: None if there is no such lease, also because its creation has just failed.
    """
    timer.until(lambda: not _is_being_created(lease_id), times.CREATED_WITHIN, times.PROBED_EVERY)
    return lookup.ever_in_lease(lease_id)


def _is_being_created(lease_id: str) -> bool:
    lease = db_api.lease_get(lease_id)
    return lease is not None and lease["status"] == lease_states.CREATING


def _not_known(lease_id: str) -> exceptions.NoAnswer:
    lease_name = f"reservation-{lease_id}"
    return exceptions.NoAnswer(lease_name, texts.services.OWN_BOOKED())


def _booked_despite(error: exceptions.WarreError, lease_id: str) -> Reservation | None:
    """The reservation, if the manager has booked it although it answered with an error.

    For example, the database may have committed the manager's last write, but the connection was
    lost before the manager heard of that.
    """
    if isinstance(error, exceptions.Refused) and error.detail.get("service") != "The database":
        return None
    booked = seen(lambda: _created(lease_id), _not_known(lease_id))
    if booked:
        LOG.warning("Lease %s was created in spite of an error: %s", lease_id, error)
    return booked


def _created(lease_id: str) -> Reservation | None:
    """The reservation, if the manager's writes can already be read from the database."""
    found = lookup.get_by_lease(lease_id)
    return found if found and found.state != reservation_states.PENDING_CREATE else None


def _from_answer(
    lease: Mapping[str, Any], request: admission.BookingRequest, flavor: Flavor
) -> Reservation:
    """The reservation as the manager's answer describes it, if the database doesn't show it yet."""
    (answered,) = lease["reservations"]
    return Reservation(
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
        series_id=request.series.series_id if request.series else None,
        handle=request.handle,
    )


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
    check_created(reservation)
    lookup.check_sole(reservation)
    try:
        return answered(manager.delete_lease, caller, reservation)
    except exceptions.ReservationNotFound:
        return True  # Somebody else has deleted the reservation.
    except exceptions.WarreError as error:
        status = settle(reservation, error)
        if status is None:
            return True  # The error occurred after the lease had been deleted.
        if status == lease_states.DELETING:
            return False  # A manager completes the deletion.
        raise
