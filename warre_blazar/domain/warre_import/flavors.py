"""Converts a flavor of Warre's, or decides that it can't be imported."""

import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import Any

from warre_blazar.domain import flavor as flavor_rules
from warre_blazar.domain import host_properties
from warre_blazar.domain.flavor import Shape
from warre_blazar.domain.warre_import import rows

#: The columns of ``warre_flavors`` that hold the shape.
_SHAPE_COLUMNS = (
    "vcpu",
    "memory_mb",
    "disk_gb",
    "ephemeral_gb",
    "extra_specs",
    "properties",
    "availability_zone",
)


@dataclasses.dataclass(frozen=True)
class TakenFlavor:
    """A flavor of Warre's that can be imported."""

    #: The columns of ``warre_flavors`` with their values.
    columns: Mapping[str, Any]
    shape: Shape
    #: Remarks for the operator about the flavor.
    remarks: tuple[str, ...]


def flavor(row: Mapping[str, Any], has_host: Callable[[Shape], bool]) -> TakenFlavor:
    """Convert a flavor of Warre's to a flavor of this package.

    If a flavor's properties or extra specs can't be read, the flavor is imported without them. In
    that case it is made inactive, so that nobody books it on the wrong hosts.

    :param has_host: a function that says whether any host has the zone and the properties that a
        shape requires.
    :raises Unusable: the flavor can't be imported.
    """
    remarks: list[str] = []
    properties = _properties(rows.text(row, "properties"), remarks)
    extra_specs = _extra_specs(rows.text(row, "extra_specs"), int(row["vcpu"]), remarks)
    is_closed = bool(remarks)
    shape = Shape(
        vcpu=int(row["vcpu"]),
        memory_mb=int(row["memory_mb"]),
        disk_gb=int(row["disk_gb"]),
        ephemeral_gb=int(row["ephemeral_gb"]),
        extra_specs=extra_specs,
        properties=properties,
        availability_zone=rows.text(row, "availability_zone") or None,
    )
    columns = {
        "id": rows.required(row, "id"),
        "name": rows.required(row, "name"),
        "description": rows.text(row, "description"),
        **{column: getattr(shape, column) for column in _SHAPE_COLUMNS},
        "slots": int(row["slots"]),
        "max_length_hours": int(row["max_length_hours"]),
        "start_date": rows.moment(row, "start"),
        "end_date": rows.moment(row, "end"),
        "category": rows.text(row, "category") or None,
        "is_public": bool(row["is_public"]),
        "active": bool(row["active"]) and not is_closed,
    }
    if not has_host(shape):
        what = "the zone and the properties" if shape.availability_zone else "the properties"
        remarks.append(
            f"no host of Blazar's has {what} that it asks for, so nobody can book it until one "
            "has; Warre never asked hosts for a flavor's zone"
        )
    return TakenFlavor(columns, shape, tuple(remarks))


def _properties(expression: str | None, remarks: list[str]) -> str | None:
    try:
        host_properties.parse(expression)
    except ValueError as error:
        remarks.append(f"taken without its properties, and closed, for they can't be read: {error}")
        return None
    return expression or None


def _extra_specs(document: str | None, vcpu: int, remarks: list[str]) -> dict[str, str]:
    try:
        values = json.loads(document or "{}") or {}
        if not isinstance(values, dict):
            raise ValueError("expected an object")
        specs = {str(key): _spec(value) for key, value in values.items()}
        flavor_rules.check_extra_specs(specs, vcpu)
    except ValueError as error:
        remarks.append(f"taken without its extra specs, and closed, since they are wrong: {error}")
        return {}
    return specs


def _spec(value: Any) -> str:
    """The value of an extra spec as a text, which Nova requires."""
    return value if isinstance(value, str) else json.dumps(value)
