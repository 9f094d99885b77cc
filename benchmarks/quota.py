#!/usr/bin/env python3
"""Milliseconds of one quota check, beside summing the same rows in Python as Warre does.

Needs MariaDB only: ``tools/testdb up && eval "$(tools/testdb env)"`` first. Makes a database of its
own, with as many past reservations beside, and 50,000 of another project, and drops it.
"""

import argparse
import datetime
import statistics
import time
import uuid
from collections.abc import Callable
from typing import Any

import figures
import sqlalchemy as sa
from hosts import database
from oslo_config import cfg
from sqlalchemy.orm import Session

from warre_blazar.db import tables
from warre_blazar.db.booking import quotas
from warre_blazar.domain.booking.quota import Amount
from warre_blazar.domain.flavors.flavor import Shape
from warre_blazar.domain.timeline import Span

SIZES = (10, 1_000, 50_000)
OTHERS = 50_000
_FIRST = datetime.datetime(2100, 1, 1)
_SHAPE = Shape(1, 1, 1, 0, {}, None, None).to_json()
_ROWS = 5_000


def fill(db: sa.Connection, project: str, count: int, status: str, flavor: str) -> None:
    """That many leases of a project, of an hour to a week, each with a reservation of ours."""
    of_reservation = "deleted" if status == "TERMINATED" else "pending"
    for first in range(0, count, _ROWS):
        rows: dict[sa.Table, list[dict[str, Any]]] = {}
        for number in range(first, min(first + _ROWS, count)):
            lease, reservation = str(uuid.uuid4()), str(uuid.uuid4())
            start = _FIRST + datetime.timedelta(hours=number)
            ours = {
                "id": reservation,
                "live_id": reservation,
                "reservation_id": reservation,
                "lease_id": lease,
                "project_id": project,
                "user_id": "user",
                "flavor_id": flavor,
                "instance_count": 1 + number % 3,
                "shape": _SHAPE,
                "created_at": _FIRST,
            }
            for table, row in (
                (
                    tables.leases,
                    {
                        "id": lease,
                        "name": lease,
                        "project_id": project,
                        "user_id": "user",
                        "start_date": start,
                        "end_date": start + datetime.timedelta(minutes=60 + number % 10_000),
                        "trust_id": "",
                        "status": status,
                    },
                ),
                (
                    tables.reservations,
                    {
                        "id": reservation,
                        "lease_id": lease,
                        "resource_type": "flavor:slot",
                        "status": of_reservation,
                    },
                ),
                (tables.bookings, ours),
            ):
                rows.setdefault(table, []).append(row)
        for table, some in rows.items():
            db.execute(table.insert(), some)


def add_flavor(db: sa.Connection) -> str:
    db.execute(
        tables.flavors.insert().values(
            id="flavor",
            name="bench",
            vcpu=1,
            memory_mb=1,
            disk_gb=1,
            ephemeral_gb=0,
            extra_specs={},
            slots=10**6,
            max_length_hours=1000,
            is_public=True,
            active=True,
            generation=0,
            deleted="",
            created_at=_FIRST,
        )
    )
    return "flavor"


def in_python(db: Session, project: str) -> Amount:
    """The floor of Warre's way: only the columns that a sum needs, added up here."""
    lease, reservation = tables.leases, tables.reservations
    query = (
        sa.select(lease.c.start_date, lease.c.end_date, tables.bookings.c.instance_count)
        .join(reservation, reservation.c.lease_id == lease.c.id)
        .join(tables.bookings, tables.bookings.c.reservation_id == reservation.c.id)
        .where(lease.c.project_id == project, lease.c.status == "PENDING")
    )
    rows = db.execute(query).all()
    return Amount(len(rows), sum(Span(start, end).hours() * count for start, end, count in rows))


def in_sql(db: Session, project: str) -> Amount:
    return quotas.usage(db, project, ["flavor:slot"])


def measured(engine: sa.Engine, ask: Callable[..., Amount], runs: int) -> tuple[float, Amount]:
    """The median in milliseconds, and what was found."""
    times = []
    with Session(engine) as db:
        for _ in range(runs):
            start = time.perf_counter()
            found = ask(db, "ours")
            times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times), found


def fill_all(engine: sa.Engine, size: int) -> None:
    with engine.begin() as db:
        flavor = add_flavor(db)
        fill(db, "ours", size, "PENDING", flavor)
        fill(db, "ours", size, "TERMINATED", flavor)
        fill(db, "another", OTHERS, "PENDING", flavor)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--runs", type=int, default=9)
    asked = parser.parse_args()
    cfg.CONF([], project="blazar", default_config_files=[])
    print(f"{'counted':>8} {'one query ms':>13} {'in Python ms':>13} {'ratio':>6}")
    table = [("Reservations counted", "One query", "The same rows, added up in Python")]
    for size in asked.sizes:
        with database() as engine:
            fill_all(engine, size)
            ours, found = measured(engine, in_sql, asked.runs)
            floor, expected = measured(engine, in_python, asked.runs)
        if found != expected:
            raise SystemExit(f"they differ: {found} {expected}")
        print(f"{size:>8} {ours:>13.2f} {floor:>13.2f} {floor / ours:>6.1f}", flush=True)
        table.append((f"{size:,}", *(figures.milliseconds(ms) for ms in (ours, floor))))
    figures.record("quota", {"runs": str(asked.runs), "others": f"{OTHERS:,}"}, table)


if __name__ == "__main__":
    main()
