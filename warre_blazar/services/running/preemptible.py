"""Deletes preemptible servers on the hosts of reservations, and warns them before.

Preemptible servers may use hosts that nobody has reserved. Blazar deletes them when a reservation
of whole hosts begins; this module does so for reservations of flavors. As long as Nova has no
flavor for preemptible servers, a start sends no request for it. The page about Nova's options says
how blazar-nova keeps such servers off hosts on which a reservation runs.
"""

import datetime
from collections.abc import Callable, Collection

from oslo_log import log as logging

from warre_blazar import times
from warre_blazar.db import session, turns
from warre_blazar.db.running import hosts_in_use
from warre_blazar.domain.running import preemptible
from warre_blazar.domain.running.holders import Server
from warre_blazar.errors import exceptions
from warre_blazar.openstack import nova, preemptible_flavors

LOG = logging.getLogger(__name__)

_TURN = "preemptible"


def clear(hosts: Collection[str]) -> None:
    """Request the deletion of all preemptible servers on hosts on which a reservation begins.

    Errors are only logged: ``look`` deletes what stays.

    :param hosts: host names of compute services.
    """
    try:
        for server in _servers(preemptible_flavors.known()):
            if server.service_name in hosts:
                _delete(server, nova.delete_server)
    except exceptions.WarreError as error:
        LOG.warning("Preemptible servers on %s will be deleted later: %s", sorted(hosts), error)


def look(now: datetime.datetime, manager_id: str, ahead: datetime.timedelta) -> None:
    """Delete preemptible servers beside running reservations, and warn those that must go soon.

    One manager at a time does so.

    :param ahead: how long before the start of a reservation servers are warned.
    :raises ServiceUnavailable, ServiceRefused: the next call does the rest.
    """
    flavors = preemptible_flavors.read(times.PREEMPTIBLE_FLAVORS_KEPT)
    if not flavors or not session.change(turns.take, _TURN, manager_id):
        return
    servers = _servers(flavors)
    with session.reader() as db:
        starts = hosts_in_use.starts(db, now, now + ahead)
    for server in preemptible.to_delete(servers, starts, now):
        if starts[server.service_name or ""] < now - times.PREEMPTIBLE_GONE_WITHIN:
            LOG.warning(
                "Preemptible server %s is on %s, where a reservation runs: blazar-nova's "
                "allow_preemptibles must be false, or its preemptible_aggregate another aggregate "
                "than the freepool",
                server.id,
                server.service_name,
            )
        _delete(server, nova.delete_again)
    for server, moment in preemptible.to_warn(servers, starts, now):
        nova.set_property(server.id, preemptible.WARNING, moment)


def _servers(flavors: Collection[str]) -> list[Server]:
    return [server for flavor_id in sorted(flavors) for server in nova.servers_of_flavor(flavor_id)]


def _delete(server: Server, delete: Callable[[str], None]) -> None:
    LOG.info(
        "Deleting preemptible server %s of project %s on %s for a reservation",
        server.id,
        server.project_id,
        server.service_name,
    )
    delete(server.id)
