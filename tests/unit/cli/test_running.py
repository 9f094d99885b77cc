"""``reservation run``: the environment, the warning, signals and exit statuses."""

import datetime
import io
import itertools
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from tests.fakes.service import Answer
from tests.unit.cli.conftest import connect
from tests.unit.cli.fake_api import RESERVATION, Api, reservation
from warre_blazar.cli import running, times
from warre_blazar.cli.base import Command
from warre_blazar.client.reservations import Reservations

PATH = f"GET /v2/reservations/{RESERVATION.id}"
END = "2026-12-01T11:00:00+00:00"
START = datetime.datetime(2026, 12, 1, 9, tzinfo=datetime.UTC)

Runs = Callable[..., int]


@pytest.fixture(autouse=True)
def waits(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reservation starts at the second look."""
    quick = {**(Reservations.wait.__kwdefaults__ or {}), "pause": 1, "poll": 1, "sleep": id}
    monkeypatch.setattr(Reservations.wait, "__kwdefaults__", quick)
    running_one = Answer(200, reservation(status="ACTIVE", availability_zone="az1", end=END))
    api.answers[PATH] = [Answer(200, reservation()), running_one]


@pytest.fixture
def runs(api: Api, monkeypatch: pytest.MonkeyPatch) -> Runs:
    """A function that runs a Python program, and returns the command's exit status."""
    minutes = itertools.count()
    monkeypatch.setattr(
        Command, "now", lambda _: START + next(minutes) * datetime.timedelta(minutes=1)
    )
    monkeypatch.setattr(times, "RUN_LOOKS_AGAIN", 0.05)

    def run(program: str, *options: str) -> int:
        app = SimpleNamespace(
            stdout=io.StringIO(),
            client_manager=SimpleNamespace(reservation=connect(f"{api.url}/v1")),
        )
        command = running.RunCommand(app, None)
        words = [*options, RESERVATION.id, "--", sys.executable, "-c", program]
        status: int = command.attempt(command.get_parser("it").parse_args(words))
        return status

    return run


def test_program_finds_the_reservation_in_its_environment(runs: Runs, capfd: pytest.CaptureFixture):
    names = ("FLAVOR_ID", "AVAILABILITY_ZONE", "RESERVATION_ID", "RESERVATION_END")
    assert runs(f"import os; print(*(os.environ[n] for n in {names}), os.environ['PATH'])") == 0
    flavor_id = RESERVATION.reservation_id.replace("-", "")
    said = capfd.readouterr()
    assert said.out.split() == [flavor_id, "az1", RESERVATION.id, END, os.environ["PATH"]]
    assert f"Waiting for reservation {RESERVATION.id}" in said.err


def test_several_zones_are_left_to_nova():
    several = SimpleNamespace(
        availability_zone="az1,az2",
        compute_flavor="f",
        id="r",
        start=START,
        end=START,
        instance_count=2,
    )
    found = running.environment(several)  # type: ignore[arg-type]
    assert (found["AVAILABILITY_ZONE"], found["INSTANCE_COUNT"]) == ("", "2")


@pytest.mark.parametrize("status", [0, 7, 255])
def test_exit_status_is_passed_on(runs: Runs, status: int):
    assert runs(f"raise SystemExit({status})") == status


def test_options_of_the_program_are_left_to_it(runs: Runs):
    assert runs("import sys; assert sys.argv[1:] == []", "--warn", "5") == 0


def test_program_that_does_not_exist(api: Api, runs: Runs, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/program")
    assert runs("") == 127
    monkeypatch.setattr(sys, "executable", os.path.dirname(__file__))
    api.answers[PATH] = Answer(200, reservation(status="ACTIVE"))
    assert runs("") == 126


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_are_passed_on(
    runs: Runs, number: signal.Signals, tmp_path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    ready = tmp_path / "ready"

    def send() -> None:
        while not ready.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), number)

    threading.Thread(target=send).start()
    program = (
        "import pathlib, signal, time\n"
        f"signal.signal({int(number)}, lambda *_: exit(40 + {int(number)}))\n"
        f"pathlib.Path({str(ready)!r}).touch()\n"
        "time.sleep(60)"
    )
    assert runs(program) == 40 + number
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_program_that_a_signal_ends(runs: Runs):
    assert runs("import os; os.kill(os.getpid(), 9)") == 128 + 9


@pytest.mark.slow
def test_warning_comes_before_the_present_end_and_once(
    api: Api, runs: Runs, tmp_path, monkeypatch: pytest.MonkeyPatch
):
    """While the program runs, the reservation is extended by an hour."""
    later = Answer(200, reservation(status="ACTIVE", end="2026-12-01T12:00:00+00:00"))
    api.answers[PATH] = [*api.answers[PATH], later]  # type: ignore[misc]
    said, ended = [], tmp_path / "ended"

    def tell(_: Command, line: str) -> None:
        said.append(line)
        if "has ended" in line:
            ended.touch()

    monkeypatch.setattr(Command, "tell", tell)
    program = (
        f"import pathlib, time\nwhile not pathlib.Path({str(ended)!r}).exists(): time.sleep(.01)"
    )
    assert runs(program, "--warn", "30") == 0
    assert said[1:] == [
        f"Reservation {RESERVATION.id} ends 2026-12-01 12:00 UTC.",
        f"Reservation {RESERVATION.id} has ended; its servers are deleted.",
    ]
