"""The commands in the real CLIs: names, arguments, help, and what an error prints and returns."""

import argparse
import configparser
import datetime
import io
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from blazarclient import shell
from keystoneauth1 import loading
from openstackclient.shell import OpenStackShell
from stevedore import extension

from tests.fakes import keystone as fakes
from tests.fakes.service import Answer, Request
from tests.unit.cli.conftest import connect
from tests.unit.cli.fake_api import Api, error, flavor, listing, reservation
from warre_blazar.cli import (
    arguments,
    command_names,
    error_advice,
    flavors,
    reservation_list,
    usage,
)
from warre_blazar.cli.base import Command
from warre_blazar.client.errors import ApiError

_SETUP = pathlib.Path(__file__).parents[3] / "setup.cfg"
_CLIS = {
    "blazar": "from blazarclient.shell import main; sys.exit(main(sys.argv[1:]))",
    "openstack": "from openstackclient.shell import main; sys.exit(main(sys.argv[1:]))",
}
_ID = reservation()["id"]


def _commands() -> Iterator[tuple[str, str, type[Command]]]:
    """Return (group, name, class) of all commands in setup.cfg."""
    setup = configparser.ConfigParser()
    setup.read(_SETUP)
    for group in ("blazar.cli", "openstack.reservation.v1"):
        for line in setup["entry_points"][group].strip().splitlines():
            name, _, where = line.partition(" = ")
            module, _, attribute = where.partition(":")
            __import__(module)
            yield group, name, getattr(sys.modules[module], attribute)


COMMANDS = [pytest.param(command, id=f"{group}:{name}") for group, name, command in _commands()]


def test_both_clis_have_the_same_commands() -> None:
    found: dict[str, list[type]] = {}
    for group, _, command in _commands():
        found.setdefault(group, []).append(command)
    assert found["blazar.cli"] == found["openstack.reservation.v1"]


def test_no_example_in_a_help_text_has_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    today = datetime.date(2100, 1, 1)
    monkeypatch.setattr(arguments, "today", lambda: today)
    for _, name, command in _commands():
        text = command(SimpleNamespace(client_manager=None), None).get_parser("it").format_help()
        for date in re.findall(r"\b\d{4}-\d\d-\d\d", text):
            assert datetime.date.fromisoformat(date) >= today, name


def test_lists_say_how_past_times_are_written() -> None:
    for command in (reservation_list.ListReservations, usage.ShowUsage):
        text = command(SimpleNamespace(client_manager=None), None).get_parser("it").format_help()
        assert "a time that has passed is written with its date" in " ".join(text.split())


def test_hints_name_commands_as_the_running_cli_does() -> None:
    named = {group: [n for g, n, _ in _commands() if g == group] for group, _, _ in _commands()}
    pairs = zip(named["blazar.cli"], named["openstack.reservation.v1"], strict=True)
    for blazars, openstacks in pairs:
        assert command_names.command(blazars, in_openstack=False) == f"blazar {blazars}"
        known = command_names.command(blazars, in_openstack=True)
        assert known == f"openstack {openstacks.replace('_', ' ')}"


@pytest.mark.parametrize(
    ("app", "said"),
    [
        (SimpleNamespace(client=None), "Shut. See blazar reservation-list --all-projects"),
        (SimpleNamespace(client_manager=None), "Shut. See openstack reservation list --all-"),
    ],
)
def test_advice_names_the_running_clis_commands(app: object, said: str) -> None:
    assert error_advice.text(ApiError("Shut", 409, "window_conflict"), app).startswith(said)


def test_installed_package_has_all_commands() -> None:
    for group in ("blazar.cli", "openstack.reservation.v1"):
        found = set(extension.ExtensionManager(group, on_load_failure_callback=_ignore).names())
        assert {n for g, n, _ in _commands() if g == group} <= found


def _ignore(*_: object) -> None:
    """Other packages' commands may fail to load."""


