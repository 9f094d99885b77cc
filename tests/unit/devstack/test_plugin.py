"""devstack/plugin.sh through devstack's phases, on real files and a Keystone in a file."""

import configparser
import json
import pathlib
import shutil
import sys

import pytest

from tests.fakes import devstack, openstack_client
from tests.fakes.devstack import Devstack


@pytest.fixture
def keystone(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """What Blazar's plugin has put there before."""
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
    """By section; those that are empty don't count."""
    parser = configparser.RawConfigParser(default_section="")
    parser.read(stack.conf)
    return {name: dict(section) for name, section in parser.items() if section}


def things(keystone: pathlib.Path) -> dict[str, list[dict[str, str]]]:
    return {kind: found for kind, found in json.loads(keystone.read_text()).items() if found}


def test_stacked_twice(stack: Devstack, keystone: pathlib.Path):
    config = f"--config-file {stack.conf}"
    expected = [
        f"setup_develop {stack.conf.parent}/warre-blazar cli",
        f"warre-blazar-manage {config} db upgrade",
        "stop blazar-a",
        "stop blazar-m",
        "start blazar-a",
        "start blazar-m",
        f"warre-blazar-status {config} upgrade check",
    ]
    assert ran(stack, "stack") == expected
    found = options(stack)
    assert found["manager"]["plugins"] == (
        "physical.host.plugin,virtual.instance.plugin,flavor.slot.plugin"
    )
    assert found["api"]["api_v2_controllers"] == (
        "oshosts,leases,flavors,flavorprojects,reservations,maintenancewindows,limits,warre"
    )
    assert found["enforcement"]["enabled_filters"] == (
        "MaxLeaseDurationFilter,FlavorMaxLengthFilter,ProjectQuotaFilter"
    )
    assert found["oslo_limit"]["endpoint_id"] == "E1"
    assert found["DEFAULT"]["host"] == "127.0.0.1"
    made = things(keystone)
    assert [s["name"] for s in made["service"]] == ["reservation", "nectar-reservation"]
    assert made["endpoint"][1]["url"] == "http://127.0.0.1/reservation/v2/warre"
    registered = {t["resource-name"]: t["default-limit"] for t in made["registered limit"]}
    assert registered == {"reservation": "10", "hours": "1000"}
    assert [t["role"] for t in made["role assignment"]] == ["reader"]
    text = stack.conf.read_text()
    assert ran(stack, "stack") == expected
    assert stack.conf.read_text() == text
    assert things(keystone) == made


def test_unstacked_twice(stack: Devstack, keystone: pathlib.Path):
    before, there = options(stack), things(keystone)
    ran(stack, "stack")
    # A project's own limit must not be in the way.
    state = things(keystone)
    own = {"id": "L1", "service": "reservation", "region": "RegionOne", "resource-name": "hours"}
    keystone.write_text(json.dumps({**state, "limit": [own]}))
    for _ in range(2):
        assert ran(stack, "unstack") == []
        assert options(stack) == before
        assert things(keystone) == there


def test_other_regions_keep_their_own(stack: Devstack, keystone: pathlib.Path):
    ran(stack, "stack")
    state = things(keystone)
    for kind in ("endpoint", "registered limit"):
        state[kind] += [{**t, "id": f"{t['id']}-2", "region": "Two"} for t in state[kind]]
    keystone.write_text(json.dumps(state))
    ran(stack, "unstack")
    left = things(keystone)
    assert {t["region"] for t in left["registered limit"]} == {"Two"}
    assert len(left["service"]) == 2


def test_cleaned(stack: Devstack):
    ran(stack, "stack")
    assert ran(stack, "clean") == [
        f"warre-blazar-manage --config-file {stack.conf} db downgrade base",
        "pip_uninstall warre-blazar",
    ]


def test_cleaned_when_nothing_answers_any_more(stack: Devstack):
    ran(stack, "stack")
    stack.program("openstack", 1)
    stack.program("warre-blazar-manage", 1)
    done = stack.run("clean")
    assert done.returncode == 0
    assert "pip_uninstall warre-blazar" in stack.calls()
    assert "its tables may still be there" in done.stdout
    stack.conf.unlink()
    shutil.rmtree(stack.bin)
    assert stack.run("clean").returncode == 0


def test_a_failed_check_stops_the_stack(stack: Devstack):
    stack.program("warre-blazar-status", 2)
    assert stack.run("stack").returncode == 1


def test_without_blazar_nothing_happens(stack: Devstack, keystone: pathlib.Path):
    stack._variables["ENABLED_SERVICES"] = "key"
    before = keystone.read_text()
    for script in devstack.PHASES:
        assert ran(stack, script) == []
    assert stack.conf.read_text() == devstack.BLAZAR_CONF
    assert keystone.read_text() == before


def test_a_service_on_a_port_of_its_own(stack: Devstack, keystone: pathlib.Path):
    stack._variables["BLAZAR_USE_MOD_WSGI"] = "False"
    ran(stack, "stack")
    assert things(keystone)["endpoint"][1]["url"] == "http://127.0.0.1:1234/v2/warre"


def test_a_developers_limit_is_kept(stack: Devstack, keystone: pathlib.Path):
    ran(stack, "stack")
    stack._variables["WARRE_BLAZAR_HOURS"] = "7"
    ran(stack, "stack")
    limits = things(keystone)["registered limit"]
    assert {t["resource-name"]: t["default-limit"] for t in limits}["hours"] == "1000"
