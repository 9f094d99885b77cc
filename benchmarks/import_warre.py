#!/usr/bin/env python3
"""Measures the time and the memory that an import of Warre's reservations takes, and its undo.

By default Warre has 20,000 reservations, 2,000 of them live. For comparison, the benchmark first
measures a tenth of that.

It needs only MariaDB: run ``tools/testdb up && eval "$(tools/testdb env)"`` first. It makes two
databases of its own and drops them. Each step runs in a process of its own. The memory is the
difference between the peak of the process after the step and before it.
"""

import argparse
import datetime
import multiprocessing
import pathlib
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from typing import Any

import figures
import sqlalchemy as sa
from oslo_config import cfg

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from tests.functional.db import databases, warre_site, world
from warre_blazar import conf, warre_import
from warre_blazar.db import session, tables

HOSTS = 50
_ROWS = 2_000
_NOW = warre_site.NOW
_HOUR = datetime.timedelta(hours=1)


def fill(warre: warre_site.Warre, count: int, live: int) -> None:
    """Write a flavor and reservations to Warre's database, and Blazar's leases of the live ones."""
    hosts = [
        world.add_host(None, f"host-{number}", vcpus=10**6, memory_mb=10**8, disk_gb=10**7)
        for number in range(HOSTS)
    ]
    warre.run(
        "INSERT INTO flavor (id, name, vcpu, memory_mb, disk_gb, ephemeral_gb, active, is_public, "
        "max_length_hours, slots, extra_specs) VALUES "
        f"('{warre_site.BIG}', 'gpu', 2, 1024, 10, 0, 1, 1, 1000, 1000000, '{{}}')"
    )
    metadata = sa.MetaData()
    reservation = sa.Table("reservation", metadata, autoload_with=warre.engine)
    for numbers in _parts(count):
        of_warre: list[dict[str, Any]] = []
        of_blazar: dict[sa.Table, list[dict[str, Any]]] = {}
        for number in numbers:
            rows = _live(number, hosts[number % HOSTS]) if number < live else None
            for table, row in rows or []:
                of_blazar.setdefault(table, []).append(row)
            of_warre.append(_row(number, rows))
        with warre.engine.begin() as connection:
            connection.execute(reservation.insert(), of_warre)
        with session.writer() as db:
            for table, some in of_blazar.items():
                db.execute(table.insert(), some)


def _parts(count: int) -> Iterator[range]:
    for first in range(0, count, _ROWS):
        yield range(first, min(first + _ROWS, count))


def _span(number: int, is_live: bool) -> tuple[datetime.datetime, datetime.datetime]:
    away = (1 + number % 2000) * _HOUR
    start = _NOW + away if is_live else _NOW - away - 48 * _HOUR
    return start, start + (1 + number % 40) * _HOUR


def _row(number: int, rows: list[tuple[sa.Table, dict[str, Any]]] | None) -> dict[str, Any]:
    start, end = _span(number, rows is not None)
    lease_id = rows[0][1]["id"] if rows else None
    return {
        "id": str(uuid.uuid4()),
        "user_id": "user",
        "project_id": world.PROJECT,
        "flavor_id": warre_site.BIG,
        "lease_id": lease_id,
        "status": "ALLOCATED" if rows else "COMPLETE",
        "start": start,
        "end": end,
        "instance_count": 1,
        "compute_flavor": rows[1][1]["id"] if rows else str(uuid.uuid4()),
        "created_at": start - 24 * _HOUR,
    }


