"""Decides whether and how a reservation of Warre's is imported with its lease in Blazar."""

import dataclasses
import datetime
from collections.abc import Collection, Mapping
from typing import Any

from warre_blazar.domain.booking import reservation_states
from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE, Shape
from warre_blazar.domain.hosts import host_properties
from warre_blazar.domain.running import lease_states
from warre_blazar.domain.wording import counted
from warre_blazar.warre_import import flavors, rows
from warre_blazar.warre_import.flavors import TakenFlavor

#: The resource type of the reservations that Warre makes in Blazar.
STOCK_TYPE = "virtual:instance"

_UNMADE = "Warre had not made its lease when it was taken over; book it again"
_RESERVATION_STATUS = {lease_states.PENDING: "pending", lease_states.ACTIVE: "active"}


class TooOld(Exception):
    """A reservation has ended too long ago for the history."""


@dataclasses.dataclass(frozen=True)
class InstanceRow:
    """The row of a ``virtual:instance`` reservation in Blazar's table ``instance_reservations``."""

    id: str
    vcpus: int
    memory_mb: int
    disk_gb: int
    amount: int
    affinity: bool | None
    resource_properties: str | None
    flavor_id: str | None
    aggregate_id: int | None
    server_group_id: str | None


@dataclasses.dataclass(frozen=True)
class BlazarReservation:
    """A reservation of a lease in Blazar's tables."""

    id: str
    resource_type: str
    status: str
    #: The reservation's row in ``instance_reservations``. None if Blazar hasn't written the row
    #: yet, or if the table has no rows for reservations of this resource type.
    row: InstanceRow | None
    #: The number of instances on each host, by host id.
    hosts: Mapping[str, int]


@dataclasses.dataclass(frozen=True)
class BlazarLease:
    """A lease in Blazar's tables."""

    id: str
    name: str
    status: str
    project_id: str
    user_id: str | None
    start: datetime.datetime
    end: datetime.datetime
    reservations: tuple[BlazarReservation, ...]


@dataclasses.dataclass(frozen=True)
class Adoption:
    """A reservation of Warre's that is imported with its lease."""

    id: str
    flavor_id: str
    flavor_name: str
    user_id: str
    created_at: datetime.datetime
    status_reason: str | None
    lease: BlazarLease
    reservation: BlazarReservation
    row: InstanceRow
    shape: Shape
    remarks: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Past:
    """A reservation of Warre's that has ended and goes to the history."""

    #: The columns of ``warre_reservations`` with their values.
    columns: Mapping[str, Any]
    remarks: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Surroundings:
    """The data that decisions on reservations need in addition to the row and the lease."""

    #: By ``rows.key`` of their ids, the flavors of Warre's that this import or an earlier one has
    #: imported.
    flavors: Mapping[str, TakenFlavor]
    #: ``rows.key`` of the ids of leases that are named in several live reservations of Warre's.
    shared: Collection[str]
    #: Reservations that ended before this moment aren't taken into the history. None: there is no
    #: limit.
    oldest: datetime.datetime | None


def lease_name(reservation_id: str) -> str:
    """The name that Warre gives the lease of a reservation."""
    return f"Reservation {reservation_id}"


def reservation(
    row: Mapping[str, Any], lease: BlazarLease | None, around: Surroundings
) -> Adoption | Past:
    """Decide whether a reservation is adopted with its lease or goes to the history.

    :param lease: the lease whose id is in Warre's row. If the row has no lease id, it is the lease
        with the name that Warre gives to a reservation's lease (``lease_name``). None if the lease
        doesn't exist.
    :raises Unusable: the reservation can't be imported.
    :raises TooOld: the reservation ended too long ago for the history.
    """
    rows.identifier(row)
    taken = flavors.of(row, around.flavors)
    status = rows.required(row, "status")
    rows.span(row)
    if status in (reservation_states.COMPLETE, reservation_states.ERROR):
        return _past(row, around.oldest, taken, status, _remarks_on_live_lease(lease, status))
    if status not in reservation_states.LIVE:
        raise rows.Unusable(f"its status {status} is none of Warre's")
    lease_id = rows.text(row, "lease_id")
    if lease is None:
        if status == reservation_states.PENDING_CREATE and not lease_id:
            return _past(row, around.oldest, taken, reservation_states.ERROR, (), _UNMADE)
        raise rows.Unusable(f"its lease {lease_id or lease_name(rows.required(row, 'id'))} is gone")
    if rows.key(lease.id) in around.shared:
        raise rows.Unusable(f"another reservation of Warre's names its lease {lease.id} too")
    if lease.status == lease_states.TERMINATED:
        remarks = () if status == reservation_states.ACTIVE else ("its lease is over",)
        return _past(row, around.oldest, taken, reservation_states.COMPLETE, remarks)
    return _adoption(row, lease, taken)


