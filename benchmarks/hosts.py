#!/usr/bin/env python3
"""What one choice of hosts costs, beside that of Blazar's own virtual:instance plugin.

Both are asked for the same instances on the same rows: hosts of 64 vcpus, each with so many
reservations of 1 to 27 days spread over a year, half of them ours. A third number in a size is the
number of GPUs of each host. Each of our instances then takes one, which Blazar's plugin can't do.
Nothing else is booked meanwhile, so ours has kept the hosts (``scale.py`` also books beside it).
Needs MariaDB only: ``tools/testdb up && eval "$(tools/testdb env)"`` first. Makes databases of its
own and drops them.
"""

import argparse
import contextlib
import dataclasses
import datetime
import functools
import pathlib
import random
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import figures
import sqlalchemy as sa
from blazar.plugins.instances import instance_plugin
from blazar.plugins.oshosts import host_plugin as _host_plugin  # noqa: F401 - the instance plugin expects it there
from oslo_config import cfg

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from tests.functional.db import databases
from warre_blazar.db import session, tables
from warre_blazar.db.hosts import allocations, host_providers
from warre_blazar.db.hosts.host_providers import Reading
from warre_blazar.domain.flavors.flavor import Shape
from warre_blazar.domain.flavors.request_groups import Group
from warre_blazar.domain.hosts import placing
from warre_blazar.domain.hosts.aggregates import NO_AGGREGATES
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.providers import Inventory, Provider
from warre_blazar.domain.running.backing import Phase
from warre_blazar.domain.timeline import Span
from warre_blazar.services import searches

#: The kind of database.
KIND = "mariadb"
SIZES = ("10x10", "100x10", "100x100", "200x20", "200x100", "200x100x8", "1000x100")
DAYS = (14, 365)
COUNT = 5
HEADER = (
    "Hosts x reservations on each (x GPUs)",
    "Time asked for",
    "warre-blazar",
    "Stock",
    "SQL statements, ours",
    "SQL statements, stock",
    "Stock / ours",
)
_FIRST = datetime.datetime(2100, 1, 1)
_DAY = datetime.timedelta(days=1)
_SHAPE = Shape(2, 2048, 20, 0, {}, None, None)
_GPU = Group.of({"CUSTOM_GPU": 1}, ["COMPUTE_MANAGED_PCI_DEVICE"])
_GPU_SHAPE = dataclasses.replace(_SHAPE, device_groups=(_GPU,))
_ROWS = 5_000

Rows = dict[sa.Table, list[dict[str, Any]]]


def host_rows(rows: Rows, number: int) -> str:
    """A host with its inventories, a capability and a trait, and the same read from Placement."""
    host_id = str(number)
    totals = {"VCPU": 64, "MEMORY_MB": 262_144, "DISK_GB": 4_000}
    rows.setdefault(tables.compute_hosts, []).append(
        {
            "id": host_id,
            "vcpus": totals["VCPU"],
            "cpu_info": "",
            "hypervisor_type": "QEMU",
            "hypervisor_version": 1,
            "hypervisor_hostname": f"compute{number:05}",
            "service_name": f"compute{number:05}",
            "memory_mb": totals["MEMORY_MB"],
            "local_gb": totals["DISK_GB"],
            "status": "up",
            "availability_zone": "nova",
            "trust_id": "",
            "reservable": True,
        }
    )
    rows.setdefault(tables.host_inventories, []).extend(
        {
            "id": str(uuid.uuid4()),
            "computehost_id": host_id,
            "resource_class": cls,
            "total": total,
            "reserved": 0,
            "min_unit": 1,
            "max_unit": total,
            "step_size": 1,
            "allocation_ratio": 1.0,
        }
        for cls, total in totals.items()
    )
    rows.setdefault(tables.host_traits, []).append(
        {"id": str(uuid.uuid4()), "computehost_id": host_id, "trait": "HW_CPU_X86_VMX"}
    )
    rows.setdefault(tables.extra_capabilities, []).append(
        {
            "id": str(uuid.uuid4()),
            "computehost_id": host_id,
            "property_id": "gpu",
            "capability_value": "a100",
        }
    )
    tree = (
        Provider(
            str(uuid.uuid4()),
            f"compute{number:05}",
            None,
            {cls: Inventory(total, max_unit=total) for cls, total in totals.items()},
            frozenset({"HW_CPU_X86_VMX"}),
        ),
    )
    rows.setdefault(tables.host_providers, []).append(
        {
            "host_id": host_id,
            **host_providers.row(Reading(tree, "nova", NO_AGGREGATES), _FIRST),
        }
    )
    return host_id


