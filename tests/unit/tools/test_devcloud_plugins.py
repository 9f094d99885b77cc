"""``tools/devcloud up --host-plugins`` chooses the plugins of Blazar's own resource types."""

import configparser
import pathlib

import pytest
from devcloud_lib import settings
from devcloud_lib.console import Failure
from devcloud_lib.layout import Layout
from devcloud_lib.services import blazar

_STOCK = "physical.host.plugin,virtual.instance.plugin,flavor.instance.plugin,flavor.slot.plugin"
_EXACT = (
    "exact.physical.host.plugin,exact.virtual.instance.plugin,exact.flavor.instance.plugin,"
    "flavor.slot.plugin"
)


def configured_plugins(home: pathlib.Path, chosen: settings.Settings) -> str:
    """Write Blazar's configuration and return the plugins that it names."""
    blazar.configure(Layout(home, chosen))
    written = configparser.RawConfigParser(strict=False)
    written.read(home / "etc" / "blazar" / "blazar.conf")
    return written["manager"]["plugins"]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("stock", _STOCK), ("exact", _EXACT), ("alone", _STOCK.removesuffix(",flavor.slot.plugin"))],
)
def test_chosen_plugins_are_configured(tmp_path: pathlib.Path, kind: str, expected: str):
    assert configured_plugins(tmp_path, settings.Settings(host_plugins=kind)) == expected


def test_default_is_stock(tmp_path: pathlib.Path):
    assert configured_plugins(tmp_path, settings.Settings()) == _STOCK


def test_choice_is_kept_for_the_next_up(tmp_path: pathlib.Path):
    settings.save(tmp_path, settings.choose(tmp_path, host_plugins="exact"))
    assert settings.choose(tmp_path, host_plugins=None).host_plugins == "exact"


def test_unknown_plugins_are_refused():
    with pytest.raises(Failure, match="one of stock, exact, alone"):
        settings.Settings(host_plugins="other")
