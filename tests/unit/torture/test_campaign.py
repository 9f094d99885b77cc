"""How the campaign kills managers, sends requests, and measures what they cost."""

import argparse
import itertools
import time
from typing import Any

import pytest

from tests.torture import campaign as campaigns
from tests.torture import measures
from tests.torture.answers import Answer
from tests.torture.campaign import Campaign
from tests.torture.stage import Stage
from tests.torture.users import Person
from tests.torture.verdicts import Process

PEOPLE = [Person(n, f"user-{n}", f"id-{n}", f"project-{n}", f"project-id-{n}") for n in (1, 2)]
STAGE = Stage(PEOPLE, ["flavor"], {}, "image")
API = Process("blazar-api", 7, 100)


class Layout:
    """A cloud's."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.auth_url = f"http://{host}:5/v3"

    def url(self, _service: str) -> str:
        return "http://127.0.0.1:1"

    def login(self, _user: str) -> dict[str, str]:
        return {"password": "secret"}


class Manager:
    """A manager that is killed and started, and ends the campaign after some kills."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.name, self._log = name, log

    def stop(self, *, kill: bool) -> None:
        self._log.append(f"{'kill' if kill else 'stop'} {self.name}")

    def start(self) -> None:
        self._log.append(f"start {self.name}")


class Services:
    """A cloud with three managers."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.all: list[Any] = [Manager(f"m{number}", self.log) for number in (1, 2, 3)]

    def matching(self, pattern: str) -> list[Any]:
        return self.all if pattern.startswith("blazar-manager") else []

    def bring_up(self, _services: list[Any]) -> None:
        self.log.append("up")


@pytest.fixture
def services() -> Services:
    return Services()


@pytest.fixture
def campaign(services: Services, monkeypatch: pytest.MonkeyPatch) -> Campaign:
    parser = argparse.ArgumentParser()
    campaigns.add_arguments(parser)
    monkeypatch.setattr(measures, "limit_memory", lambda *_: None)
    return Campaign(Layout(), services, parser.parse_args(["--kill-every", "1"]))


class Waits:
    """An event on which nobody waits in real time. It is set after some waits."""

    def __init__(self, waits: int) -> None:
        self._left = waits

    def wait(self, _seconds: float) -> bool:
        self._left -= 1
        return self._left < 0


def test_cloud_elsewhere_is_refused(services: Services):
    with pytest.raises(ValueError, match="isn't on this machine"):
        Campaign(Layout("192.0.2.1"), services, argparse.Namespace())


def test_managers_are_killed_in_turn_and_the_last_one_lives(campaign: Campaign, services: Services):
    campaign._over = Waits(4)
    campaign._kill_in_turn()
    killed = [line for line in services.log if line.startswith("kill")]
    assert killed == ["kill m1", "kill m2", "kill m1", "kill m2"]
    assert services.log == list(
        itertools.chain(*((line, line.replace("kill", "start")) for line in killed))
    )
    assert campaign.verdicts.kills == 4


def test_each_request_is_sent_once_and_judged(campaign: Campaign, monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []

    class Http:
        def __init__(self, _auth_url: str, user: str, *_: str) -> None:
            self._user = user

        def ask(self, method: str, url: str, body: object, patience: float) -> Answer:
            asked.append(self._user)
            return Answer(500, None, "")

    monkeypatch.setattr(campaigns, "Http", Http)
    assert campaign._send_all(STAGE, 100, 0, time.monotonic() + 600) == 100
    assert len(asked) == 100
    assert set(asked) <= {"user-1", "user-2"}
    assert [len(texts) for texts in campaign.verdicts.failures.values()] == [100]


def test_no_request_is_sent_when_the_time_is_up(campaign: Campaign):
    assert campaign._send_all(STAGE, 100, 0, time.monotonic() - 1) == 0


def test_cost_is_what_is_used_until_all_is_calm(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
):
    # Work of an earlier request, calm, then the request's own work, and calm.
    used = iter([1.0, 2.0, 3.0, 3.01, 3.02, 3.5, 4.0, 4.01])
    monkeypatch.setattr(measures, "members", lambda _: [API])
    monkeypatch.setattr(measures, "cpu_seconds", lambda _: {API: next(used)})
    monkeypatch.setattr(campaigns.time, "sleep", lambda _: None)
    cost = campaign._cost(lambda: Answer(200, None, ""))
    assert cost == pytest.approx(4.01 - 3.01)


def test_process_that_ends_while_it_serves_is_a_failure(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
):
    used: list[dict[Process, float]] = [{API: 1.0}, {API: 1.0}, {}, {}]
    monkeypatch.setattr(measures, "members", lambda _: [API])
    monkeypatch.setattr(measures, "cpu_seconds", lambda _: used.pop(0))
    monkeypatch.setattr(campaigns.time, "sleep", lambda _: None)
    assert campaign._cost(lambda: Answer(200, None, "")) == 0
    assert campaign.verdicts.failures == {"a process ended": ["blazar-api 7"]}
