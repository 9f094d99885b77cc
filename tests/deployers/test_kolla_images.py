"""Kolla's images contain this package, its steps at the bootstrap, and its pages for Horizon."""

import configparser

import pytest
from packaging.requirements import Requirement

from tests.deployers import environments, kolla_images
from tests.deployers.containers import Container

SETUP = environments.REPOSITORY / "setup.cfg"


def requirements(command: str) -> list[Requirement]:
    """The requirements with an address in a command of pip, as pip reads them."""
    return [Requirement(word) for word in command.split("'") if " @ " in word]


@pytest.mark.parametrize(
    ("name", "own", "extra"),
    [("blazar-base", "/blazar", "server"), ("horizon", "/horizon", "dashboard")],
)
def test_package_is_installed_with_the_constraints_of_the_release(images, name, own, extra):
    (command,) = images[name].commands(r"pip .* '?warre-blazar")
    assert "-c /requirements/upper-constraints.txt" in command
    # Together with Blazar or Horizon themselves, which then satisfy this package's requirement.
    assert f" {own} " in command
    (requirement,) = requirements(command)
    assert (requirement.name, requirement.extras) == ("warre-blazar", {extra})
    assert requirement.url == f"git+{kolla_images.PLACEHOLDER}@{released()}"


def released() -> str:
    setup = configparser.ConfigParser(interpolation=None)
    setup.read(SETUP)
    return setup["metadata"]["version"]


@pytest.mark.parametrize("extra", ["server", "dashboard"])
def test_extras_of_the_package_exist(extra):
    setup = configparser.ConfigParser(interpolation=None)
    setup.read(SETUP)
    assert extra in setup["extras"]


def test_manager_and_api_run_in_images_on_the_base_image(images):
    for name in ("blazar-api", "blazar-manager"):
        assert images[name].instructions[0] == "FROM kolla/blazar-base:tag"
        # Kolla's own user runs them, after all changes.
        assert images[name].instructions[-1] == "USER blazar"


@pytest.fixture
def programs(tmp_path):
    """An environment whose programs write down their arguments. ``FAIL`` names one that fails."""
    directory = tmp_path / "environment"
    (directory / "bin").mkdir(parents=True)
    (directory / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
    for name in ("blazar-db-manage", "warre-blazar-manage"):
        program = directory / "bin" / name
        program.write_text(f'#!/bin/sh\necho {name} "$@"\n[ "${{FAIL:-}}" != {name} ]\n')
        program.chmod(0o755)
    return directory


@pytest.fixture
def container(images, programs, tmp_path):
    """A container of blazar-api, as its image leaves it."""
    made = Container(tmp_path / "container", programs)
    image = images["blazar-api"]
    made.copy(image.directory / "extend_start.sh", "/usr/local/bin/kolla_blazar_extend_start")
    for command in image.commands("kolla_blazar_extend_start"):
        made.run(command)
    return made


def bootstrap(container: Container, **variables: str) -> list[str]:
    # Kolla's entry point has these options when it sources the script.
    script = ". /usr/local/bin/kolla_blazar_extend_start"
    return container.run(script, KOLLA_BOOTSTRAP="", **variables).splitlines()


def test_bootstrap_sets_up_the_package_after_blazars_tables(container):
    config = container.path("/etc/blazar/blazar.conf")
    assert bootstrap(container) == [
        f"blazar-db-manage --config-file {config} upgrade head",
        f"warre-blazar-manage --config-file {config} setup",
    ]


def test_bootstrap_fails_if_the_setup_fails(container):
    with pytest.raises(AssertionError, match="warre-blazar-manage"):
        bootstrap(container, FAIL="warre-blazar-manage")


def test_nothing_is_set_up_when_the_api_starts(container):
    assert container.run(". /usr/local/bin/kolla_blazar_extend_start") == ""


def test_build_stops_if_kolla_calls_another_program(container, images):
    script = container.path("/usr/local/bin/kolla_blazar_extend_start")
    script.write_text("blazar-manage db upgrade\n")
    (ours,) = images["blazar-api"].commands("warre-blazar-manage")
    with pytest.raises(AssertionError, match="grep"):
        container.run(ours)


def test_horizon_finds_every_file_of_the_pages(images, programs, tmp_path):
    container = Container(tmp_path / "container", programs)
    site = container.path("/var/lib/kolla/venv/lib/python3/site-packages")
    pages = environments.REPOSITORY / "warre_blazar"
    (site / "warre_blazar").symlink_to(pages)
    (site / "openstack_dashboard" / "local" / "enabled").mkdir(parents=True)
    container.path("/etc/openstack-dashboard/local_settings.d").mkdir()
    (command,) = images["horizon"].commands("warre_blazar/dashboard")
    container.run(command)
    for kind, copied in (
        ("enabled", site / "openstack_dashboard" / "local" / "enabled"),
        ("local_settings.d", container.path("/etc/openstack-dashboard/local_settings.d")),
    ):
        expected = {path.name for path in (pages / "dashboard" / kind).glob("_[0-9]*.py")}
        assert expected
        assert {path.name for path in copied.iterdir()} == expected
