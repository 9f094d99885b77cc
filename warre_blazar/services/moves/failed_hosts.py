"""Moves reservations off hosts that have failed, and takes hosts back that have recovered.

Blazar's host monitor finds the failed hosts. It runs in every manager. The monitor calls this
package when a host fails, and again at each healing interval. So several managers may heal the same
reservation, at the same time or one after the other.
"""

import datetime
from collections.abc import Collection, Sequence

from oslo_log import log as logging

from warre_blazar.db import session
from warre_blazar.db.hosts import host_marks
from warre_blazar.db.moves import failed_hosts
from warre_blazar.domain import timeline
from warre_blazar.domain.booking.booking_rules import BookingConditions
from warre_blazar.domain.records.changes import MoveReason
from warre_blazar.errors import exceptions
from warre_blazar.openstack import placement
from warre_blazar.services.hosts import new_hosts
from warre_blazar.services.moves.relocation import MoveResult, Relocated, Why, relocate
from warre_blazar.services.running import backing

LOG = logging.getLogger(__name__)

_FAILURES = (exceptions.WarreError, *session.FAILURES)


def heal(
    window: timeline.Span,
    conditions: BookingConditions,
    now: datetime.datetime,
    host_ids: Collection[str] | None = None,
    *,
    unflagged: bool = False,
) -> None:
    """Move reservations off failed hosts, and correct the flags of reservations.

    If other hosts have too little room for a reservation, some or all of its instances stay, and
    the reservation is flagged with ``missing_resources``. If a running reservation gets other
    hosts, it is flagged with ``resources_changed``. Errors are logged. The next call tries again
    what this call couldn't do.

    :param window: only reservations whose leases overlap this time are moved.
    :param host_ids: the ids of the failed hosts to look at. None: all failed hosts.
    :param unflagged: whether to leave out reservations that are already flagged with
        ``missing_resources``.
    """
    with session.reader() as db:
        ids = failed_hosts.suffering(db, window, host_ids, unflagged=unflagged)
        ids += failed_hosts.recovered(db, now)
    if ids:
        new_hosts.read()
    to_open, why = [], Why(MoveReason.HOST_FAILED)
    for reservation_id in ids:
        try:
            healed = relocate(reservation_id, None, why, conditions, now)
        except _FAILURES as error:
            LOG.warning("Reservation %s couldn't be healed yet: %s", reservation_id, error)
            continue
        _log(reservation_id, healed)
        if healed.reopen:
            to_open.append(reservation_id)
    _open(to_open)


def _log(reservation_id: str, healed: Relocated) -> None:
    if healed.moved:
        text = "%s instances of reservation %s were moved off failed hosts"
        LOG.warning(text, healed.moved, reservation_id)
    if healed.stay:
        text = "%s instances of reservation %s stay on failed hosts: there is no room elsewhere"
        LOG.warning(text, healed.stay, reservation_id)
    if healed.outcome is MoveResult.BUSY:
        LOG.info("Reservation %s is being changed, and will be healed later", reservation_id)


def _open(reservation_ids: Sequence[str]) -> None:
    """Open running reservations to their projects on their new hosts.

    If this fails, ``backing.reconcile`` opens the reservations later.
    """
    for reservation_id in reservation_ids:
        try:
            backing.open_to_project(reservation_id)
        except exceptions.ServiceUnavailable as error:
            LOG.warning("Relocated reservations will be opened on their hosts later: %s", error)
            return
        except _FAILURES as error:
            LOG.warning("Reservation %s will be opened later: %s", reservation_id, error)


def take_back_hosts() -> None:
    """Let hosts that have recovered be booked again, if no servers are left on them.

    When a running reservation gets other hosts, its servers may stay on the failed host, and still
    take the host's resources there. These servers are gone when an operator has evacuated or
    deleted them, or when their reservations have ended.
    """
    with session.reader() as db:
        abandoned = host_marks.abandoned(db)
    for host in abandoned:
        try:
            servers = placement.servers_of_reservations(host.name)
            left = sorted(i for i, number in servers.items() if number > host.held.get(i, 0))
            if left:
                LOG.info("Host %s works again, but has servers of %s", host.name, left)
            elif session.change(host_marks.take_back, host):
                LOG.warning("Host %s works again, and can be booked", host.name)
        except _FAILURES as error:
            LOG.warning("Host %s works again, but can't be booked yet: %s", host.name, error)
