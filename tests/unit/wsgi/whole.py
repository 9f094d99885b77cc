"""A site with Blazar's own plugins beside ours."""

from typing import Any, Self
from unittest import mock

from oslo_config import cfg

from tests.functional.db import world
from tests.unit.api.site import Site
from warre_blazar.db.booking import promises
from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE
from warre_blazar.plugins import lease_guard

HOSTS = ("host-1", "host-2", "host-3")
#: A public Nova flavor.
PLAIN = {
    "id": "plain",
    "name": "plain",
    "vcpus": 1,
    "ram": 1024,
    "disk": 10,
    "OS-FLV-EXT-DATA:ephemeral": 0,
}


class WholeSite(Site):
    """The site. ``app`` is Blazar's application with our extension."""

    plugins = (
        "physical.host.plugin,virtual.instance.plugin,flavor.instance.plugin,flavor.slot.plugin"
    )

    def __enter__(self) -> Self:
        # The exact plugins of one site guard the types of Blazar's leases, in the whole process.
        guarded = {RESOURCE_TYPE: promises.cover}
        self._stack.enter_context(mock.patch.object(lease_guard, "_guarded", guarded))
        return super().__enter__()

    @classmethod
    def stock_app(cls) -> Any:
        """Blazar's application as it is without our extension, for comparison."""
        named = [name for name in cls.plugins.split(",") if name != "flavor.slot.plugin"]
        cfg.CONF.set_override("plugins", named, group="manager")
        try:
            return cls._make_app()
        finally:
            cfg.CONF.clear_override("plugins", group="manager")

    def furnish(self) -> None:
        """Empty the site, and add hosts in Blazar's freepool and a plain Nova flavor."""
        for name in HOSTS:
            world.add_host(self.cloud, name, vcpus=16, zone="az1")
        self.furnish_nova()

    def furnish_nova(self) -> None:
        """Add the freepool and a plain Nova flavor."""
        self.cloud.add_freepool(*HOSTS)
        self.cloud.nova.flavors["plain"] = {**PLAIN, "extra_specs": {}, "access": set()}
