"""A Warre beside Blazar: Warre's database, and the leases that Warre has made in Blazar.

``warre/schema.sql`` has the tables of Warre 5.2.2. ``warre/example.sql`` has rows that a running
Warre had.
"""

import dataclasses
import datetime
import pathlib
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from blazar import context
from blazar.db import api as db_api
from blazar.plugins.instances import instance_plugin
from blazar.plugins.oshosts import host_plugin  # noqa: F401 - instance_plugin needs this import

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from warre_blazar.domain.timeline import Span

_FILES = pathlib.Path(__file__).parent / "warre"

#: The example's ids.
BIG, HUGE, OLD = (
    "8fec2562-a7cb-4393-83ad-d489a32fba40",
    "b50e4406-4448-443b-9c5f-438e609acc26",
    "181d9a44-a3d7-4e78-b0aa-b24a247b8463",
)
ACTIVE, TWO, THIRD = (
    "76f5014c-abfa-4338-a7fd-48d1637cabf9",
    "d39c63b2-529b-450e-b0bb-bd29c5005e07",
    "e89cd234-37ad-4442-a0fa-5c0e15412c83",
)
UNMADE, FAILED, COMPLETE = (
    "1b2acbb4-7844-414e-94f5-62035a7650e4",
    "940d24ea-242e-48e0-ade9-6b76b994ff65",
    "b4e20472-a2cf-4bee-8bbf-39ae804fc9f9",
)
#: A time at which the first of the example's reservations is running.
NOW = datetime.datetime(2026, 11, 23, 12)
BOT = "warre-bot"
ALPHA, BETA = "project-alpha", "project-beta"


def day(number: int, hour: int = 0) -> datetime.datetime:
    """A time in the example's November."""
    return datetime.datetime(2026, 11, number, hour)


@dataclasses.dataclass(frozen=True)
class StockLease(world.Lease):
    """A lease with a ``virtual:instance`` reservation. Its Nova flavor has the reservation's id."""

    project_id: str
    resource_id: str


def book(
    cloud: Cloud, reservation_id: str, project_id: str, span: Span, count: int, **changes: Any
) -> StockLease:
    """Make a lease as Warre does for a reservation, with everything that Blazar makes for it."""
    lease = db_api.lease_create(
        {
            "name": f"Reservation {reservation_id}",
            "user_id": BOT,
            "project_id": project_id,
            "trust_id": f"trust-{reservation_id[:8]}",
            "start_date": span.start,
            "end_date": span.end,
            "status": "CREATING",
        }
    )
    made = db_api.reservation_create(
        {"lease_id": lease["id"], "resource_type": "virtual:instance", "status": "pending"}
    )
    values = {
        "amount": count,
        "vcpus": 2,
        "memory_mb": 1024,
        "disk_gb": 10,
        "affinity": None,
        "resource_properties": "",
        "start_date": span.start,
        "end_date": span.end,
        **changes,
    }
    with _as_bot(cloud, project_id):
        resource_id = instance_plugin.VirtualInstancePlugin().reserve_resource(made["id"], values)
    booked = StockLease(lease["id"], made["id"], span, project_id, resource_id)
    world.settle(booked, resource_id)
    return booked


def _as_bot(cloud: Cloud, project_id: str) -> context.BlazarContext:
    """The context of a lease's trust, in which Blazar calls its plugins."""
    endpoints = cloud.keystone.endpoints
    catalog = [
        {
            "type": service,
            "endpoints": [
                {"region": "RegionOne", "interface": interface, "url": url}
                for interface in ("public", "internal", "admin")
            ],
        }
        for service, url in endpoints.items()
    ]
    return context.BlazarContext(user_id=BOT, project_id=project_id, service_catalog=catalog)


def begin(cloud: Cloud, lease: StockLease) -> None:
    """Start a lease as Blazar does."""
    with _as_bot(cloud, lease.project_id):
        instance_plugin.VirtualInstancePlugin().on_start(lease.resource_id)
    world.set_status(lease, "ACTIVE")
    world.set_event(lease, "start_lease", "DONE")


@dataclasses.dataclass(frozen=True)
class Warre:
    """A Warre's database."""

    engine: sa.Engine

    @property
    def url(self) -> str:
        return self.engine.url.render_as_string(hide_password=False)

    def run(self, *statements: str) -> None:
        """Execute statements exactly as they are, without bind parameters."""
        with self.engine.begin() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)

    def make_tables(self) -> None:
        """Make the tables that Warre's migrations make."""
        self.run(*_statements("schema.sql", {}))

    def fill(self, leases: Mapping[int, StockLease]) -> None:
        """Insert the example's rows.

        :param leases: the leases of the example's reservations, by the number in the example.
        """
        names = {
            **{f"@LEASE_{n}@": lease.id for n, lease in leases.items()},
            **{f"@BLAZAR_RESERVATION_{n}@": lease.reservation_id for n, lease in leases.items()},
            **{"@PROJECT_ALPHA@": ALPHA, "@PROJECT_BETA@": BETA},
            **{"@USER_ALPHA@": "user-alpha", "@USER_BETA@": "user-beta"},
        }
        self.run(*_statements("example.sql", names))

    def add(self, reservation_id: str, lease: StockLease | None, **changes: Any) -> None:
        """Add a row of a reservation."""
        row = {
            "id": reservation_id,
            "user_id": "user-alpha",
            "project_id": ALPHA,
            "flavor_id": BIG,
            "lease_id": lease.id if lease else None,
            "status": "ALLOCATED",
            "start": lease.span.start if lease else day(24),
            "end": lease.span.end if lease else day(25),
            "instance_count": 1,
            "status_reason": None,
            "compute_flavor": lease.reservation_id if lease else None,
            "created_at": day(20),
            **changes,
        }
        names = ", ".join(f"`{name}`" for name in row)
        values = ", ".join(f":{name}" for name in row)
        with self.engine.begin() as connection:
            connection.execute(sa.text(f"INSERT INTO reservation ({names}) VALUES ({values})"), row)

    def dump(self) -> dict[str, list[tuple[Any, ...]]]:
        """The rows of each table."""
        tables = sa.inspect(self.engine).get_table_names()
        with self.engine.connect() as connection:
            return {
                table: sorted(map(tuple, connection.exec_driver_sql(f"SELECT * FROM `{table}`")))
                for table in tables
            }


def _statements(name: str, values: Mapping[str, str]) -> list[str]:
    text = (_FILES / name).read_text()
    for key, value in values.items():
        text = text.replace(key, value)
    lines = [line for line in text.splitlines() if not line.startswith(("--", "/*"))]
    return [s.strip() for s in "\n".join(lines).split(";\n") if s.strip(" \n;")]
