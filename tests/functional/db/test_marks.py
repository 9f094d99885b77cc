"""Managers compare their database with Placement, and an older database is held."""

import datetime
import threading
from typing import Any

import pytest
import sqlalchemy as sa
from blazar.manager import service
from blazar.monitor import base as monitors
from oslo_utils import timeutils

from tests.fakes.cloud import Cloud
from tests.functional.db import databases
from warre_blazar import times
from warre_blazar.db import session
from warre_blazar.db.running import marks
from warre_blazar.domain.running.mark import NO_MARK, Standing
from warre_blazar.errors import blazar_errors, exceptions
from warre_blazar.openstack import placement_mark
from warre_blazar.plugins import held_work
from warre_blazar.services.running import mark
from warre_blazar.services.running.mark import Gate

pytestmark = pytest.mark.usefixtures("database")

FIRST = datetime.datetime(2100, 1, 1)


def at(minute: int, *gates: Gate) -> None:
    """Let managers look in a minute."""
    timeutils.set_time_override(FIRST + datetime.timedelta(minutes=minute))
    for number, gate in enumerate(gates):
        gate.look(f"manager {number}")


def started() -> Gate:
    gate = Gate()
    gate.begin()
    return gate


def numbers() -> tuple[int, int]:
    """The numbers of the database and of Placement."""
    with session.reader() as db:
        return marks.read(db).number, placement_mark.read().number


def test_new_site_works_at_once_and_counts_each_minute_once(cloud: Cloud):
    gates = [started(), started()]
    assert [gate.is_open for gate in gates] == [False, False]
    at(0, *gates)
    assert [gate.is_open for gate in gates] == [True, True]
    assert gates[0].opened.is_set()
    seen = []
    for minute in range(4):
        at(minute, *gates, *gates)
        seen.append(numbers())
    assert seen == [(1, 0), (2, 1), (3, 2), (4, 3)]
    (provider,) = cloud.placement.providers.values()
    (inventory,) = provider["inventories"].values()
    assert inventory["total"] == inventory["reserved"] == 3


def test_minute_costs_three_requests_and_a_look_none(cloud: Cloud):
    gate = started()
    for minute in range(3):
        at(minute, gate)
    cloud.placement.requests.clear()
    at(3, gate, gate)
    assert len(cloud.placement.requests) == 3


def test_manager_waits_until_placement_has_answered_once(cloud: Cloud):
    gate = started()
    cloud.placement.stop()
    for minute in range(2):
        with pytest.raises(exceptions.ServiceUnavailable):
            at(minute, gate)
        assert gate.standing is Standing.UNKNOWN
    cloud.placement.start()
    at(2, gate)
    assert gate.is_open
    cloud.placement.stop()
    for minute in range(3, 9):
        at(minute, gate)
    # A manager that starts meanwhile knows that the database is current.
    at(8, other := started())
    assert gate.is_open
    assert other.is_open
    # Nobody has marked it for a while.
    with pytest.raises(exceptions.ServiceUnavailable):
        at(12, late := started())
    assert late.standing is Standing.UNKNOWN
    cloud.placement.start()
    at(12, late)
    assert numbers() == (8, 7)


def test_kill_between_database_and_placement_does_no_harm(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
):
    gate = started()
    for minute in range(3):
        at(minute, gate)

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(placement_mark, "write", killed)
        at(3, gate)
    assert numbers() == (4, 2)
    at(4, fresh := started())
    assert fresh.is_open
    assert numbers() == (5, 4)


def test_slow_manager_does_not_lower_the_mark(cloud: Cloud):
    gate = started()
    for minute in range(3):
        at(minute, gate)
    read_before = placement_mark.read()
    at(3, gate)
    assert not placement_mark.write(read_before, 1)
    assert numbers() == (4, 3)


