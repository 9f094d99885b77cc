"""How often a manager reads hosts anew."""

from typing import Any

import pytest

from warre_blazar.plugins import monitor, notifications


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
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is told of overbooked hosts, by call."""
    made: list[Any] = []
    monkeypatch.setattr(monitor.host_refresh, "refresh", lambda **told: made.append(told["tell"]))
    return made


def test_hosts_are_read_at_once_and_then_as_often_as_the_option_says(conf, time, calls):
    conf.config(provider_poll_interval=300, group="warre")
    threads = monitor.Threads(lambda _: [])
    for seconds, expected in ((0, 1), (299, 1), (1, 2), (1, 2), (300, 3)):
        time.now += seconds
        threads.refresh_hosts()
        assert len(calls) == expected
    assert set(calls) == {notifications.tell_overbooked}


def test_hosts_are_not_read_if_the_option_is_0(conf, time, calls):
    conf.config(provider_poll_interval=0, group="warre")
    monitor.Threads(lambda _: []).refresh_hosts()
    assert calls == []
