"""What a reservation needs of Nova, in steps that can each be repeated.

Errors are ServiceUnavailable and ServiceRefused.
"""

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping

from novaclient import client as nova_client
from novaclient import exceptions as nova_exc
from oslo_config import cfg

from warre_blazar import exceptions
from warre_blazar.clients import keystone

cfg.CONF.import_group("nova", "blazar.utils.openstack.nova")

_MICROVERSION = "2.1"
_SERVICE = "Nova"


@contextlib.contextmanager
def _nova() -> Iterator[nova_client.Client]:
    conf = cfg.CONF
    client = nova_client.Client(
        _MICROVERSION,
        session=keystone.service_session(),
        service_type=conf.nova.compute_service,
        endpoint_type=conf.nova.endpoint_type,
        region_name=conf.os_region_name,
        connect_retries=1,
    )
    try:
        with keystone.speaking_of(_SERVICE):
            yield client
    except nova_exc.ClientException as error:
        if error.code >= 500:
            raise exceptions.ServiceUnavailable(_SERVICE, str(error)) from error
        raise exceptions.ServiceRefused(_SERVICE, str(error)) from error


def make_flavor(
    flavor_id: str,
    name: str,
    *,
    vcpus: int,
    ram: int,
    disk: int,
    ephemeral: int,
    extra_specs: Mapping[str, str],
) -> None:
    """A private flavor that nobody has access to yet."""
    with _nova() as nova:
        with contextlib.suppress(nova_exc.Conflict):
            nova.flavors.create(
                name, ram, vcpus, disk, flavorid=flavor_id, ephemeral=ephemeral, is_public=False
            )
        nova.flavors.get(flavor_id).set_keys(dict(extra_specs))


def remove_flavor(flavor_id: str) -> None:
    """The flavor, with everybody's access to it."""
    with _nova() as nova, contextlib.suppress(nova_exc.NotFound):
        nova.flavors.delete(flavor_id)


def grant(flavor_id: str, project_id: str) -> None:
    """Let a project use a flavor."""
    with _nova() as nova, contextlib.suppress(nova_exc.Conflict):
        nova.flavor_access.add_tenant_access(flavor_id, project_id)


def revoke(flavor_id: str, project_id: str) -> None:
    """Let a project use a flavor no longer."""
    with _nova() as nova, contextlib.suppress(nova_exc.NotFound):
        nova.flavor_access.remove_tenant_access(flavor_id, project_id)


def make_aggregate(name: str, metadata: Mapping[str, str]) -> int:
    """An aggregate with these metadata, and its id."""
    with _nova() as nova:
        try:
            aggregate = nova.aggregates.create(name, None)
        except nova_exc.Conflict:
            aggregate = next((a for a in nova.aggregates.list() if a.name == name), None)
            if aggregate is None:
                raise
        nova.aggregates.set_metadata(aggregate, dict(metadata))
        return int(aggregate.id)


@dataclasses.dataclass(frozen=True)
class Aggregate:
    """An aggregate with the names of its compute services' hosts."""

    name: str
    hosts: frozenset[str]
    metadata: Mapping[str, str]


def aggregates() -> list[Aggregate]:
    """All aggregates."""
    with _nova() as nova:
        return [
            Aggregate(a.name, frozenset(a.hosts), dict(a.metadata)) for a in nova.aggregates.list()
        ]


def find_aggregate(name: str) -> int | None:
    """The id of the aggregate of that name."""
    with _nova() as nova:
        return next((int(a.id) for a in nova.aggregates.list() if a.name == name), None)


def add_host(aggregate_id: int, host: str) -> None:
    """Put a compute service's host into an aggregate."""
    with _nova() as nova, contextlib.suppress(nova_exc.Conflict):
        nova.aggregates.add_host(aggregate_id, host)


def remove_aggregate(aggregate_id: int) -> None:
    """The aggregate, its hosts first."""
    with _nova() as nova, contextlib.suppress(nova_exc.NotFound):
        for host in nova.aggregates.get(aggregate_id).hosts:
            with contextlib.suppress(nova_exc.NotFound):
                nova.aggregates.remove_host(aggregate_id, host)
        nova.aggregates.delete(aggregate_id)


def servers_on(flavor_id: str) -> list[str]:
    """The ids of all projects' servers of a flavor."""
    with _nova() as nova:
        found = nova.servers.list(
            detailed=False, search_opts={"flavor": flavor_id, "all_tenants": 1}
        )
        return [server.id for server in found]


def delete_server(server_id: str) -> None:
    """Ask for a server to be gone for good, also where Nova keeps deleted ones for a while."""
    with _nova() as nova, contextlib.suppress(nova_exc.NotFound, nova_exc.Conflict):
        nova.servers.force_delete(server_id)
