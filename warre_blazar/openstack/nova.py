"""Makes and removes the Nova flavors and aggregates of reservations, saves and deletes servers.

Every function can be repeated safely. Every function raises ServiceUnavailable if Nova doesn't
answer, and ServiceRefused if Nova refuses a request.
"""

import contextlib
import dataclasses
import datetime
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent import futures
from typing import Any

from novaclient import client as nova_client
from novaclient import exceptions as nova_exc
from oslo_config import cfg
from oslo_log import log as logging
from oslo_utils import timeutils

from warre_blazar import texts, times
from warre_blazar.domain.running import backing_names
from warre_blazar.domain.running.holders import Migration, Server, is_preemptible
from warre_blazar.domain.running.wanted import NovaAggregate, NovaFlavor
from warre_blazar.errors import exceptions
from warre_blazar.openstack import keystone, locks

LOG = logging.getLogger(__name__)

cfg.CONF.import_group("nova", "blazar.utils.openstack.nova")
cfg.CONF.import_group("physical:host", "blazar.plugins.oshosts.host_plugin")

_MICROVERSION = "2.1"
#: The first microversion in which services say whether they are forced down.
_SERVICES_MICROVERSION = "2.11"
#: From 2.25 on, Nova finds out by itself whether a live migration must copy disks. Up to 2.33, it
#: answers only when it has looked for another host, so that a refusal says why.
_LIVE_MICROVERSION = "2.25"
#: The first microversion in which migrations have ids that are known to Placement.
_MIGRATIONS_MICROVERSION = "2.59"
#: The first microversion in which the list of flavors has extra specs, and servers have the name of
#: their flavor.
_SURVEY_MICROVERSION = "2.61"
#: The first microversion in which Nova lists servers of cells that don't answer, with less data.
_CELLS_MICROVERSION = "2.69"
#: The first microversion in which Nova checks extra specs.
_CHECKED_MICROVERSION = "2.86"
#: What Nova limits of all servers of a project together. ``ram`` is in MiB.
_QUOTAS = ("instances", "cores", "ram")
_PAGE = 1000
#: Nova can't return some data in a list: for each object, one more request is needed. At most this
#: many of these requests are sent at the same time.
_AT_ONCE = 8
_SERVICE = "Nova"
#: A lock for each host. Only one thread of this process at a time adds the host to an aggregate.
_locks = locks.Locks()


