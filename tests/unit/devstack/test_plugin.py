"""devstack/plugin.sh in devstack's phases, with real files and a fake Keystone that is a file."""

import configparser
import json
import pathlib
import shutil
import sys

import pytest

from tests.fakes import devstack, openstack_client
from tests.fakes.devstack import Devstack

pytestmark = pytest.mark.slow

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture
def keystone(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A fake Keystone with the service and the endpoint that Blazar's plugin has made."""
    path = tmp_path / "keystone.json"
    blazar = {"id": "S1", "name": "reservation"}
    endpoint = {"id": "E1", "service": "reservation", "interface": "public", "region": "RegionOne"}
    path.write_text(json.dumps({"service": [blazar], "endpoint": [endpoint]}))
    monkeypatch.setenv("FAKE_KEYSTONE", str(path))
    return path


@pytest.fixture
def stack(tmp_path: pathlib.Path, keystone: pathlib.Path) -> Devstack:
    made = Devstack(tmp_path)
    for name in ("blazar-db-manage", "warre-blazar-manage", "curl"):
        made.program(name)
    made.program("warre-blazar-status", 1)
    (made.venv / "bin").mkdir()
    made.program("pip", directory=made.venv / "bin")
    client = f'#!/bin/sh\nexec {sys.executable} -S {openstack_client.__file__} "$@"\n'
    made.script("openstack", client)
    return made


@pytest.fixture(params=[False, True], ids=["after Blazar's", "before Blazar's"])
def either(stack: Devstack, request: pytest.FixtureRequest) -> Devstack:
    """A devstack whose local.conf enables the two plugins in one of the two orders."""
    stack.ours_first = request.param
    return stack


def ran(stack: Devstack, script: str) -> list[str]:
    done = stack.run(script)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr
    return stack.calls()


def options(stack: Devstack) -> dict[str, dict[str, str]]:
    """Return the options in blazar.conf by section, without empty sections."""
    parser = configparser.RawConfigParser(default_section="")
    parser.read(stack.conf)
    return {name: dict(section) for name, section in parser.items() if section}


def resources(keystone: pathlib.Path) -> dict[str, list[dict[str, str]]]:
    """Return what Keystone has, by kind, without empty kinds."""
    by_kind = json.loads(keystone.read_text())
    return {kind: resources for kind, resources in by_kind.items() if resources}


def uwsgi(stack: Devstack) -> dict[str, str]:
    """Return the options in uWSGI's file."""
    parser = configparser.RawConfigParser()
    parser.read(stack.uwsgi_conf)
    return dict(parser["uwsgi"])


PLUGINS = "physical.host.plugin,virtual.instance.plugin,flavor.instance.plugin"


def installs(stack: Devstack) -> list[str]:
    """The calls of pip, in the order of local.conf."""
    constrained = f"pip install -c {stack.variables['REQUIREMENTS_DIR']}/upper-constraints.txt"
    calls = [f"{constrained} blazar", f"{constrained} -e {ROOT}[server,cli]"]
    return calls[::-1] if stack.ours_first else calls


def test_stacking_twice_changes_nothing_the_second_time(either: Devstack, keystone: pathlib.Path):
    config = f"--config-file {either.conf}"
    # Blazar starts once, after our option and tables are there.
    expected = [
        *installs(either),
        f"blazar-db-manage {config} upgrade head",
        f"warre-blazar-manage {config} setup",
        "start blazar-a: uwsgi blazar.wsgi.api:application",
        f"start blazar-m: {either.bin}/blazar-manager {config}",
        f"blazar-m reads {PLUGINS},flavor.slot.plugin",
        *asked("http://127.0.0.1/reservation/"),
        f"warre-blazar-status {config} upgrade check",
    ]
    assert ran(either, "stack") == expected
    found = options(either)
    assert found["manager"]["plugins"] == f"{PLUGINS},flavor.slot.plugin"
    assert found["keystone_authtoken"]["service_type"] == "reservation"
    assert "oslo_limit" not in found
    assert found["DEFAULT"]["host"] == "127.0.0.1"
    assert uwsgi(either) == {
        "module": "blazar.wsgi.api:application",
        "processes": "2",
        "post-buffering": "65535",
        "threads": "16",
    }
    made = resources(keystone)
    assert [s["name"] for s in made["service"]] == ["reservation", "nectar-reservation"]
    assert made["endpoint"][1]["url"] == "http://127.0.0.1/reservation/v2/warre"
    assert ran(either, "stack") == expected
    assert options(either) == found
    assert resources(keystone) == made


def asked(url: str) -> list[str]:
    """The request that waits for the API."""
    waiting = "--silent --output /dev/null --retry 60 --retry-delay 1 --retry-connrefused"
    return [f"curl {waiting} {url}"]


def test_unstacking_twice_restores_blazars_options(either: Devstack, keystone: pathlib.Path):
    before = options(either)
    ran(either, "stack")
    made = keystone.read_text()
    for _ in range(2):
        assert ran(either, "unstack") == ["stop blazar-a", "stop blazar-m"]
        assert options(either) == before
        assert not either.uwsgi_conf.exists()
    # stack.sh makes Keystone anew.
    assert keystone.read_text() == made


def test_clean_uninstalls_the_package(stack: Devstack):
    ran(stack, "stack")
    # Nothing asks the database, which is away by then and whose data clean.sh removes.
    assert ran(stack, "clean") == [
        "stop blazar-a",
        "stop blazar-m",
        "pip uninstall -y warre-blazar",
    ]


def test_clean_without_global_venv_uninstalls_from_the_system(stack: Devstack):
    stack.variables["GLOBAL_VENV"] = "False"
    assert ran(stack, "clean")[-1] == "sudo -H pip uninstall -y warre-blazar"


def test_clean_twice_succeeds(stack: Devstack):
    ran(stack, "stack")
    ran(stack, "clean")
    stack.conf.unlink()
    shutil.rmtree(stack.venv)
    # No pip of the system's: the package was never there.
    assert ran(stack, "clean") == ["stop blazar-a", "stop blazar-m"]


def test_clean_and_unstacking_ask_nothing_of_keystone(stack: Devstack):
    ran(stack, "stack")
    stack.program("openstack", 1)
    done = stack.run("clean")
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "Removing warre-blazar from blazar.conf",
        "Uninstalling warre-blazar",
    ]
    assert not [call for call in stack.calls() if call.startswith("openstack")]


