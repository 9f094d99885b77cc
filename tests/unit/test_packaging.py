"""The entry points of setup.cfg exist, and every option has a help text."""

import importlib.metadata
import pathlib
import re

import pytest
from oslo_config import cfg
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests import requirements
from tests.requirements import SETUP
from warre_blazar import conf
from warre_blazar.site_rules import enabling


def entry_points():
    for group, text in requirements.read_setup()["entry_points"].items():
        for line in text.strip().splitlines():
            name, value = (side.strip() for side in line.split("=", 1))
            yield importlib.metadata.EntryPoint(name, value, group)


def options():
    return [(group, option) for group, listed in conf.list_opts() for option in listed]


ENTRY_POINTS = list(entry_points())


@pytest.mark.parametrize("entry_point", ENTRY_POINTS, ids=lambda e: f"{e.group}-{e.name}")
def test_entry_point_can_be_called(entry_point):
    loaded = entry_point.load()
    # An extension of the openstack command line is a module.
    assert callable(getattr(loaded, "build_option_parser", loaded))


@pytest.mark.parametrize(
    "group",
    [
        "console_scripts",
        "blazar.resource.plugins",
        "blazar.api.v1.extensions",
        "blazar.cli",
        "openstack.reservation.v1",
        "oslo.config.opts",
        "oslo.policy.policies",
    ],
)
def test_every_hook_is_used(group):
    assert any(entry_point.group == group for entry_point in ENTRY_POINTS)


def test_horizon_comes_only_with_the_extra_for_the_pages():
    with_horizon = [
        extra
        for extra in ("", *requirements.extras())
        if {"django", "horizon"} & {each.name.lower() for each in requirements.of(extra)}
    ]
    assert with_horizon == ["dashboard"]


def test_exact_plugins_have_the_api_of_blazars_plugins():
    """Blazar serves the paths of an API extension only if a plugin has the extension's name."""
    group = "blazar.api.v1.extensions"
    stock = importlib.metadata.distribution("blazar").entry_points.select(group=group)
    plugins = {e.name for e in ENTRY_POINTS if e.group == "blazar.resource.plugins"}
    expected = {f"exact.{e.name}": e.value for e in stock if f"exact.{e.name}" in plugins}
    assert expected
    found = {e.name: e.value for e in ENTRY_POINTS if e.group == group}
    assert found.pop(enabling.PLUGIN).startswith("warre_blazar.")
    assert found == expected


def test_both_clients_have_the_same_commands():
    commands = {
        group: sorted(e.value for e in ENTRY_POINTS if e.group == group)
        for group in ("blazar.cli", "openstack.reservation.v1")
    }
    assert commands["blazar.cli"] == commands["openstack.reservation.v1"]


@pytest.mark.parametrize(
    ("group", "option"), options(), ids=[f"{group}-{option.name}" for group, option in options()]
)
def test_option_has_a_help_text(group, option):
    assert len(option.help or "") > 20


def test_all_options_are_registered():
    registered = cfg.ConfigOpts()
    conf.register(registered)
    registered([], default_config_files=[])
    for group, option in options():
        assert registered[group][option.dest] == option.default


def test_horizon_comes_only_with_the_extra_for_it() -> None:
    requires = importlib.metadata.requires("warre-blazar") or []
    without_extra = [line.lower() for line in requires if "extra ==" not in line]
    assert without_extra
    assert not [line for line in without_extra if line.startswith(("horizon", "django"))]
    assert [line for line in requires if line.startswith("horizon")]


@pytest.mark.parametrize(
    "path",
    sorted((SETUP.parent / "warre_blazar/dashboard/enabled").glob("_9*_panel.py")),
    ids=lambda path: path.stem,
)
def test_file_for_horizon_names_what_is_there(path: pathlib.Path) -> None:
    values = dict(re.findall(r'^(\w+) = "(.*)"$', path.read_text(), re.MULTILINE))
    module, _, name = values["ADD_PANEL"].rpartition(".")
    source = (SETUP.parent / f"{module.replace('.', '/')}.py").read_text()
    slug = values["PANEL"]
    assert f"class {name}(" in source and f'slug = "{slug}"' in source


#: The upper constraints of the oldest OpenStack release that is supported, and of the next one.
CONSTRAINTS = [
    SETUP.parent / "tests" / "constraints" / f"{name}.txt" for name in ("2026.1", "master")
]


def pins(path: pathlib.Path) -> dict[str, str]:
    """The versions of a file of upper constraints, by the normalized names of the packages."""
    lines = [line.partition(";")[0].split("===") for line in path.read_text().splitlines()]
    return {canonicalize_name(name): version.strip() for name, version in lines}


def lower_bounds() -> list[Requirement]:
    """The requirements of the package and of its extras."""
    return [each for extra in ("", *requirements.extras()) for each in requirements.of(extra)]


@pytest.mark.parametrize("requirement", lower_bounds(), ids=str)
def test_lower_bound_is_the_version_of_the_oldest_release(requirement):
    """Deployers install with the constraints of a release, and older versions aren't tested."""
    oldest, newest = (pins(path).get(canonicalize_name(requirement.name)) for path in CONSTRAINTS)
    (bound,) = requirement.specifier
    assert bound.operator == ">="
    if requirement.name == "blazar":
        assert oldest is None
    else:
        assert bound.version == oldest
        assert requirement.specifier.contains(newest)
