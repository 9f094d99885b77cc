"""Judges whether servers that keep their devices can hold what was sold, by trying all places.

It shares no code with the package, because it checks the package.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

#: The class of the devices in the states that are explored.
CLASS = "VGPU"
#: The extra spec by which flavors ask for devices. Nova is told which devices their servers have.
SPEC = f"resources1:{CLASS}"
_HELD = f"""
SELECT h.hypervisor_hostname AS host, l.start_date, l.end_date, w.claim_start, w.claim_end, w.shape
FROM computehost_allocations a
JOIN computehosts h ON h.id = a.compute_host_id
JOIN reservations r ON r.id = a.reservation_id
JOIN leases l ON l.id = r.lease_id
JOIN warre_reservations w ON w.reservation_id = r.id
WHERE w.shape LIKE '%{SPEC}%'
"""


class Stay(NamedTuple):
    """An instance that takes units of one device for some time."""

    spans: Sequence[tuple[str, str]]
    units: int


def oversold(engine: sa.Engine, devices: Mapping[str, Sequence[int]]) -> list[str]:
    """The hosts on which no fixed place of each instance exists.

    :param devices: the units of each device, by host.
    """
    with engine.connect() as connection:
        rows = connection.execute(sa.text(_HELD)).mappings().all()
    stays: dict[str, list[Stay]] = {}
    for row in rows:
        stays.setdefault(row["host"], []).append(_stay(row))
    return [
        f"the devices of host {host} can't hold {len(mine)} instances that stay where they are"
        for host, mine in stays.items()
        if not exists(mine, devices.get(host, ()))
    ]


def exists(stays: Iterable[Stay], devices: Sequence[int]) -> bool:
    """Whether each instance can have a device of its own for all of its time."""
    waiting = sorted(stays, key=lambda stay: -stay.units)
    placed: list[list[Stay]] = [[] for _ in devices]

    def place(number: int) -> bool:
        if number == len(waiting):
            return True
        stay = waiting[number]
        for units, there in zip(devices, placed, strict=True):
            there.append(stay)
            if _holds(units, there) and place(number + 1):
                return True
            there.pop()
        return False

    return place(0)


def _holds(units: int, there: Sequence[Stay]) -> bool:
    """Whether a device has enough units at each moment at which an instance comes."""
    return all(
        sum(s.units for s in there if any(a <= moment < b for a, b in s.spans)) <= units
        for stay in there
        for moment, _ in stay.spans
    )


def _stay(row: Any) -> Stay:
    shape = row["shape"] if isinstance(row["shape"], dict) else json.loads(row["shape"])
    spans = [(row["start_date"], row["end_date"])]
    if row["claim_start"] is not None:
        spans.append((row["claim_start"], row["claim_end"]))
    return Stay(
        [(str(start)[:19], str(end)[:19]) for start, end in spans],
        int(shape["extra_specs"][SPEC]),
    )