@pytest.mark.parametrize("program", ["warre-blazar-manage", "curl"])
def test_stacking_stops_if_a_step_fails(either: Devstack, program: str):
    either.program(program, 1)
    assert either.run("stack").returncode == 1
    assert not [call for call in either.calls() if call.startswith("warre-blazar-status")]


def test_stacking_stops_if_keystone_refuses(stack: Devstack, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FAKE_KEYSTONE_REFUSES", "service create")
    assert stack.run("stack").returncode == 1
    assert not [call for call in stack.calls() if call.startswith("warre-blazar-status")]


def test_failed_upgrade_check_stops_the_stack(stack: Devstack):
    stack.program("warre-blazar-status", 2)
    assert stack.run("stack").returncode == 1


def test_disabled_blazar_leaves_everything_unchanged(stack: Devstack, keystone: pathlib.Path):
    stack.variables["ENABLED_SERVICES"] = "key"
    before = keystone.read_text()
    for script in devstack.PHASES:
        done = stack.run(script)
        assert done.returncode == 0
        assert not done.stdout
    assert not [call for call in stack.calls() if "warre" in call]
    assert stack.conf.read_text() == devstack.BLAZAR_CONF
    assert keystone.read_text() == before


def test_blazar_without_uwsgi_runs_our_program_at_its_port(
    either: Devstack, keystone: pathlib.Path
):
    either.variables["BLAZAR_USE_MOD_WSGI"] = "False"
    calls = ran(either, "stack")
    assert resources(keystone)["endpoint"][1]["url"] == "http://127.0.0.1:1234/v2/warre"
    # Blazar 18's own script ends at once.
    config = f"--config-file {either.conf}"
    assert calls[-4:-1] == [
        "stop blazar-a",
        f"start blazar-a: {either.bin}/warre-blazar-api {config}",
        *asked("http://127.0.0.1:1234/"),
    ]
    assert not either.uwsgi_conf.exists()
