"""The row by which Blazar's own plugins and API know a reservation on hosts."""

import uuid
from collections.abc import Mapping
from typing import Any

from blazar.db.sqlalchemy import models as blazar
from oslo_serialization import jsonutils
from sqlalchemy.orm import Session

from warre_blazar.domain.flavor import Flavor, Shape

_I = blazar.InstanceReservations.__table__


def insert(
    db: Session,
    reservation_id: str,
    flavor: Flavor,
    chosen: Mapping[str, int],
    *,
    affinity: bool | None,
    nova_flavor: str,
) -> str:
    """Add the row of a reservation, and return its id. The flavor plugin reads the JSON.

    :param chosen: instances by host id.
    """
    row_id = str(uuid.uuid4())
    shape = flavor.shape
    source: dict[str, Any] = {
        "id": flavor.id,
        "name": flavor.name,
        "vcpus": shape.vcpu,
        "ram": shape.memory_mb,
        "disk": shape.disk_gb,
        "OS-FLV-EXT-DATA:ephemeral": shape.ephemeral_gb,
        "extra_specs": dict(shape.extra_specs),
    }
    db.execute(
        _I.insert().values(
            id=row_id,
            reservation_id=reservation_id,
            amount=sum(chosen.values()),
            affinity=affinity,
            **_on_fullest_host(shape, chosen),
            resource_properties=jsonutils.dumps(source),
            flavor_id=nova_flavor,
        )
    )
    return row_id


def set_amounts(db: Session, reservation_id: str, shape: Shape, chosen: Mapping[str, int]) -> None:
    """Tell the instance plugin where a reservation is after a move."""
    _update(db, reservation_id, **_on_fullest_host(shape, chosen))


def set_aggregate(db: Session, reservation_id: str, aggregate_id: int) -> bool:
    """Note a reservation's aggregate; whether Blazar still has the reservation."""
    return _update(db, reservation_id, aggregate_id=aggregate_id)


def _update(db: Session, reservation_id: str, **values: int) -> bool:
    updated = db.execute(_I.update().where(_I.c.reservation_id == reservation_id).values(**values))
    return updated.rowcount == 1  # type: ignore[attr-defined]


def _on_fullest_host(shape: Shape, chosen: Mapping[str, int]) -> dict[str, int]:
    """What the fullest host holds.

    The instance plugin counts a reservation once on each of its hosts however many instances are
    there: told this, it never sells what we hold.
    """
    per_host = max(chosen.values())
    return {
        "vcpus": shape.vcpu * per_host,
        "memory_mb": shape.memory_mb * per_host,
        "disk_gb": (shape.disk_gb + shape.ephemeral_gb) * per_host,
    }
