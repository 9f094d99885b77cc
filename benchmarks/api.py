#!/usr/bin/env python3
"""Milliseconds of reading requests over HTTP, and the SQL statements each costs.

Run on a quiet dev cloud (``eval "$(tools/devcloud env)"`` first) with hosts registered
(``tools/devcloud hosts``). Puts flavors and reservations of one of them straight into Blazar's
database, asks for the list of flavors and for free slots at 1 and at 8 clients, and beside them
for stock Blazar's list of hosts, and takes its rows away again. It does so with a few rows, and
with 200 flavors and 10,000 reservations.
"""

import argparse
import concurrent.futures
import configparser
import contextlib
import datetime
import os
import pathlib
import statistics
import time
import uuid
from collections.abc import Iterator
from typing import Any

import openstack
import requests
import sqlalchemy as sa

from warre_blazar.db import tables
from warre_blazar.domain.flavors.flavor import Shape

WARRE_LIST_ONE = 6.0
CLIENTS = (1, 8)
#: The flavors and reservations of the small case.
SMALL = (3, 5)
_MARK = "bench-"


def database() -> sa.Engine:
    conf = configparser.ConfigParser(strict=False, interpolation=None)
    conf.read(pathlib.Path(os.environ["WARRE_DEVCLOUD_HOME"]) / "etc/blazar/blazar.conf")
    return sa.create_engine(conf["database"]["connection"])


def flavor_row(number: int) -> dict[str, Any]:
    return {
        "id": str(uuid.uuid4()),
        "name": f"{_MARK}{number}",
        "vcpu": 1,
        "memory_mb": 1,
        "disk_gb": 1,
        "ephemeral_gb": 0,
        "extra_specs": {},
        "slots": 60,
        "max_length_hours": 240,
        "is_public": True,
        "active": True,
        "generation": 0,
        "deleted": "",
        "created_at": datetime.datetime(2026, 1, 1),
    }


