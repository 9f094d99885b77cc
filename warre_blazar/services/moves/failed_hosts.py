"""Moves reservations off hosts that have failed, and takes hosts back that have recovered.

Blazar's host monitor finds the failed hosts. It runs in every manager. The monitor calls this
package when a host fails, and again at each healing interval. So several managers may heal the same
reservation, at the same time or one after the other.
"""

import datetime
from collections.abc import Callable, Collection

from oslo_log import log as logging

from warre_blazar import texts
from warre_blazar.db import foreseeing, session
from warre_blazar.db.hosts import host_marks
from warre_blazar.db.moves import failed_hosts
from warre_blazar.domain import timeline
from warre_blazar.domain.booking.booking_rules import BookingConditions
from warre_blazar.domain.hosts.host_marks import Abandoned
from warre_blazar.domain.records.changes import MoveReason
from warre_blazar.domain.running import backing_names
from warre_blazar.errors import exceptions
from warre_blazar.openstack import nova, placement
from warre_blazar.services.hosts import new_hosts
from warre_blazar.services.moves import emptying
from warre_blazar.services.moves.emptying import Emptied, Leaving
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
    open_one: Callable[[str], None] = backing.open_to_project,
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
    :param open_one: opens a running reservation, whose id is the argument, on its new hosts.
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
    emptying.open_moved(to_open, open_one)


def fail(
    host: str, conditions: BookingConditions, now: datetime.datetime, until: datetime.datetime
) -> Emptied:
    """Take a host out of use as Blazar's monitor does, and move its reservations at once.

    Running reservations aren't opened on their new hosts yet (see ``emptying.open_moved``).

    :param host: the host's id or hypervisor hostname.
    :param until: reservations that begin at this time or later stay.
    :raises InvalidField: there is no such host, or there are several.
    :raises TryAgain: at each attempt, somebody claimed the host at the same time.
    """
    new_hosts.read()
    return _failed(emptying.find_host(host), conditions, now, until)


def foresee(
    host: str, conditions: BookingConditions, now: datetime.datetime, until: datetime.datetime
) -> Emptied:
    """What ``fail`` would do with the same arguments."""
    new_hosts.read()
    host_id = emptying.find_host(host)
    return foreseeing.foreseen(
        lambda: _failed(host_id, conditions, now, until), conditions.cleaning
    )


def _failed(
    host_id: str, conditions: BookingConditions, now: datetime.datetime, until: datetime.datetime
) -> Emptied:
    session.change(failed_hosts.set_reservable, host_id, False)
    leaving = Leaving(Why(MoveReason.HOST_FAILED), running=True, until=until)
    return emptying.empty(host_id, leaving, conditions, now)


def use_again(host: str, *, is_dry_run: bool = False) -> str:
    """Let a host be used again that ``fail`` or Blazar's monitor has taken out of use.

    :param host: the host's id or hypervisor hostname.
    :param is_dry_run: whether to check everything, but change nothing.
    :returns: the host's id.
    :raises InvalidField: there is no such host, there are several, or Nova boots no server on it.
    """
    host_id = emptying.find_host(host)
    with session.reader() as db:
        service = host_marks.service_name(db, host_id)
    if state := nova.out_of_service().get(service):
        entry = texts.expected.HOST_IN_SERVICE(host=host, service=service, state=state)
        raise exceptions.InvalidField("host", entry)
    if not is_dry_run:
        session.change(failed_hosts.set_reservable, host_id, True)
    return host_id


def _log(reservation_id: str, healed: Relocated) -> None:
    if healed.moved:
        text = "%s instances of reservation %s were moved off failed hosts"
        LOG.warning(text, healed.moved, reservation_id)
    if healed.stay:
        text = "%s instances of reservation %s stay on failed hosts: there is no room elsewhere"
        LOG.warning(text, healed.stay, reservation_id)
    if healed.outcome is MoveResult.BUSY:
        LOG.info("Reservation %s is being changed, and will be healed later", reservation_id)


def take_back_hosts() -> None:
    """Let hosts be booked again that running reservations have left, once no servers are left.

    When a running reservation gets other hosts, its servers may stay on the host that it leaves,
    and still take the host's resources there. These servers are gone when an operator has migrated,
    evacuated or deleted them, or when their reservations have ended. As they go, the host offers
    fewer instances of the reservation, so that no new server can take their place.
    """
    with session.reader() as db:
        abandoned = host_marks.abandoned(db)
    for host in abandoned:
        try:
            if left := _lowered(host):
                LOG.info("Host %s works, but has servers of %s", host.name, left)
            elif session.change(host_marks.take_back, host):
                LOG.warning("Host %s has no servers of reservations that have left it", host.name)
        except _FAILURES as error:
            LOG.warning("It isn't known which servers host %s still has: %s", host.name, error)


def _lowered(host: Abandoned) -> list[str]:
    """Let a host offer no more of each reservation than its instances and servers there.

    No reservation gets an abandoned host. So what the host holds can only become less meanwhile.

    :returns: the ids of the reservations that have more servers on the host than instances.
    """
    left = []
    for cls, (offered, used) in sorted(placement.offers(host.name).items()):
        owner = backing_names.of_class(cls) or ""
        held = host.held.get(owner, 0)
        if used > held:
            left.append(owner)
        if offered > max(used, held):
            placement.lower(host.name, cls, max(used, held))
    return left