def refuse_deleted(decision: Adoption | Past) -> None:
    """Refuse to adopt a reservation whose record a user has deleted since an earlier import.

    :raises Unusable: the reservation has a lease now. The text says that somebody has to delete it.
    """
    if isinstance(decision, Adoption):
        raise rows.Unusable(
            "it had no lease at an earlier import, and its record was deleted since; now its lease "
            f"{decision.lease.id} holds hosts: delete the lease"
        )


def _remarks_on_live_lease(lease: BlazarLease | None, status: str) -> tuple[str, ...]:
    if lease is None or lease.status not in _RESERVATION_STATUS:
        return ()
    return (f"Warre has it as {status}, and its lease {lease.id} is {lease.status}: that stays",)


def _past(
    row: Mapping[str, Any],
    oldest: datetime.datetime | None,
    taken: TakenFlavor,
    status: str,
    remarks: tuple[str, ...],
    reason: str | None = None,
) -> Past:
    start, end = rows.span(row)
    if oldest is not None and end < oldest:
        raise TooOld
    created_at = rows.moment(row, "created_at")
    if created_at is None:
        remarks = (*remarks, f"its created_at is no time: taken with its start, {start}")
    instances = rows.number(row, "instance_count")
    if instances < 1:
        remarks = (*remarks, f"it has {instances} instances, which stays")
    return Past(
        {
            "id": rows.required(row, "id"),
            "reservation_id": None,
            "lease_id": rows.text(row, "lease_id"),
            "flavor_id": taken.columns["id"],
            "instance_count": instances,
            "affinity": None,
            "name": None,
            "note": None,
            "contact": None,
            "timezone": None,
            "shape": taken.shape.to_json(),
            "start_date": start,
            "end_date": end,
            "project_id": rows.required(row, "project_id"),
            "user_id": rows.required(row, "user_id"),
            "status": status,
            "status_reason": reason or rows.text(row, "status_reason"),
            "compute_flavor": rows.text(row, "compute_flavor"),
            "created_at": created_at or start,
        },
        (*remarks, *rows.cut_fractions(row, "start", "end", "created_at")),
    )


def _adoption(row: Mapping[str, Any], lease: BlazarLease, taken: TakenFlavor) -> Adoption:
    held_reservation, instances = _adoptable(row, lease)
    properties = instances.resource_properties or None
    try:
        host_properties.parse(properties)
    except (ValueError, RecursionError) as error:
        raise rows.Unusable(
            f"the properties of its lease {lease.id} can't be read: {error}"
        ) from None
    shape = Shape(
        vcpu=instances.vcpus,
        memory_mb=instances.memory_mb,
        disk_gb=instances.disk_gb,
        # Blazar has made the Nova flavor without ephemeral disk and extra specs.
        ephemeral_gb=0,
        extra_specs={},
        properties=properties,
        availability_zone=None,
    )
    return Adoption(
        id=rows.required(row, "id"),
        flavor_id=taken.columns["id"],
        flavor_name=taken.columns["name"],
        user_id=rows.required(row, "user_id"),
        created_at=rows.moment(row, "created_at") or lease.start,
        status_reason=rows.text(row, "status_reason"),
        lease=lease,
        reservation=held_reservation,
        row=instances,
        shape=shape,
        remarks=tuple(_remarks(row, lease, instances, taken)),
    )


