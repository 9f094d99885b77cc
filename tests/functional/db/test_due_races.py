"""Updates that arrive while starts and ends are due: no extended lease loses its servers.

Blazar's own update, Blazar's own executor with its outdated list of events, and our executor run in
threads beside each other. ``WARRE_RACES=500`` makes the run long.
"""

import collections
import datetime
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any

import pytest
from blazar import context
from blazar import exceptions as blazar_exc
from blazar.db import api as db_api
from blazar.enforcement import UsageEnforcement
from blazar.manager import service
from oslo_db import exception as db_exc
from oslo_utils import timeutils

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from tests.functional.db.managers import Manager, state
from warre_blazar.domain.running import backing_names
from warre_blazar.plugins import flavor_slot
from warre_blazar.services.running.repair import Repairer

pytestmark = [
    pytest.mark.usefixtures("database"),
    # On SQLite, Blazar's own writes fail if two run at the same time.
    pytest.mark.parametrize("kind", ["mariadb"], indirect=True, scope="session"),
]

COUNT = int(os.environ.get("WARRE_RACES", "40"))
#: Seconds before the due time at which updates begin; they go on for twice as long.
AHEAD = 8
LATER = datetime.timedelta(hours=5)
V1_TIME = "%Y-%m-%d %H:%M"


class Running:
    """A running manager: Blazar's executor and updates, our executor and our repairer."""

    def __init__(self, pool: futures.Executor) -> None:
        self.blazars: Any = object.__new__(service.ManagerService)
        plugin = flavor_slot.FlavorSlotPlugin()
        self.blazars.plugins = {plugin.resource_type: plugin}
        self.blazars.resource_actions = self.blazars._setup_actions()
        self.blazars.enforcement = UsageEnforcement()
        self.blazars._send_notification = lambda *_, **__: None
        self.ours = Manager(pool)
        self._repairer = Repairer(lambda _: 20.0)
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._keep, args=(work, pause))
            for work, pause in ((self._blazar, 0.5), (self._execute, 0.2), (self._repair, 2))
        ]

    def __enter__(self) -> "Running":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _keep(self, work: Callable[[], None], pause: float) -> None:
        while not self._stop.wait(pause):
            try:
                work()
            except Exception as error:  # The manager's timers also call again after an error.
                print(f"{work.__name__}: {error!r}")

    def _blazar(self) -> None:
        self.blazars._process_events()

    def _execute(self) -> None:
        now = timeutils.utcnow()
        self.ours.executor.beat()
        self.ours.executor.claim(now)
        self.ours.executor.begin_due(now)

    def _repair(self) -> None:
        self._repairer.look(timeutils.utcnow(), thorough=True)

    def update(self, lease: world.Lease, values: dict[str, str]) -> str:
        """Run Blazar's update of a lease, and return its outcome."""
        try:
            with context.BlazarContext(project_id=world.PROJECT, user_id="user"):
                self.blazars.update_lease(lease_id=lease.id, values=dict(values))
        except (blazar_exc.BlazarException, db_exc.DBError) as error:
            return type(error).__name__
        return "done"


@pytest.fixture
def running(cloud: Cloud) -> Iterator[Running]:
    world.add_host(cloud, "a", vcpus=99999, memory_mb=999999999, disk_gb=9999999)
    with futures.ThreadPoolExecutor(16) as pool, Running(pool) as manager:
        yield manager


def booked(count: int, start: datetime.datetime, end: datetime.datetime) -> list[world.Lease]:
    flavor = world.add_flavor(slots=2 * count)
    made = [world.book(world.request(flavor, world.hours(1, 3))) for _ in range(count)]
    world.write_same_dates(made, world.Span(start, end))
    return made


def soon(seconds: int) -> datetime.datetime:
    return timeutils.utcnow().replace(microsecond=0) + datetime.timedelta(seconds=seconds)


def minute(time_: datetime.datetime) -> datetime.datetime:
    return time_.replace(second=0, microsecond=0)


