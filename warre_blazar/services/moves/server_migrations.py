"""Migrates the servers of reservations that have left a host, and follows them."""

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Sequence

from warre_blazar import timer, times
from warre_blazar.db import session
from warre_blazar.db.hosts import host_marks
from warre_blazar.domain.running.holders import Server
from warre_blazar.errors import exceptions
from warre_blazar.openstack import nova
from warre_blazar.services.moves.emptying import Emptied

#: Nova's status of a server that is being migrated while it runs.
_MIGRATING = "MIGRATING"


@dataclasses.dataclass(frozen=True)
class Attempt:
    """What has become of a server that should leave a host."""

    server: Server
    #: Why the server is still on the host. Empty: it has left it.
    why: str = ""


def to_move(emptied: Emptied) -> list[Server]:
    """The servers on a host for which their reservations have no instances there any more.

    If a reservation still has some instances on the host, as many of its servers can stay.

    :param emptied: what has become of the reservations on the host, or would.
    :raises ServiceUnavailable, ServiceRefused:
    """
    held = {each.on_host.reservation_id: each.on_host.instances for each in emptied.left}
    with session.reader() as db:
        service = host_marks.service_name(db, emptied.host_id)
    servers: dict[str, list[Server]] = defaultdict(list)
    for server in nova.servers_of_host(service):
        if server.reservation_id:
            servers[server.reservation_id].append(server)
    found = []
    for reservation_id, its in sorted(servers.items()):
        # Those that are on their way already go first.
        its.sort(key=lambda server: (server.status != _MIGRATING, server.name, server.id))
        found += its[: max(len(its) - held.get(reservation_id, 0), 0)]
    return found


def migrate(
    host_id: str, servers: Sequence[Server], tell: Callable[[Attempt], None]
) -> list[Attempt]:
    """Migrate servers away from a host while they run, and wait until none is being migrated.

    Nova decides how many are migrated at a time, and how long it tries. If the caller is
    interrupted, Nova goes on.

    :param tell: is called for each server when its attempt is over.
    :raises ServiceUnavailable, ServiceRefused: what has been begun goes on.
    """
    with session.reader() as db:
        service = host_marks.service_name(db, host_id)
    attempts = []

    def over(server: Server, why: str = "") -> None:
        attempts.append(Attempt(server, why))
        tell(attempts[-1])

    waiting = {}
    for server in servers:
        try:
            if server.status != _MIGRATING:
                nova.live_migrate(server.id)
            waiting[server.id] = server
        except exceptions.ServiceRefused as error:
            over(server, error.message)
    while waiting:
        timer.sleep(times.MIGRATION_POLL)
        there = {server.id: server.status for server in nova.servers_of_host(service)}
        for server_id in [i for i in waiting if there.get(i) != _MIGRATING]:
            failed = "Nova has begun to migrate it, and has given up; see openstack server event "
            over(waiting.pop(server_id), f"{failed}list {server_id}" if server_id in there else "")
    return attempts
