"""Starts or ends one reservation when Blazar's own executor asks for this."""

import datetime
from collections.abc import Callable

from oslo_log import log as logging
from sqlalchemy.orm import Session

from warre_blazar.db import session
from warre_blazar.db.booking import reservations
from warre_blazar.db.hosts import allocations
from warre_blazar.db.records import metrics
from warre_blazar.domain.running.execution import END, START
from warre_blazar.errors import exceptions
from warre_blazar.services.running import backing

LOG = logging.getLogger(__name__)


def start(
    reservation_id: str,
    due: datetime.datetime,
    open_one: Callable[[str], None] = backing.open_to_project,
) -> None:
    """Open a reservation to its project.

    If that fails, ``backing.reconcile`` opens the reservation later. Blazar would set the lease to
    ERROR.

    :param due: the reservation's start.
    :param open_one: opens a reservation, whose id is the argument.
    :raises InvalidState: the reservation is being removed, or has nothing in Nova.
    """
    try:
        open_one(reservation_id)
    except exceptions.InvalidState:
        raise
    except (exceptions.TryAgain, *session.FAILURES) as error:
        LOG.warning("Reservation %s will be opened later: %s", reservation_id, error)
    except exceptions.WarreError as error:
        LOG.warning("Reservation %s will be opened later: %s", reservation_id, error)
        session.change(reservations.set_reason, reservation_id, error.message)
    else:
        _count_start(reservation_id, due)


def _count_start(reservation_id: str, due: datetime.datetime) -> None:
    """Count how late the start was. The reservation has begun even if that fails."""
    try:
        session.change(metrics.count_delays, START, [due])
    except (exceptions.TryAgain, *session.FAILURES) as error:
        LOG.warning("The start of reservation %s isn't counted: %s", reservation_id, error)


def end(reservation_id: str, patience: float, due: datetime.datetime | None) -> None:
    """Remove a reservation's servers and the rest of its backing, then release slots and hosts.

    If a part of the backing can't be removed now, ``backing.reconcile`` removes it later. The
    reservation ends all the same, because others may have booked the time after its end.

    :param patience: seconds to wait until the servers are deleted.
    :param due: the reservation's end. None: the reservation is being deleted.
    """
    backing.remove_or_leave(reservation_id, patience)
    session.change(_release, reservation_id, due)


def _release(db: Session, reservation_id: str, due: datetime.datetime | None) -> None:
    allocations.release(db, reservation_id)
    if due is not None:
        metrics.count_delays(db, END, [due])
