"""The site with all of Blazar's API, as our application serves it, and Blazar's own plugins."""

import logging
from typing import Any

from tests.functional.db import world
from tests.unit.api.site import Site

# Blazar's v1 answers nothing where this doesn't log.
logging.getLogger("blazar.api.v1.request_log").setLevel(logging.INFO)

HOSTS = ("host-1", "host-2", "host-3")
#: A Nova flavor that everybody sees.
PLAIN = {
    "id": "plain",
    "name": "plain",
    "vcpus": 1,
    "ram": 1024,
    "disk": 10,
    "OS-FLV-EXT-DATA:ephemeral": 0,
}


class WholeSite(Site):
    """``app`` is our application; ``stock_app()`` makes Blazar's own, for comparison."""

    plugins = (
        "physical.host.plugin,virtual.instance.plugin,flavor.instance.plugin,flavor.slot.plugin"
    )

    def _make_app(self) -> Any:
        from warre_blazar.wsgi import building  # noqa: PLC0415

        return building.build(self.stock_app())

    @staticmethod
    def stock_app() -> Any:
        """Blazar's application as Blazar serves it."""
        from blazar.api import app  # noqa: PLC0415

        return app.VersionSelectorApplication()

    def furnish(self) -> None:
        """Hosts in Blazar's pool of free ones, and a plain Nova flavor."""
        for name in HOSTS:
            world.add_host(self.cloud, name, vcpus=16, zone="az1")
        nova = self.cloud.nova
        nova.aggregates[1000] = {
            "id": 1000,
            "name": "freepool",
            "hosts": list(HOSTS),
            "metadata": {},
        }
        nova.flavors["plain"] = {**PLAIN, "extra_specs": {}, "access": set()}