@pytest.mark.parametrize("cli", ["blazar", "openstack"])
def test_command_uses_the_connection_of_either_cli(api: Api, cli: str) -> None:
    api.answers["GET /v2/flavors"] = listing(flavor())
    client = connect(f"{api.url}/v1")
    manager = SimpleNamespace(reservation=client)
    known = {"client": client} if cli == "blazar" else {"client_manager": manager}
    command = flavors.ListFlavors(SimpleNamespace(stdout=io.StringIO(), **known), None)
    assert command.run(command.get_parser("it").parse_args([])) == 0
    assert flavor()["name"] in command.app.stdout.getvalue()
    assert api.requests == ["GET /v2/flavors"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help(command: type[Command]) -> None:
    text = command(SimpleNamespace(), None).get_parser("it").format_help()
    assert text.startswith("usage: it ")
    assert command.__doc__
    assert " ".join(command.__doc__.split()) in " ".join(text.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_every_argument_has_help(command: type[Command]) -> None:
    parser = command(SimpleNamespace(), None).get_parser("it")
    assert [a.dest for a in parser._actions if not a.help] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_blazar_cli_takes_none_of_our_options_except_end(command: type[Command]) -> None:
    whole = shell.BlazarShell().parser
    loading.register_auth_argparse_arguments(whole, ["--os-auth-type", "password"])
    loading.session.register_argparse_arguments(whole)
    loading.adapter.register_argparse_arguments(whole, service_type="reservation")
    parser = command(SimpleNamespace(), None).get_parser("it")
    kept = [
        ours
        for ours in _long_options(parser)
        if any(theirs.startswith(ours) for theirs in _long_options(whole))
    ]
    assert set(kept) <= {"--help", "--end"}
    assert "--end" not in kept or "--end-date" in _long_options(parser)


@pytest.mark.parametrize("command", COMMANDS)
def test_openstack_cli_takes_none_of_our_options(command: type[Command]) -> None:
    """An option that abbreviates one of the CLI's own never reaches the command."""
    whole = OpenStackShell().parser
    parser = command(SimpleNamespace(), None).get_parser("it")
    taken = [
        ours
        for ours in _long_options(parser)
        if any(theirs.startswith(ours) for theirs in _long_options(whole))
    ]
    assert set(taken) <= {"--help"}


def _long_options(parser: argparse.ArgumentParser) -> list[str]:
    return [o for o in parser._option_string_actions if o.startswith("--")]


class Keystone(fakes.Keystone):
    """A fake Keystone that answers the CLIs' requests for its version."""

    routes = (*fakes.Keystone.routes, ("GET", "/v3", "version"))

    def version(self, _: Request) -> Answer:
        links = [{"rel": "self", "href": f"{self.url}/v3"}]
        return Answer(200, {"version": {"id": "v3.14", "status": "stable", "links": links}})


class Cli:
    """One of the CLIs, in a process of its own, with credentials for a fake Keystone."""

    def __init__(self, name: str, keystone: Keystone, home: pathlib.Path) -> None:
        self._script = f"import sys; sys.argv[0] = {name!r}; {_CLIS[name]}"
        kept = {k: v for k, v in os.environ.items() if not k.startswith("OS_")}
        self.environment = {
            **kept,
            "HOME": str(home),
            "TZ": "UTC",
            "OS_AUTH_TYPE": "password",
            "OS_AUTH_URL": f"{keystone.url}/v3",
            "OS_USERNAME": "someone",
            "OS_PASSWORD": keystone.password,
            "OS_PROJECT_NAME": "demo",
            "OS_USER_DOMAIN_ID": "default",
            "OS_PROJECT_DOMAIN_ID": "default",
            "OS_REGION_NAME": "RegionOne",
            "OS_IDENTITY_API_VERSION": "3",
        }

    @property
    def command(self) -> list[str]:
        """The command line of the process, without arguments."""
        return [sys.executable, "-W", "ignore", "-c", self._script]

    def __call__(self, *arguments: str, **changes: str) -> tuple[int, str, list[str]]:
        """Return exit status, output and the lines on stderr."""
        done = subprocess.run(
            [*self.command, *arguments],
            env={**self.environment, **changes},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr.splitlines()


@pytest.fixture
def keystone(api: Api) -> Iterator[Keystone]:
    """A fake Keystone whose service catalog has the fake API as operators enter Blazar's."""
    fake = Keystone()
    fake.endpoints = {"identity": f"{fake.url}/v3", "reservation": f"{api.url}/v1"}
    yield fake
    fake.stop()


@pytest.fixture
def blazar(keystone: Keystone, tmp_path: pathlib.Path) -> Cli:
    return Cli("blazar", keystone, tmp_path)


@pytest.fixture
def openstack(keystone: Keystone, tmp_path: pathlib.Path) -> Cli:
    return Cli("openstack", keystone, tmp_path)


@pytest.mark.slow
def test_group_lists_its_own_commands(openstack: Cli) -> None:
    status, printed, _ = openstack("reservation", "series", "--help")
    assert status == 0
    lines = [line.strip() for line in printed.splitlines()]
    assert "openstack reservation series create" in lines
    assert "openstack reservation list" not in lines
    status, _, errors = openstack("reservation", "series", "lesson")
    assert status == 2
    assert "openstack reservation series lesson isn't a command. There are:" in errors
    assert "  openstack reservation series create" in errors
    # A command with the name of the group would hide these from the shell's completion.
    _, completion, _ = openstack("complete", "--shell", "none")
    assert "cmds_reservation_series='create delete extend list set show'" in completion


@pytest.mark.slow
def test_blazar_lists(blazar: Cli, api: Api) -> None:
    api.answers["GET /v2/flavors"] = listing(flavor())
    status, output, errors = blazar("flavor-list", "--long", "-f", "json")
    assert (status, json.loads(output), errors) == (0, [flavor()], [])
    assert api.requests == ["GET /v2/flavors"]


@pytest.mark.slow
def test_blazar_says_what_is_wrong(blazar: Cli, api: Api) -> None:
    api.answers[f"GET /v2/reservations/{_ID}"] = error(404, "It doesn't exist")
    assert blazar("reservation-delete", _ID, "--yes") == (1, "", ["It doesn't exist"])


@pytest.mark.slow
def test_blazar_books_until_an_end_date(blazar: Cli, api: Api) -> None:
    api.answers["POST /v2/reservations"] = Answer(200, reservation())
    period = ("--start-date", "2026-12-01T09:00", "--end-date", "2026-12-01T11:00")
    status, output, errors = blazar("reservation-create", "gpu.large", *period, "--count", "2")
    plan = "2 slots of gpu.large, Tue 2026-12-01 09:00 UTC to Tue 2026-12-01 11:00 UTC, 2 hours"
    assert (status, errors) == (0, [plan])
    assert reservation()["compute_flavor"] in output
    assert api.seen[0].body["end"] == "2026-12-01T11:00:00+00:00"


@pytest.mark.slow
def test_end_that_the_blazar_parser_takes_is_restored(blazar: Cli, api: Api) -> None:
    api.answers["POST /v2/reservations"] = Answer(200, reservation())
    period = ("--start", "2026-12-01T09:00Z", "--end", "2026-12-01T11:00Z")
    status, _, errors = blazar("reservation-create", "gpu.large", *period)
    assert (status, errors) == (0, [])
    assert api.seen[0].body["end"] == "2026-12-01T11:00:00+00:00"
    status, _, errors = blazar("reservation-create", "gpu.large", *period, "--hours", "1")
    assert (status, errors) == (
        2,
        [
            "blazar reservation-create: argument --end-date/--end: not allowed with argument "
            "--hours",
            "See blazar help reservation-create",
        ],
    )


@pytest.mark.slow
def test_end_on_a_command_without_it_is_refused(blazar: Cli, api: Api) -> None:
    status, _, errors = blazar("reservation-wait-list", "--end", "2026-12-01T11:00Z")
    unknown = "Unrecognized arguments: --end-date 2026-12-01T11:00Z"
    assert (status, errors) == (2, [unknown, "See blazar help reservation-wait-list"])
    assert not api.seen


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (
            ["create", "f"],
            "one of the arguments --end-date/--end --hours --length --days is required",
        ),
        pytest.param(
            *(["create", "f", "--hours", "x"], "argument --hours: 'x' isn't a number of hours"),
            marks=pytest.mark.long,
        ),
        pytest.param(["show"], "required: RESERVATION", marks=pytest.mark.long),
        pytest.param(
            *(["show", "--nonsense"], "Unrecognized arguments: --nonsense"), marks=pytest.mark.long
        ),
        (["create", "f", "--hours", "1", "--strat", "now"], "; is --start meant?"),
    ],
)
def test_usage_error_prints_only_its_reason(openstack: Cli, words: list[str], reason: str) -> None:
    status, output, errors = openstack("reservation", *words)
    assert (status, output) == (2, "")
    assert reason in errors[0]
    assert errors[1:] == [f"See openstack reservation {words[0]} --help"]


@pytest.mark.slow
def test_blazar_refuses_unknown_arguments(blazar: Cli, api: Api) -> None:
    unknown = "Unrecognized arguments: --slot-count 3; is --slots meant?"
    said = (2, "", [unknown, "See blazar help flavor-update"])
    assert blazar("flavor-update", "f", "--active", "--slot-count", "3") == said
    assert not api.seen


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "words", "reason"),
    [
        ("create", ["--start", "31 nov 9:00", "--hours", "1"], "has no day 31"),
        pytest.param(
            *("create", ["--hours", "1", "--timezone", "Mars/One"], "isn't a time zone"),
            marks=pytest.mark.long,
        ),
        pytest.param(
            *("create", ["--start", "now", "--end", "2020-01-01"], "isn't after the start"),
            marks=pytest.mark.long,
        ),
        ("wait-create", [], "Say for how long you need it"),
    ],
)
@pytest.mark.parametrize("cli", ["openstack", "blazar"])
def test_arguments_that_are_not_understood_end_with_the_status_of_a_usage_error(
    request: pytest.FixtureRequest,
    api: Api,
    cli: str,
    command: str,
    words: list[str],
    reason: str,
) -> None:
    run: Cli = request.getfixturevalue(cli)
    name = f"reservation-{command}"
    names = name.split("-") if cli == "openstack" else [name]
    status, output, errors = run(*names, "f", *words, "-f", "json")
    assert (status, output) == (2, "")
    assert reason in errors[0]
    assert not api.seen


