"""Rows of Blazar's table ``instance_reservations``, which Blazar's plugins and API read."""

import dataclasses
import uuid
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from oslo_serialization import jsonutils
from sqlalchemy.orm import Session

from warre_blazar.db.tables import bookings, instance_reservations, reservations
from warre_blazar.domain.flavors.flavor import Flavor, Shape


def insert(
    db: Session,
    reservation_id: str,
    flavor: Flavor,
    chosen: Mapping[str, int],
    *,
    affinity: bool | None,
    nova_flavor: str,
    row_id: str | None = None,
) -> str:
    """Add the row of a reservation.

    Blazar's flavor plugin reads the Nova flavor's sizes from the JSON in ``resource_properties``.

    :param flavor: has the id that clients of Blazar's plugin are shown.
    :param chosen: the number of instances on each host, by host id.
    :param nova_flavor: the id of the reservation's Nova flavor.
    :param row_id: the id of the row; None for a new id.
    :returns: the id of the row.
    """
    row_id = row_id or str(uuid.uuid4())
    db.execute(
        instance_reservations.insert().values(
            id=row_id,
            reservation_id=reservation_id,
            amount=sum(chosen.values()),
            affinity=affinity,
            **on_fullest_host(flavor.shape, chosen),
            resource_properties=source_flavor(
                flavor.id, flavor.name, flavor.shape, is_public=flavor.is_public
            ),
            flavor_id=nova_flavor,
        )
    )
    return row_id


def source_flavor(flavor_id: str, name: str, shape: Shape, *, is_public: bool = True) -> str:
    """A flavor and its shape in the JSON form in which Blazar's flavor plugin stores Nova flavors.

    Clients of ``flavor:instance`` are shown it.
    """
    source: dict[str, Any] = {
        "id": flavor_id,
        "name": name,
        "vcpus": shape.vcpu,
        "ram": shape.memory_mb,
        "disk": shape.disk_gb,
        "OS-FLV-EXT-DATA:ephemeral": shape.ephemeral_gb,
        "swap": "",
        "OS-FLV-DISABLED:disabled": False,
        "rxtx_factor": 1.0,
        "os-flavor-access:is_public": is_public,
        "extra_specs": dict(shape.extra_specs),
    }
    return jsonutils.dumps(source)


def shape(db: Session, row_id: str) -> Shape | None:
    """The shape that was booked with the reservation of a row. None if it isn't flavor:slot."""
    query = (
        sa.select(bookings.c.shape)
        .join(reservations, reservations.c.id == bookings.c.reservation_id)
        .where(reservations.c.resource_id == row_id)
    )
    text = db.scalar(query)
    return None if text is None else Shape.from_json(text)


def write_again(db: Session, reservation_id: str, flavor: Flavor, **values: Any) -> None:
    """Replace the row of a reservation with a new row that has the same id.

    The id must stay the same, because ``reservations.resource_id`` in Blazar's table refers to it.

    :param values: further arguments of ``insert``.
    """
    same_reservation = reservations.c.id == reservation_id
    known = db.scalar(sa.select(reservations.c.resource_id).where(same_reservation))
    sent = db.scalar(
        sa.select(bookings.c.sent_flavor).where(bookings.c.reservation_id == reservation_id)
    )
    db.execute(
        instance_reservations.delete().where(
            instance_reservations.c.reservation_id == reservation_id
        )
    )
    shown = dataclasses.replace(flavor, id=sent or flavor.id)
    row_id = insert(db, reservation_id, shown, row_id=known, **values)
    db.execute(reservations.update().where(same_reservation).values(resource_id=row_id))


def nova_flavor_id(db: Session, reservation_id: str) -> str | None:
    """The id of a reservation's Nova flavor, or None if the reservation has no row."""
    query = sa.select(instance_reservations.c.flavor_id).where(
        instance_reservations.c.reservation_id == reservation_id
    )
    return db.scalar(query)


def set_amounts(db: Session, reservation_id: str, shape: Shape, chosen: Mapping[str, int]) -> None:
    """Write the amounts of a reservation after its hosts or its number of instances have changed.

    :param chosen: the number of instances on each host, by host id.
    """
    amount = sum(chosen.values())
    _update(db, reservation_id, amount=amount, **on_fullest_host(shape, chosen))


def set_aggregate(db: Session, reservation_id: str, aggregate_id: int) -> None:
    """Write the id of a reservation's aggregate, unless the row has it.

    A row that is right keeps its ``updated_at``, by which the undo of an import compares it.
    """
    known = instance_reservations.c.aggregate_id
    other = sa.or_(known.is_(None), known != aggregate_id)
    _update(db, reservation_id, other, aggregate_id=aggregate_id)


def _update(
    db: Session, reservation_id: str, *conditions: sa.ColumnElement[bool], **values: int
) -> None:
    mine = instance_reservations.c.reservation_id == reservation_id
    db.execute(instance_reservations.update().where(mine, *conditions).values(**values))


def on_fullest_host(shape: Shape, chosen: Mapping[str, int]) -> dict[str, int]:
    """What a reservation takes on its fullest host, by resource.

    The fullest host is the host that has the largest number of the reservation's instances.

    Blazar's instance plugin counts a row's amounts once on each host of the reservation, however
    many instances are on that host. So the row gets the amounts of the fullest host, and the plugin
    never books resources that are already taken.
    """
    per_host = max(chosen.values())
    return {
        "vcpus": shape.vcpu * per_host,
        "memory_mb": shape.memory_mb * per_host,
        "disk_gb": (shape.disk_gb + shape.ephemeral_gb) * per_host,
    }
