#!/usr/bin/env python3
"""Milliseconds of one scrape of the metrics, from the request to the text, and its SQL statements.

The live reservations lie in the year to come, as in ``freeslots``, or all in the week to come, of
which a scrape looks at every reservation. As many are over. There is nothing to compare with:
openstack_exporter has no metrics of Blazar. Needs MariaDB only: ``tools/testdb up && eval
"$(tools/testdb env)"`` first. Makes databases of its own and drops them.
"""

import argparse
import datetime
import random
import statistics
import time
import uuid

import figures
import prometheus_client
import sqlalchemy as sa
from hosts import Rows, analyze, database, flavor_row, host_rows, reservation_rows, write
from oslo_config import cfg

from warre_blazar.cmd.metric_families import Collector
from warre_blazar.db import clock, tables
from warre_blazar.domain.flavors.devices import NO_DEVICES
from warre_blazar.domain.flavors.flavor import Shape
from warre_blazar.domain.timeline import Span
from warre_blazar.services.records import metrics

SIZES = (100, 1_000, 10_000)
_HOUR = datetime.timedelta(hours=1)
_CHUNK = 2_000
HEADER = ("Live reservations", "Spread over a year", "All in a week", "SQL statements")


def fill(engine: sa.Engine, live: int, days: int, hosts: int, flavors: int) -> None:
    """Add flavors, hosts, as many live reservations as past ones, and a day of tallies.

    :param days: the live reservations start within so many days.
    """
    dice = random.Random(0)
    now = datetime.datetime.now(datetime.UTC).replace(
        tzinfo=None, minute=0, second=0, microsecond=0
    )
    shape = Shape(2, 2048, 20, 0, {}, None, None)
    rows: Rows = {}
    for number in range(flavors):
        row = {**flavor_row(), "id": f"flavor{number}", "name": f"flavor{number}", "slots": 10_000}
        rows.setdefault(tables.flavors, []).append(row)
    for number in range(hosts):
        host_rows(rows, number)
    rows.pop(tables.extra_capabilities)
    rows[tables.tallies] = [
        {"name": "start_delay", "label": "0.5", "count": 1, "total": 0.3} for _ in range(1_000)
    ]
    with engine.begin() as db:
        for number in range(live):
            host = str(dice.randrange(hosts))
            for start in (now + dice.randrange(days * 24) * _HOUR, now - 9_999 * _HOUR):
                span = Span(start, start + dice.randint(1, 72) * _HOUR)
                reservation_rows(rows, host, span, True, shape)
                rows[tables.bookings][-1]["flavor_id"] = f"flavor{dice.randrange(flavors)}"
            # What is over holds no host.
            rows[tables.allocations].pop()
            rows[tables.leases][-1]["status"] = "TERMINATED"
            rows[tables.reservations][-1]["status"] = "deleted"
            if number % _CHUNK == _CHUNK - 1:
                write(db, rows)
        write(db, rows)
        db.execute(
            tables.managers.insert().values(id=uuid.uuid4().hex, host="manager", heartbeat=now)
        )
    analyze(engine)


def read() -> metrics.Site:
    clock.read()
    return metrics.read(clock.utcnow(), datetime.timedelta(0), NO_DEVICES)


def measured(engine: sa.Engine, runs: int) -> tuple[float, int]:
    """The median in milliseconds, and the SQL statements of one scrape."""
    statements = 0

    def count(*_: object) -> None:
        nonlocal statements
        statements += 1

    registry = prometheus_client.CollectorRegistry()
    registry.register(Collector(read))
    prometheus_client.generate_latest(registry)
    times = []
    sa.event.listen(engine, "before_cursor_execute", count)
    for _ in range(runs):
        statements = 0
        start = time.perf_counter()
        prometheus_client.generate_latest(registry)
        times.append((time.perf_counter() - start) * 1000)
    sa.event.remove(engine, "before_cursor_execute", count)
    return statistics.median(times), statements


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--hosts", type=int, default=100)
    parser.add_argument("--flavors", type=int, default=20)
    asked = parser.parse_args()
    cfg.CONF([], project="blazar", default_config_files=[])
    print(f"{'live':>7} {'year ms':>8} {'week ms':>8} {'SQL':>4}")
    table = [HEADER]
    for live in asked.sizes:
        took, statements = [], set()
        for days in (365, 7):
            with database() as engine:
                fill(engine, live, days, asked.hosts, asked.flavors)
                milliseconds, number = measured(engine, asked.runs)
            took.append(milliseconds)
            statements.add(number)
        (number,) = statements
        print(f"{live:>7} {took[0]:>8.1f} {took[1]:>8.1f} {number:>4}", flush=True)
        table.append((f"{live:,}", *map(figures.milliseconds, took), str(number)))
    sizes = {"hosts": str(asked.hosts), "flavors": str(asked.flavors)}
    figures.record("metrics", sizes, table)


if __name__ == "__main__":
    main()
