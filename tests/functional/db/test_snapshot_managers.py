"""Two managers, of which one is killed while it makes snapshots: each server gets one image."""

import collections
import datetime
import pathlib
from typing import Any

import pytest
import sqlalchemy as sa
from oslo_utils import timeutils

from tests.fakes.cloud import Cloud
from tests.fakes.service import Request
from tests.functional.db import manager_process, own_processes, world
from warre_blazar.db import session, tables
from warre_blazar.db.running import snapshots
from warre_blazar.domain.running import backing_names
from warre_blazar.domain.running.snapshots import Status
from warre_blazar.domain.timeline import Span

pytestmark = [
    pytest.mark.usefixtures("database"),
    # On SQLite, Blazar's own writes fail if two run at the same time.
    pytest.mark.parametrize("kind", ["mariadb"], indirect=True, scope="session"),
]

SERVERS = 9


def started(config: str) -> Any:
    """A new manager process."""
    process = own_processes.context().Process(
        target=manager_process.run, args=(config,), daemon=True
    )
    process.start()
    return process


def running(cloud: Cloud) -> world.Lease:
    """A running reservation with servers, which ends in twenty minutes."""
    flavor = world.add_flavor(slots=SERVERS, before_end="snapshot")
    lease = world.book(world.request(flavor, world.hours(1, 3), SERVERS))
    world.begin(lease)
    world.set_event(lease, "start_lease", "DONE")
    now = timeutils.utcnow().replace(microsecond=0)
    start, end = now - datetime.timedelta(hours=1), now + datetime.timedelta(minutes=20)
    world.write_dates(lease, Span(start, end))
    for number in range(SERVERS):
        cloud.nova.boot(
            backing_names.nova_flavor_id(lease.reservation_id), world.PROJECT, f"s{number}"
        )
    return lease


def statuses(lease: world.Lease) -> collections.Counter[Status]:
    with session.reader() as db:
        made = snapshots.of_reservation(db, lease.reservation_id)
    return collections.Counter(each.status for each in made)


def has_turn() -> bool:
    with session.reader() as db:
        query = sa.select(tables.turns.c.name).where(tables.turns.c.name == "snapshots")
        return db.execute(query).first() is not None


@pytest.mark.whole
def test_each_server_gets_one_image_although_a_manager_is_killed(
    database: sa.Engine, cloud: Cloud, tmp_path: pathlib.Path
):
    options = {
        **cloud.options(),
        "transport_url": "fake://",
        "database.connection": database.url.render_as_string(hide_password=False),
        "enforcement.enabled_filters": "StrictLeaseFilter",
        "warre.request_timeout": "5",
    }
    config = manager_process.written(tmp_path / "blazar.conf", options)
    world.add_host(cloud, "a", vcpus=99, memory_mb=99999, disk_gb=9999)
    managers = [started(config)]
    killed: list[Request] = []

    def kill(request: Request) -> None:
        managers[0].kill()
        killed.append(request)

    try:
        world.until(has_turn)
        managers.append(started(config))
        # It sends four requests at a time. Nova carries out those that it has received.
        cloud.nova.fail(then=kill, match="/servers/.*/action", first=6, times=1)
        lease = running(cloud)
        world.until(lambda: statuses(lease)[Status.SAVING] == SERVERS)
        cloud.glance.finish()
        world.until(lambda: statuses(lease)[Status.SAVED] == SERVERS)
    finally:
        for process in managers:
            process.kill()
            process.join()
    assert len(killed) == 1
    images = collections.Counter(i["instance_uuid"] for i in cloud.glance.images.values())
    assert images == dict.fromkeys(cloud.nova.servers, 1)
    assert {image["owner"] for image in cloud.glance.images.values()} == {world.PROJECT}
