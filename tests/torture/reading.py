"""The tables as they are at one moment: Blazar's and ours, Nova's and Placement's, by plain SQL.

All are in one database server, so one transaction sees all of them at the same moment.
"""

import contextlib
import dataclasses
import datetime
import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pymysql
import pymysql.cursors
import sqlalchemy as sa

Time = datetime.datetime
Span = tuple[Time, Time]
#: What an instance takes or a host has: processors, MiB, GB and devices.
Amounts = tuple[int, int, int, int]
#: The extra spec by which a flavor asks for devices. Its value is an alias and a number.
_ALIAS = "pci_passthrough:alias"

#: Seconds for a connection, and for each answer.
_PATIENCE = 3

#: Leases that ended longer ago than that are history.
KEPT = datetime.timedelta(hours=3)

_LEASES = """
SELECT id, name, project_id, user_id, start_date, end_date, status FROM leases
WHERE end_date > UTC_TIMESTAMP() - INTERVAL 3 HOUR
"""
_RESERVATIONS = """
SELECT r.id, r.lease_id, r.status, r.resource_type, w.flavor_id, w.instance_count, w.name AS label,
       w.claim_start, w.claim_end, i.vcpus, i.memory_mb, i.disk_gb
FROM reservations r JOIN leases l ON l.id = r.lease_id
LEFT JOIN warre_reservations w ON w.reservation_id = r.id
LEFT JOIN instance_reservations i ON i.reservation_id = r.id
WHERE l.end_date > UTC_TIMESTAMP() - INTERVAL 3 HOUR
"""
_ALLOCATIONS = """
SELECT a.reservation_id, h.hypervisor_hostname AS host, COUNT(*) AS number
FROM computehost_allocations a JOIN computehosts h ON h.id = a.compute_host_id
GROUP BY a.reservation_id, h.hypervisor_hostname
"""
_FLAVORS = """
SELECT id, name, slots, vcpu, memory_mb, disk_gb + ephemeral_gb AS disk_gb, extra_specs
FROM warre_flavors
WHERE deleted = ''
"""
_CAPACITIES = """
SELECT root.name AS host, IF(c.name LIKE 'CUSTOM\\_PCI\\_%', 'devices', c.name) AS class,
       CAST(SUM(FLOOR((i.total - i.reserved) * i.allocation_ratio)) AS SIGNED) AS amount
FROM placement.inventories i
JOIN placement.resource_providers p ON p.id = i.resource_provider_id
JOIN placement.resource_providers root ON root.id = p.root_provider_id
JOIN placement.resource_classes c ON c.id = i.resource_class_id
WHERE c.name IN ('VCPU', 'MEMORY_MB', 'DISK_GB') OR c.name LIKE 'CUSTOM\\_PCI\\_%'
GROUP BY 1, 2
"""
_SERVERS = """
SELECT i.uuid, i.vm_state, i.task_state, i.host, i.created_at, i.launched_at, e.flavor
FROM nova.instances i JOIN nova.instance_extra e ON e.instance_uuid = i.uuid
WHERE i.deleted = 0
"""
_NOVA_FLAVORS = "SELECT name FROM nova_api.flavors WHERE name LIKE 'reservation:%'"
_AGGREGATES = """
SELECT a.name, h.host FROM nova_api.aggregates a
LEFT JOIN nova_api.aggregate_hosts h ON h.aggregate_id = a.id
"""
_CLASSES = """
SELECT c.name AS class, p.name AS host, i.total FROM placement.resource_classes c
LEFT JOIN placement.inventories i ON i.resource_class_id = c.id
LEFT JOIN placement.resource_providers p ON p.id = i.resource_provider_id
WHERE c.name LIKE 'CUSTOM\\_RESERVATION\\_%'
"""


@dataclasses.dataclass(frozen=True)
class LeaseRow:
    """A lease of whatever type."""

    id: str
    name: str
    project_id: str
    user_id: str
    start: Time
    end: Time
    status: str