def race(
    running: Running, leases: list[world.Lease], due: datetime.datetime, values: dict[str, str]
) -> dict[str, str]:
    """Update leases one after the other, from before their time until after it."""
    order = random.Random(1).sample(leases, len(leases))
    time.sleep(max(0.0, (due - timeutils.utcnow()).total_seconds() - AHEAD))
    outcome_by_lease: dict[str, str] = {}

    def one(lease: world.Lease) -> None:
        outcome_by_lease[lease.id] = running.update(lease, values)

    with futures.ThreadPoolExecutor(4) as pool:
        for lease in order:
            pool.submit(one, lease)
            time.sleep(2 * AHEAD / len(leases))
    return outcome_by_lease


def settled(leases: list[world.Lease]) -> bool:
    return all(
        found is not None and found[0] in ("PENDING", "ACTIVE", "TERMINATED")
        for found in map(state, leases)
    )


@pytest.mark.whole
def test_extended_lease_keeps_its_servers(running: Running, cloud: Cloud):
    start = minute(timeutils.utcnow()) - datetime.timedelta(minutes=5)
    leases = booked(COUNT, start, start + LATER)
    world.until(lambda: all(state(lease)[0] == "ACTIVE" for lease in leases), 600)
    servers = {
        lease.id: cloud.nova.boot(backing_names.nova_flavor_id(lease.reservation_id), world.PROJECT)
        for lease in leases
    }
    due = soon(COUNT // 20 + AHEAD + 4)
    world.write_same_dates(leases, world.Span(start, due))
    longer = {"end_date": (minute(due) + LATER).strftime(V1_TIME)}
    outcome_by_lease = race(running, leases, due, longer)
    world.until(lambda: settled(leases) and timeutils.utcnow() > due, 300)
    time.sleep(8)
    outcomes = collections.Counter(outcome_by_lease.values())
    print(outcomes)
    # Blazar's update may answer with an error although it has written the later end: if its own
    # executor has just marked the start as failed, the statuses contradict each other.
    ends = {lease.id: db_api.lease_get(lease.id)["end_date"] for lease in leases}
    extended = {i for i, end in ends.items() if end > due}
    assert extended >= {i for i, outcome in outcome_by_lease.items() if outcome == "done"}
    assert extended
    lost = {i for i in extended if servers[i] not in cloud.nova.servers}
    assert lost == set(), outcomes
    kept = [lease for lease in leases if lease.id in extended]
    world.until(lambda: {state(lease)[0] for lease in kept} == {"ACTIVE"}, 300)
    rest = [lease for lease in leases if lease.id not in extended]
    world.until(lambda: all(state(lease)[0] == "TERMINATED" for lease in rest), 300 + 3 * COUNT)


def test_postponed_lease_is_not_opened_early(running: Running, cloud: Cloud):
    end = minute(timeutils.utcnow()) + 2 * LATER
    count = max(COUNT * 2 // 5, 20)
    leases = booked(count, end - LATER, end)
    due = soon(count // 20 + AHEAD + 14)
    world.write_same_dates(leases, world.Span(due, end))
    # Most updates arrive before the manager claims what is due.
    outcome_by_lease = race(
        running,
        leases,
        due - datetime.timedelta(seconds=10),
        {"start_date": (minute(due) + LATER).strftime(V1_TIME)},
    )
    world.until(lambda: settled(leases) and timeutils.utcnow() > due, 300)
    time.sleep(8)
    outcomes = collections.Counter(outcome_by_lease.values())
    print(outcomes)
    # As above, an update that has written the later start may answer with an error.
    moved = [lease for lease in leases if db_api.lease_get(lease.id)["start_date"] > due]
    done = {i for i, outcome in outcome_by_lease.items() if outcome == "done"}
    assert moved
    assert {lease.id for lease in moved} >= done
    for lease in moved:
        flavor = cloud.nova.flavors[backing_names.nova_flavor_id(lease.reservation_id)]
        assert flavor["access"] == set(), outcomes
    world.until(lambda: {state(lease)[0] for lease in moved} == {"PENDING"}, 300)
    rest = [lease for lease in leases if lease not in moved]
    world.until(lambda: all(state(lease)[0] == "ACTIVE" for lease in rest), 300)
