"""A fake cloud in this process, with the parts of the services that clients use.

The package's real clients talk to it over HTTP. Tests inspect its dicts, and make its services
fail.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

import oslo_limit.limit  # noqa: F401 - registers its options
from keystoneauth1 import loading

from tests.fakes.cyborg import Cyborg
from tests.fakes.glance import Glance
from tests.fakes.keystone import Keystone
from tests.fakes.nova import Nova
from tests.fakes.placement import Placement
from warre_blazar.openstack import caches, placement_mark

#: The options of [oslo_limit] that are registered only when oslo.limit logs in.
LOGIN_OPTIONS = loading.get_auth_plugin_conf_options("password")


class Cloud:
    """Keystone, Nova, Glance, Placement and Cyborg, each on a port of its own.

    Cyborg isn't in the catalog until a test calls ``install_cyborg``.
    """

    def __init__(self) -> None:
        self.keystone = Keystone()
        self.glance = Glance(self.keystone)
        self.placement = Placement(self.keystone)
        self.nova = Nova(self.keystone, self.glance, self.placement)
        self.cyborg = Cyborg(self.keystone)
        self.services = (self.keystone, self.nova, self.glance, self.placement, self.cyborg)
        self.keystone.endpoints = {
            "identity": self.keystone.url + "/v3",
            "compute": self.nova.url + "/v2.1",
            "placement": self.placement.url,
            "image": self.glance.url,
            "reservation": "http://blazar.example/reservation/v1",
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        for service in self.services:
            service.mend()
            service.stop()

    def configure(self, set_option: Callable[..., Any]) -> None:
        """Configure the package's clients to use this cloud.

        :param set_option: called as ``set_option(name, value, group)`` for each option.
        """
        for name, value in {**self.options(), **self.limit_options()}.items():
            group, _, option = name.rpartition(".")
            set_option(option, value, group or None)

    def options(self) -> dict[str, str]:
        """The values of Blazar's options for this cloud, by ``group.name``."""
        return {
            "os_auth_host": "127.0.0.1",
            "os_auth_port": str(self.keystone.port),
            "os_admin_username": "blazar",
            "os_admin_password": self.keystone.password,
            "os_admin_project_name": "service",
            "os_region_name": "RegionOne",
        }

    def limit_options(self) -> dict[str, str]:
        """The values of oslo.limit's options for this cloud, by ``group.name``."""
        return {f"oslo_limit.{k}": v for k, v in self.keystone.limit_options().items()}

    def install_cyborg(self, **profiles: Any) -> None:
        """Put Cyborg into the catalog, with these device profiles: groups by name."""
        self.cyborg.profiles = dict(profiles)
        self.keystone.endpoints["accelerator"] = self.cyborg.url
        caches.forget()

    def remove_cyborg(self) -> None:
        """Take Cyborg out of the catalog again."""
        self.cyborg.body = None
        if self.keystone.endpoints.pop("accelerator", None):
            caches.forget()

    def add_host(
        self, name: str, *traits: str, inventories: Mapping[str, Mapping[str, Any]] | None = None
    ) -> str:
        """Add a compute host, with Blazar's provider below the host's own in Placement.

        :param inventories: by resource class, what the host has, in Placement's terms.
        :returns: the id of the host's own provider.
        """
        self.nova.hosts.add(name)
        provider_id = self.placement.add_provider(name, None, *traits)
        self.placement.providers[provider_id]["inventories"].update(inventories or {})
        self.placement.add_provider(f"blazar_{name}", provider_id)
        return provider_id

    def add_freepool(self, *hosts: str) -> None:
        """Add the aggregate of the hosts that are kept for bookings."""
        aggregate = {"id": 1000, "name": "freepool", "hosts": list(hosts), "metadata": {}}
        self.nova.aggregates[1000] = aggregate

    def delete_service(self, name: str) -> None:
        """Delete a host's compute service in Nova.

        Nova takes the host out of all aggregates, and deletes its resource providers with those
        below them.
        """
        self.nova.hosts.discard(name)
        self.nova.hypervisors.pop(name, None)
        for aggregate in self.nova.aggregates.values():
            if name in aggregate["hosts"]:
                aggregate["hosts"].remove(name)
        self.placement.remove_tree(name)

    def start_service(self, name: str, host_id: str, inventories: Mapping[str, Any]) -> None:
        """Start a host's compute service anew, after it was deleted."""
        self.nova.hosts.add(name)
        self.nova.hypervisors[name] = host_id
        self.placement.add_provider(name, None)
        self.placement.named(name)["inventories"].update(inventories)

    def add_elsewhere(self, *traits: str, classes: Iterable[str] = ()) -> None:
        """Add a host outside of Blazar, which has these traits, and plenty of everything.

        :param classes: further resource classes that the host has.
        """
        names = ["VCPU", "MEMORY_MB", "DISK_GB", *classes]
        self.placement.add_provider("elsewhere", None, *traits, **dict.fromkeys(names, 1_000_000))

    def is_clean(self) -> bool:
        """Whether no reservation has anything in Nova or Placement."""
        return not self.leftovers()

    def leftovers(self) -> dict[str, Any]:
        """What Nova and Placement hold for reservations, by kind. Empty kinds are left out."""
        kinds = {
            "flavors": list(self.nova.flavors),
            "aggregates": [a["name"] for a in self.nova.aggregates.values()],
            "servers": list(self.nova.servers),
            "classes": sorted(self.placement.classes - {placement_mark.CLASS}),
            "inventories": {
                name: offered
                for name, offered in self.placement.offered().items()
                if name != placement_mark.PROVIDER
            },
        }
        return {kind: things for kind, things in kinds.items() if things}

    def mend(self) -> None:
        """Let all services work again, and reset the records of requests and logins."""
        for service in self.services:
            service.start()
            service.mend()
            service.requests.clear()
        self.keystone.logins = 0
