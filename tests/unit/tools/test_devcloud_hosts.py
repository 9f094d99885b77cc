"""``tools/devcloud up`` says that no hosts are registered in Blazar, and how to register them."""

import argparse
import json
import pathlib
import subprocess
import sys

import pytest
from devcloud_lib import cloud, commands, content, settings
from devcloud_lib.console import Failure
from devcloud_lib.layout import Layout

from tests.fakes.keystone import Keystone
from tests.fakes.service import Answer, Request, Service

_OPTIONS = argparse.Namespace(
    computes=None,
    api_workers=None,
    managers=None,
    port_offset=None,
    gpus=None,
    password_rounds=None,
    dashboard=None,
    host_plugins=None,
    release=None,
)


@pytest.fixture
def home(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """The directory of a cloud whose services aren't started."""
    monkeypatch.setattr(cloud, "install", lambda layout: None)
    monkeypatch.setattr(cloud, "up", lambda layout: None)
    return tmp_path


def answer_count(home: pathlib.Path, script: str) -> None:
    """Let a shell script take the place of the Python of the cloud's environment."""
    python = home / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True, exist_ok=True)
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)


@pytest.mark.parametrize("hosts", [0, 3])
def test_up_ends_with_the_command_that_registers_hosts_unless_there_are_some(
    home: pathlib.Path, capsys: pytest.CaptureFixture[str], hosts: int
):
    answer_count(home, f"echo {hosts}")
    assert commands.up(home, _OPTIONS) == 0
    *_, first, last = capsys.readouterr().out.splitlines()
    program = settings.REPOSITORY / "tools" / "devcloud"
    if hosts:
        assert last.startswith("to use it: ")
    else:
        assert first.startswith("to use it: ")
        assert last == (
            "no hosts are registered in Blazar yet, so nothing can be booked; "
            f"to register all computes: {program} hosts --home {home}"
        )


def test_failure_to_count_hosts_is_reported(home: pathlib.Path):
    answer_count(home, "echo 'connection refused' >&2; exit 1")
    layout = Layout(home, settings.Settings())
    with pytest.raises(Failure, match="connection refused"):
        content.has_hosts(layout)


class Blazar(Service):
    """Blazar's API, with two hosts."""

    routes = (("GET", "/v1/os-hosts", "list_hosts"),)

    def list_hosts(self, request: Request) -> Answer:
        return Answer(200, {"hosts": [{"id": "1"}, {"id": "2"}]})


def test_hosts_are_counted_over_blazars_api():
    keystone, blazar = Keystone(), Blazar()
    keystone.endpoints["reservation"] = f"{blazar.url}/v1"
    login = {"auth_url": f"{keystone.url}/v3", "password": "secret", "region": "RegionOne"}
    script = pathlib.Path(content.__file__).parent / "inside" / "host_count.py"
    try:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", script],
            input=json.dumps(login),
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        for service in (keystone, blazar):
            service.stop()
    assert done.stdout == "2\n", done.stderr
