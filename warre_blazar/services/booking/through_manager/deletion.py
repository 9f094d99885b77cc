"""Deletes reservations for the API, by calls to Blazar's manager."""

from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.running import lease_states
from warre_blazar.errors import exceptions
from warre_blazar.openstack import manager
from warre_blazar.services.booking import lookup
from warre_blazar.services.booking.through_manager.calls import answered, check_created, settle
from warre_blazar.services.caller import Caller
from warre_blazar.services.records import history


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