@dataclasses.dataclass(frozen=True)
class ReservationRow:
    """A reservation, and the instances that it has on each host by the host's name."""

    id: str
    lease_id: str
    status: str
    resource_type: str
    flavor_id: str | None = None
    count: int | None = None
    label: str | None = None
    #: A time that an update was promised beside the lease's own.
    promised: Span | None = None
    #: What Blazar's own row says that an instance takes.
    sizes: Amounts | None = None
    hosts: dict[str, int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class FlavorRow:
    """A flavor: its slots, and what an instance takes."""

    id: str
    name: str
    slots: int
    sizes: Amounts


@dataclasses.dataclass(frozen=True)
class ServerRow:
    """A server on a reservation's Nova flavor."""

    id: str
    #: The reservation's id without dashes, which is that flavor's id.
    flavor: str
    state: str
    launched: Time | None = None
    host: str | None = None


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """Everything at one moment by the database's clock."""

    now: Time
    leases: dict[str, LeaseRow]
    reservations: dict[str, ReservationRow]
    flavors: dict[str, FlavorRow]
    #: What Placement says a host has, by its name.
    capacities: dict[str, Amounts]
    servers: list[ServerRow]

    def of_lease(self, lease_id: str) -> list[ReservationRow]:
        """The reservations of a lease."""
        return [r for r in self.reservations.values() if r.lease_id == lease_id]


@dataclasses.dataclass(frozen=True)
class Backing:
    """What Nova and Placement hold, by reservation id."""

    flavors: set[str]
    #: With the hosts in it.
    aggregates: dict[str, set[str]]
    #: With how many each host offers.
    classes: dict[str, dict[str, int]]


class Reader:
    """Reads the tables of the cloud; a connection for each look, so that outages leave nothing."""

    def __init__(self, url: str) -> None:
        """
        :param url: SQLAlchemy's, of Blazar's database.
        """
        self._url = sa.make_url(url)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[pymysql.cursors.DictCursor]:
        connection = pymysql.connect(
            host=self._url.host,
            port=self._url.port or 3306,
            user=self._url.username,
            password=self._url.password or "",
            database=self._url.database,
            connect_timeout=_PATIENCE,
            read_timeout=_PATIENCE,
            write_timeout=_PATIENCE,
            cursorclass=pymysql.cursors.DictCursor,
        )
        try:
            with connection.cursor() as cursor:
                cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
                yield cursor
        finally:
            connection.close()

    def snapshot(self) -> Snapshot:
        """All tables at one moment.

        :raises pymysql.MySQLError, OSError: the database doesn't answer.
        """
        with self._transaction() as cursor:
            hosts: dict[str, dict[str, int]] = defaultdict(dict)
            for row in _rows(cursor, _ALLOCATIONS):
                hosts[row["reservation_id"]][row["host"]] = row["number"]
            found: dict[str, dict[str, int]] = defaultdict(dict)
            for row in _rows(cursor, _CAPACITIES):
                found[row["host"]][row["class"]] = row["amount"]
            (moment,) = _rows(cursor, "SELECT UTC_TIMESTAMP() AS now")
            return Snapshot(
                now=moment["now"],
                leases={r["id"]: _lease(r) for r in _rows(cursor, _LEASES)},
                reservations={
                    r["id"]: _reservation(r, hosts[r["id"]]) for r in _rows(cursor, _RESERVATIONS)
                },
                flavors={r["id"]: _flavor(r) for r in _rows(cursor, _FLAVORS)},
                capacities={host: _amounts(amounts) for host, amounts in found.items()},
                servers=[_server(r) for r in _rows(cursor, _SERVERS)],
            )

    def backing(self) -> Backing:
        """What Nova and Placement hold of reservations.

        :raises pymysql.MySQLError, OSError: the database doesn't answer.
        """
        with self._transaction() as cursor:
            flavors = {r["name"].removeprefix("reservation:") for r in _rows(cursor, _NOVA_FLAVORS)}
            aggregates: dict[str, set[str]] = defaultdict(set)
            for row in _rows(cursor, _AGGREGATES):
                aggregates[row["name"]] |= {row["host"]} - {None}
            classes: dict[str, dict[str, int]] = defaultdict(dict)
            for row in _rows(cursor, _CLASSES):
                name = row["class"].removeprefix("CUSTOM_RESERVATION_").lower().replace("_", "-")
                offers = classes[name]
                if row["host"] is not None:
                    # Blazar's own provider below the host's.
                    offers[row["host"].removeprefix("blazar_")] = row["total"]
        return Backing(flavors, dict(aggregates), dict(classes))


def _rows(cursor: pymysql.cursors.DictCursor, query: str) -> list[dict[str, Any]]:
    cursor.execute(query)
    return list(cursor.fetchall())


def _lease(row: dict[str, Any]) -> LeaseRow:
    return LeaseRow(
        row["id"],
        row["name"],
        row["project_id"],
        row["user_id"],
        row["start_date"],
        row["end_date"],
        row["status"],
    )


def _reservation(row: dict[str, Any], hosts: dict[str, int]) -> ReservationRow:
    promised = (row["claim_start"], row["claim_end"])
    # Blazar's own types know no devices.
    sizes = (row["vcpus"], row["memory_mb"], row["disk_gb"], 0)
    return ReservationRow(
        row["id"],
        row["lease_id"],
        row["status"],
        row["resource_type"],
        flavor_id=row["flavor_id"],
        count=row["instance_count"],
        label=row["label"],
        promised=None if None in promised else promised,
        sizes=None if None in sizes else sizes,
        hosts=hosts,
    )


def _flavor(row: dict[str, Any]) -> FlavorRow:
    alias = json.loads(row["extra_specs"] or "{}").get(_ALIAS)
    devices = int(alias.partition(":")[2] or 1) if alias else 0
    sizes = (row["vcpu"], row["memory_mb"], row["disk_gb"], devices)
    return FlavorRow(row["id"], row["name"], row["slots"], sizes)


def _amounts(found: dict[str, int]) -> Amounts:
    vcpus, memory_mb, disk_gb = (int(found.get(n, 0)) for n in ("VCPU", "MEMORY_MB", "DISK_GB"))
    return vcpus, memory_mb, disk_gb, int(found.get("devices", 0))


def _server(row: dict[str, Any]) -> ServerRow:
    flavor = json.loads(row["flavor"])["cur"]["nova_object.data"]["flavorid"]
    return ServerRow(row["uuid"], flavor, row["vm_state"], row["launched_at"], row["host"])
