#!/usr/bin/env python3
"""How the cost of a decision grows with the hosts of a site, while other processes book and delete.

The rows are those of ``hosts.py``. Between any two measured decisions, another process books on
some random hosts and deletes on others. Each decision asks for another time. "Cold" is the first
decision of a process, which has kept nothing. Times are those of the processor, of the process that
decides, because the machine may be busy. The last line is computed: the two largest sizes give the
cost of a host.

Needs MariaDB only: ``tools/testdb up && eval "$(tools/testdb env)"`` first. Makes databases of its
own and drops them.
"""

import argparse
import datetime
import multiprocessing
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import figures
import hosts
import sqlalchemy as sa
from oslo_config import cfg

from warre_blazar.db import tables
from warre_blazar.domain.booking.booking_rules import BookingConditions
from warre_blazar.domain.booking.quota import Rule
from warre_blazar.domain.hosts import holdings
from warre_blazar.domain.slots import free_time
from warre_blazar.domain.timeline import Span
from warre_blazar.services.booking import admission
from warre_blazar.services.slots import free_slots

SIZES = (200, 1000, 5000)
PER_HOST = 100
COMPUTED = 10_000
HEADER = ("Question", "Hosts", "Cold", "Warm", "Rows read", "Hosts folded", "Statements", "Growth")
_FIRST = datetime.datetime(2100, 1, 1)
_DAY = datetime.timedelta(days=1)
_CONDITIONS = BookingConditions(0 * _DAY, Rule(frozenset({"flavor:slot"}), enforced=False))


def booking(span: Span, count: int = hosts.COUNT) -> Sequence[Any]:
    request = admission.BookingRequest("project", "flavor", count, span, _FIRST - _DAY, _CONDITIONS)
    return admission.decide(request).refusals


def refusal(span: Span) -> Sequence[Any]:
    return booking(span, 500_000)


def slots(span: Span) -> Sequence[Any]:
    now, none = _FIRST - _DAY, 0 * _DAY
    return free_slots.find(free_time.Question("flavor", "project", True, 1, span, now, none))


#: What is asked, by its name in the table, and for how many days.
QUESTIONS: dict[str, tuple[Callable[[Span], Sequence[Any]], int]] = {
    "booking of 14 days": (booking, 14),
    "booking of a year": (booking, 365),
    "refusal, 14 days": (refusal, 14),
    "free slots of a year": (slots, 365),
}


def churn(url: str, asked: Connection, host_count: int, changes: int) -> None:
    """Book and delete on random hosts each time that the parent asks for it."""
    engine, dice = sa.create_engine(url), random.Random(1)
    generation = tables.host_generations
    while asked.recv():
        rows: hosts.Rows = {}
        chosen = [str(n) for n in dice.sample(range(host_count), 2 * changes)]
        for host_id in chosen[:changes]:
            start = _FIRST + dice.randrange(365 * 24) * _DAY / 24
            span = Span(start, start + dice.randint(24, 27 * 24) * _DAY / 24)
            hosts.reservation_rows(rows, host_id, span, ours=dice.random() < 0.5)
        with engine.begin() as db:
            hosts.write(db, rows)
            for host_id in chosen[changes:]:
                on_host = sa.select(tables.allocations.c.id).where(
                    tables.allocations.c.compute_host_id == host_id
                )
                gone = db.scalars(on_host.limit(1)).all()
                db.execute(tables.allocations.delete().where(tables.allocations.c.id.in_(gone)))
            known = set(db.scalars(sa.select(generation.c.host_id)))
            later = {"generation": generation.c.generation + 1}
            same = generation.c.host_id.in_(chosen)
            db.execute(generation.update().where(same).values(later))
            if new := [{"host_id": i, "generation": 1} for i in chosen if i not in known]:
                db.execute(generation.insert(), new)
        asked.send(None)


