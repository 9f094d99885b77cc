"""A site with all of Blazar's API, served by our application, and with Blazar's own plugins."""

import logging
from typing import Any

from tests.functional.db import world
from tests.unit.api.site import Site

# Blazar's v1 doesn't answer unless this logger has the level INFO.
logging.getLogger("blazar.api.v1.request_log").setLevel(logging.INFO)

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
    """The site. ``app`` is our application, and ``stock_app()`` makes Blazar's for comparison."""

    plugins = (
        "physical.host.plugin,virtual.instance.plugin,flavor.instance.plugin,flavor.slot.plugin"
    )

    def _make_app(self) -> Any:
        from warre_blazar.wsgi import checked_application  # noqa: PLC0415

        return checked_application.build(self.stock_app())

    @staticmethod
    def stock_app() -> Any:
        """Blazar's own application, without our checks."""
        from blazar.api import app  # noqa: PLC0415

        return app.VersionSelectorApplication()

    def furnish(self) -> None:
        """Empty the site, and add hosts in Blazar's freepool and a plain Nova flavor."""
        for name in HOSTS:
            world.add_host(self.cloud, name, vcpus=16, zone="az1")
        self.furnish_nova()

    def furnish_nova(self) -> None:
        """Add the freepool and a plain Nova flavor."""
        nova = self.cloud.nova
        nova.aggregates[1000] = {
            "id": 1000,
            "name": "freepool",
            "hosts": list(HOSTS),
            "metadata": {},
        }
        nova.flavors["plain"] = {**PLAIN, "extra_specs": {}, "access": set()}
