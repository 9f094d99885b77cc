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
    made.program("warre-blazar-manage")
    made.program("warre-blazar-status", 1)
    client = made.bin / "openstack"
    client.write_text(f'#!/bin/sh\nexec {sys.executable} -S {openstack_client.__file__} "$@"\n')
    client.chmod(0o755)
    return made


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


def test_stacking_twice_changes_nothing_the_second_time(stack: Devstack, keystone: pathlib.Path):
    config = f"--config-file {stack.conf}"
    # Blazar starts once, after our options and tables are there.
    expected = [
        f"setup_develop {ROOT} server,cli",
        "blazar-db-manage upgrade head",
        f"warre-blazar-manage {config} db upgrade",
        "start blazar-a: uwsgi blazar.wsgi.api:application",
        f"start blazar-m: {stack.bin}/blazar-manager {config}",
        f"blazar-m reads {PLUGINS},flavor.slot.plugin",
        f"warre-blazar-status {config} upgrade check",
    ]
    assert ran(stack, "stack") == expected
    found = options(stack)
    assert found["manager"]["plugins"] == f"{PLUGINS},flavor.slot.plugin"
    assert found["api"]["api_v2_controllers"] == "oshosts,leases"
    assert found["enforcement"]["enabled_filters"] == "MaxLeaseDurationFilter"
    assert found["keystone_authtoken"]["service_type"] == "reservation"
    assert found["oslo_limit"] == {
        "auth_type": "password",
        "auth_url": "http://127.0.0.1/identity",
        "username": "blazar",
        "password": "secret",
        "user_domain_id": "default",
        "system_scope": "all",
        "endpoint_service_type": "reservation",
        "endpoint_region_name": "RegionOne",
        "endpoint_interface": "public",
    }
    assert found["DEFAULT"]["host"] == "127.0.0.1"
    assert uwsgi(stack) == {
        "module": "blazar.wsgi.api:application",
        "processes": "2",
        "post-buffering": "65535",
        "threads": "16",
    }
    made = resources(keystone)
    assert [s["name"] for s in made["service"]] == ["reservation", "nectar-reservation"]
    assert made["endpoint"][1]["url"] == "http://127.0.0.1/reservation/v2/warre"
    registered = {t["resource-name"]: t["default-limit"] for t in made["registered limit"]}
    assert registered == {"reservation": "10", "hours": "1000"}
    assert [t["role"] for t in made["role assignment"]] == ["reader"]
    assert ran(stack, "stack") == expected
    assert options(stack) == found
    assert resources(keystone) == made


def test_unstacking_twice_restores_blazars_options(stack: Devstack, keystone: pathlib.Path):
    before = options(stack)
    ran(stack, "stack")
    made = keystone.read_text()
    for _ in range(2):
        assert ran(stack, "unstack") == ["stop blazar-a", "stop blazar-m"]
        assert options(stack) == before
        assert not stack.uwsgi_conf.exists()
    # stack.sh makes Keystone anew.
    assert keystone.read_text() == made


def test_plugin_enabled_before_blazars_stops_the_stack_at_once(stack: Devstack):
    stack.ours_first = True
    done = stack.run("stack")
    assert done.returncode == 1
    assert "enable_plugin blazar must come before warre-blazar's line in local.conf" in done.stderr
    assert stack.calls() == []
    assert stack.conf.read_text() == devstack.BLAZAR_CONF


def test_clean_uninstalls_the_package(stack: Devstack):
    ran(stack, "stack")
    # Nothing asks the database, which is away by then and whose data clean.sh removes.
    assert ran(stack, "clean") == [
        "stop blazar-a",
        "stop blazar-m",
        f"{stack.venv}/bin/pip uninstall -y warre-blazar",
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


def test_stacking_stops_if_keystone_refuses(stack: Devstack, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FAKE_KEYSTONE_REFUSES", "registered limit list")
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


def test_blazar_on_its_own_port_gets_that_port_in_the_endpoint(
    stack: Devstack, keystone: pathlib.Path
):
    stack.variables["BLAZAR_USE_MOD_WSGI"] = "False"
    calls = ran(stack, "stack")
    assert resources(keystone)["endpoint"][1]["url"] == "http://127.0.0.1:1234/v2/warre"
    # Blazar 18's own script ends at once.
    config = f"--config-file {stack.conf}"
    assert calls[-3:-1] == [
        "stop blazar-a",
        f"start blazar-a: {stack.bin}/warre-blazar-api {config}",
    ]
    assert not stack.uwsgi_conf.exists()


def test_stacking_keeps_an_existing_limit(stack: Devstack, keystone: pathlib.Path):
    ran(stack, "stack")
    stack.variables["WARRE_BLAZAR_HOURS"] = "7"
    ran(stack, "stack")
    limits = resources(keystone)["registered limit"]
    assert {t["resource-name"]: t["default-limit"] for t in limits}["hours"] == "1000"
