"""How often a manager reads hosts anew, and with which tables it starts."""

import inspect
import logging
import re
import threading
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from futurist import periodics

from warre_blazar.db import migration
from warre_blazar.plugins import monitor, notifications
from warre_blazar.services.running import mark


class Time:
    """A clock that tests set."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    clock = Time()
    monkeypatch.setattr(monitor, "time", clock)
    return clock


@pytest.fixture
def assigned(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The calls that assign instances to devices."""
    made: list[Any] = []
    monkeypatch.setattr(monitor.unassigned, "assign", lambda *rules: made.append(rules))
    return made


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, assigned: list[Any]) -> list[Any]:
    """Which hosts are read, and who is told of overbooked ones, by call."""
    made: list[Any] = []
    refresh = monitor.host_refresh
    monkeypatch.setattr(refresh, "refresh", lambda tell: made.append(("all", tell)))
    monkeypatch.setattr(refresh, "refresh_settling", lambda tell: made.append(("settling", tell)))
    return made


def test_hosts_are_read_at_once_and_then_as_often_as_the_option_says(conf, time, calls):
    conf.config(provider_poll_interval=300, group="warre")
    threads = monitor.Threads(lambda _: [])
    for seconds, expected in ((0, ["all"]), (29, []), (271, ["all"]), (1, []), (300, ["all"])):
        calls.clear()
        time.now += seconds
        threads.refresh_hosts()
        assert calls == [(which, notifications.tell_overbooked) for which in expected]


def test_hosts_that_are_settling_are_read_more_often(conf, time, calls):
    conf.config(provider_poll_interval=100, group="warre")
    threads = monitor.Threads(lambda _: [])
    for _ in range(111):
        threads.refresh_hosts()
        time.now += 1
    assert [which for which, _ in calls] == ["all", *["settling"] * 3, "all"]
    assert {tell for _, tell in calls} == {notifications.tell_overbooked}


@pytest.mark.parametrize("is_read", [False, True])
def test_instances_are_assigned_when_hosts_were_read(
    conf, time, calls, assigned, monkeypatch: pytest.MonkeyPatch, is_read: bool
):
    conf.config(provider_poll_interval=300, group="warre")
    monkeypatch.setattr(monitor.host_refresh, "refresh_settling", lambda _: is_read)
    threads = monitor.Threads(lambda _: [])
    for seconds, expected in ((0, 1), (20, 1), (20, 1 + is_read), (260, 2 + is_read)):
        time.now += seconds
        threads.refresh_hosts()
        assert len(assigned) == expected


def test_hosts_are_not_read_if_the_option_is_0(conf, time, calls, assigned):
    conf.config(provider_poll_interval=0, group="warre")
    monitor.Threads(lambda _: []).refresh_hosts()
    assert calls == []
    assert assigned == []


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"messengers": ["pigeon"]}, "there is no messenger pigeon"),
        ({"messengers": ["smtp"]}, r"\[warre_messages\] sender"),
    ],
)
def test_manager_that_can_not_send_messages_as_configured_does_not_start(
    conf, caplog: pytest.LogCaptureFixture, options: dict[str, Any], text: str
):
    conf.config(group="warre", **options)
    with pytest.raises(SystemExit):
        monitor.Threads(lambda _: []).start()
    assert re.search(text, caplog.text)


class Often:
    """Has a method that is called often, and that ends the worker the third time."""

    def __init__(self) -> None:
        self.calls = 0

    @periodics.periodic(0.01, run_immediately=True)
    def begin_due(self) -> None:
        self.calls += 1
        if self.calls == 3:
            self.worker.stop()
        raise ValueError("not now")

    def run(self) -> None:
        self.worker = monitor.periodic_worker(self)
        self.worker.start()


def test_calls_of_periodic_methods_are_not_logged_but_failures_are(
    caplog: pytest.LogCaptureFixture,
):
    with caplog.at_level(logging.DEBUG):
        Often().run()
    logged = {record.getMessage() for record in caplog.records}
    assert logged == {
        "The periodic call begin_due failed, and will run again: not now",
    }


def test_manager_beats_while_all_its_other_work_hangs():
    beaten, went_on = threading.Event(), {}

    def hanging(name: str) -> Callable[[Any], None]:
        def work(_: Any) -> None:
            went_on.setdefault(name, beaten.wait(60))

        return periodics.periodic(0.01, run_immediately=True)(work)

    def beat(owner: Any) -> None:
        owner.calls += 1
        if owner.calls == 3:
            beaten.set()
            owner.worker.stop()

    names = {name for name, _ in inspect.getmembers(monitor.Threads, periodics.is_periodic)}
    others = names - {"beat"}
    work = {name: hanging(name) for name in others}
    work["beat"] = periodics.periodic(0.01, run_immediately=True)(beat)
    owner = type("Owner", (), {"calls": 0, **work})()
    owner.worker = monitor.periodic_worker(owner)
    owner.worker.start()
    assert went_on == dict.fromkeys(others, True)


def test_held_manager_only_beats_and_looks_at_the_mark(monkeypatch: pytest.MonkeyPatch):
    members = dict(inspect.getmembers(monitor.Threads, periodics.is_periodic))
    held = {name for name, method in members.items() if getattr(method, "is_held", False)}
    assert set(members) - held == {"beat", "look_at_mark", "count_refusals"}
    mark.gate.begin()
    for name in held:
        # The object isn't even looked at.
        members[name](None)


class Recorded:
    """Threads that aren't started."""

    started = False

    def __init__(self, _hosts_of: Any) -> None:
        pass

    def start(self) -> None:
        Recorded.started = True


@pytest.fixture
def slot_monitor(conf, monkeypatch: pytest.MonkeyPatch) -> monitor.SlotMonitor:
    monkeypatch.setattr(monitor, "Threads", Recorded)
    Recorded.started = False
    return monitor.SlotMonitor(lambda _: [])


@pytest.mark.parametrize("revision", ["0000", "0101", "of a fork"])
def test_manager_does_not_start_with_the_tables_of_another_release(
    slot_monitor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, revision: str
):
    monkeypatch.setattr(migration, "revision_of", lambda _: revision)
    with pytest.raises(SystemExit):
        slot_monitor.get_polling_interval()
    assert not Recorded.started
    assert revision in caplog.text
    assert "warre-blazar-manage db" in caplog.text


def test_manager_starts_with_its_own_tables(slot_monitor, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(migration, "revision_of", lambda _: migration.head())
    slot_monitor.get_polling_interval()
    assert Recorded.started


def test_manager_starts_while_the_database_is_away(slot_monitor, monkeypatch: pytest.MonkeyPatch):
    def away(_: str) -> str:
        raise sa.exc.OperationalError("", None, Exception())

    monkeypatch.setattr(migration, "revision_of", away)
    slot_monitor.get_polling_interval()
    assert Recorded.started
