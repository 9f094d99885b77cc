"""Three managers, one of which is killed repeatedly: each start and end happens once.

``WARRE_MANAGERS_LEASES=300 WARRE_MANAGERS_PAUSE=20`` makes the run long.
"""

import collections
import datetime
import os
import pathlib
import random
import time
from collections.abc import Sequence
from typing import Any

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api
from oslo_utils import timeutils

from tests.fakes.cloud import Cloud
from tests.fakes.service import Answer, Request, Service
from tests.functional.db import manager_process, own_processes, world
from tests.functional.db.managers import OVER, state
from warre_blazar.db import session, tables
from warre_blazar.domain.running.execution import END
from warre_blazar.services.running import backing

pytestmark = [
    pytest.mark.usefixtures("database"),
    # On SQLite, Blazar's own writes fail if two run at the same time.
    pytest.mark.parametrize("kind", ["mariadb"], indirect=True, scope="session"),
]

LEASES = int(os.environ.get("WARRE_MANAGERS_LEASES", "24"))
PAUSE = float(os.environ.get("WARRE_MANAGERS_PAUSE", "6"))
MANAGERS = 3
RUNS_FOR = datetime.timedelta(seconds=25)
PATIENCE = 240 + 3 * LEASES


class Accounting(Service):
    """An enforcement filter that records the ends of leases, as an external service would."""

    routes = (("POST", "/on-end", "on_end"),)

    def __init__(self) -> None:
        super().__init__()
        self.ended: collections.Counter[str] = collections.Counter()

    def on_end(self, request: Request) -> Answer:
        self.ended[request.body["lease"]["id"]] += 1
        return Answer(204)


class Managers:
    """The processes of the managers, of which one at a time is killed and replaced."""

    def __init__(self, directory: pathlib.Path, options: dict[str, str]) -> None:
        self._context = own_processes.context()
        self._directory = directory
        self._options = options
        self._started = 0
        self._running = [self._start() for _ in range(MANAGERS)]
        #: How many times a manager was killed that had claimed a lease's end, by lease id.
        self.ends_cut_off: collections.Counter[str] = collections.Counter()

    def _start(self) -> Any:
        name = f"manager-{self._started}"
        options = {**self._options, "host": name}
        args = (manager_process.written(self._directory / f"{name}.conf", options),)
        process = self._context.Process(
            target=manager_process.run, name=name, args=args, daemon=True
        )
        process.start()
        self._started += 1
        return process

    def replace_one(self, rng: random.Random) -> None:
        """Kill one process with SIGKILL, and start another. All processes are at work before."""
        world.until(lambda: _have_beaten() == self._started, 300, "managers")
        victim = self._running.pop(rng.randrange(MANAGERS))
        victim.kill()
        victim.join()
        self.ends_cut_off.update(_claimed_ends(victim.name))
        self._running.append(self._start())

    def stop(self) -> None:
        for process in self._running:
            process.kill()
            process.join()


def _have_beaten() -> int:
    """How many managers have ever written a heartbeat."""
    with session.reader() as db:
        return len(db.scalars(sa.select(tables.managers.c.id)).all())


def _claimed_ends(host: str) -> Sequence[str]:
    """The ids of the leases whose ends a manager has claimed.

    :param host: the manager's name.
    """
    claims, managers = tables.executions.c, tables.managers.c
    query = (
        sa.select(claims.lease_id)
        .join(tables.managers, managers.id == claims.manager_id)
        .where(managers.host == host, claims.action == END)
    )
    with session.reader() as db:
        return db.scalars(query).all()


def booked(count: int) -> list[world.Lease]:
    """Leases that start a few seconds after each other, beginning a while from now."""
    flavor = world.add_flavor(slots=count)
    made = [world.book(world.request(flavor, world.hours(1, 3))) for _ in range(count)]
    first = timeutils.utcnow().replace(microsecond=0) + datetime.timedelta(seconds=15)
    for number, lease in enumerate(made):
        start = first + datetime.timedelta(seconds=number // 4)
        world.write_dates(lease, world.Span(start, start + RUNS_FOR))
    return made


def test_each_start_and_end_is_executed_although_managers_are_killed(
    database: sa.Engine, cloud: Cloud, tmp_path: pathlib.Path
):
    world.add_host(cloud, "a", vcpus=9999, memory_mb=99999999, disk_gb=999999)
    accounting = Accounting()
    options = {
        **cloud.options(),
        "transport_url": "fake://",
        "database.connection": database.url.render_as_string(hide_password=False),
        "enforcement.enabled_filters": "StrictLeaseFilter,ExternalServiceFilter",
        "enforcement.external_service_base_endpoint": accounting.url + "/",
        "enforcement.external_service_on_end_endpoint": accounting.url + "/on-end",
        "warre.request_timeout": "5",
        "warre.server_deletion_timeout": "2",
    }
    leases = booked(LEASES)
    managers = Managers(tmp_path, options)
    rng = random.Random(1)
    deadline = time.monotonic() + PATIENCE
    early: set[str] = set()
    try:
        while not all(state(lease) == OVER for lease in leases):
            assert time.monotonic() < deadline, collections.Counter(map(state, leases))
            time.sleep(PAUSE)
            early |= active_too_early(leases)
            managers.replace_one(rng)
        world.until(lambda: _reconciled(cloud))
    finally:
        managers.stop()
        accounting.stop()
    assert early == set()
    # A manager tells the filters of an end before it writes the end. If it is killed in between,
    # the manager that takes over tells them again.
    told = {lease.id: accounting.ended[lease.id] for lease in leases}
    assert min(told.values()) >= 1
    assert {i: n for i, n in told.items() if n > 1 + managers.ends_cut_off[i]} == {}


def _reconciled(cloud: Cloud) -> bool:
    backing.reconcile()
    return cloud.is_clean()


def active_too_early(leases: list[world.Lease]) -> set[str]:
    """Leases that are active before their start."""
    rows = map(db_api.lease_get, [lease.id for lease in leases])
    # The clock must be read after the row.
    return {
        row["id"]
        for row in rows
        if row["status"] == "ACTIVE" and row["start_date"] > timeutils.utcnow()
    }
