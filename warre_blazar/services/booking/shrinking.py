"""Reduces the number of instances of a running reservation.

Only Placement knows how much room the reservation's servers hold. So the inventories in Placement
are lowered first, and never below what is held. Then the new count is written to the database, and
others can book the instances that were given up. A shelved server holds no room, but Nova knows it,
and the reservation keeps an instance for it. During all of this, the backing's note says
that the reservation isn't completely open. If the work is interrupted, ``backing.reconcile``
therefore sets the inventories to what the database says.
"""

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from oslo_log import log as logging
from sqlalchemy.orm import Session

from warre_blazar import texts
from warre_blazar.db import session
from warre_blazar.db.hosts import allocations
from warre_blazar.db.running import backings
from warre_blazar.domain.hosts import placing
from warre_blazar.domain.running import backing_names
from warre_blazar.domain.running.backing import Note
from warre_blazar.domain.running.holders import Server
from warre_blazar.domain.running.wanted import HostUse, Moment, steps, wanted
from warre_blazar.errors import exceptions
from warre_blazar.openstack import nova, placement
from warre_blazar.services.running import backing, room

LOG = logging.getLogger(__name__)


@contextlib.contextmanager
def shrunk(reservation_id: str, count: int) -> Iterator[Mapping[str, int]]:
    """Lower a running reservation's inventories, so that they add up to ``count`` instances.

    The ``with`` statement gets the numbers of instances that the reservation keeps, by host id. The
    body of the ``with`` statement must write the new count. If the body fails, the inventories
    are raised again to their former values.

    :raises InvalidState: the reservation has more than ``count`` servers, or is being started or
        changed.
    :raises ServiceUnavailable, ServiceRefused:
    """
    note, hosts = session.change(_half_close, reservation_id)
    try:
        kept = _kept(note, hosts, count)
        _lower_inventories(note, hosts, kept)
        yield kept
    finally:
        # This brings everything to what the database says: the new count, or the old count after a
        # failure.
        _reopen(reservation_id)


def foreseen(reservation_id: str, count: int) -> Mapping[str, int]:
    """What a running reservation would keep: numbers of instances by host id. Nothing is lowered.

    :raises InvalidState: the reservation has more than ``count`` servers.
    :raises ServiceUnavailable, ServiceRefused:
    """
    with session.reader() as db:
        note = backings.get(db, reservation_id)
        hosts = allocations.hosts_of(db, reservation_id)
    if note is None:
        raise exceptions.InvalidState(texts.refusals.NOTHING_IN_NOVA(reservation=reservation_id))
    return _kept(note, hosts, count)


def _half_close(db: Session, reservation_id: str) -> tuple[Note, Sequence[HostUse]]:
    """Write into the backing's note that the reservation isn't completely open.

    :raises InvalidState: the reservation is open only in part, or not at all.
    """
    is_mine = backings.half_close(db, reservation_id)
    note = backings.get(db, reservation_id)
    if note is None or not is_mine:
        raise exceptions.InvalidState(
            texts.refusals.BEING_STARTED_OR_CHANGED(reservation=reservation_id)
        )
    return note, allocations.hosts_of(db, reservation_id)


def _kept(note: Note, hosts: Sequence[HostUse], count: int) -> dict[str, int]:
    """The instances that stay on each host, by host id.

    :raises InvalidState: the reservation has more than ``count`` servers.
    """
    cls = backing_names.resource_class(note.reservation_id)
    used = {host.host_id: placement.used(host.hypervisor, cls) for host in hosts}
    projects = {note.project_id, *note.guests}
    on_it = nova.servers_in(note.reservation_id, note.nova_flavor, projects)
    listed = [server for server in on_it if not server.needs_no_place]
    servers = sum(used.values()) + sum(server.is_shelved for server in listed)
    if servers > count:
        raise exceptions.InvalidState(
            texts.refusals.TOO_MANY_SERVERS(
                reservation=note.reservation_id,
                servers=servers,
                names=_names(note.reservation_id, listed, sum(used.values())),
                excess=servers - count,
            )
        )
    return placing.kept({host.host_id: host.instances for host in hosts}, used, count)


def _names(reservation_id: str, listed: Sequence[Server], units: int) -> list[str]:
    """The names of servers that keep a reservation from shrinking, with unusual statuses.

    :param listed: those that Nova has on the reservation's flavor.
    :param units: how much room is held. Others may hold some of it.
    """
    servers = {server.id: server for server in listed}
    strangers = []
    if units > sum(not server.is_shelved for server in listed):
        for holder in room.holders_of(reservation_id, units):
            if holder.server is None:
                strangers.append(holder.server_id or holder.consumer)
            else:
                servers[holder.server.id] = holder.server
    named = sorted(
        each.name if each.status == "ACTIVE" else f"{each.name} ({each.status})"
        for each in servers.values()
    )
    return named + sorted(strangers)


def _lower_inventories(note: Note, hosts: Sequence[HostUse], kept: Mapping[str, int]) -> None:
    """Lower the inventories of the hosts to what stays there. Nothing else is changed yet.

    :raises InvalidState: a server has been created meanwhile.
    """
    present = wanted(note, hosts, Moment.RUNNING)
    left = [
        dataclasses.replace(host, instances=kept[host.host_id])
        for host in hosts
        if kept.get(host.host_id)
    ]
    lowered = dataclasses.replace(
        present, inventories=wanted(note, left, Moment.RUNNING).inventories
    )
    try:
        backing.carry_out(steps(present, lowered))
    except placement.ClassInUse as error:
        raise exceptions.InvalidState(
            texts.refusals.SERVER_CREATED(reservation=note.reservation_id)
        ) from error


def _reopen(reservation_id: str) -> None:
    try:
        backing.open_to_project(reservation_id)
    except (exceptions.WarreError, *session.FAILURES) as error:
        LOG.warning("The reconciler will open reservation %s again: %s", reservation_id, error)
