"""Frees the room that a reservation's servers hold, and says who still holds it.

A server is deleted. If a server was resized or migrated out of the reservation, and nobody has
confirmed that, its migration holds the room. Then the move is confirmed: that frees the room, and
leaves the server where its owner has moved it.
"""

from collections import Counter
from collections.abc import Collection, Iterable

from oslo_log import log as logging

from warre_blazar import texts, timer, times
from warre_blazar.db import session
from warre_blazar.db.hosts import allocations, reservable_hosts
from warre_blazar.db.running import backings
from warre_blazar.domain.running import backing_names
from warre_blazar.domain.running import holders as holding
from warre_blazar.domain.running.holders import Holder, HolderKind, Inside
from warre_blazar.domain.running.wanted import NovaFlavor
from warre_blazar.errors import exceptions
from warre_blazar.openstack import holders, nova, placement

LOG = logging.getLogger(__name__)


def holders_of(reservation_id: str, units: int = 1) -> list[Holder]:
    """Who holds units of a reservation's resource class.

    :param units: how many are held at least. If fewer are found on the reservation's hosts, all
        other hosts are searched: the reservation may have moved, or may have ended.
    :raises ServiceUnavailable, ServiceRefused:
    """
    name = backing_names.resource_class(reservation_id)
    with session.reader() as db:
        places = allocations.hosts_of(db, reservation_id)
        everywhere = reservable_hosts.services(db)
    near = {place.hypervisor: place.service_name for place in places}
    found = holders.of_class(name, near)
    if holding.units(found, name) >= units:
        return found
    far = {host: service for host, service in everywhere.items() if host not in near}
    return found + holders.of_class(name, far)


def count(reservation_ids: Collection[str]) -> dict[str, int]:
    """How many servers reservations have, as Nova lists them. If they hold more room: how much.

    Nova lists no servers that were moved out without a confirmation. Shelved servers hold no room,
    so they are added to it.

    :raises ServiceUnavailable, ServiceRefused: not all of them are known.
    """
    if not reservation_ids:
        return {}
    servers = [server for server in nova.every_server() if not server.needs_no_place]
    listed = Counter(server.reservation_id for server in servers)
    shelved = Counter(server.reservation_id for server in servers if server.is_shelved)
    with session.reader() as db:
        projects = backings.projects(db, reservation_ids)
    held = placement.used_by_projects(projects)
    return {
        each: max(listed[each], held[backing_names.resource_class(each)] + shelved[each])
        for each in reservation_ids
    }


def inside(reservation_id: str, flavor_id: str, projects: Collection[str]) -> Inside:
    """Who is in a reservation. If Placement doesn't answer, only the servers that Nova lists.

    :param flavor_id: the id of the reservation's Nova flavor.
    :param projects: the projects that can use the Nova flavor.
    :raises ServiceUnavailable, ServiceRefused: Nova doesn't list the servers.
    """
    listed = nova.servers_in(reservation_id, flavor_id, projects)
    on_hosts = sum(server.service_name is not None for server in listed)
    ids = {server.id for server in listed}
    return Inside(listed, _hidden(reservation_id, projects, ids, on_hosts))


def free(flavor: NovaFlavor, patience: float) -> None:
    """Delete all servers of a reservation, confirm moves out of it, and wait until that is done.

    :param flavor: the reservation's Nova flavor, with its projects.
    :param patience: seconds to wait. 0: only the servers that Nova lists are deleted, because what
        else holds room then keeps the resource class from being removed.
    :raises InvalidState: servers or moves still hold room.
    """
    deadline = timer.now() + patience
    wait = times.DELETION_FIRST_POLL
    requested: set[str] = set()
    reservation_id = str(flavor.reservation_id)
    while True:
        # Nova may refuse a deletion, for example while the server is being built. A deletion may
        # also fail. So if a server stays, its deletion is requested again. This isn't done at each
        # poll, because so many requests would keep Nova busier than the deletions themselves.
        is_patient = wait < times.DELETION_LONGEST_POLL
        servers = nova.servers_on(flavor)
        _delete(servers, requested, first=patience > 0, again=not is_patient)
        held = _hidden(reservation_id, flavor.projects, servers, len(servers)) if patience else []
        hidden = {str(each.server_id) for each in held if each.kind is HolderKind.SERVER}
        _delete(hidden, requested, first=True, again=not is_patient)
        moves = [each for each in held if each.kind is HolderKind.MIGRATION]
        _confirm(each for each in moves if each.consumer not in requested or not is_patient)
        if not servers and not hidden and not moves:
            return
        requested.update(servers, hidden, (move.consumer for move in moves if move.is_confirmable))
        if timer.now() + wait > deadline:
            for holder in held:
                LOG.warning("Reservation %s isn't rid of %s", reservation_id, holder)
            left = len(servers) + len(hidden) + len(moves)
            raise exceptions.InvalidState(
                texts.refusals.SERVERS_REMAIN(servers=left, reservation=reservation_id)
            )
        timer.sleep(wait)
        wait = min(wait * 2, times.DELETION_LONGEST_POLL)


def _delete(servers: Iterable[str], requested: set[str], *, first: bool, again: bool) -> None:
    for server_id in servers:
        if server_id not in requested and first:
            nova.delete_server(server_id)
        elif server_id not in requested or again:
            nova.delete_again(server_id)


def _confirm(moves: Iterable[Holder]) -> None:
    for move in moves:
        if move.is_confirmable:
            LOG.info("Confirming the move of %s", move)
            nova.confirm_move(str(move.server_id))


def _hidden(
    reservation_id: str, projects: Collection[str], listed: Collection[str], on_hosts: int
) -> list[Holder]:
    """Who holds room of a reservation, besides the servers that Nova lists.

    Only if Placement counts more units than these servers need, their holders are looked for.

    :param listed: the ids of the servers that Nova lists.
    :param on_hosts: how many of them hold room at most.
    """
    try:
        units = placement.used_by_projects(projects)[backing_names.resource_class(reservation_id)]
        found = holders_of(reservation_id, units) if units > on_hosts else []
    except exceptions.WarreError as error:
        # The class can't be removed while somebody holds it. Then its holders are looked for again.
        LOG.warning("Who else holds room of %s isn't known: %s", reservation_id, error)
        return []
    return [each for each in found if each.server_id not in listed]


def release(reservation_id: str) -> list[Holder]:
    """Request that whoever holds room of a reservation that is over loses it, without waiting.

    :returns: those who hold it.
    :raises ServiceUnavailable, ServiceRefused:
    """
    held = holders_of(reservation_id)
    for holder in held:
        if holder.kind is HolderKind.SERVER:
            LOG.warning("Deleting %s of reservation %s", holder, reservation_id)
            nova.delete_again(str(holder.server_id))
    _confirm(held)
    return held
