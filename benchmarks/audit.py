#!/usr/bin/env python3
"""Seconds of an audit of 10,000 reservations, 200 of them in Nova, Placement and Keystone.

Needs MariaDB only: ``tools/testdb up && eval "$(tools/testdb env)"`` first. Makes a database of its
own and drops it. The services are this package's fakes, over HTTP in this process: their time is
part of what is printed. One audit finds nothing; the other finds a difference, so looks twice.
"""

import argparse
import datetime
import pathlib
import sys
import tempfile
import time
import uuid
from typing import Any

import sqlalchemy as sa
from oslo_config import cfg

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from tests.fakes.cloud import Cloud
from tests.functional.db import databases, world
from warre_blazar import conf, times
from warre_blazar.db import session, tables
from warre_blazar.domain.running import backing_names
from warre_blazar.services.audit import Audit
from warre_blazar.services.audit.looking import StockTypes

HOSTS = 50
_ROWS = 2_000


def fill_past(count: int, flavor: Any) -> None:
    """That many leases that are over, each with a reservation of ours."""
    long_ago = world.NOW - datetime.timedelta(days=100)
    for first in range(0, count, _ROWS):
        rows: dict[sa.Table, list[dict[str, Any]]] = {}
        for number in range(first, min(first + _ROWS, count)):
            for table, row in _past(number, flavor, long_ago):
                rows.setdefault(table, []).append(row)
        with session.writer() as db:
            for table, some in rows.items():
                db.execute(table.insert(), some)


def _past(
    number: int, flavor: Any, end: datetime.datetime
) -> list[tuple[sa.Table, dict[str, Any]]]:
    lease, reservation = str(uuid.uuid4()), str(uuid.uuid4())
    start = end - datetime.timedelta(hours=1 + number % 100)
    dates = {"start_date": start, "end_date": end, "updated_at": end}
    whose = {"project_id": world.PROJECT, "user_id": "user", "trust_id": "trust"}
    ours = {
        **dict.fromkeys(("id", "live_id", "reservation_id"), reservation),
        **{"lease_id": lease, "project_id": world.PROJECT, "user_id": "user"},
        **{"flavor_id": flavor.id, "start_date": start, "end_date": end},
    }
    events = [
        {
            "id": str(uuid.uuid4()),
            "lease_id": lease,
            "event_type": kind,
            "time": due,
            "status": "DONE",
        }
        for kind, due in (("start_lease", start), ("end_lease", end))
    ]
    return [
        (tables.leases, {"id": lease, "name": lease, "status": "TERMINATED", **whose, **dates}),
        (
            tables.reservations,
            {
                "id": reservation,
                "lease_id": lease,
                "resource_type": "flavor:slot",
                "status": "deleted",
            },
        ),
        *((tables.events, event) for event in events),
        (
            tables.bookings,
            {**ours, "instance_count": 1, "shape": flavor.shape.to_json(), "created_at": start},
        ),
    ]


def fill(cloud: Cloud, past: int, live: int) -> None:
    """The tables, and what Nova and Placement hold of the live reservations."""
    for number in range(HOSTS):
        name = f"host-{number}"
        world.add_host(cloud, name, vcpus=64, memory_mb=10**6, disk_gb=10**5)
        provider = cloud.placement.named(name)
        assert provider is not None
        for cls, total in {"VCPU": 64, "MEMORY_MB": 10**6, "DISK_GB": 10**5}.items():
            provider["inventories"][cls] = {"total": total, "reserved": 0, "allocation_ratio": 1.0}
    flavor = world.add_flavor(slots=100_000)
    for number in range(live):
        lease = world.book(world.request(flavor, world.hours(0, 1 + number % 100)))
        if number % 2:
            world.begin(lease)
            world.set_event(lease, "start_lease", "DONE")
            cloud.nova.boot(backing_names.nova_flavor_id(lease.reservation_id), world.PROJECT)
    fill_past(past, flavor)


def timed(cloud: Cloud, expected: int) -> float:
    """Seconds of one audit, its pause included."""
    neighbors = StockTypes(lambda count: 1305.0 * count, are_exact=False)
    audit = Audit(
        lambda count: 645.0 * count, 45.0, 65.0, neighbors, lambda lease_id: None, lambda: world.NOW
    )
    began = time.monotonic()
    result = audit.run()
    took = time.monotonic() - began
    for difference in result.left[:5]:
        if expected == 0:
            print(difference.text)
    assert (len(result.left), dict(result.away)) == (expected, {})
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reservations", type=int, default=10_000)
    parser.add_argument("--live", type=int, default=200)
    parser.add_argument("--kind", choices=databases.KINDS, default="mariadb")
    asked = parser.parse_args()
    cfg.CONF([], default_config_files=[])
    conf.register(cfg.CONF)
    with tempfile.TemporaryDirectory() as directory, Cloud() as cloud:
        for name, value in cloud.options().items():
            cfg.CONF.set_override(name, value)
        with databases.made(asked.kind, pathlib.Path(directory)) as url:
            databases.fill(asked.kind, url, pathlib.Path(directory))
            cfg.CONF.set_override("connection", url, group="database")
            fill(cloud, asked.reservations - asked.live, asked.live)
            before = sum(len(service.requests) for service in cloud.services)
            clean = timed(cloud, 0)
            requests = sum(len(service.requests) for service in cloud.services) - before
            cloud.placement.classes.add(backing_names.resource_class(str(uuid.uuid4())))
            print(f"{asked.reservations} reservations, {asked.live} of them in Nova, {HOSTS} hosts")
            print(f"nothing wrong:  {clean:5.1f} s, {requests} requests")
            pause = times.AUDIT_PAUSE
            print(f"one difference: {timed(cloud, 1):5.1f} s, {pause} of them between two looks")
            with session.writer() as db:
                engine = db.get_bind()
            engine.dispose()


if __name__ == "__main__":
    main()
