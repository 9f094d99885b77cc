#!/usr/bin/env python3
"""Milliseconds of one search for free slots, beside reading and sweeping the same rows.

The floor does no more than read the start, end and count of each live reservation of the flavor,
in one query, and sweep over them with datetimes; Warre, which makes an object of each, takes about
four times as long. A search of ours also looks at the hosts. Needs MariaDB only:
``tools/testdb up && eval "$(tools/testdb env)"`` first. Makes databases of its own and drops them.
"""

import argparse
import datetime
import random
import statistics
import time
from collections.abc import Callable

import figures
import sqlalchemy as sa
from hosts import Rows, analyze, database, flavor_row, host_rows, reservation_rows, write
from oslo_config import cfg

from warre_blazar.db import session, tables
from warre_blazar.domain.slots import free_time
from warre_blazar.domain.timeline import Span
from warre_blazar.services.slots import free_slots

SIZES = (100, 1_000, 10_000, 100_000)
#: How many times the floor Warre's search takes, as it was recorded.
WARRE_FLOORS = 4
_NOW = datetime.datetime(2100, 1, 1)
_HOUR = datetime.timedelta(hours=1)
_YEAR, _WEEK = 365 * 24 * _HOUR, 7 * 24 * _HOUR
_CHUNK = 2_000


def fill(engine: sa.Engine, live: int, hosts: int) -> None:
    """As many live reservations over the year to come, of 1 to 72 hours, as past ones before it.

    Of the live ones about a hundred begin in the first week of July, whatever the others are.
    """
    dice = random.Random(0)
    july = 26 * 7 * 24
    with engine.begin() as db:
        # Twice as many slots as are taken on average, so that there is something to sweep over.
        slots = max(2, live * 72 // (365 * 24))
        db.execute(tables.flavors.insert().values(**{**flavor_row(), "slots": slots}))
        rows: Rows = {}
        for number in range(hosts):
            host_rows(rows, number)
        rows.pop(tables.extra_capabilities)
        for number in range(live):
            hour = july + dice.randrange(168) if number < 100 else dice.randrange(365 * 24 - 80)
            if number >= 100 and july - 72 <= hour < july + 168:
                hour -= 240
            start = _NOW + hour * _HOUR
            host = str(dice.randrange(hosts))
            reservation_rows(rows, host, Span(start, start + dice.randint(1, 72) * _HOUR), True)
            past = start - _YEAR - 100 * _HOUR
            reservation_rows(rows, host, Span(past, past + dice.randint(1, 72) * _HOUR), True)
            # What is over holds no host.
            rows[tables.allocations].pop()
            rows[tables.leases][-1]["status"] = "TERMINATED"
            rows[tables.reservations][-1]["status"] = "deleted"
            if number % _CHUNK == _CHUNK - 1:
                write(db, rows)
        write(db, rows)
    analyze(engine)


def ours(window: Span) -> int:
    question = free_time.Question("flavor", "project", True, 1, window, _NOW, datetime.timedelta(0))
    return len(free_slots.find(question))


def floor(window: Span) -> int:
    lease, reservation = tables.leases, tables.reservations
    query = (
        sa.select(lease.c.start_date, lease.c.end_date, tables.bookings.c.instance_count)
        .join(reservation, reservation.c.lease_id == lease.c.id)
        .join(tables.bookings, tables.bookings.c.reservation_id == reservation.c.id)
        .where(tables.bookings.c.flavor_id == "flavor", lease.c.status != "TERMINATED")
    )
    with session.reader() as db:
        rows = db.execute(query).all()
        slots = db.execute(sa.select(tables.flavors.c.slots)).scalar_one()
    changes = [(start, count) for start, _, count in rows] + [(end, -n) for _, end, n in rows]
    changes.sort()
    free, found, since = slots, 0, True
    for moment, change in changes:
        free -= change
        if (free >= 1) != since and window.start <= moment < window.end:
            found += since
        since = free >= 1
    return found + since


def measured(ask: Callable[[Span], int], window: Span, runs: int) -> float:
    """The median in milliseconds."""
    ask(Span(window.start, window.start + _HOUR))
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        ask(window)
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--hosts", type=int, default=100)
    asked = parser.parse_args()
    cfg.CONF([], project="blazar", default_config_files=[])
    year = Span(_NOW, _NOW + _YEAR)
    week = Span(_NOW + 26 * _WEEK, _NOW + 27 * _WEEK)
    first: dict[Span, float] = {}
    table = [
        (
            "Live reservations",
            "A year",
            "The floor, a year",
            "Year / floor",
            "Warre / year",
            "A week",
        )
    ]
    print(
        f"{'live':>7} {'year ms':>8} {'growth':>7} {'floor ms':>9} {'year/floor':>11} "
        f"{'week ms':>8} {'growth':>7}"
    )
    for live in asked.sizes:
        with database() as engine:
            fill(engine, live, asked.hosts)
            took = {w: measured(ours, w, asked.runs) for w in (year, week)}
            theirs = measured(floor, year, asked.runs)
        growth = {w: ms / first.setdefault(w, ms) for w, ms in took.items()}
        print(
            f"{live:>7} {took[year]:>8.1f} {growth[year]:>7.1f} {theirs:>9.1f} "
            f"{took[year] / theirs:>11.2f} {took[week]:>8.1f} {growth[week]:>7.1f}",
            flush=True,
        )
        shown = [figures.milliseconds(ms) for ms in (took[year], theirs, took[week])]
        floors = took[year] / theirs
        ratios = (f"{floors:.1f}", f"{WARRE_FLOORS / floors:.1f}")
        table.append((f"{live:,}", *shown[:2], *ratios, shown[2]))
    figures.record("freeslots", {"hosts": str(asked.hosts)}, table)


if __name__ == "__main__":
    main()
