"""Reads the servers of reservations on a host, and migrates them while they run.

Every function raises ServiceUnavailable if Nova doesn't answer, and ServiceRefused if Nova refuses
a request.
"""

import dataclasses

from warre_blazar.domain.running import backing_names
from warre_blazar.openstack import nova

#: The first microversion in which servers have the name of their flavor.
_NAMED_MICROVERSION = "2.47"
#: From 2.25 on, Nova finds out by itself whether it must copy disks. Up to 2.33, it answers only
#: when it has looked for another host, so that a refusal says why.
_MICROVERSION = "2.25"
#: Nova's status of a server that is being migrated.
_MIGRATING = "MIGRATING"


@dataclasses.dataclass(frozen=True)
class ReservedServer:
    """A server that uses a reservation."""

    id: str
    name: str
    project_id: str
    reservation_id: str
    status: str

    @property
    def is_migrating(self) -> bool:
        """Whether Nova is migrating the server while it runs."""
        return self.status == _MIGRATING


def servers_on(host: str) -> list[ReservedServer]:
    """The servers of reservations on a host, in all projects.

    :param host: the host name of the host's compute service.
    """
    with nova.client(_NAMED_MICROVERSION) as client:
        listed = client.servers.list(search_opts={"all_tenants": 1, "host": host}, limit=-1)
    return [
        ReservedServer(server.id, server.name, server.tenant_id, reservation_id, server.status)
        for server in listed
        if (reservation_id := backing_names.of_flavor(server.flavor["original_name"]))
    ]


def begin(server_id: str) -> None:
    """Let Nova choose another host for a server, and begin to migrate the server to it.

    :raises ServiceRefused: there is no such host, or the server doesn't run.
    """
    with nova.client(_MICROVERSION) as client:
        client.servers.live_migrate(server_id, None, "auto")
