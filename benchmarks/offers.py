#!/usr/bin/env python3
"""Milliseconds of one search for offers over all flavors, beside asking flavor by flavor.

Hosts and flavors are of several kinds: a flavor can be booked only on the hosts of its kind. With
``--kinds 1`` every flavor fits on every host, which is the most work. Needs MariaDB only:
``tools/testdb up && eval "$(tools/testdb env)"`` first. Makes databases of its own and drops them.
"""

import argparse
import cProfile
import datetime
import pstats
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import figures
import sqlalchemy as sa
from hosts import (
    Rows,
    add_backings,
    analyze,
    database,
    flavor_row,
    host_rows,
    reservation_rows,
    write,
)
from oslo_config import cfg

from warre_blazar.db import tables
from warre_blazar.domain.booking.quota import Rule
from warre_blazar.domain.flavors.flavor import Shape
from warre_blazar.domain.slots import free_time
from warre_blazar.domain.timeline import Span
from warre_blazar.services.slots import availability, free_slots, offers

KINDS = (10, 1)
_NOW = datetime.datetime(2100, 1, 1)
_HOUR = datetime.timedelta(hours=1)
_WINDOW = Span(_NOW, _NOW + 90 * 24 * _HOUR)
_SLOTS = 8
#: vCPUs of the flavors of a kind, on hosts with 64. Each flavor also has its own size of memory.
_VCPUS = (2, 4, 8, 16, 32)
_CHUNK = 2_000


def fill(engine: sa.Engine, asked: argparse.Namespace, kinds: int) -> None:
    """Flavors, hosts, and live reservations of 1 to 9 days that fill them to about two thirds."""
    dice = random.Random(0)
    with engine.begin() as db:
        shapes = []
        for number in range(asked.flavors):
            kind, size = number % kinds, number // kinds
            vcpu, memory = _VCPUS[size % len(_VCPUS)], 2048 + 64 * number
            shapes.append(Shape(vcpu, memory, 20, 0, {}, None, f"zone-{kind}"))
            row = {
                **flavor_row(),
                **{"id": f"flavor-{number}", "name": f"flavor-{number:03}", "vcpu": vcpu},
                **{"memory_mb": memory, "availability_zone": f"zone-{kind}", "slots": _SLOTS},
            }
            db.execute(tables.flavors.insert().values(**row))
        rows: Rows = {}
        for number in range(asked.hosts):
            host_rows(rows, number)
            rows[tables.host_providers][-1]["zone"] = f"zone-{number % kinds}"
        rows.pop(tables.extra_capabilities)
        for number in range(asked.live):
            host = dice.randrange(asked.hosts)
            flavor = dice.choice(range(host % kinds, asked.flavors, kinds))
            start = _NOW + dice.randrange(90 * 24) * _HOUR
            span = Span(start, start + dice.randint(24, 216) * _HOUR)
            reservation_rows(rows, str(host), span, True, shapes[flavor], f"flavor-{flavor}")
            if number % _CHUNK == _CHUNK - 1:
                add_backings(rows)
                write(db, rows)
        add_backings(rows)
        write(db, rows)
    analyze(engine)


def question(flavor: str, count: int, hours: int, moves: int) -> free_time.Question:
    least, no_time = hours * _HOUR, datetime.timedelta(0)
    return free_time.Question(
        flavor, "project", False, count, _WINDOW, _NOW, no_time, least=least, moves=moves
    )


def ours(count: int, hours: int, moves: int) -> Any:
    rule = Rule(frozenset(), enforced=False)
    return offers.find(question("", count, hours, moves), offers.FlavorChoice(), rule, 100)


def by_day(count: int, moves: int) -> Any:
    return availability.find(question("", count, 0, moves), offers.FlavorChoice(), 24 * _HOUR)


def one_by_one(count: int, hours: int, moves: int, flavors: int) -> None:
    for number in range(flavors):
        free_slots.find(question(f"flavor-{number}", count, hours, moves))


def measured(ask: Callable[..., Any], runs: int, *args: int) -> tuple[float, float]:
    """The medians of the whole time and of this process's own time, in milliseconds."""
    ask(*args)
    times, own = [], []
    for _ in range(runs):
        start, started = time.perf_counter(), time.process_time()
        ask(*args)
        times.append((time.perf_counter() - start) * 1000)
        own.append((time.process_time() - started) * 1000)
    return statistics.median(times), statistics.median(own)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flavors", type=int, default=100)
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--live", type=int, default=10_000)
    parser.add_argument("--kinds", type=int, nargs="+", default=list(KINDS))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--moves", type=int, default=0, help="moves_per_booking")
    parser.add_argument("--profile", action="store_true")
    asked = parser.parse_args()
    cfg.CONF([], project="blazar", default_config_files=[])
    table = [("Kinds of hosts", "Instances", "Hours", "Offers", "Flavors without", "One request")]
    table[0] += ("Of this on the CPU", "Flavor by flavor", "Ratio", "Availability by day")
    print(*table[0], sep="  ")
    for kinds in asked.kinds:
        with database() as engine:
            fill(engine, asked, kinds)
            for count, hours in ((2, 24), (6, 240)):
                found = ours(count, hours, asked.moves)
                if asked.profile:
                    profile = cProfile.Profile()
                    profile.runcall(ours, count, hours, asked.moves)
                    pstats.Stats(profile).sort_stats("tottime").print_stats(18)
                took, own = measured(ours, asked.runs, count, hours, asked.moves)
                slow, _ = measured(one_by_one, 1, count, hours, asked.moves, asked.flavors)
                counted, _ = measured(by_day, asked.runs, count, asked.moves)
                row = (
                    *(str(kinds), str(count), str(hours), str(found.total)),
                    *(str(len(found.missing)), figures.milliseconds(took)),
                    figures.milliseconds(own),
                    *(figures.milliseconds(slow), f"{slow / took:.0f}"),
                    figures.milliseconds(counted),
                )
                print(*row, sep="  ", flush=True)
                table.append(row)
    counts = {"flavors": asked.flavors, "hosts": asked.hosts, "live": asked.live}
    figures.record("offers", {name: f"{n:,}" for name, n in counts.items()}, table)


if __name__ == "__main__":
    main()
