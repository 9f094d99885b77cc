"""Starts and ends a reservation when Blazar's manager asks its plugin to."""

from oslo_config import cfg

from warre_blazar.db import clock, session
from warre_blazar.db.running import leases
from warre_blazar.db.running.leases import Timing
from warre_blazar.domain.running import lease_states
from warre_blazar.errors import blazar_errors
from warre_blazar.plugins import error_translation, monitor
from warre_blazar.services.running import blazar_start_end


def find(resource_id: str) -> Timing | None:
    """The reservation that Blazar names by its row in ``instance_reservations``.

    :returns: None: this package doesn't run the reservation.
    """
    with error_translation.translated(), session.reader() as db:
        return leases.find_by_resource(db, resource_id)


def start(timing: Timing) -> None:
    """Let the project boot servers on its reservation.

    :raises blazar_errors.TooEarly: the lease's start is in the future.
    """
    with error_translation.translated():
        name, due = timing.reservation_id, timing.span.start
        blazar_errors.check_time(due, clock.utcnow(), f"reservation {name} starts")
        blazar_start_end.start(name, due, monitor.opener().open_for_blazar)


def end(timing: Timing) -> None:
    """Remove the servers and the backing, and release the slots and hosts.

    :raises blazar_errors.TooEarly: the lease's end is in the future, and the lease isn't being
        deleted.
    """
    with error_translation.translated():
        name = timing.reservation_id
        due = None if timing.lease_status == lease_states.DELETING else timing.span.end
        if due is not None:
            blazar_errors.check_time(due, clock.utcnow(), f"reservation {name} ends")
        blazar_start_end.end(name, cfg.CONF.warre.server_deletion_timeout, due)