def reservation_rows(
    flavor: str, hosts: list[str], count: int
) -> Iterator[tuple[sa.Table, dict[str, Any]]]:
    """A day each, spread evenly over a year to come."""
    first = datetime.datetime.now(datetime.UTC).replace(tzinfo=None, second=0, microsecond=0)
    shape = Shape(1, 1, 1, 0, {}, None, None).to_json()
    for number in range(count):
        lease, reservation = str(uuid.uuid4()), str(uuid.uuid4())
        start = first + datetime.timedelta(minutes=number * 365 * 1440 // count)
        yield (
            tables.leases,
            {
                "id": lease,
                "name": f"{_MARK}{number}",
                "project_id": "bench",
                "user_id": "bench",
                "start_date": start,
                "end_date": start + datetime.timedelta(days=1),
                "trust_id": "",
                "status": "PENDING",
            },
        )
        yield (
            tables.reservations,
            {
                "id": reservation,
                "lease_id": lease,
                "resource_type": "flavor:slot",
                "status": "pending",
            },
        )
        yield (
            tables.instance_reservations,
            {
                "id": str(uuid.uuid4()),
                "reservation_id": reservation,
                "vcpus": 1,
                "memory_mb": 1,
                "disk_gb": 1,
                "amount": 1,
            },
        )
        yield (
            tables.allocations,
            {
                "id": str(uuid.uuid4()),
                "reservation_id": reservation,
                "compute_host_id": hosts[number % len(hosts)],
            },
        )
        yield (
            tables.bookings,
            {
                "id": reservation,
                "live_id": reservation,
                "reservation_id": reservation,
                "lease_id": lease,
                "project_id": "bench",
                "user_id": "bench",
                "flavor_id": flavor,
                "instance_count": 1,
                "shape": shape,
                "created_at": first,
            },
        )


@contextlib.contextmanager
def seeded(engine: sa.Engine, flavors: int, reservations: int) -> Iterator[str]:
    """The rows, and the name of the flavor that is booked."""
    with engine.begin() as db:
        remove(db)
        rows = [flavor_row(n) for n in range(flavors)]
        db.execute(tables.flavors.insert(), rows)
        hosts = list(db.execute(sa.select(tables.compute_hosts.c.id)).scalars())
        if not hosts:
            raise SystemExit("no hosts: tools/devcloud hosts")
        by_table: dict[sa.Table, list[dict[str, Any]]] = {}
        for table, row in reservation_rows(rows[0]["id"], hosts, reservations):
            by_table.setdefault(table, []).append(row)
        for table, found in by_table.items():
            db.execute(table.insert(), found)
    try:
        yield rows[0]["id"]
    finally:
        with engine.begin() as db:
            remove(db)


def remove(db: sa.Connection) -> None:
    lease, reservation = tables.leases, tables.reservations
    ours = sa.select(lease.c.id).where(lease.c.project_id == "bench")
    theirs = sa.select(reservation.c.id).where(reservation.c.lease_id.in_(ours))
    for table in (
        tables.bookings,
        tables.allocations,
        tables.instance_reservations,
    ):
        db.execute(table.delete().where(table.c.reservation_id.in_(theirs)))
    db.execute(reservation.delete().where(reservation.c.lease_id.in_(ours)))
    db.execute(lease.delete().where(lease.c.project_id == "bench"))
    marked = tables.flavors.c.name.startswith(_MARK)
    flavors = sa.select(tables.flavors.c.id).where(marked)
    # The past ones, which stay when their leases are deleted.
    db.execute(tables.bookings.delete().where(tables.bookings.c.flavor_id.in_(flavors)))
    db.execute(tables.flavors.delete().where(marked))


def timed(url: str, token: str, clients: int, count: int) -> list[float]:
    """Milliseconds of ``count`` requests, ``clients`` of them at any one time."""

    def ask(_: int) -> float:
        began = time.perf_counter()
        answer = requests.get(url, headers={"X-Auth-Token": token}, timeout=120)
        answer.raise_for_status()
        return (time.perf_counter() - began) * 1000

    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        return list(pool.map(ask, range(count)))


def statements(engine: sa.Engine, url: str, token: str) -> int:
    """SELECTs of one request: the least seen, since the manager reads its events meanwhile."""

    def selects() -> int:
        with engine.connect() as db:
            row = db.execute(sa.text("SHOW GLOBAL STATUS LIKE 'Com_select'")).one()
            return int(row[1])

    counts = []
    for _ in range(7):
        before = selects()
        timed(url, token, 1, 1)
        counts.append(selects() - before)
    return min(counts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--flavors", type=int, default=200)
    parser.add_argument("--reservations", type=int, default=10000)
    options = parser.parse_args()
    cloud = openstack.connect()
    token = cloud.auth_token
    v1 = cloud.endpoint_for("reservation")
    v2 = v1.replace("/v1", "/v2")
    engine = database()
    medians: dict[tuple[str, int], float] = {}
    for flavors, reservations in (SMALL, (options.flavors, options.reservations)):
        with seeded(engine, flavors, reservations) as flavor:
            cases = {
                "one flavor": f"{v2}/flavors/{flavor}/",
                f"list of {flavors} flavors": f"{v2}/flavors/",
                f"free slots, {reservations} reservations": f"{v2}/flavors/{flavor}/freeslots/",
                f"Warre's free slots, {reservations}": f"{v2}/warre/v1/flavors/{flavor}/freeslots/",
                "stock: list of hosts": f"{v1}/os-hosts",
            }
            for name, url in cases.items():
                timed(url, token, 4, 8)  # each worker's first
                for clients in CLIENTS:
                    times = timed(url, token, clients, options.requests)
                    medians[name, clients] = statistics.median(times)
                    p95 = statistics.quantiles(times, n=20)[-1]
                    print(
                        f"{name:36} {clients} clients: median {medians[name, clients]:7.1f} ms, "
                        f"p95 {p95:7.1f} ms",
                        flush=True,
                    )
                print(f"{'':36} {statements(engine, url, token)} SELECTs a request", flush=True)
    one = medians["one flavor", 1]
    print(
        f"Warre's recorded {WARRE_LIST_ONE} ms for one flavor / ours = {WARRE_LIST_ONE / one:.1f}"
    )
    stock = medians["stock: list of hosts", 1]
    print(f"stock's list of hosts / our one flavor = {stock / one:.1f}")


if __name__ == "__main__":
    main()
