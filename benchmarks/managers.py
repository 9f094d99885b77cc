#!/usr/bin/env python3
"""What managers that book at the same time cost each other.

Twenty bookings of the same two weeks begin at once, in one process or spread over several, as
RabbitMQ spreads them over managers. Prints for one booking: the processor time of the processes,
how often its transaction had to begin anew because another one was faster (a lost race), and how
often and how long MariaDB let a transaction wait for the rows of another one. All bookings of one
flavor count against its slots; with twenty flavors each has one of its own, on the same hosts. The
rows are those of ``hosts.py``.

Needs MariaDB only, and nothing else that uses it: ``tools/testdb up && eval "$(tools/testdb env)"``
first. Makes databases of its own and drops them.
"""

import argparse
import contextlib
import dataclasses
import datetime
import functools
import logging
import time
import uuid
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from typing import Any

import figures
import hosts
import sqlalchemy as sa
from hosts import databases
from oslo_config import cfg
from scale import beside

from tests.functional.db import races
from warre_blazar.db import session, tables
from warre_blazar.domain.booking.booking_rules import BookingConditions
from warre_blazar.domain.booking.quota import Rule
from warre_blazar.domain.timeline import Span
from warre_blazar.services.booking import admission

HEADER = ("Managers", "Flavors", "CPU for each booking", "Lost races", "Waits for rows", "Waited")
_FIRST = datetime.datetime(2100, 1, 1)
_DAY = datetime.timedelta(days=1)
_SPAN = Span(_FIRST + 100 * _DAY, _FIRST + 114 * _DAY)
_CONDITIONS = BookingConditions(0 * _DAY, Rule(frozenset({"flavor:slot"}), enforced=False))
#: A booking: the id of its reservation, and its flavor.
Booking = tuple[str, str]


def manage(url: str, asked: Connection) -> None:
    """Book all that the parent sends at once, and answer with what it cost."""
    cfg.CONF([], project="blazar", default_config_files=[])
    cfg.CONF.set_override("connection", url, group="database")
    logging.getLogger(session.__name__).propagate = False
    with databases.connected():
        while bookings := asked.recv():
            begun = time.process_time()
            done = races.in_threads([functools.partial(book, *each) for each in bookings])
            asked.send((time.process_time() - begun, done.retries, dict(done.outcomes)))


def book(reservation_id: str, flavor: str) -> None:
    now = _FIRST - _DAY
    request = admission.BookingRequest("project", flavor, 1, _SPAN, now, _CONDITIONS)
    # As the plugin does it: Blazar calls it twice, and the first decision holds unless others book.
    decision = admission.check(request)
    admission.book(reservation_id, request, decision)


def prepared(engine: sa.Engine, flavors: Sequence[str]) -> list[Booking]:
    """Bookings of these flavors, whose leases Blazar has just created."""
    made, rows = [], {tables.leases: [], tables.reservations: []}  # type: ignore[var-annotated]
    for flavor in flavors:
        lease, reservation = str(uuid.uuid4()), str(uuid.uuid4())
        values = {"name": lease, "project_id": "project", "user_id": "user", "trust_id": ""}
        times = {"start_date": _SPAN.start, "end_date": _SPAN.end}
        rows[tables.leases].append({"id": lease, "status": "CREATING", **values, **times})
        values = {"id": reservation, "lease_id": lease, "status": "pending"}
        rows[tables.reservations].append({**values, "resource_type": "flavor:slot"})
        made.append((reservation, flavor))
    with engine.begin() as db:
        hosts.write(db, rows)
    return made


@dataclasses.dataclass
class Totals:
    """What all bookings of a run have cost. Times are in milliseconds."""

    processor: float = 0
    lost: int = 0
    waits: int = 0
    waited: int = 0


@contextlib.contextmanager
def waits(engine: sa.Engine, totals: Totals) -> Iterator[None]:
    """Add the waits for rows that the server counts while the block runs."""

    def counted() -> dict[str, int]:
        if engine.dialect.name != "mysql":
            return dict.fromkeys(("Innodb_row_lock_waits", "Innodb_row_lock_time"), 0)
        with engine.connect() as db:
            rows = db.exec_driver_sql("SHOW GLOBAL STATUS LIKE 'Innodb\\_row\\_lock\\_%%'")
            return {name: int(value) for name, value in rows}

    before = counted()
    yield
    after = counted()
    totals.waits += after["Innodb_row_lock_waits"] - before["Innodb_row_lock_waits"]
    totals.waited += after["Innodb_row_lock_time"] - before["Innodb_row_lock_time"]


def measured(managers: int, flavors: int, asked: argparse.Namespace) -> Totals:
    totals = Totals()
    with hosts.database() as engine, contextlib.ExitStack() as stack:
        hosts.fill(engine, asked.hosts, asked.each, hosts._SHAPE)
        names = [f"flavor-{number}" for number in range(flavors)]
        more = [{**hosts.flavor_row(), "id": name, "name": name} for name in names]
        with engine.begin() as db:
            db.execute(tables.flavors.insert(), more)
        url = engine.url.render_as_string(hide_password=False)
        processes = [stack.enter_context(beside(manage, url)) for _ in range(managers)]
        # In the first round each process connects, reads all hosts and compiles its statements.
        for number in range(asked.runs + 1):
            of_round = Totals()
            bookings = prepared(engine, [names[n % flavors] for n in range(asked.bookings)])
            with waits(engine, of_round):
                for n, process in enumerate(processes):
                    process.send(bookings[n::managers])
                answers: list[Any] = [process.recv() for process in processes]
            for took, lost, outcomes in answers:
                of_round.processor += took * 1000
                of_round.lost += lost
                if outcomes.keys() != {"held"}:
                    raise SystemExit(f"not all could be booked: {outcomes}")
            if number:
                for field in dataclasses.fields(Totals):
                    value = getattr(totals, field.name) + getattr(of_round, field.name)
                    setattr(totals, field.name, value)
    return totals


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--managers", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--flavors", type=int, nargs="+", default=[1, 20])
    parser.add_argument("--bookings", type=int, default=20, help="bookings at once")
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--each", type=int, default=20, help="reservations on each host")
    parser.add_argument("--runs", type=int, default=10)
    asked = parser.parse_args()
    cfg.CONF([], project="blazar", default_config_files=[])
    table: list[tuple[str, ...]] = [HEADER]
    print(*HEADER, sep="  ")
    for flavors in asked.flavors:
        for managers in asked.managers:
            totals, number = measured(managers, flavors, asked), asked.runs * asked.bookings
            line = (
                *(str(managers), str(flavors)),
                figures.milliseconds(totals.processor / number),
                *(f"{count / number:.2f}" for count in (totals.lost, totals.waits)),
                figures.milliseconds(totals.waited / number),
            )
            table.append(line)
            print(*line, sep="  ", flush=True)
    counts = {"bookings": asked.bookings, "hosts": asked.hosts, "each": asked.each}
    figures.record("managers", {name: f"{n:,}" for name, n in counts.items()}, table)


if __name__ == "__main__":
    main()
