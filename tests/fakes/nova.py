"""A fake Nova: flavors, aggregates, servers, migrations and server groups of its API 2.1."""

import re
import uuid
from typing import Any

from oslo_utils import timeutils

from tests.fakes.glance import Glance
from tests.fakes.keystone import Guarded, Keystone
from tests.fakes.placement import Placement
from tests.fakes.service import Answer, Refusal, Request

#: What Nova shows of each flavor, whoever has made it.
_USUAL = {
    **{"swap": "", "rxtx_factor": 1.0, "OS-FLV-DISABLED:disabled": False},
    "os-flavor-access:is_public": True,
}


class Nova(Guarded):
    """A Nova whose flavors, aggregates and servers are dicts by id."""

    routes = (
        ("POST", "/v2.1/flavors", "create_flavor"),
        ("GET", "/v2.1/flavors/detail", "list_flavors"),
        ("GET", "/v2.1/flavors/([^/]+)/os-flavor-access", "list_access"),
        ("GET", "/v2.1/flavors/([^/]+)", "show_flavor"),
        ("DELETE", "/v2.1/flavors/([^/]+)", "delete_flavor"),
        ("POST", "/v2.1/flavors/([^/]+)/os-extra_specs", "set_extra_specs"),
        ("POST", "/v2.1/flavors/([^/]+)/action", "act_on_flavor"),
        ("GET", "/v2.1/os-aggregates", "list_aggregates"),
        ("POST", "/v2.1/os-aggregates", "create_aggregate"),
        ("GET", "/v2.1/os-aggregates/([0-9]+)", "show_aggregate"),
        ("DELETE", "/v2.1/os-aggregates/([0-9]+)", "delete_aggregate"),
        ("POST", "/v2.1/os-aggregates/([0-9]+)/action", "act_on_aggregate"),
        ("GET", "/v2.1/os-services", "list_services"),
        ("GET", "/v2.1/os-quota-sets/([^/]+)", "show_quota"),
        ("GET", "/v2.1/os-hypervisors(?:/detail)?", "list_hypervisors"),
        ("GET", "/v2.1/os-hypervisors/([^/]+)/(search|servers)", "search_hypervisors"),
        ("GET", "/v2.1/os-hypervisors/([^/]+)", "show_hypervisor"),
        ("GET", "/v2.1/os-availability-zone/detail", "list_zones"),
        ("GET", "/v2.1/servers(?:/detail)?", "list_servers"),
        ("GET", "/v2.1/os-migrations", "list_migrations"),
        ("DELETE", "/v2.1/servers/([^/]+)", "delete_server"),
        ("POST", "/v2.1/servers/([^/]+)/metadata", "set_metadata_of_server"),
        ("DELETE", "/v2.1/servers/([^/]+)/metadata/([^/]+)", "delete_metadata_of_server"),
        ("POST", "/v2.1/servers/([^/]+)/action", "act_on_server"),
        ("GET", "/v2.1/servers/([^/]+)/os-instance-actions", "list_actions"),
        ("GET", "/v2.1/flavors/([^/]+)/os-extra_specs", "show_extra_specs"),
        ("POST", "/v2.1/os-server-groups", "create_server_group"),
        ("DELETE", "/v2.1/os-server-groups/([^/]+)", "delete_server_group"),
    )

    def __init__(self, keystone: Keystone, glance: Glance, placement: Placement) -> None:
        super().__init__(keystone)
        self._glance = glance
        self._placement = placement
        #: Flavors as they were created, with "extra_specs", "access" (project ids) and "number".
        self.flavors: dict[str, dict[str, Any]] = {}
        #: Aggregates with "name", "hosts" and "metadata".
        self.aggregates: dict[int, dict[str, Any]] = {}
        #: Servers with "flavor", "number", "flavor_name" and "project_id".
        self.servers: dict[str, dict[str, Any]] = {}
        #: Migrations by their uuids, as the API shows them, with the server's former "flavor".
        self.migrations: dict[str, dict[str, Any]] = {}
        #: The host names of compute services that are down.
        self.down: set[str] = set()
        #: Server groups as they were created, by id.
        self.server_groups: dict[str, Any] = {}
        #: The host names of compute services.
        self.hosts: set[str] = set()
        #: How the compute services of hosts differ from "up" and "enabled", by host name.
        self.services: dict[str, dict[str, Any]] = {}
        #: The ids of hypervisors by hostname.
        self.hypervisors: dict[str, str] = {}
        #: The ids of servers by the hostname of their hypervisor, for those who ask by it.
        self.servers_on: dict[str, set[str]] = {}
        #: The zones of hosts that aren't in the default zone, "nova".
        self.zones: dict[str, str] = {}
        #: The quotas of projects that have one, by project id. All others have no limits.
        self.quotas: dict[str, dict[str, int]] = {}
        #: The ids of servers in a cell that doesn't answer.
        self.unreachable: set[str] = set()
        #: Whether migrations fail after they have begun.
        self.migrations_fail = False
        #: Whether servers stay after their deletion was requested.
        self.servers_stay = False
        #: Whether deletions fail in a way that leaves their servers in the state "deleting".
        self.deletions_fail = False
        self.last_id = 0

    def _next_id(self) -> int:
        """A number that no object has. Tests may have added aggregates with larger numbers."""
        self.last_id += 1
        while self.last_id in self.aggregates:
            self.last_id += 1
        return self.last_id

    def boot(
        self,
        flavor_id: str,
        project_id: str,
        name: str = "server",
        *,
        on_volume: bool = False,
        host: str | None = None,
    ) -> str:
        """Boot a server as a user of the project would, and return its id.

        :param on_volume: whether its disk is a volume.
        :param host: where it runs. None: it takes nothing in Placement.
        """
        server_id = str(uuid.uuid4())
        with self.lock:
            known = self._visible(flavor_id, project_id)
            if host is not None:
                self._placement.allocate(server_id, project_id, self._needs(known, host))
            self.servers[server_id] = {
                **_as_of(flavor_id, known),
                "project_id": project_id,
                "name": name,
                "image": "" if on_volume else {"id": "image"},
                "host": host,
            }
        return server_id

    def _visible(self, flavor_id: str, project_id: str) -> dict[str, Any]:
        """A flavor, if a project may use it."""
        known = self.flavors[flavor_id]
        if not known.get("os-flavor-access:is_public") and project_id not in known["access"]:
            raise AssertionError(f"Nova lets {project_id} see no flavor {flavor_id}")
        return known

    def _needs(self, known: dict[str, Any], host: str) -> dict[str, dict[str, int]]:
        """What a server of a flavor takes of a host's providers, by their names."""
        asked = {"VCPU": known["vcpus"], "MEMORY_MB": known["ram"], "DISK_GB": known["disk"]}
        for key, value in known["extra_specs"].items():
            if key.startswith("resources:"):
                asked[key.removeprefix("resources:")] = int(value)
        needs: dict[str, dict[str, int]] = {}
        for name in (host, f"blazar_{host}"):
            provider = self._placement.named(name)
            has = provider["inventories"] if provider else {}
            if taken := {cls: n for cls, n in asked.items() if n and cls in has}:
                needs[name] = taken
        wanted = {
            k.removeprefix("trait:") for k, v in known["extra_specs"].items() if v == "required"
        }
        root = self._placement.named(host) or {"traits": []}
        assert wanted <= set(root["traits"]), "No valid host was found"
        if missing := [cls for cls in asked if cls.startswith("CUSTOM_RESERVATION_")]:
            assert missing[0] in needs.get(f"blazar_{host}", {}), "No valid host was found"
        return needs

    def make_flavor(self, name: str, extra_specs: dict[str, str] | None = None) -> str:
        """Make a public flavor of 1 VCPU, as an operator would, and return its id."""
        flavor_id = str(uuid.uuid4())
        self.flavors[flavor_id] = {
            **{"id": flavor_id, "name": name, "vcpus": 1, "ram": 0, "disk": 0},
            **{"OS-FLV-EXT-DATA:ephemeral": 0, "os-flavor-access:is_public": True},
            **{"extra_specs": extra_specs or {}, "access": set(), "number": self._next_id()},
        }
        return flavor_id

    def move(self, server_id: str, host: str, flavor_id: str | None = None) -> str:
        """Resize a server, or migrate it cold, and return the uuid of the migration.

        Until it is confirmed, the migration holds what the server had on its former host.
        """
        with self.lock:
            server = self.servers[server_id]
            known = self._visible(flavor_id or server["flavor"], server["project_id"])
            migration_id = str(uuid.uuid4())
            needs = self._needs(known, host)
            self._placement.hand_over(server_id, migration_id)
            try:
                self._placement.allocate(server_id, server["project_id"], needs)
            except Refusal:
                self._placement.hand_over(migration_id, server_id)
                raise
            self.migrations[migration_id] = {
                "id": self._next_id(),
                "uuid": migration_id,
                "instance_uuid": server_id,
                "migration_type": "resize" if flavor_id else "migration",
                "status": "finished",
                **{"source_compute": server["host"], "source_node": server["host"]},
                **{"dest_compute": host, "dest_node": host, "dest_host": "127.0.0.1"},
                "created_at": timeutils.utcnow().isoformat(),
                "flavor": {key: server[key] for key in _as_of(server["flavor"], known)},
            }
            moved = _as_of(flavor_id or server["flavor"], known)
            server.update(moved, host=host, status="VERIFY_RESIZE")
        return migration_id

    def revert(self, server_id: str) -> None:
        """Take a move back that isn't confirmed, as the server's owner can."""
        with self.lock:
            migration = self._unconfirmed(server_id)
            self._placement.free(server_id)
            self._placement.hand_over(migration["uuid"], server_id)
            migration["status"] = "reverted"
            former = migration["flavor"]
            self.servers[server_id].update(
                former, host=migration["source_compute"], status="ACTIVE"
            )

    def shelve(self, server_id: str) -> None:
        """Shelve a server and take it off its host."""
        with self.lock:
            self._placement.free(server_id)
            self.servers[server_id].update(host=None, status="SHELVED_OFFLOADED")

    def _unconfirmed(self, server_id: str) -> dict[str, Any]:
        """The migration of a server that can be confirmed or reverted."""
        for migration in self.migrations.values():
            if (migration["instance_uuid"], migration["status"]) == (server_id, "finished"):
                return migration
        raise Refusal(400, "Instance has not been resized.")

    def _confirm(self, server_id: str, server: dict[str, Any]) -> None:
        if server.get("status") != "VERIFY_RESIZE":
            raise Refusal(409, "Cannot 'confirmResize' instance while it is in vm_state active")
        migration = self._unconfirmed(server_id)
        if migration["source_compute"] in self.down:
            raise Refusal(409, "Service is unavailable at this time.")
        migration["status"] = "confirmed"
        self._placement.free(migration["uuid"])
        server["status"] = "ACTIVE"

    def list_migrations(self, request: Request) -> Answer:
        """List migrations with their uuids, the newest first, as from microversion 2.59 on."""
        version = request.headers.get("openstack-api-version", "compute 2.1").split()[-1]
        if tuple(map(int, version.split("."))) < (2, 59):
            raise Refusal(400, "before microversion 2.59, the fake lists no migrations")
        filters = {"source_compute", "status", "migration_type", "instance_uuid"}
        if unknown := request.query.keys() - filters - {"marker", "limit"}:
            raise Refusal(400, f"Additional properties are not allowed ({unknown})")
        ids = list(reversed(self.migrations))
        first = ids.index(request.query["marker"]) + 1 if "marker" in request.query else 0
        found = [
            {key: value for key, value in self.migrations[i].items() if key != "flavor"}
            for i in ids[first:]
            if all(self.migrations[i][f] == v for f, v in request.query.items() if f in filters)
        ]
        return Answer(200, {"migrations": found[: int(request.query.get("limit", 1000))]})

    def scheduled_hosts(self, flavor_id: str, project_id: str) -> set[str]:
        """The hosts that Nova's scheduler leaves because of aggregates, with every option on.

        The rules are those of Nova 34: ``passing_hosts``, AggregateMultiTenancyIsolation, and the
        pre-filters ``isolate_aggregates`` and ``require_tenant_aggregate``. This last one looks for
        aggregates in which a project's id is the whole value of a key. The filter divides values at
        commas.
        """
        specs = self.flavors[flavor_id]["extra_specs"]
        required = {key for key, value in specs.items() if value == "required"}
        hosts, own = self.passing_hosts(flavor_id), set()
        for aggregate in self.aggregates.values():
            metadata = aggregate["metadata"]
            isolating = {k for k, v in metadata.items() if k[:6] == "trait:" and v == "required"}
            if isolating - required:
                hosts -= set(aggregate["hosts"])
            if project_id in self._tenants(metadata):
                own |= {"its aggregate", *aggregate["hosts"]}
        if own:
            hosts &= own
        return {host for host in hosts if self._may_use(host, project_id)}

    def _may_use(self, host: str, project_id: str) -> bool:
        """Whether AggregateMultiTenancyIsolation lets a project use a host."""
        named = {
            each.strip()
            for aggregate in self.aggregates.values()
            if host in aggregate["hosts"]
            for value in self._tenants(aggregate["metadata"])
            for each in value.split(",")
        }
        return not named or project_id in named

    def _tenants(self, metadata: dict[str, str]) -> list[str]:
        return [value for key, value in metadata.items() if key.startswith("filter_tenant_id")]

    def passing_hosts(self, flavor_id: str) -> set[str]:
        """The hosts that AggregateInstanceExtraSpecsFilter leaves for servers of a flavor.

        The rule is that of Nova 34: a key is looked for in the metadata of the host's aggregates if
        it has no colon, or after the prefix ``aggregate_instance_extra_specs:``. Values in metadata
        are divided at commas. Of the operators, only ``<or>`` is known here.
        """
        wanted = {}
        for key, value in self.flavors[flavor_id]["extra_specs"].items():
            scope, _, name = key.rpartition(":")
            if scope in ("", "aggregate_instance_extra_specs"):
                wanted[name] = set(value.split()[1::2]) if value.startswith("<or>") else {value}
        return {
            host
            for host in self.hosts
            if all(choices & self._told(host, key) for key, choices in wanted.items())
        }

    def _told(self, host: str, key: str) -> set[str]:
        """The values that a key has in the metadata of a host's aggregates."""
        texts = [a["metadata"].get(key) for a in self.aggregates.values() if host in a["hosts"]]
        return {value.strip() for text in texts if text is not None for value in text.split(",")}

    def _flavor(self, flavor_id: str) -> dict[str, Any]:
        if flavor_id not in self.flavors:
            raise Refusal(404, f"Flavor {flavor_id} could not be found.")
        return self.flavors[flavor_id]

    def create_flavor(self, request: Request) -> Answer:
        flavor = request.body["flavor"]
        flavor_id = flavor["id"]
        taken = {f["name"] for f in self.flavors.values()} | set(self.flavors)
        if {flavor_id, flavor["name"]} & taken:
            raise Refusal(409, f"Flavor with ID {flavor_id} already exists.")
        # Nova finds a flavor's servers by a number that it gives the flavor. If the flavor is
        # deleted and made again with the same id, its number is a different one.
        number = self._next_id()
        self.flavors[flavor_id] = {**flavor, "extra_specs": {}, "access": set(), "number": number}
        return self._shown(flavor_id)

    def show_flavor(self, request: Request, flavor_id: str) -> Answer:
        self._flavor(flavor_id)
        return self._shown(flavor_id)

    def _shown(self, flavor_id: str) -> Answer:
        known = {**_USUAL, **self.flavors[flavor_id]}
        shown = {k: v for k, v in known.items() if k not in ("extra_specs", "access", "number")}
        return Answer(200, {"flavor": {**shown, "links": []}})

    def list_flavors(self, request: Request) -> Answer:
        """List flavors with extra specs, as from microversion 2.61 on, after the ``marker``."""
        ids = list(self.flavors)
        marker = request.query.get("marker")
        first = ids.index(marker) + 1 if marker else 0
        page = ids[first : first + int(request.query.get("limit", 1000))]
        shown = []
        for flavor_id in page:
            known = self.flavors[flavor_id]
            entry = {k: v for k, v in known.items() if k not in ("access", "number")}
            shown.append({**entry, "description": None, "links": []})
        return Answer(200, {"flavors": shown})

    def list_access(self, request: Request, flavor_id: str) -> Answer:
        access = sorted(self._flavor(flavor_id)["access"])
        shown = [{"flavor_id": flavor_id, "tenant_id": project_id} for project_id in access]
        return Answer(200, {"flavor_access": shown})

    def delete_flavor(self, request: Request, flavor_id: str) -> Answer:
        self._flavor(flavor_id)
        del self.flavors[flavor_id]
        return Answer(202)

    def set_extra_specs(self, request: Request, flavor_id: str) -> Answer:
        specs = request.body["extra_specs"]
        version = request.headers.get("openstack-api-version", "compute 2.1").split()[-1]
        if tuple(map(int, version.split("."))) >= (2, 86):
            _check_specs(specs)
        self._flavor(flavor_id)["extra_specs"].update(specs)
        return Answer(200, {"extra_specs": specs})

    def show_extra_specs(self, request: Request, flavor_id: str) -> Answer:
        return Answer(200, {"extra_specs": self._flavor(flavor_id)["extra_specs"]})

    def create_server_group(self, request: Request) -> Answer:
        group = {"id": str(uuid.uuid4()), **request.body["server_group"]}
        self.server_groups[group["id"]] = group
        return Answer(200, {"server_group": group})

    def delete_server_group(self, request: Request, group_id: str) -> Answer:
        if self.server_groups.pop(group_id, None) is None:
            raise Refusal(404, f"Instance group {group_id} could not be found.")
        return Answer(204)

    def act_on_flavor(self, request: Request, flavor_id: str) -> Answer:
        access = self._flavor(flavor_id)["access"]
        (action, values), *_ = request.body.items()
        project_id = values["tenant"]
        if action == "addTenantAccess":
            if project_id in access:
                raise Refusal(409, "Flavor access already exists")
            access.add(project_id)
        else:
            if project_id not in access:
                raise Refusal(404, "Flavor access not found")
            access.remove(project_id)
        shown = [{"flavor_id": flavor_id, "tenant_id": p} for p in access]
        return Answer(200, {"flavor_access": shown})

    def _aggregate(self, aggregate_id: str) -> dict[str, Any]:
        if int(aggregate_id) not in self.aggregates:
            raise Refusal(404, f"Aggregate {aggregate_id} could not be found.")
        return self.aggregates[int(aggregate_id)]

    def create_aggregate(self, request: Request) -> Answer:
        name = request.body["aggregate"]["name"]
        if name in (a["name"] for a in self.aggregates.values()):
            raise Refusal(409, f"Aggregate {name} already exists.")
        aggregate_id = self._next_id()
        made = {"id": aggregate_id, "name": name, "hosts": [], "metadata": {}}
        self.aggregates[aggregate_id] = made
        return Answer(200, {"aggregate": made})

    def list_aggregates(self, request: Request) -> Answer:
        return Answer(200, {"aggregates": list(self.aggregates.values())})

    def show_aggregate(self, request: Request, aggregate_id: str) -> Answer:
        return Answer(200, {"aggregate": self._aggregate(aggregate_id)})

    def delete_aggregate(self, request: Request, aggregate_id: str) -> Answer:
        if self._aggregate(aggregate_id)["hosts"]:
            raise Refusal(400, "Cannot remove: the aggregate is not empty")
        del self.aggregates[int(aggregate_id)]
        return Answer(200)

    def act_on_aggregate(self, request: Request, aggregate_id: str) -> Answer:
        aggregate = self._aggregate(aggregate_id)
        (action, values), *_ = request.body.items()
        getattr(self, f"_{action}")(aggregate, values)
        return Answer(200, {"aggregate": aggregate})

    def _set_metadata(self, aggregate: dict[str, Any], values: dict[str, Any]) -> None:
        aggregate["metadata"].update(values["metadata"])

    def _add_host(self, aggregate: dict[str, Any], values: dict[str, Any]) -> None:
        if values["host"] not in self.hosts:
            raise Refusal(404, f"Compute host {values['host']} could not be found.")
        if values["host"] in aggregate["hosts"]:
            raise Refusal(409, "The host is in the aggregate already")
        aggregate["hosts"].append(values["host"])

    def _remove_host(self, aggregate: dict[str, Any], values: dict[str, Any]) -> None:
        if values["host"] not in aggregate["hosts"]:
            raise Refusal(404, "The host is not in the aggregate")
        aggregate["hosts"].remove(values["host"])

    def list_hypervisors(self, request: Request) -> Answer:
        shown = [{"id": i, "hypervisor_hostname": name} for name, i in self.hypervisors.items()]
        return Answer(200, {"hypervisors": shown})

    def search_hypervisors(self, request: Request, pattern: str, what: str) -> Answer:
        """The hypervisors with a text in their names, which are also the names of services."""
        found: list[dict[str, Any]] = [
            {"id": i, "hypervisor_hostname": name}
            for name, i in self.hypervisors.items()
            if pattern in name
        ]
        if not found:
            raise Refusal(404, "No hypervisor matching")
        for hypervisor in found if what == "servers" else []:
            if servers := self.servers_on.get(hypervisor["hypervisor_hostname"]):
                hypervisor["servers"] = [{"uuid": i} for i in servers]
        return Answer(200, {"hypervisors": found})

    def show_hypervisor(self, request: Request, hypervisor_id: str) -> Answer:
        for name, known_id in self.hypervisors.items():
            if str(known_id) == hypervisor_id:
                shown = {
                    **{"id": known_id, "hypervisor_hostname": name, "service": {"host": name}},
                    **{"vcpus": 8, "memory_mb": 8192, "local_gb": 100, "cpu_info": "{}"},
                    **{"hypervisor_type": "fake", "hypervisor_version": 1},
                }
                return Answer(200, {"hypervisor": shown})
        raise Refusal(404, "No such hypervisor")

    def list_zones(self, request: Request) -> Answer:
        shown = [
            {
                "zoneName": zone,
                "zoneState": {"available": True},
                "hosts": {h: {"nova-compute": {}} for h in self.hosts if self._zone(h) == zone},
            }
            for zone in sorted({self._zone(host) for host in self.hosts})
        ]
        return Answer(200, {"availabilityZoneInfo": shown})

    def _zone(self, host: str) -> str:
        return self.zones.get(host, "nova")

    def list_services(self, request: Request) -> Answer:
        if request.query.get("binary") != "nova-compute":
            raise Refusal(400, "the fake lists compute services only")
        shown = [
            {
                "id": number,
                "binary": "nova-compute",
                "host": host,
                "zone": self._zone(host),
                "status": "enabled",
                "state": "up",
                "forced_down": False,
                **self.services.get(host, {}),
            }
            for number, host in enumerate(sorted(self.hosts))
        ]
        return Answer(200, {"services": shown})

    def show_quota(self, request: Request, project_id: str) -> Answer:
        shown = {"id": project_id, "instances": -1, "cores": -1, "ram": -1, "key_pairs": 100}
        return Answer(200, {"quota_set": {**shown, **self.quotas.get(project_id, {})}})

    def list_servers(self, request: Request) -> Answer:
        flavor_id = request.query.get("flavor")
        if "all_tenants" not in request.query:
            raise Refusal(400, "the fake lists the servers of all projects only")
        # Nova finds no servers of a flavor that was deleted.
        if flavor_id is not None and flavor_id not in self.flavors:
            return Answer(200, {"servers": []})
        servers = [
            {
                "id": i,
                "name": server.get("name", i),
                "image": server.get("image", {"id": "image"}),
                "links": [],
                "status": server.get("status", "ACTIVE"),
                "tenant_id": server.get("project_id"),
                "OS-EXT-SRV-ATTR:host": server.get("host"),
                "metadata": server.get("metadata", {}),
                "flavor": {
                    "original_name": server.get("flavor_name", ""),
                    "extra_specs": server.get("extra_specs", {}),
                },
            }
            for i, server in self.servers.items()
            if flavor_id in (None, server["flavor"])
            and (flavor_id is None or server.get("number") == self.flavors[flavor_id].get("number"))
            and request.query.get("host") in (None, server.get("host"))
            and request.query.get("project_id") in (None, server.get("project_id"))
            and "marker" not in request.query
        ]
        if "host" in request.query:
            self._finish_migrations()
        if "2.69" in request.headers.get("openstack-api-version", ""):
            partial = {"links": [], "status": "UNKNOWN"}
            servers = [
                {"id": s["id"], **partial} if s["id"] in self.unreachable else s for s in servers
            ]
        else:
            servers = [server for server in servers if server["id"] not in self.unreachable]
        return Answer(200, {"servers": servers})

    def _finish_migrations(self) -> None:
        """Finish live migrations after those who follow them have seen them once."""
        for server_id, server in self.servers.items():
            if (to := server.pop("to", None)) is None:
                continue
            migration_id = server.pop("migration")
            if self.migrations_fail:
                self._placement.free(server_id)
                self._placement.hand_over(migration_id, server_id)
            else:
                self._placement.free(migration_id)
                server["host"] = to
            server["status"] = "ACTIVE"

    def _migrate_live(self, server_id: str, server: dict[str, Any]) -> None:
        """Choose a host before the answer, as Nova does up to microversion 2.33."""
        if server.get("status", "ACTIVE") not in ("ACTIVE", "PAUSED"):
            # The state of a server that is shut off is "stopped".
            raise Refusal(
                409, f"Cannot 'os-migrateLive' instance {server_id} while it is in vm_state stopped"
            )
        known = self._visible(server["flavor"], server["project_id"])
        migration_id = str(uuid.uuid4())
        self._placement.hand_over(server_id, migration_id)
        for host in sorted(self.hosts - {server["host"]}):
            try:
                needs = self._needs(known, host)
                self._placement.allocate(server_id, server["project_id"], needs)
            except (Refusal, AssertionError):
                continue
            server |= {"status": "MIGRATING", "to": host, "migration": migration_id}
            return
        self._placement.hand_over(migration_id, server_id)
        raise Refusal(400, "No valid host was found. There are not enough hosts available.")

    def delete_server(self, request: Request, server_id: str) -> Answer:
        if server_id not in self.servers:
            raise Refusal(404, f"Instance {server_id} could not be found.")
        self._forget(server_id)
        return Answer(204)

    def set_metadata_of_server(self, request: Request, server_id: str) -> Answer:
        if server_id not in self.servers:
            raise Refusal(404, f"Instance {server_id} could not be found.")
        metadata = self.servers[server_id].setdefault("metadata", {})
        metadata.update(request.body["metadata"])
        return Answer(200, {"metadata": metadata})

    def delete_metadata_of_server(self, request: Request, server_id: str, key: str) -> Answer:
        if key not in self.servers.get(server_id, {}).get("metadata", {}):
            raise Refusal(404, "Metadata item was not found")
        del self.servers[server_id]["metadata"][key]
        return Answer(204)

    def act_on_server(self, request: Request, server_id: str) -> Answer:
        if server_id not in self.servers:
            raise Refusal(404, f"Instance {server_id} could not be found.")
        server = self.servers[server_id]
        match request.body:
            case {"forceDelete": _}:
                self._delete(server_id, server)
            case {"confirmResize": _}:
                self._confirm(server_id, server)
                return Answer(204)
            case {"os-resetState": {"state": "error"}}:
                server["deleting"] = False
            case {"os-migrateLive": {"host": None, "block_migration": "auto"}}:
                self._migrate_live(server_id, server)
            case {"createImage": image}:
                return self._create_image(server_id, server, image)
            case _:
                raise Refusal(400, "the fake doesn't know this action")
        return Answer(202)

    def _create_image(self, server_id: str, server: dict[str, Any], image: Any) -> Answer:
        """Begin an image of a server, unless its state forbids that or one is being made."""
        images = self._glance.images
        if (status := server.get("status", "ACTIVE")) not in _WITH_IMAGES:
            raise Refusal(409, f"Cannot 'createImage' instance {server_id} while it is {status}")
        if images.get(server.get("saving"), {}).get("status") == "queued" or server.get("deleting"):
            raise Refusal(409, "Cannot 'createImage' instance while it is in task_state")
        server["saving"] = self._glance.add(
            name=image["name"], instance_uuid=server_id, **image["metadata"]
        )
        return Answer(202, {"image_id": server["saving"]})

    def _delete(self, server_id: str, server: dict[str, Any]) -> None:
        """Delete a server, unless it is being deleted: then the request is ignored."""
        if server.get("deleting"):
            return
        now = timeutils.utcnow().isoformat(timespec="microseconds")
        server.setdefault("actions", []).insert(0, {"action": "delete", "start_time": now})
        if self.deletions_fail:
            server["deleting"] = True
        elif not self.servers_stay:
            self._forget(server_id)
            self._glance.forget_server(server_id)

    def _forget(self, server_id: str) -> None:
        """Delete a server. Nova confirms its move before."""
        self._placement.free(server_id)
        for migration in self.migrations.values():
            if (migration["instance_uuid"], migration["status"]) == (server_id, "finished"):
                migration["status"] = "confirmed"
                self._placement.free(migration["uuid"])
        del self.servers[server_id]

    def list_actions(self, request: Request, server_id: str) -> Answer:
        if server_id not in self.servers:
            raise Refusal(404, f"Instance {server_id} could not be found.")
        return Answer(200, {"instanceActions": self.servers[server_id].get("actions", [])})


