"""``warre-blazar-manage quota register`` with a fake Keystone that stores limits."""

import configparser
import pathlib
from collections.abc import Callable

import pytest

from tests.fakes.cloud import Cloud
from warre_blazar.cmd import manage

Manage = Callable[..., int]


@pytest.fixture
def register(cloud: Cloud, tmp_path: pathlib.Path) -> Manage:
    """Runs the command with a configuration file that names the fake Keystone."""
    parser = configparser.RawConfigParser()
    parser["oslo_limit"] = cloud.keystone.limit_options()
    path = tmp_path / "blazar.conf"
    with path.open("w") as file:
        parser.write(file)
    return lambda *words: manage.main(["--config-file", str(path), "quota", "register", *words])


def test_missing_limits_are_registered(cloud: Cloud, register: Manage, capsys):
    cloud.keystone.registered = {"reservation": 7}
    assert register() == 0
    assert cloud.keystone.registered == {"reservation": 7, "hours": -1}
    assert capsys.readouterr().out == "reservation: 7\nhours: -1 (was not registered)\n"
    assert register() == 0
    assert capsys.readouterr().out == "reservation: 7\nhours: -1\n"


def test_given_limit_is_changed(cloud: Cloud, register: Manage, capsys):
    cloud.keystone.registered = {"reservation": 7, "hours": 100}
    assert register("--hours", "200") == 0
    assert cloud.keystone.registered == {"reservation": 7, "hours": 200}
    assert "hours: 200 (was 100)" in capsys.readouterr().out


@pytest.mark.parametrize("number", ["-2", "1.5", "many", ""])
def test_bad_limit_is_refused(cloud: Cloud, register: Manage, capsys, number: str):
    with pytest.raises(SystemExit) as caught:
        register(f"--reservation={number}")
    assert caught.value.code == 2
    assert "--reservation" in capsys.readouterr().err
    assert cloud.keystone.registered == {"reservation": 1000, "hours": 100000}


@pytest.mark.parametrize("fault", [{"status": 403}, {"drop": True}, {"status": 503}])
def test_failure_of_keystone_is_reported(cloud: Cloud, register: Manage, capsys, fault):
    cloud.keystone.registered = {}
    cloud.keystone.fail(match="POST /v3/registered_limits", **fault)
    assert register() == 1
    told = capsys.readouterr()
    assert "Keystone's list of limits" in told.err
    assert told.out == ""
