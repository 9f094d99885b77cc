"""Starts or ends one reservation when Blazar's own executor asks for this."""

from oslo_log import log as logging

from warre_blazar.db import hosts, reservations, session
from warre_blazar.errors import exceptions
from warre_blazar.services.running import backing

LOG = logging.getLogger(__name__)


def start(reservation_id: str) -> None:
    """Open a reservation to its project.

    If that fails, ``backing.reconcile`` opens the reservation later. Blazar would set the lease to
    ERROR.

    :raises InvalidState: the reservation is being removed, or has nothing in Nova.
    """
    try:
        backing.open_to_project(reservation_id)
    except exceptions.InvalidState:
        raise
    except (exceptions.TryAgain, *session.FAILURES) as error:
        LOG.warning("Reservation %s will be opened later: %s", reservation_id, error)
    except exceptions.WarreError as error:
        LOG.warning("Reservation %s will be opened later: %s", reservation_id, error)
        session.change(reservations.set_reason, reservation_id, error.message)


def end(reservation_id: str, patience: float) -> None:
    """Remove a reservation's servers and the rest of its backing, then release slots and hosts.

    If a part of the backing can't be removed now, ``backing.reconcile`` removes it later. The
    reservation ends all the same, because others may have booked the time after its end.

    :param patience: seconds to wait until the servers are deleted.
    """
    backing.remove_or_leave(reservation_id, patience)
    session.change(hosts.release, reservation_id)
