"""The pages of times have every time: nothing else in the package waits for a number of seconds."""

import pathlib

import pytest

import warre_blazar
from tests.time_numbers import IN_CLIENTS, IN_SERVER, found

ROOT = pathlib.Path(warre_blazar.__file__).parent
#: The parts that run at users, and in Horizon. Each has a page of times of its own.
CLIENTS = ("client", "cli", "dashboard")


def paths(part: str = "") -> list[pathlib.Path]:
    """The modules of a part, or of the server, but not its page of times."""
    modules = {*(ROOT / part).rglob("*.py")} - {ROOT / part / "times.py"}
    if not part:
        modules -= {path for client in CLIENTS for path in (ROOT / client).rglob("*.py")}
    return sorted(modules)


def shown(path: pathlib.Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", paths(), ids=shown)
def test_server_has_its_times_in_one_place(path: pathlib.Path) -> None:
    assert list(found(path.read_text(), IN_SERVER)) == []


@pytest.mark.parametrize("path", [p for part in CLIENTS for p in paths(part)], ids=shown)
def test_clients_have_their_times_in_one_place(path: pathlib.Path) -> None:
    assert list(found(path.read_text(), IN_CLIENTS)) == []


@pytest.mark.parametrize(
    "source",
    [
        "x = datetime.timedelta(minutes=x)",
        "x = timedelta(0)",
        "hours = seconds / 3600",
        "x = whole % 60",
        "if self.age > 300: pass",
        "if -5 < self.seconds(): pass",
        "deadline = waiting.now() + 5",
        "left = self.deadline - 5",
        "time.sleep(0.5)",
        "args = {'connect_timeout': 10}",
        "done.wait(5)",
        "@periodics.periodic(60)\ndef f(): pass",
        "get(url, timeout=10)",
        "get(url, retry_delay=2 * 5)",
        "def f(a, patience=5.0): pass",
        "def f(*, poll: float = 5): pass",
        "_SEEN_WITHIN = 5",
        "class A:\n    timeout: float = 5",
        "_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 30.0",
        "#: Seconds to be patient.\n_A = -5",
        "_A = 24 * 5  # minutes",
        "#: It is kept\n#: for so long.\n_KEPT = 5",
        "IntOpt('x', default=5, help='Seconds to ' 'go')",
        "IntOpt('x', default=y, max=30, help=f'How many {x} minutes')",
        "ListOpt('x', default=y, item_type=Integer(max=9), help='How many hours')",
    ],
)
def test_time_elsewhere_is_found(source: str) -> None:
    assert list(found(source, IN_SERVER))


@pytest.mark.parametrize(
    "source",
    [
        "x = minutes * times.MINUTE",
        "time.sleep(pause)",
        "time.sleep(0)",
        "get(url, timeout=times.TIMEOUT)",
        "def f(a=5, patience=0.0): pass",
        "_MOST = 5",
        "if minutes < 1: pass",
        "x = n * 2 + 50",
        "_DAYS = ('Mon', 'Tue')",
        "IntOpt('x', default=5, help='Requests of one day')",
        "IntOpt('x', default=times.A // times.DAY, min=1, help='How many days')",
        "x.replace(hour=0, second=5)",
    ],
)
def test_what_is_no_time_is_not_found(source: str) -> None:
    assert not list(found(source, IN_SERVER))