@contextlib.contextmanager
def _nova(microversion: str = _MICROVERSION) -> Iterator[nova_client.Client]:
    conf = cfg.CONF
    client = nova_client.Client(
        microversion,
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
            raise keystone.failure(_SERVICE, error.code, str(error)) from error
        raise exceptions.ServiceRefused(
            _SERVICE, texts.services.REFUSAL(said=str(error))
        ) from error


def make_flavor(flavor: NovaFlavor) -> None:
    """Make a Nova flavor, unless it exists. Set its extra specs, and give its projects access.

    If it belongs to another reservation with the same handle, it is replaced.
    """
    with _nova() as nova:
        try:
            _create(nova, flavor)
        except nova_exc.Conflict:
            if flavor.is_shared and _owner(nova, flavor) != flavor.reservation_id:
                remove_flavor(flavor.id)
                _create(nova, flavor)
        nova.flavors.get(flavor.id).set_keys(dict(flavor.extra_specs))
    for project_id in sorted(flavor.projects):
        grant(flavor.id, project_id)


def _create(nova: nova_client.Client, flavor: NovaFlavor) -> None:
    nova.flavors.create(
        flavor.name,
        flavor.ram,
        flavor.vcpus,
        flavor.disk,
        flavorid=flavor.id,
        ephemeral=flavor.ephemeral,
        is_public=flavor.is_public,
    )


def _owner(nova: nova_client.Client, flavor: NovaFlavor) -> str | None:
    """The reservation to which the Nova flavor of a handle belongs. None: to none, or it is gone.

    It belongs to none as long as it has no extra specs.
    """
    with contextlib.suppress(nova_exc.NotFound):
        specs: dict[str, str] = nova.flavors.get(flavor.id).get_keys()
        return specs.get(backing_names.AGGREGATE_SPEC)
    return None


def give_up_flavor(flavor: NovaFlavor) -> None:
    """Delete the Nova flavor of a handle, unless it belongs to another reservation by now."""
    with _nova() as nova:
        if _owner(nova, flavor) == flavor.reservation_id:
            remove_flavor(flavor.id)


def replace_flavor(flavor: NovaFlavor) -> None:
    """Delete a Nova flavor and make it again. Servers stay."""
    remove_flavor(flavor.id)
    make_flavor(flavor)


def check_extra_specs(extra_specs: Mapping[str, str]) -> None:
    """Ask Nova whether a Nova flavor may have these extra specs.

    Nova looks at extra specs before it looks for the flavor that is to get them. So they are sent
    for a flavor that doesn't exist: Nova answers 404 if it accepts them. Nothing is made, so
    nothing has to be removed.

    :raises RequestInvalid: Nova doesn't accept them.
    :raises ServiceRefused: this Nova can't check extra specs (it is older than Victoria).
    """
    with _nova(_CHECKED_MICROVERSION) as nova:
        refusal = _refusal_of(nova, extra_specs)
        if refusal is None:
            return
        # What Nova says about a value doesn't name its key. Nova looks at each key by itself.
        for key, value in extra_specs.items():
            said = _refusal_of(nova, {key: value})
            if said is not None:
                refusal = f"{key}: {said}"
                break
        raise exceptions.RequestInvalid(_SERVICE, texts.services.REFUSAL(said=refusal))


def _refusal_of(nova: nova_client.Client, extra_specs: Mapping[str, str]) -> str | None:
    """What Nova says against extra specs; None if it accepts them."""
    url = f"/flavors/{uuid.uuid4()}/os-extra_specs"
    try:
        with contextlib.suppress(nova_exc.NotFound):
            nova.client.post(url, body={"extra_specs": dict(extra_specs)})
    except nova_exc.BadRequest as error:
        return str(error.message)
    return None


def remove_flavor(flavor_id: str) -> None:
    """Delete a Nova flavor with all projects' access to it."""
    with _nova() as nova, contextlib.suppress(nova_exc.NotFound):
        nova.flavors.delete(flavor_id)


def grant(flavor_id: str, project_id: str) -> None:
    """Give a project access to a Nova flavor."""
    with _nova() as nova, contextlib.suppress(nova_exc.Conflict):
        nova.flavor_access.add_tenant_access(flavor_id, project_id)


def revoke(flavor_id: str, project_id: str) -> None:
    """Take away a project's access to a Nova flavor."""
    with _nova() as nova, contextlib.suppress(nova_exc.NotFound):
        nova.flavor_access.remove_tenant_access(flavor_id, project_id)


def make_aggregate(aggregate: NovaAggregate) -> int:
    """Make an aggregate, unless one of its name exists. Set its metadata, and add its hosts.

    :returns: the aggregate's id.
    """
    with _nova() as nova:
        try:
            aggregate_id = int(nova.aggregates.create(aggregate.name, None).id)
        except nova_exc.Conflict:
            known_id = _id_of_aggregate(aggregate.name)
            if known_id is None:
                raise
            aggregate_id = known_id
        nova.aggregates.set_metadata(aggregate_id, dict(aggregate.metadata))
    add_hosts(dataclasses.replace(aggregate, id=aggregate_id), sorted(aggregate.hosts))
    return aggregate_id


def aggregates() -> list[NovaAggregate]:
    """All aggregates."""
    with _nova() as nova:
        return [
            NovaAggregate(int(a.id), a.name, frozenset(a.hosts), dict(a.metadata))
            for a in nova.aggregates.list()
        ]


def _id_of_aggregate(name: str) -> int | None:
    return next((each.id for each in aggregates() if each.name == name), None)


def hypervisor_ids() -> dict[str, str]:
    """The ids of all hypervisors, by hostname, in the microversion in which Blazar reads them."""
    with _nova(cfg.CONF.nova.nova_client_version) as nova:
        return {h.hypervisor_hostname: str(h.id) for h in nova.hypervisors.list()}


def add_hosts(aggregate: NovaAggregate, hosts: Iterable[str]) -> None:
    """Add hosts to an aggregate, one after the other.

    After each request, Nova sends its schedulers the aggregate as this request has seen it. If two
    hosts were added at once, the schedulers might end up with an aggregate that lacks one of the
    hosts.

    :param hosts: the host names of the hosts' compute services.
    :raises HostsGone: Nova doesn't have some of the compute services. All other hosts were added.
    """
    gone: dict[str, str] = {}
    for host in hosts:
        # Nova writes the host's aggregates to Placement. If two requests make Nova write them at
        # the same time, Placement refuses one of the writes, and Nova has to write again.
        with _locks.held(f"host {host}"), _nova() as nova, contextlib.suppress(nova_exc.Conflict):
            try:
                nova.aggregates.add_host(aggregate.id, host)
            except nova_exc.NotFound as error:
                # If Nova doesn't have the aggregate, this request is refused too.
                nova.aggregates.get(aggregate.id)
                gone[host] = str(error)
    if gone:
        said = texts.services.REFUSAL(said="; ".join(gone.values()))
        raise exceptions.HostsGone(_SERVICE, said, gone)


def keep_hosts(aggregate: NovaAggregate, hosts: Collection[str]) -> None:
    """Remove all hosts from an aggregate, except the given hosts of compute services."""
    with _nova() as nova, contextlib.suppress(nova_exc.NotFound):
        for host in nova.aggregates.get(aggregate.id).hosts:
            if host not in hosts:
                with contextlib.suppress(nova_exc.NotFound):
                    nova.aggregates.remove_host(aggregate.id, host)


def remove_aggregate(aggregate: NovaAggregate) -> None:
    """Remove all hosts from an aggregate, and delete the aggregate.

    If its id isn't known, it is looked for by its name.
    """
    aggregate_id = aggregate.id or _id_of_aggregate(aggregate.name)
    if aggregate_id is not None:
        keep_hosts(dataclasses.replace(aggregate, id=aggregate_id), ())
        with _nova() as nova, contextlib.suppress(nova_exc.NotFound):
            nova.aggregates.delete(aggregate_id)


def servers_on(flavor: NovaFlavor) -> list[str]:
    """The ids of all servers that are on the Nova flavor of a reservation."""
    if flavor.is_shared:
        of = str(flavor.reservation_id)
        return [server.id for server in servers_in(of, flavor.id, flavor.projects)]
    with _nova() as nova:
        servers = nova.servers.list(
            detailed=False, search_opts={"flavor": flavor.id, "all_tenants": 1}
        )
        return [server.id for server in servers]


def servers_of_host(service_name: str) -> list[Server]:
    """All servers on a host, in all projects."""
    return _servers(host=service_name)


def live_migrate(server_id: str) -> None:
    """Let Nova choose another host for a server that runs, and begin to migrate the server to it.

    :raises ServiceRefused: there is no such host, or the server doesn't run.
    """
    with _nova(_LIVE_MICROVERSION) as nova:
        nova.servers.live_migrate(server_id, None, "auto")


def servers_of_flavor(flavor_id: str) -> list[Server]:
    """All servers that are on a Nova flavor now, in all projects. Shelved servers are, too."""
    return _servers(flavor=flavor_id)


def servers_in(reservation_id: str, flavor_id: str, projects: Iterable[str]) -> list[Server]:
    """All servers that are on the Nova flavor of a reservation now. Shelved servers are, too.

    If a handle gives the Nova flavor to other reservations too, servers aren't looked for by its
    id, but by the extra specs that they have had since they were booted.

    :param projects: the projects that can use the Nova flavor.
    """
    if backing_names.is_own(flavor_id, reservation_id):
        return servers_of_flavor(flavor_id)
    listed = [each for project_id in projects for each in _servers(project_id=project_id)]
    return [server for server in listed if server.reservation_id == reservation_id]


def set_property(server_id: str, name: str, value: str | None) -> None:
    """Set a property of a server, or remove it.

    It is no matter if the server is gone, or is in a state in which Nova refuses this.
    """
    with _nova() as nova, contextlib.suppress(nova_exc.NotFound, nova_exc.Conflict):
        if value is None:
            nova.servers.delete_meta(server_id, [name])
        else:
            nova.servers.set_meta(server_id, {name: value})


def _servers(**search: str | int) -> list[Server]:
    with _nova(_SURVEY_MICROVERSION) as nova:
        listed = nova.servers.list(search_opts={"all_tenants": 1, **search}, limit=-1)
    return [_server(each.to_dict()) for each in listed]


def _server(shown: Mapping[str, Any]) -> Server:
    flavor = shown["flavor"]
    return Server(
        id=shown["id"],
        name=shown["name"],
        project_id=shown["tenant_id"],
        flavor=flavor["original_name"],
        # Nova's policy may leave them out.
        extra_specs=flavor.get("extra_specs", {}),
        status=shown["status"],
        service_name=shown.get("OS-EXT-SRV-ATTR:host"),
        properties=shown.get("metadata", {}),
        # Nova shows no image for a server that was booted from a volume.
        on_volume=not shown.get("image"),
    )


def migrations_from(service_name: str, wanted: Collection[str]) -> list[Migration]:
    """Those of the migrations away from a host that are wanted.

    Nova lists the newest first, and also those that were over long ago. So pages are read until
    everything is found.

    :param service_name: the host name of the compute service that the servers leave or have left.
    :param wanted: the ids of the migrations, or of evacuated servers.
    """
    found: list[Migration] = []
    missing, marker = set(wanted), None
    with _nova(_MIGRATIONS_MICROVERSION) as nova:
        while missing and (
            page := nova.migrations.list(source_compute=service_name, marker=marker, limit=_PAGE)
        ):
            for each in page:
                # The server itself holds what it had on a host from which it was evacuated.
                evacuated = each.migration_type == "evacuation" and each.instance_uuid in missing
                if each.uuid in missing or evacuated:
                    found.append(_migration(each))
            missing -= {key for move in found for key in (move.id, move.server_id)}
            marker = page[-1].uuid
    return found


def _migration(each: Any) -> Migration:
    return Migration(
        id=each.uuid,
        server_id=each.instance_uuid,
        type=each.migration_type,
        status=each.status,
        to=each.dest_compute,
    )


def confirm_move(server_id: str) -> None:
    """Request that a server's finished resize or cold migration is confirmed.

    It is no matter if its owner has confirmed or reverted it meanwhile, or if Nova can't do it now.
    """
    # BadRequest: there is no such move any more.
    with (
        _nova() as nova,
        contextlib.suppress(nova_exc.BadRequest, nova_exc.NotFound, nova_exc.Conflict),
    ):
        nova.servers.confirm_resize(server_id)


def create_image(server_id: str, name: str, properties: Mapping[str, str]) -> str:
    """Request an image of a server, and return the id of the image.

    The image belongs to the project of Blazar's service user, and Nova shares it with the server's
    project (``nova.compute.utils.initialize_instance_snapshot_metadata``). Nova goes on with the
    image after it has answered.
    """
    with _nova(_SURVEY_MICROVERSION) as nova:
        return str(nova.servers.create_image(server_id, name, dict(properties)))


def delete_server(server_id: str) -> None:
    """Request the deletion of a server, even if Nova is configured to keep deleted servers."""
    with _nova() as nova, contextlib.suppress(nova_exc.NotFound, nova_exc.Conflict):
        nova.servers.force_delete(server_id)


def delete_again(server_id: str) -> None:
    """Request the deletion of a server that is still there after an earlier request.

    While Nova is deleting a server, it ignores new requests to delete the server. If a deletion
    fails and Nova can't record the failure, Nova ignores all new requests too. So if the earlier
    deletion began more than ``times.NOVA_DELETION_FAILED_AFTER`` ago, this function resets the
    server's state before it sends the new request. If the earlier deletion is only slow, Nova still
    deletes the server.
    """
    with _nova() as nova, contextlib.suppress(nova_exc.NotFound):
        # Nova lists the latest action first. Its times are naive UTC.
        actions = nova.instance_action.list(server_id)
        began = next((a.start_time for a in actions if a.action == "delete"), None)
        if (
            began
            and datetime.datetime.fromisoformat(began)
            < timeutils.utcnow() - times.NOVA_DELETION_FAILED_AFTER
        ):
            LOG.warning(
                "Nova began to delete server %s at %s; requesting it anew", server_id, began
            )
            nova.servers.reset_state(server_id)
    delete_server(server_id)


def quota_of(project_id: str) -> dict[str, int]:
    """A project's limits on its servers, by Nova's names. -1 means unlimited."""
    with _nova() as nova:
        limits = nova.quotas.get(project_id)
        return {name: int(getattr(limits, name)) for name in _QUOTAS}


def zones() -> dict[str, str] | None:
    """The availability zone of each compute service's host, as Nova shows it to users.

    For a physical:host reservation, Blazar gives a host another zone until the reservation ends. A
    host that has only such a zone isn't in the result. The function reads Nova's list of services,
    because Nova's list of zones leaves out disabled hosts.

    :returns: None if ``[nova] az_aware`` is off. Without this option, Blazar records no zones.
    """
    conf = cfg.CONF
    if not conf.nova.az_aware:
        return None
    with _nova() as nova:
        services = nova.services.list(binary="nova-compute")
    prefix = conf["physical:host"].blazar_az_prefix
    # If a host is in several zones, Nova joins their names with commas.
    named = [(service.host, service.zone.split(",")) for service in services]
    own = {host: [z for z in zones if not z.startswith(prefix)] for host, zones in named}
    return {host: ",".join(zones) for host, zones in own.items() if zones}


def out_of_service() -> dict[str, str]:
    """The hosts on which Nova boots no server, by the host names of their compute services.

    :returns: why: "forced down", "disabled" or "down".
    """
    with _nova(_SERVICES_MICROVERSION) as nova:
        services = nova.services.list(binary="nova-compute")
    states = {service.host: _service_state(service) for service in services}
    return {host: state for host, state in states.items() if state != "up"}


def _service_state(service: Any) -> str:
    if service.forced_down:
        return "forced down"
    return "disabled" if service.status == "disabled" else str(service.state)


# The functions below search all of Nova for what belongs to reservations.


def flavors_of_reservations(*, with_projects: bool = True) -> tuple[NovaFlavor, ...]:
    """Every Nova flavor that belongs to a reservation.

    :param with_projects: whether to read the projects that may use it. Nova lists the flavors
        without their projects. So one more request is sent for each private flavor.
    """
    flavors = [f for f in _all_flavors() if f.name.startswith(backing_names.FLAVOR_PREFIX)]
    private = [f.id for f in flavors if with_projects and not f.is_public]
    with futures.ThreadPoolExecutor(_AT_ONCE) as pool:
        by_flavor = dict(zip(private, pool.map(_projects_of, private), strict=True))
    return tuple(
        NovaFlavor(
            id=f.id,
            name=f.name,
            vcpus=f.vcpus,
            ram=f.ram,
            disk=f.disk,
            ephemeral=f.ephemeral,
            is_public=f.is_public,
            extra_specs=f.to_dict().get("extra_specs", {}),
            projects=by_flavor.get(f.id, frozenset()),
        )
        for f in flavors
    )


def preemptible_flavors() -> frozenset[str]:
    """The ids of the Nova flavors whose servers give way to reservations."""
    with_specs = ((f.id, f.to_dict().get("extra_specs", {})) for f in _all_flavors())
    return frozenset(flavor_id for flavor_id, specs in with_specs if is_preemptible(specs))


def _all_flavors() -> Iterator[Any]:
    """All Nova flavors with their extra specs, be they public or not."""
    with _nova(_SURVEY_MICROVERSION) as nova:
        marker = None
        while page := nova.flavors.list(is_public=None, marker=marker, limit=_PAGE):
            yield from page
            marker = page[-1].id


def _projects_of(flavor_id: str) -> frozenset[str]:
    # NotFound: the flavor was deleted since it was listed.
    with _nova() as nova, contextlib.suppress(nova_exc.NotFound):
        return frozenset(access.tenant_id for access in nova.flavor_access.list(flavor=flavor_id))
    return frozenset()


def servers(changed_since: datetime.datetime | None = None) -> tuple[Server, ...]:
    """The servers of all projects, also those whose Nova flavor was deleted.

    :param changed_since: leave out servers that haven't changed since this time, in naive UTC.
    """
    search = {}
    if changed_since is not None:
        search["changes-since"] = f"{changed_since.isoformat(timespec='seconds')}Z"
    # With "changes-since", Nova lists deleted servers too.
    return tuple(each for each in _servers(**search) if each.status != "DELETED")


def every_server() -> list[Server]:
    """All servers of all projects.

    :raises ServiceUnavailable: also if a part of Nova doesn't answer, so that its servers aren't
        known.
    """
    with _nova(_CELLS_MICROVERSION) as nova:
        listed = nova.servers.list(search_opts={"all_tenants": 1}, limit=-1)
    shown = [server.to_dict() for server in listed]
    if any("flavor" not in each for each in shown):
        raise exceptions.ServiceUnavailable(_SERVICE, texts.services.CELL())
    return [_server(each) for each in shown]


def flavor(flavor_id: str) -> dict[str, Any]:
    """A Nova flavor with its extra specs, in the form in which Blazar records it.

    :raises ServiceRefused: there is no such flavor.
    """
    with _nova(_SURVEY_MICROVERSION) as nova:
        found: dict[str, Any] = nova.flavors.get(flavor_id).to_dict()
    return {name: value for name, value in found.items() if name != "links"}
