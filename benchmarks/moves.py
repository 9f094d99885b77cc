#!/usr/bin/env python3
"""How much longer a booking takes if other reservations must be placed again to make room.

200 hosts of 64 vcpus have 20 reservations each, of 8 to 64 vcpus for up to three days, in the next
twenty days. None of the reservations has begun. The benchmark asks for whole hosts for three days,
at times at which no host is free. It prints the milliseconds of the usual choice of hosts, and of
the search for moves that follows it. Needs MariaDB only:
``tools/testdb up && eval "$(tools/testdb env)"`` first. Makes a database of its own and drops it.
"""

import argparse
import datetime
import random
import statistics
import time

import figures
import sqlalchemy as sa
from hosts import add_backings, chosen, database, first_rows, host_rows, reservation_rows, write
from oslo_config import cfg

from warre_blazar.db import session
from warre_blazar.db.hosts import reservable_hosts
from warre_blazar.domain.booking.booking_rules import BookingConditions
from warre_blazar.domain.booking.quota import Rule
from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE, Shape
from warre_blazar.domain.hosts.placing import Wanted
from warre_blazar.domain.timeline import Span
from warre_blazar.services import searches
from warre_blazar.services.moves import making_room

HOSTS, ON_EACH = 200, 20
SIZES = (8, 16, 32, 64)
MOVES = 20
_VCPUS = 64
_DAYS = 20
#: For how many days a host is asked for.
_ASKED = 3
_FIRST = datetime.datetime(2100, 1, 1)
_HOUR = datetime.timedelta(hours=1)
_DAY = 24 * _HOUR
_NO_TIME = datetime.timedelta(0)


def shape(vcpus: int) -> Shape:
    return Shape(vcpus, vcpus * 1024, vcpus * 10, 0, {}, None, None)


def fill(engine: sa.Engine, dice: random.Random) -> None:
    """Add the hosts and their reservations. No host is ever fuller than it can be."""
    rows = first_rows()
    with engine.begin() as db:
        for number in range(HOSTS):
            host_id, held, made = host_rows(rows, number), [0] * (_DAYS * 24), 0
            while made < ON_EACH:
                vcpus, length = dice.choice(SIZES), dice.randint(6, 72)
                start = dice.randrange(_DAYS * 24 - length)
                hours = range(start, start + length)
                if max(held[hour] for hour in hours) + vcpus > _VCPUS:
                    continue
                for hour in hours:
                    held[hour] += vcpus
                span = Span(_FIRST + start * _HOUR, _FIRST + (start + length) * _HOUR)
                reservation_rows(rows, host_id, span, ours=True, shape=shape(vcpus))
                made += 1
        add_backings(rows)
        write(db, rows)


@searches.uncollected()  # as the service has it
def searched(wanted: Wanted, everywhere: frozenset[str]) -> int | None:
    """How many reservations are placed again. None: there is no room either.

    :param everywhere: the ids of all hosts.
    """
    quotas = Rule(frozenset({RESOURCE_TYPE}), enforced=False)
    conditions = BookingConditions(_NO_TIME, quotas, moves=MOVES)
    with session.reader() as db:
        made = making_room.find(db, wanted, conditions, everywhere)
    return None if made is None else len(made.placed_again)


def milliseconds(began: float) -> float:
    return 1000 * (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    cfg.CONF([], project="blazar", default_config_files=[])
    dice = random.Random(asked.seed)
    usual, more, moves = [], {"placed": [], "refused": []}, []
    with database() as engine:
        fill(engine, dice)
        with session.reader() as db:
            everywhere = frozenset(host.id for host in reservable_hosts.empty(db))
        while len(usual) < asked.runs:
            start = _FIRST + dice.randrange(_DAYS - _ASKED) * _DAY
            wanted = Wanted(shape(_VCPUS).request, 1, Span(start, start + _ASKED * _DAY))
            began = time.perf_counter()
            if chosen(shape(_VCPUS), wanted):
                continue
            usual.append(milliseconds(began))
            began = time.perf_counter()
            moved = searched(wanted, everywhere)
            more["refused" if moved is None else "placed"].append(milliseconds(began))
            moves += [] if moved is None else [moved]
    placed, median = more["placed"], statistics.median(usual)
    print(f"the usual choice: median {median:.0f} ms")
    for what, took in more.items():
        if took:
            print(
                f"{what}: {len(took)}, median {statistics.median(took):.0f} ms more,"
                f" at most {max(took):.0f} ms"
            )
    print("moved:", *sorted(moves))
    found = {
        "usual": figures.milliseconds(median),
        "more": figures.milliseconds(statistics.median(placed)),
        "longest": figures.milliseconds(max(placed)),
    }
    figures.record("moves", found)


if __name__ == "__main__":
    main()