class Counts:
    """Counts statements, rows and folded hosts."""

    def __init__(self, engine: sa.Engine) -> None:
        self.statements = self.rows = self.folded = 0
        sa.event.listen(engine, "after_cursor_execute", self._note)
        folding = holdings.Occupancy.__init__

        def counted(occupancy: Any, *arguments: Any) -> None:
            self.folded += 1
            folding(occupancy, *arguments)

        holdings.Occupancy.__init__ = counted  # type: ignore[method-assign]

    def _note(self, _connection: Any, cursor: Any, *_: Any) -> None:
        self.statements += 1
        self.rows += max(cursor.rowcount, 0)

    def taken(self) -> tuple[int, int, int]:
        found = self.rows, self.folded, self.statements
        self.statements = self.rows = self.folded = 0
        return found


class Cost(NamedTuple):
    """What one question costs on a site. Times are in milliseconds of the processor."""

    cold: float
    warm: float
    rows: int
    folded: int
    statements: int


def measured(
    ask: Callable[[Span], Sequence[Any]],
    days: int,
    runs: int,
    change: Callable[[], None],
    counts: Counts,
) -> Cost:
    dice, took, each = random.Random(2), [], []
    for _ in range(runs + 1):
        change()
        start = _FIRST + dice.randrange(max(365 - days, 1) * 24) * _DAY / 24
        counts.taken()
        begun = time.process_time()
        ask(Span(start, start + days * _DAY))
        took.append((time.process_time() - begun) * 1000)
        each.append(counts.taken())
    rows, folded, statements = (int(statistics.median(n)) for n in zip(*each[1:], strict=True))
    return Cost(took[0], statistics.median(took[1:]), rows, folded, statements)


def of_site(host_count: int, asked: argparse.Namespace) -> Iterator[tuple[str, Cost]]:
    with hosts.database() as engine:
        hosts.fill(engine, host_count, PER_HOST, hosts._SHAPE)
        counts = Counts(engine)
        url = engine.url.render_as_string(hide_password=False)
        ours, theirs = multiprocessing.Pipe()
        arguments = (url, theirs, host_count, asked.changes)
        other = multiprocessing.get_context("spawn").Process(target=churn, args=arguments)
        other.start()

        def change() -> None:
            ours.send(True)
            ours.recv()

        for name, (ask, days) in QUESTIONS.items():
            if name in asked.questions:
                yield name, measured(ask, days, asked.runs, change, counts)
        ours.send(False)
        other.join()


def computed(costs: dict[int, Cost]) -> Cost:
    """The cost on a site of ``COMPUTED`` hosts, from the two largest sites."""
    (few, small), (many, large) = sorted(costs.items())[-2:]
    share = (COMPUTED - many) / (many - few)
    numbers = (b + (b - a) * share for a, b in zip(small[:-1], large[:-1], strict=True))
    return Cost(*numbers, large.statements)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES), metavar="HOSTS")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--changes", type=int, default=3, help="bookings, and as many deletions")
    parser.add_argument("--questions", nargs="+", default=list(QUESTIONS))
    asked = parser.parse_args()
    cfg.CONF([], project="blazar", default_config_files=[])
    found: dict[str, dict[int, Cost]] = {}
    table = [HEADER]

    def show(name: str, host_count: int, cost: Cost, note: str = "") -> None:
        first = found[name][min(found[name])].warm
        line = (
            *(name, f"{host_count:,}{note}"),
            *(figures.milliseconds(each) for each in cost[:2]),
            *(f"{number:,.0f}" for number in cost[2:]),
            f"{cost.warm / first:.1f}",
        )
        table.append(line)
        print("".join(f"{text:>22}" for text in line), flush=True)

    print("".join(f"{text:>22}" for text in HEADER))
    for host_count in asked.sizes:
        for name, cost in of_site(host_count, asked):
            found.setdefault(name, {})[host_count] = cost
            show(name, host_count, cost)
    if len(asked.sizes) > 1:
        for name, costs in found.items():
            show(name, COMPUTED, computed(costs), " (computed)")
    figures.record("scale", {"runs": str(asked.runs), "changes": str(asked.changes)}, table)


if __name__ == "__main__":
    main()
