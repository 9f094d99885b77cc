"""Blazar's v1 paths with the exact plugins of this package."""

import pytest
from blazar.manager import service  # noqa: F401  # registers the option
from oslo_config import cfg

from tests.unit.wsgi import sending
from tests.unit.wsgi.whole import WholeSite

EXACT = [
    "exact.physical.host.plugin",
    "exact.virtual.instance.plugin",
    "exact.flavor.instance.plugin",
    "flavor.slot.plugin",
]


@pytest.mark.parametrize("path", ["/v1/leases", "/v1/os-hosts", "/v1/os-hosts/allocations"])
def test_path_is_served_with_the_exact_plugins(site: WholeSite, path: str):
    plugins = cfg.CONF.manager.plugins
    cfg.CONF.set_override("plugins", EXACT, "manager")
    try:
        app = site._make_app()
    finally:
        cfg.CONF.set_override("plugins", plugins, "manager")
    assert sending.send(app, "GET", path, who="admin").status_int == 200