def reservation_rows(
    rows: Rows, host_id: str, span: Span, ours: bool, shape: Shape = _SHAPE, flavor: str = "flavor"
) -> None:
    """A lease of one reservation with one instance of 2 vcpus on a host, as the plugins write."""
    lease, reservation = str(uuid.uuid4()), str(uuid.uuid4())
    made: list[tuple[sa.Table, dict[str, Any]]] = [
        (
            tables.leases,
            {
                "id": lease,
                "name": lease,
                "project_id": "project",
                "user_id": "user",
                "start_date": span.start,
                "end_date": span.end,
                "trust_id": "",
                "status": "PENDING",
            },
        ),
        (
            tables.reservations,
            {
                "id": reservation,
                "lease_id": lease,
                "resource_type": "flavor:slot" if ours else "virtual:instance",
                "status": "pending",
            },
        ),
        (
            tables.instance_reservations,
            {
                "id": reservation,
                "reservation_id": reservation,
                "vcpus": 2,
                "memory_mb": 2048,
                "disk_gb": 20,
                "amount": 1,
                "resource_properties": "",
            },
        ),
        (
            tables.allocations,
            {"id": reservation, "compute_host_id": host_id, "reservation_id": reservation},
        ),
    ]
    for kind, moment in (("start_lease", span.start), ("end_lease", span.end)):
        event = {"lease_id": lease, "event_type": kind, "time": moment, "status": "UNDONE"}
        made.append((tables.events, {"id": str(uuid.uuid4()), **event}))
    if ours:
        values = {
            "id": reservation,
            "live_id": reservation,
            "reservation_id": reservation,
            "lease_id": lease,
            "project_id": "project",
            "user_id": "user",
            "flavor_id": flavor,
            "instance_count": 1,
            "shape": shape.to_json(),
            "created_at": _FIRST,
        }
        made.append((tables.bookings, values))
    for table, row in made:
        rows.setdefault(table, []).append(row)


def add_backings(rows: Rows) -> None:
    """Note for the reservations of some rows that nothing was made for them yet.

    So they can be placed again.
    """
    rows[tables.backings] = [
        {
            "reservation_id": row["id"],
            "project_id": "project",
            "phase": Phase.PLANNED,
            "created_at": _FIRST,
            "nova_flavor": row["id"],
        }
        for row in rows.get(tables.reservations, ())
    ]


def flavor_row() -> dict[str, Any]:
    return {
        "id": "flavor",
        "name": "bench",
        "vcpu": _SHAPE.vcpu,
        "memory_mb": _SHAPE.memory_mb,
        "disk_gb": _SHAPE.disk_gb,
        "ephemeral_gb": _SHAPE.ephemeral_gb,
        "extra_specs": {},
        "slots": 10**6,
        "max_length_hours": 10_000,
        "is_public": True,
        "active": True,
        "generation": 0,
        "deleted": "",
        "created_at": _FIRST,
    }


def first_rows() -> Rows:
    """The flavor, and what all hosts refer to."""
    prop = {"id": "gpu", "resource_type": "physical:host", "property_name": "gpu"}
    return {tables.flavors: [flavor_row()], tables.resource_properties: [prop]}


def fill(engine: sa.Engine, host_count: int, per_host: int, shape: Shape) -> None:
    dice = random.Random(0)
    with engine.begin() as db:
        rows = first_rows()
        for number in range(host_count):
            host_id = host_rows(rows, number)
            for _ in range(per_host):
                start = _FIRST + dice.randrange(365 * 24) * _DAY / 24
                span = Span(start, start + dice.randint(24, 27 * 24) * _DAY / 24)
                reservation_rows(rows, host_id, span, ours=dice.random() < 0.5, shape=shape)
            if len(rows[tables.compute_hosts]) * per_host >= _ROWS:
                write(db, rows)
        write(db, rows)
    analyze(engine)


def analyze(engine: sa.Engine) -> None:
    """Let the server count the rows, as it does after a while."""
    if engine.dialect.name == "mysql":
        names = ", ".join(table.name for table in tables.metadata.sorted_tables)
        with engine.connect() as db:
            db.execute(sa.text(f"ANALYZE TABLE {names}")).all()


def write(db: sa.Connection, rows: Rows) -> None:
    """Insert and forget, what others refer to first."""
    for table in tables.metadata.sorted_tables:
        if rows.get(table):
            db.execute(table.insert(), rows.pop(table))


@searches.uncollected()  # as the service has it
def chosen(shape: Shape, wanted: placing.Wanted) -> int:
    """How many of the wanted instances get a host by the package's choice."""
    return placing.choose(_matching(shape), wanted)[1]


def _matching(shape: Shape) -> list[BookableHost]:
    with session.reader() as db:
        booked = allocations.matching_hosts(db, "flavor", lambda host: host.matches(shape, None))
    return booked.hosts