def _live(number: int, host_id: str) -> list[tuple[sa.Table, dict[str, Any]]]:
    """The rows that Blazar writes when Warre makes a lease."""
    lease, reservation, row = (str(uuid.uuid4()) for _ in range(3))
    start, end = _span(number, True)
    of_lease = {"user_id": warre_site.BOT, "project_id": world.PROJECT, "trust_id": "trust"}
    of_lease |= {"start_date": start, "end_date": end, "status": "PENDING"}
    kind = {"resource_type": "virtual:instance", "status": "pending", "resource_id": row}
    sizes = {"vcpus": 2, "memory_mb": 1024, "disk_gb": 10, "amount": 1}
    made = {"resource_properties": "", "flavor_id": reservation, "aggregate_id": number}
    events = [
        (
            tables.events,
            {
                "id": str(uuid.uuid4()),
                "lease_id": lease,
                "event_type": event,
                "time": due,
                "status": "UNDONE",
            },
        )
        for event, due in (("start_lease", start), ("end_lease", end))
    ]
    return [
        (tables.leases, {"id": lease, "name": f"Reservation {lease}", **of_lease}),
        (tables.reservations, {"id": reservation, "lease_id": lease, **kind}),
        *events,
        (tables.instance_reservations, {"id": row, "reservation_id": reservation, **sizes, **made}),
        (
            tables.allocations,
            {"id": str(uuid.uuid4()), "reservation_id": reservation, "compute_host_id": host_id},
        ),
    ]


def _peak() -> float:
    """The largest amount of memory, in MiB, that this process has used so far.

    getrusage isn't used, since its number includes the peak of the parent process.
    """
    status = pathlib.Path("/proc/self/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) / 1024


def _step(blazar: str, warre: str, what: str, results: Any) -> None:
    """Run one step in a process of its own.

    :param results: a queue that gets the seconds, the MiB more than before the step, and counts of
        reservations.
    """
    _configure(blazar)
    with session.reader() as db:
        db.scalar(sa.select(sa.func.count()).select_from(tables.leases))
    before, began = _peak(), time.monotonic()
    if what == "undo":
        counts: dict[str, int] = warre_import.undo()
    else:
        do = warre_import.plan if what == "plan" else warre_import.take_over
        report = do(warre, _NOW, 0)
        counts = {fate.value: n for (kind, fate), n in report.counts.items() if kind[0] == "r"}
    results.put((time.monotonic() - began, _peak() - before, counts))


def _configure(url: str) -> None:
    cfg.CONF([], default_config_files=[])
    conf.register(cfg.CONF)
    cfg.CONF.set_override("connection", url, group="database")


def measure(directory: pathlib.Path, count: int, live: int) -> list[str]:
    """Measure all steps with a number of reservations, and print the results.

    :param live: how many of the reservations are live.
    :returns: the results as cells of a table, one for each step.
    """
    cells = []
    with (
        databases.made("mariadb", directory) as blazar,
        databases.made("mariadb", directory) as url,
    ):
        databases.fill("mariadb", blazar, directory)
        _configure(blazar)
        warre = warre_site.Warre(sa.create_engine(url, poolclass=sa.NullPool))
        warre.make_tables()
        fill(warre, count, live)
        print(f"{count} reservations, {live} of them live:")
        spawned = multiprocessing.get_context("spawn")
        for what in ("plan", "import", "again", "undo"):
            results = spawned.Queue()
            step = spawned.Process(target=_step, args=(blazar, url, what, results))
            step.start()
            seconds, more, counts = results.get()
            step.join()
            print(f"  {what:<7}{seconds:6.1f} s, {more:5.1f} MiB more than before it; {counts}")
            cells.append(f"{seconds:.1f} s, {more:.1f} MiB")
        with session.writer() as db:
            engine = db.get_bind()
        engine.dispose()
        from blazar.db.sqlalchemy import facade_wrapper  # noqa: PLC0415

        facade_wrapper._clear_engine()
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reservations", type=int, default=20_000)
    parser.add_argument("--live", type=int, default=2_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        counts = [arguments.reservations // part for part in (10, 1)]
        columns = [
            measure(
                pathlib.Path(directory), count, arguments.live * count // arguments.reservations
            )
            for count in counts
        ]
    header = ["Step", *(f"{count:,} reservations" for count in counts)]
    steps = ["plan (``--dry-run``)", "import, without the plan", "the same again", "``--undo``"]
    rows = [list(row) for row in zip(steps, *columns, strict=True)]
    figures.record("import_warre", {}, [header, *rows])


if __name__ == "__main__":
    main()
