"""A cloud in this process: as much of Keystone, Nova and Placement as our clients use.

Real clients talk to it over HTTP. Tests look into its dicts, and let its services fail.
"""

from collections.abc import Callable
from typing import Any, Self

import oslo_limit.limit  # noqa: F401 - registers its options
from keystoneauth1 import loading

from tests.fakes.keystone import Keystone
from tests.fakes.nova import Nova
from tests.fakes.placement import Placement

#: Options of [oslo_limit] that are registered only when oslo.limit logs in.
LOGIN_OPTIONS = loading.get_auth_plugin_conf_options("password")


class Cloud:
    """The three services, each on a port of its own."""

    def __init__(self) -> None:
        self.keystone = Keystone()
        self.nova = Nova(self.keystone)
        self.placement = Placement(self.keystone)
        self.services = (self.keystone, self.nova, self.placement)
        self.keystone.endpoints = {
            "identity": self.keystone.url + "/v3",
            "compute": self.nova.url + "/v2.1",
            "placement": self.placement.url,
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        for service in self.services:
            service.mend()
            service.stop()

    def configure(self, set_option: Callable[..., Any]) -> None:
        """Lead our clients here, by ``set_option(name, value, group=None)``."""
        for name, value in {**self.options(), **self.limit_options()}.items():
            group, _, option = name.rpartition(".")
            set_option(option, value, group or None)

    def options(self) -> dict[str, str]:
        """Blazar's options that name this cloud, by ``group.name``."""
        return {
            "os_auth_host": "127.0.0.1",
            "os_auth_port": str(self.keystone.port),
            "os_admin_username": "blazar",
            "os_admin_password": self.keystone.password,
            "os_admin_project_name": "service",
            "os_region_name": "RegionOne",
        }

    def limit_options(self) -> dict[str, str]:
        """The options of oslo.limit, by ``group.name``."""
        return {f"oslo_limit.{k}": v for k, v in self.keystone.limit_options().items()}

    def add_host(self, name: str) -> None:
        """A compute, as Blazar knows it: with Blazar's own provider below Placement's."""
        self.nova.hosts.add(name)
        parent = self.placement.add_provider(name)
        self.placement.add_provider(f"blazar_{name}", parent)

    def is_clean(self) -> bool:
        """Whether nothing of any reservation is left."""
        return not self.leftovers()

    def leftovers(self) -> dict[str, Any]:
        """What is there of reservations, by kind; empty kinds left out."""
        kinds = {
            "flavors": list(self.nova.flavors),
            "aggregates": [a["name"] for a in self.nova.aggregates.values()],
            "servers": list(self.nova.servers),
            "classes": sorted(self.placement.classes),
            "inventories": self.placement.offered(),
        }
        return {kind: found for kind, found in kinds.items() if found}

    def mend(self) -> None:
        """Everything works again, and counting starts at zero."""
        for service in self.services:
            service.start()
            service.mend()
            service.requests.clear()
        self.keystone.logins = 0