def by_us(span: Span) -> int:
    return chosen(_SHAPE, placing.Wanted(_SHAPE.request, COUNT, span))


@searches.uncollected()
def by_us_with_gpus(gpus: int, span: Span) -> int:
    wanted = placing.Wanted(_GPU_SHAPE.request, COUNT, span)
    return placing.choose([with_gpus(h, gpus) for h in _matching(_SHAPE)], wanted)[1]


def with_gpus(host: BookableHost, gpus: int) -> BookableHost:
    root = Provider(host.id, host.name, None, host.inventories, host.traits)
    traits = frozenset({"COMPUTE_MANAGED_PCI_DEVICE"})
    devices = (
        Provider(
            f"{host.id}/{n}", f"{host.name}/{n}", root.id, {"CUSTOM_GPU": Inventory(1)}, traits
        )
        for n in range(gpus)
    )
    return dataclasses.replace(host, providers=(root, *devices))


def by_stock(span: Span) -> int:
    plugin = instance_plugin.VirtualInstancePlugin()
    values = {
        "amount": COUNT,
        "affinity": None,
        "vcpus": _SHAPE.vcpu,
        "memory_mb": _SHAPE.memory_mb,
        "disk_gb": _SHAPE.disk_gb,
        "resource_properties": "",
        "start_date": span.start,
        "end_date": span.end,
    }
    return len(plugin.allocation_candidates(values))


def measured(
    engine: sa.Engine, ask: Callable[[Span], int], span: Span, runs: int
) -> tuple[float, int]:
    """The median in milliseconds, and the SQL statements of one."""
    statements = 0

    def count(*_: Any) -> None:
        nonlocal statements
        statements += 1

    # What is only done once: connections, compiled statements, pages read from the disk.
    ask(Span(span.start, span.start + _DAY / 24) if ask is by_stock else span)
    times = []
    sa.event.listen(engine, "before_cursor_execute", count)
    for _ in range(runs):
        statements = 0
        start = time.perf_counter()
        if ask(span) != COUNT:
            raise SystemExit("the instances didn't fit")
        times.append((time.perf_counter() - start) * 1000)
    sa.event.remove(engine, "before_cursor_execute", count)
    return statistics.median(times), statements


@contextlib.contextmanager
def database() -> Iterator[sa.Engine]:
    """Blazar's engine on a new database with all tables."""
    with (
        tempfile.TemporaryDirectory() as directory,
        databases.made(KIND, pathlib.Path(directory)) as url,
    ):
        cfg.CONF.set_override("connection", url, group="database")
        with databases.connected() as engine:
            tables.metadata.create_all(engine)
            yield engine


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="+", default=list(SIZES), metavar="HOSTSxRESERVATIONS")
    parser.add_argument("--days", type=int, nargs="+", default=list(DAYS))
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--stock-runs", type=int, default=1)
    parser.add_argument("--stock-up-to", type=int, default=20_000, help="reservations in all")
    asked = parser.parse_args()
    cfg.CONF([], project="blazar", default_config_files=[])
    first: dict[int, float] = {}
    table = [HEADER]
    print(
        f"{'hosts x res.':>12} {'days':>5} {'SQL':>4} {'ms':>8} {'growth':>7} "
        f"{'stock SQL':>10} {'stock ms':>9} {'ratio':>6}"
    )
    for size in asked.sizes:
        host_count, per_host, gpus = (int(number) for number in [*size.split("x"), "0"][:3])
        ask = functools.partial(by_us_with_gpus, gpus) if gpus else by_us
        with database() as engine:
            fill(engine, host_count, per_host, _GPU_SHAPE if gpus else _SHAPE)
            for days in asked.days:
                start = _FIRST + (365 - days) / 2 * _DAY
                span = Span(start, start + days * _DAY)
                took, statements = measured(engine, ask, span, asked.runs)
                growth = took / first.setdefault(days, took)
                line = f"{size:>12} {days:>5} {statements:>4} {took:>8.1f} {growth:>7.1f}"
                ours = (size.replace("x", " x "), f"{days} days", figures.milliseconds(took))
                others = ("not run",) * 3
                if host_count * per_host <= asked.stock_up_to and not gpus:
                    stock, theirs = measured(engine, by_stock, span, asked.stock_runs)
                    line += f" {theirs:>10} {stock:>9.1f} {stock / took:>6.1f}"
                    ratio = f"{stock / took:.0f}"
                    others = (figures.milliseconds(stock), f"{theirs:,}", ratio)
                print(line, flush=True)
                table.append((*ours, others[0], str(statements), *others[1:]))
    figures.record("hosts", {"runs": str(asked.runs), "count": str(COUNT)}, table)


if __name__ == "__main__":
    main()