@pytest.mark.slow
def test_openstack_shows(openstack: Cli, api: Api) -> None:
    api.answers[f"GET /v2/reservations/{_ID}"] = Answer(200, reservation())
    arguments = ("-f", "value", "-c", "compute_flavor")
    status, output, errors = openstack("reservation", "show", _ID, *arguments)
    assert (status, output.strip(), errors) == (0, reservation()["compute_flavor"], [])


@pytest.mark.slow
def test_openstack_says_what_is_wrong(openstack: Cli, api: Api) -> None:
    api.answers["POST /v2/reservations"] = error(400, "No capacity: 2 asked, 1 of 2 are free")
    period = ("--start", "2026-12-01T09:00", "--end", "2026-12-01T11:00")
    said = openstack("reservation", "create", "f", *period, "--count", "2")
    assert (said[0], said[2][1:]) == (1, ["No capacity: 2 asked, 1 of 2 are free"])


@pytest.mark.slow
def test_no_credentials(blazar: Cli, api: Api) -> None:
    status, output, errors = blazar("flavor-list", OS_AUTH_TYPE="", OS_AUTH_URL="")
    assert (status, output) == (1, "")
    assert "OS_AUTH_TYPE=password, OS_AUTH_URL" in errors[-1]


@pytest.mark.slow
def test_no_endpoint(blazar: Cli, keystone: Keystone) -> None:
    del keystone.endpoints["reservation"]
    status, output, errors = blazar("flavor-list")
    assert (status, output) == (1, "")
    assert "The service catalog has no endpoint of type 'reservation'" in errors[-1]