#: The statuses of servers of which Nova makes images.
_WITH_IMAGES = ("ACTIVE", "SHUTOFF", "PAUSED", "SUSPENDED")


def _as_of(flavor_id: str, known: dict[str, Any]) -> dict[str, Any]:
    """What a server keeps of its flavor, even if the flavor is deleted."""
    return {
        "flavor": flavor_id,
        "number": known.get("number"),
        "flavor_name": known["name"],
        "extra_specs": dict(known["extra_specs"]),
    }


#: The extra specs in the namespace ``hw`` that tests use; the real Nova knows more. It accepts any
#: key in namespaces that aren't its own.
_HW = re.compile(
    r"hw:(cpu_(policy|thread_policy|sockets|cores|threads|realtime|realtime_mask|dedicated_mask)"
    r"|emulator_threads_policy|hide_hypervisor_id|locked_memory|maxphysaddr_mode|mem_encryption"
    r"|mem_encryption_model|mem_page_size|numa_nodes|pci_numa_affinity_policy|pmem|sound_model"
    r"|tpm_model|tpm_version|tpm_secret_security|virtio_packed_ring|watchdog_action)\Z"
)


def _check_specs(specs: dict[str, str]) -> None:
    for key, value in specs.items():
        if key == "hw:mem_page_size" and value == "huge":
            raise Refusal(400, "Validation failed; 'huge' is not of the format '(large|small|any'.")
        if key.startswith("hw:") and not _HW.match(key):
            raise Refusal(
                400, f"Validation failed; extra spec '{key}' does not appear to be a valid one."
            )