def test_race_of_two_managers_counts_once(cloud: Cloud):
    gates = [started() for _ in range(4)]
    for minute in range(3):
        at(minute, gates[0])
    barrier = threading.Barrier(len(gates))

    def look(gate: Gate) -> None:
        barrier.wait()
        gate.look("manager")

    timeutils.set_time_override(FIRST + datetime.timedelta(minutes=3))
    threads = [threading.Thread(target=look, args=(gate,)) for gate in gates]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [gate.is_open for gate in gates] == [True] * len(gates)
    assert numbers() == (4, 3)


@pytest.mark.parametrize("has_mark", [True, False], ids=["last night", "before the upgrade"])
def test_older_database_is_held_until_it_is_accepted(
    database: sa.Engine, cloud: Cloud, caplog: pytest.LogCaptureFixture, has_mark: bool
):
    before = started()
    dumped: dict[str, Any] = {}
    for minute in range(6):
        at(minute, before)
        if has_mark and minute == 1:
            dumped = databases.dump(database)
    databases.empty(database)
    databases.put_back(database, dumped)
    gate = started()
    at(7, gate)
    assert gate.standing is Standing.OLDER
    assert not gate.opened.is_set()
    assert "warre-blazar-manage audit --after-restore" in caplog.text
    # A manager that was running may not know what else has changed, so it has to be restarted.
    at(7, before)
    assert before.standing is Standing.REPLACED
    # Time doesn't heal, nor does a Placement without the mark.
    held = numbers()
    at(8, gate)
    assert numbers() == held
    placement_mark.remove()
    at(9, gate, other := started())
    assert {gate.standing, other.standing} == {Standing.OLDER}
    with session.writer() as db:
        found = marks.read(db)
        marks.write(db, found, found.accepted())
    at(10, gate, before)
    assert gate.is_open
    assert before.standing is Standing.REPLACED
    for minute in (11, 12):
        at(minute, gate)
    assert numbers() == (9, 8)


def test_placement_that_has_lost_the_mark_gets_it_again(cloud: Cloud):
    gate = started()
    for minute in range(3):
        at(minute, gate)
    placement_mark.remove()
    at(3, gate)
    assert numbers() == (4, 3)


class Manager:
    """What Blazar's manager has, as far as it is held."""

    def start(self) -> None:
        pass

    def _process_events(self) -> str:
        return "processed"

    def create_lease(self, lease_values: Any) -> str:
        return "created"

    def update_lease(self, lease_id: str, values: Any) -> str:
        return "updated"

    def delete_lease(self, lease_id: str) -> str:
        return "deleted"


class Monitor:
    def call_monitor_plugin(self, callback: Any) -> Any:
        return callback()


def test_held_manager_refuses_and_skips_everything(cloud: Cloud, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(service, "ManagerService", type("Wrapped", (Manager,), {}))
    monkeypatch.setattr(monitors, "BaseMonitor", type("Wrapped", (Monitor,), {}))
    held_work.register()
    manager = service.ManagerService()
    calls = {
        "created": lambda: manager.create_lease(lease_values={}),
        "updated": lambda: manager.update_lease(lease_id="1", values={}),
        "deleted": lambda: manager.delete_lease(lease_id="1"),
    }
    manager.start()
    monkeypatch.setattr(times, "GATE_WAITED_FOR", 0)
    for call in calls.values():
        with pytest.raises(blazar_errors.WarreServiceUnavailable, match="restored") as refused:
            call()
        assert refused.value.kwargs["warre"]["code"] == "service_unavailable"
    assert manager._process_events() is None
    assert monitors.BaseMonitor().call_monitor_plugin(lambda: "polled") is None
    at(0, mark.gate)
    assert [call() for call in calls.values()] == list(calls)
    assert manager._process_events() == "processed"
    assert monitors.BaseMonitor().call_monitor_plugin(lambda: "polled") == "polled"


def test_request_waits_while_a_manager_starts(cloud: Cloud):
    gate = started()
    looking = threading.Timer(0.2, gate.look, ["manager"])
    looking.start()
    assert gate.opens_within(60)
    looking.join()


def test_database_without_a_mark_has_none(cloud: Cloud):
    with session.reader() as db:
        assert marks.read(db) == NO_MARK
