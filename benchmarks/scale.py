#!/usr/bin/env python3
"""How the cost of a decision grows with the hosts of a site, while other processes book and delete.

The rows are those of ``hosts.py``, with flavors of 100 sizes. Between any two measured decisions,
another process books on some random hosts and deletes on others. Each decision asks for another
time. With several managers, so many processes decide the same at the same time, and the table has
their medians. "Cold" is the first decision of a process, which has kept nothing. "Memory" is what
the process has grown by. Times are those of the processor, of the process that decides, because
the machine may be busy. The last line is computed: the two largest sizes give the cost of a host.

Needs MariaDB only: ``tools/testdb up && eval "$(tools/testdb env)"`` first. Makes databases of its
own and drops them.
"""

import argparse
import contextlib
import datetime
import multiprocessing
import random
import resource
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import figures
import hosts
import sqlalchemy as sa
from hosts import databases
from oslo_config import cfg

from warre_blazar.db import tables
from warre_blazar.domain.booking.booking_rules import BookingConditions
from warre_blazar.domain.booking.quota import Rule
from warre_blazar.domain.hosts import holdings
from warre_blazar.domain.slots import free_time
from warre_blazar.domain.timeline import Span
from warre_blazar.services.booking import admission
from warre_blazar.services.slots import free_slots, offers

SIZES = (200, 1000, 5000)
PER_HOST = 100
COMPUTED = 10_000
FLAVORS = 100
HEADER = ("Question", "Hosts", "Managers", "Cold", "Warm", "Rows read", "Hosts folded")
HEADER += ("Statements", "Memory", "Growth")
_FIRST = datetime.datetime(2100, 1, 1)
_DAY = datetime.timedelta(days=1)
_RULE = Rule(frozenset({"flavor:slot"}), enforced=False)
_CONDITIONS = BookingConditions(0 * _DAY, _RULE)


def booking(span: Span, count: int = hosts.COUNT) -> Sequence[Any]:
    request = admission.BookingRequest("project", "flavor", count, span, _FIRST - _DAY, _CONDITIONS)
    return admission.decide(request).refusals


def refusal(span: Span) -> Sequence[Any]:
    return booking(span, 500_000)


def slots(span: Span) -> Sequence[Any]:
    now, none = _FIRST - _DAY, 0 * _DAY
    return free_slots.find(free_time.Question("flavor", "project", True, 1, span, now, none))


def choices(span: Span) -> Sequence[Any]:
    now, no_time, least = _FIRST - _DAY, 0 * _DAY, 2 * _DAY
    asked = free_time.Question("", "project", True, 2, span, now, no_time, least=least)
    return offers.find(asked, offers.FlavorChoice(), _RULE, FLAVORS).offers


#: What is asked, by its name in the table, and for how many days.
QUESTIONS: dict[str, tuple[Callable[[Span], Sequence[Any]], int]] = {
    "booking of 14 days": (booking, 14),
    "booking of a year": (booking, 365),
    "refusal, 14 days": (refusal, 14),
    "free slots of a year": (slots, 365),
    f"offers of {FLAVORS} flavors, 90 days": (choices, 90),
}


def churn(url: str, host_count: int, changes: int, asked: Connection) -> None:
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
    #: In MiB.
    memory: float


def _memory() -> float:
    """The memory of this process, in MiB."""
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize() / 2**20


def manage(url: str, name: str, asked: Connection) -> None:
    """Decide about each time that the parent sends, and answer with what it cost."""
    cfg.CONF([], project="blazar", default_config_files=[])
    cfg.CONF.set_override("connection", url, group="database")
    ask, _ = QUESTIONS[name]
    with databases.connected() as engine:
        counts, before = Counts(engine), _memory()
        while span := asked.recv():
            counts.taken()
            begun = time.process_time()
            ask(span)
            took = (time.process_time() - begun) * 1000
            asked.send((took, *counts.taken(), _memory() - before))


@contextlib.contextmanager
def beside(target: Callable[..., None], *arguments: Any) -> Iterator[Connection]:
    """Run a process that answers what it is sent, while the block runs."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=target, args=(*arguments, theirs))
    process.start()
    # If the process ends early, reading from it fails instead of waiting for ever.
    theirs.close()
    try:
        yield ours
    finally:
        ours.send(None)
        process.join()


def measured(name: str, url: str, asked: argparse.Namespace, change: Callable[[], None]) -> Cost:
    dice, days = random.Random(2), QUESTIONS[name][1]
    with contextlib.ExitStack() as stack:
        managers = [stack.enter_context(beside(manage, url, name)) for _ in range(asked.managers)]
        rounds = []
        for _ in range(asked.runs + 1):
            change()
            start = _FIRST + dice.randrange(max(365 - days, 1) * 24) * _DAY / 24
            for manager in managers:
                manager.send(Span(start, start + days * _DAY))
            rounds.append([manager.recv() for manager in managers])
    warm = (one for answers in rounds[1:] for one in answers)
    took, rows, folded, statements, _ = map(statistics.median, zip(*warm, strict=True))
    cold = statistics.median(one[0] for one in rounds[0])
    memory = statistics.median(one[-1] for one in rounds[-1])
    return Cost(cold, took, int(rows), int(folded), int(statements), memory)


def of_site(host_count: int, asked: argparse.Namespace) -> Iterator[tuple[str, Cost]]:
    with hosts.database() as engine:
        hosts.fill(engine, host_count, PER_HOST, hosts._SHAPE)
        _add_flavors(engine)
        url = engine.url.render_as_string(hide_password=False)
        with beside(churn, url, host_count, asked.changes) as other:

            def change() -> None:
                other.send(True)
                other.recv()

            for name in asked.questions:
                yield name, measured(name, url, asked, change)


def _add_flavors(engine: sa.Engine) -> None:
    """Flavors of many sizes, which all fit on each of the hosts."""
    rows = [
        {
            **hosts.flavor_row(),
            **{"id": f"flavor-{n}", "name": f"flavor-{n}", "slots": 8, "vcpu": 1 + n % 32},
            "memory_mb": 1024 + 64 * n,
        }
        for n in range(1, FLAVORS)
    ]
    with engine.begin() as db:
        db.execute(tables.flavors.insert(), rows)


def computed(costs: dict[int, Cost]) -> Cost:
    """The cost on a site of ``COMPUTED`` hosts, from the two largest sites."""
    (few, small), (many, large) = sorted(costs.items())[-2:]
    share = (COMPUTED - many) / (many - few)
    numbers: list[Any] = [b + (b - a) * share for a, b in zip(small, large, strict=True)]
    return Cost(*numbers)._replace(statements=large.statements)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES), metavar="HOSTS")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--changes", type=int, default=3, help="bookings, and as many deletions")
    parser.add_argument("--managers", type=int, default=1, help="processes that decide")
    parser.add_argument("--questions", nargs="+", choices=QUESTIONS, default=list(QUESTIONS))
    asked = parser.parse_args()
    cfg.CONF([], project="blazar", default_config_files=[])
    found: dict[str, dict[int, Cost]] = {}
    table: list[tuple[str, ...]] = [HEADER]

    def show(name: str, host_count: int, cost: Cost, note: str = "") -> None:
        first = found[name][min(found[name])].warm
        line = (
            *(name, f"{host_count:,}{note}", str(asked.managers)),
            *(figures.milliseconds(each) for each in cost[:2]),
            *(f"{number:,.0f}" for number in (cost.rows, cost.folded, cost.statements)),
            *(f"{cost.memory:,.0f} MiB", f"{cost.warm / first:.1f}"),
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