def _adoptable(row: Mapping[str, Any], lease: BlazarLease) -> tuple[BlazarReservation, InstanceRow]:
    """Check that a lease can be imported. Return the lease's only reservation, and its row.

    :raises Unusable: the lease differs from the leases that Warre makes, or is in ERROR, or Blazar
        is working on the lease.
    """
    if lease.status == lease_states.ERROR:
        raise rows.Unusable(f"its lease {lease.id} is in ERROR")
    # MariaDB's driver returns a date that doesn't exist, such as 0000-00-00, as a text.
    if not all(isinstance(moment, datetime.datetime) for moment in (lease.start, lease.end)):
        raise rows.Unusable(f"its lease {lease.id} has no valid start and end")
    if lease.status not in _RESERVATION_STATUS:
        raise rows.Unusable(
            f"its lease {lease.id} is {lease.status}, so Blazar works on it; import again later"
        )
    if lease.project_id != rows.text(row, "project_id"):
        raise rows.Unusable(f"its lease {lease.id} is of another project, {lease.project_id}")
    if len(lease.reservations) != 1:
        raise rows.Unusable(f"its lease {lease.id} holds {len(lease.reservations)} reservations")
    (held_reservation,) = lease.reservations
    if held_reservation.resource_type == RESOURCE_TYPE:
        raise rows.Unusable(f"its lease {lease.id} is another reservation's already")
    if held_reservation.resource_type != STOCK_TYPE:
        raise rows.Unusable(
            f"its lease {lease.id} holds a {held_reservation.resource_type}, not a {STOCK_TYPE}"
        )
    if held_reservation.status != _RESERVATION_STATUS[lease.status]:
        raise rows.Unusable(
            f"its lease {lease.id} is {lease.status}, and holds one {held_reservation.status}"
        )
    return held_reservation, _whole_row(lease, held_reservation)


def _whole_row(lease: BlazarLease, held_reservation: BlazarReservation) -> InstanceRow:
    """The row of a reservation, if Blazar has made exactly what Warre asks it to make.

    :raises Unusable: a part is missing, or Blazar has made a part that Warre doesn't ask for.
    """
    blazar_row = held_reservation.row
    if blazar_row is None or blazar_row.flavor_id is None or blazar_row.aggregate_id is None:
        raise rows.Unusable(f"Blazar hasn't finished making its lease {lease.id}")
    if blazar_row.affinity is not None or blazar_row.server_group_id is not None:
        raise rows.Unusable(f"its lease {lease.id} has a server group, which Warre's have not")
    instances = sum(held_reservation.hosts.values())
    if instances != blazar_row.amount:
        raise rows.Unusable(
            f"its lease {lease.id} is of {blazar_row.amount} instances, and Blazar holds hosts for "
            f"{instances}"
        )
    return blazar_row


def _remarks(
    row: Mapping[str, Any], lease: BlazarLease, blazar_row: InstanceRow, taken: TakenFlavor
) -> list[str]:
    """Remarks about differences between Warre's and Blazar's rows that don't prevent the import."""
    remarks = []
    if blazar_row.amount != row["instance_count"]:
        wanted = row["instance_count"]
        number = "no number of" if wanted is None else wanted
        remarks.append(
            f"Warre has {number} instances, and Blazar {blazar_row.amount}: taken "
            f"with {blazar_row.amount}"
        )
    sizes = (blazar_row.vcpus, blazar_row.memory_mb, blazar_row.disk_gb)
    offered = (taken.shape.vcpu, taken.shape.memory_mb, taken.shape.disk_gb)
    if sizes != offered:
        remarks.append(
            "the flavor's sizes have changed: taken with those that it was booked with, "
            "{} vCPUs, {} MiB, {} GB".format(*sizes)
        )
    slots = taken.columns["slots"]
    if blazar_row.amount > slots:
        remarks.append(
            f"its {blazar_row.amount} instances exceed the flavor's {counted(slots, 'slot')}"
        )
    if rows.moment(row, "created_at") is None:
        remarks.append(
            f"its created_at is no time: taken with the start of its lease, {lease.start}"
        )
    remarks += rows.cut_fractions(row, "created_at")
    if (lease.start, lease.end) != rows.span(row):
        remarks.append(f"its lease is from {lease.start} to {lease.end}, which holds")
    shown = rows.text(row, "compute_flavor")
    if shown not in (None, blazar_row.flavor_id):
        remarks.append(f"Warre showed the Nova flavor {shown}, and it has {blazar_row.flavor_id}")
    return remarks
