"""Checks by brute force over the tables whether anything is oversold at any time.

It shares no code with the package, because it checks the package.
"""

import collections
import json
from collections.abc import Collection
from typing import Any

import sqlalchemy as sa

_ALLOCATIONS = """
SELECT a.compute_host_id AS host, l.start_date, l.end_date, l.status, r.resource_type,
       i.vcpus, i.memory_mb, i.disk_gb, i.resource_properties, h.vcpus AS host_vcpus,
       w.shape, w.claim_start, w.claim_end
FROM computehost_allocations a
JOIN computehosts h ON h.id = a.compute_host_id
JOIN reservations r ON r.id = a.reservation_id
JOIN leases l ON l.id = r.lease_id
LEFT JOIN instance_reservations i ON i.reservation_id = r.id
LEFT JOIN warre_reservations w ON w.reservation_id = r.id
"""
_SLOTS = """
SELECT w.flavor_id, w.instance_count, l.start_date, l.end_date, l.status,
       w.claim_start, w.claim_end
FROM warre_reservations w
JOIN reservations r ON r.id = w.reservation_id
JOIN leases l ON l.id = r.lease_id
WHERE EXISTS (SELECT 1 FROM computehost_allocations a WHERE a.reservation_id = r.id)
"""
_CAPACITIES = """
SELECT computehost_id, resource_class, (total - reserved) * allocation_ratio AS capacity
FROM computehost_resource_inventory
"""


def find(engine: sa.Engine, devices: Collection[str] = ()) -> list[str]:
    """Sentences that say what is oversold; none if nothing is.

    :param devices: the resource classes that aren't looked at, because hosts have devices of them.
    """
    with engine.connect() as connection:
        allocations = connection.execute(sa.text(_ALLOCATIONS)).mappings().all()
        slots = connection.execute(sa.text(_SLOTS)).mappings().all()
        capacities = {(h, c): n for h, c, n in connection.execute(sa.text(_CAPACITIES))}
        limits = dict(connection.execute(sa.text("SELECT id, slots FROM warre_flavors")).all())
    sentences = [
        f"flavor {flavor} at {moment}: {taken} of {limits[flavor]}"
        for (flavor, moment), taken in _sums(slots, lambda row: [row["flavor_id"]], _count).items()
        if taken > limits[flavor]
    ]
    held = _sums(allocations, _classes, _amount)
    sentences += [
        f"host {host} at {moment}: {taken} {cls} of {capacities[host, cls]}"
        for ((host, cls), moment), taken in held.items()
        if cls not in devices and taken > capacities[host, cls]
    ]
    return sentences


def _sums(rows: Any, keys: Any, amount: Any) -> dict[Any, int]:
    """The sum of what is taken by (key, moment), for each moment at which something starts."""
    moments = {_stamp(start) for row in rows for start, _ in _spans(row)}
    sums: dict[Any, int] = collections.Counter()
    for row in rows:
        for moment in moments:
            if any(_stamp(start) <= moment < _stamp(end) for start, end in _spans(row)):
                for key in keys(row):
                    sums[key, moment] += amount(row, key)
    return sums


def _spans(row: Any) -> list[tuple[Any, Any]]:
    spans = [(row["start_date"], row["end_date"])]
    if row["claim_start"] is not None:
        spans.append((row["claim_start"], row["claim_end"]))
    return spans


def _stamp(time: Any) -> str:
    """A time as a datetime: SQLite returns text where other databases return datetimes."""
    return str(time)[:19]


def _count(row: Any, key: Any) -> int:
    return row["instance_count"]


def _resources(row: Any) -> dict[str, int]:
    if row["resource_type"] == "virtual:instance":
        return {"VCPU": row["vcpus"], "MEMORY_MB": row["memory_mb"], "DISK_GB": row["disk_gb"]}
    if row["resource_type"] == "physical:host":
        return {"VCPU": row["host_vcpus"]}
    if row["resource_type"] == "flavor:instance":
        source = json.loads(row["resource_properties"])
        return {"VCPU": source["vcpus"], "MEMORY_MB": source["ram"], "DISK_GB": source["disk"]}
    return _of_shape(row["shape"])


def _of_shape(shape: Any) -> dict[str, int]:
    if not isinstance(shape, dict):
        shape = json.loads(shape)
    resources = {
        "VCPU": shape["vcpu"],
        "MEMORY_MB": shape["memory_mb"],
        "DISK_GB": shape["disk_gb"] + shape["ephemeral_gb"],
    }
    for key, value in shape["extra_specs"].items():
        if key.startswith("resources:"):
            resources[key.removeprefix("resources:")] = int(value)
    return resources


def _classes(row: Any) -> list[tuple[str, str]]:
    return [(row["host"], cls) for cls in _resources(row)]


def _amount(row: Any, key: tuple[str, str]) -> int:
    return _resources(row)[key[1]]