@pytest.mark.slow
def test_plugin_not_enabled(openstack: Cli, api: Api) -> None:
    api.answers["GET /v2/flavors"] = Answer(404, {"message": "nothing here"})
    status, output, errors = openstack("reservation", "flavor", "list")
    assert (status, output) == (1, "")
    assert "its blazar-api has no warre-blazar" in errors[-1]


@pytest.fixture
def sigint() -> Iterator[None]:
    """Make started programs react to Ctrl-C, also if the tests run in the background.

    A shell has what it starts there ignore them, which is inherited.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.slow
@pytest.mark.usefixtures("sigint")
def test_ctrl_c_while_waiting(blazar: Cli, api: Api) -> None:
    api.answers["POST /v2/reservations"] = Answer(200, reservation())
    far = reservation(start="2200-01-01T00:00:00+00:00")
    api.answers[f"GET /v2/reservations/{_ID}"] = Answer(200, far)
    words = ("reservation-create", "f", "--hours", "1", "--wait")
    with subprocess.Popen(
        [*blazar.command, *words],
        env=blazar.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr
        assert process.stderr.readline().startswith("1 slot of f, ")
        assert process.stderr.readline() == f"Waiting for reservation {_ID}\n"
        assert "waiting for its start" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        try:
            output, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, output) == (130, "")
    assert f"The reservation stays: blazar reservation-show {_ID}" in errors
    assert "Traceback" not in errors
    assert not [line for line in api.requests if line.startswith("DELETE")]


@pytest.mark.slow
@pytest.mark.parametrize("words", [("flavor-list",), ("flavor-calendar", "gpu.large")])
def test_closed_pipe_ends_the_command_silently(
    blazar: Cli, api: Api, words: tuple[str, ...]
) -> None:
    api.answers["GET /v2/flavors"] = listing(*(flavor(id=str(n)) for n in range(2000)))
    api.answers["GET /v2/flavors/gpu.large"] = Answer(200, flavor())
    api.answers[f"GET /v2/flavors/{flavor()['id']}/freeslots"] = Answer(200, [])
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w") as gone:
        done = subprocess.run(
            [*blazar.command, *words],
            env=blazar.environment,
            stdout=gone,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )
    assert (done.returncode, done.stderr) == (141, "")
