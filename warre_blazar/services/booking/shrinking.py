"""Reduces the number of instances of a running reservation.

Only Placement knows how many servers run on the reservation. So the inventories in Placement are
lowered first, and never below what the servers use. Then the new count is written to the database,
and others can book the instances that were given up. During all of this, the backing's note says
that the reservation isn't completely open. If the work is interrupted, ``backing.reconcile``
therefore sets the inventories to what the database says.
"""

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping

from oslo_log import log as logging
from sqlalchemy.orm import Session

from warre_blazar import texts
from warre_blazar.db import session
from warre_blazar.db.hosts import allocations
from warre_blazar.db.running import backings
from warre_blazar.domain.hosts import placing
from warre_blazar.errors import exceptions
from warre_blazar.openstack import nova, placement
from warre_blazar.services.running import backing

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Shrunk:
    """The hosts that a reservation keeps when it gets fewer instances."""

    #: Instances by host id.
    kept: Mapping[str, int]


@dataclasses.dataclass(frozen=True)
class _Host:
    """A host of the reservation, with the host's names in Nova and Placement."""

    service: str
    hypervisor: str
    #: How many of the reservation's instances are on the host.
    held: int


@contextlib.contextmanager
def shrunk(reservation_id: str, count: int) -> Iterator[Shrunk]:
    """Lower a running reservation's inventories, so that they add up to ``count`` instances.

    The body of the ``with`` statement must write the new count. If the body fails, the inventories
    are raised again to their former values.

    :raises InvalidState: the reservation has more than ``count`` servers, or is being started or
        changed.
    :raises ServiceUnavailable, ServiceRefused:
    """
    hosts_by_id = session.change(_half_close, reservation_id)
    try:
        kept = _lower_inventories(reservation_id, hosts_by_id, count)
        yield Shrunk(kept)
        given_up = [host.service for i, host in hosts_by_id.items() if i not in kept]
        _remove_from_aggregate(reservation_id, given_up)
    finally:
        # This sets the inventories to the count in the database: the new count, or the old count
        # after a failure.
        _reopen(reservation_id)


def foreseen(reservation_id: str, count: int) -> Shrunk:
    """The hosts that a running reservation would keep. Nothing is lowered.

    :raises InvalidState: the reservation has more than ``count`` servers.
    :raises ServiceUnavailable, ServiceRefused:
    """
    with session.reader() as db:
        hosts_by_id = _hosts(db, reservation_id)
    return Shrunk(_kept(reservation_id, hosts_by_id, count))


def _half_close(db: Session, reservation_id: str) -> dict[str, _Host]:
    """Write into the backing's note that the reservation isn't completely open.

    :returns: the reservation's hosts by id.
    :raises InvalidState: the reservation is open only in part, or not at all.
    """
    if not backings.half_close(db, reservation_id):
        raise exceptions.InvalidState(
            texts.refusals.BEING_STARTED_OR_CHANGED(reservation=reservation_id)
        )
    return _hosts(db, reservation_id)


def _hosts(db: Session, reservation_id: str) -> dict[str, _Host]:
    held = allocations.allocated(db, reservation_id)
    places = allocations.places(db, reservation_id)
    return {i: _Host(*names, held[i]) for i, names in places.items()}


def _lower_inventories(
    reservation_id: str, hosts_by_id: Mapping[str, _Host], count: int
) -> dict[str, int]:
    """Lower the inventories of the hosts, so that they add up to ``count`` instances.

    :returns: the number of instances that stay on each host, by host id.
    :raises InvalidState: the reservation has more than ``count`` servers.
    """
    kept = _kept(reservation_id, hosts_by_id, count)
    cls = backing.resource_class(reservation_id)
    for host_id, host in hosts_by_id.items():
        remaining = kept.get(host_id, 0)
        if remaining < host.held and not placement.lower(host.hypervisor, cls, remaining):
            raise exceptions.InvalidState(texts.refusals.SERVER_CREATED(reservation=reservation_id))
    return kept


def _kept(reservation_id: str, hosts_by_id: Mapping[str, _Host], count: int) -> dict[str, int]:
    """The instances that stay on each host, by host id.

    :raises InvalidState: the reservation has more than ``count`` servers.
    """
    cls = backing.resource_class(reservation_id)
    used = {i: placement.used(host.hypervisor, cls) for i, host in hosts_by_id.items()}
    held = {i: host.held for i, host in hosts_by_id.items()}
    servers = sum(used.values())
    kept = placing.kept(held, used, count)
    if servers > count:
        raise exceptions.InvalidState(
            texts.refusals.TOO_MANY_SERVERS(
                reservation=reservation_id, servers=servers, excess=servers - count
            )
        )
    return kept


def _remove_from_aggregate(reservation_id: str, service_hosts: list[str]) -> None:
    """Remove from a reservation's aggregate the hosts that the reservation no longer uses."""
    with session.reader() as db:
        note = backings.get(db, reservation_id)
    if note is None or note.aggregate_id is None:
        return
    for service_host in service_hosts:
        try:
            nova.remove_host(note.aggregate_id, service_host)
        except exceptions.WarreError as error:
            # It does no harm if the host stays in the aggregate. Without the inventory, no server
            # can boot on the host. At the reservation's end, the aggregate is deleted.
            LOG.warning("Host %s stays in aggregate %s: %s", service_host, note.aggregate_id, error)


def _reopen(reservation_id: str) -> None:
    try:
        backing.open_to_project(reservation_id)
    except (exceptions.WarreError, *session.FAILURES) as error:
        LOG.warning("The reconciler will open reservation %s again: %s", reservation_id, error)
