"""Fixtures that run commands as the openstack CLI does, with a fake API.

``test_shells`` has the tests of what differs in the blazar CLI.
"""

import datetime
import io
import json
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from blazarclient import client as blazarclient
from keystoneauth1 import session, token_endpoint

from tests.unit.cli.fake_api import Api
from warre_blazar.cli import base, confirmation

Run = Callable[..., str]


@pytest.fixture(autouse=True)
def zone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the time zone to UTC, wherever the tests run."""
    monkeypatch.setenv("TZ", "UTC")


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """A terminal at which a user answers all questions with the given text."""

    def sit_down(answer: str) -> None:
        monkeypatch.setattr(confirmation, "on_terminal", lambda: True)
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{answer}\n" * 9))

    return sit_down


@pytest.fixture
def answers_slowly(monkeypatch: pytest.MonkeyPatch) -> Callable[[datetime.datetime], None]:
    """A terminal at which a user agrees five minutes after the command was typed at some time."""

    def sit_down(typed_at: datetime.datetime) -> None:
        def answer(*_: object) -> None:
            answered_at = typed_at + datetime.timedelta(minutes=5)
            monkeypatch.setattr(base.Command, "now", lambda _: answered_at)

        monkeypatch.setattr(base.Command, "now", lambda _: typed_at)
        monkeypatch.setattr(confirmation, "on_terminal", lambda: True)
        monkeypatch.setattr(confirmation, "ask", answer)

    return sit_down


@pytest.fixture
def api() -> Iterator[Api]:
    """The fake API."""
    fake = Api()
    yield fake
    fake.stop()


def connect(endpoint: str) -> Any:
    """A Blazar client such as both CLIs make."""
    auth = token_endpoint.Token(endpoint, "a-token")
    return blazarclient.Client("1", session=session.Session(auth=auth, timeout=10))


@pytest.fixture
def run(api: Api) -> Run:
    """A function that runs a command with arguments, and returns what it has printed."""
    client_manager = SimpleNamespace(reservation=connect(f"{api.url}/v1"))

    def runs(command: type, *arguments: str, stdout: io.StringIO | None = None) -> str:
        # A test of a command that fails passes a stdout, and reads it afterwards.
        app = SimpleNamespace(stdout=stdout or io.StringIO(), client_manager=client_manager)
        instance = command(app, None)
        assert instance.attempt(instance.get_parser("it").parse_args(arguments)) == 0
        return app.stdout.getvalue()

    return runs


@pytest.fixture
def run_json(run: Run) -> Callable[..., Any]:
    """A function that runs a command with -f json, and returns the parsed output."""
    return lambda command, *arguments: json.loads(run(command, *arguments, "-f", "json"))
