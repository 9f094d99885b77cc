"""Converts a flavor of Warre's, or decides that it can't be imported."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

from warre_blazar.domain.flavors import capacity, devices
from warre_blazar.domain.flavors import flavor as flavor_rules
from warre_blazar.domain.flavors.capacity import LimitKind
from warre_blazar.domain.flavors.flavor import Shape
from warre_blazar.domain.hosts import host_properties
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.warre_import import rows

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
#: The columns with numbers, and the smallest number that a flavor may have there.
_LEAST = {
    **{"vcpu": 1, "memory_mb": 1, "disk_gb": 0, "ephemeral_gb": 0},
    **{"slots": 1, "max_length_hours": 1},
}


@dataclasses.dataclass(frozen=True)
class TakenFlavor:
    """A flavor of Warre's that can be imported."""

    #: The columns of ``warre_flavors`` with their values.
    columns: Mapping[str, Any]
    shape: Shape
    #: Remarks for the operator about the flavor.
    remarks: tuple[str, ...]


def flavor(row: Mapping[str, Any], hosts: Sequence[BookableHost]) -> TakenFlavor:
    """Convert a flavor of Warre's to a flavor of this package.

    If a flavor's properties or extra specs can't be read, the flavor is imported without them. In
    that case it is made inactive, so that nobody books it on the wrong hosts. A flavor is made
    inactive too if it names devices, which aren't counted yet, if a number of it is too small, or
    if it ends before it starts.

    :param hosts: all reservable hosts, without what is booked on them.
    :raises Unusable: the flavor can't be imported.
    """
    remarks: list[str] = []
    properties = _properties(rows.text(row, "properties"), remarks)
    numbers = {column: rows.number(row, column) for column in _LEAST}
    extra_specs = _extra_specs(rows.text(row, "extra_specs"), numbers["vcpu"], remarks)
    if devices.named(extra_specs):
        remarks.append(
            "closed, for its devices aren't counted yet: run warre-blazar-manage flavor recount, "
            "then make it active"
        )
    start, end = rows.moment(row, "start"), rows.moment(row, "end")
    remarks += [
        f"closed, since its {column} is {numbers[column]}, and at least {least} is needed"
        for column, least in _LEAST.items()
        if numbers[column] < least
    ]
    if start and end and end <= start:
        remarks.append("closed, since its end isn't after its start")
    is_closed = bool(remarks)
    shape = Shape(
        vcpu=numbers["vcpu"],
        memory_mb=numbers["memory_mb"],
        disk_gb=numbers["disk_gb"],
        ephemeral_gb=numbers["ephemeral_gb"],
        extra_specs=extra_specs,
        properties=properties,
        availability_zone=rows.text(row, "availability_zone") or None,
    )
    columns = {
        "id": rows.identifier(row),
        "name": rows.required(row, "name"),
        "description": rows.text(row, "description"),
        **{column: getattr(shape, column) for column in _SHAPE_COLUMNS},
        "slots": numbers["slots"],
        "max_length_hours": numbers["max_length_hours"],
        "start_date": start,
        "end_date": end,
        "category": rows.text(row, "category") or None,
        "is_public": bool(row["is_public"]),
        "active": bool(row["active"]) and not is_closed,
    }
    reason = None if is_closed else _reason_for_no_room(shape, hosts)
    if reason is not None:
        remarks.append(reason)
    if shape.disk_gb == 0:
        remarks.append("its disk_gb is 0, so its servers can boot only from volumes")
    remarks += rows.cut_fractions(row, "start", "end")
    defaults = (("active", "false"), ("is_public", "false"), ("extra_specs", "{}"))
    remarks += [f"its {c} is empty: taken as {value}" for c, value in defaults if row[c] is None]
    return TakenFlavor(columns, shape, tuple(remarks))


def of(row: Mapping[str, Any], taken: Mapping[str, TakenFlavor]) -> TakenFlavor:
    """The flavor to which a row refers.

    :param taken: the flavors that are taken, by ``rows.key`` of their ids.
    :raises Unusable: the flavor isn't taken.
    """
    flavor_id = rows.required(row, "flavor_id")
    try:
        return taken[rows.key(flavor_id)]
    except KeyError:
        raise rows.Unusable(f"its flavor {flavor_id} isn't taken") from None


def _reason_for_no_room(shape: Shape, hosts: Sequence[BookableHost]) -> str | None:
    """Why no host can hold an instance of a shape, even an empty host. None if a host can."""
    matching = [host for host in hosts if host.matches(shape, None)]
    if not matching:
        what = "the zone and the properties" if shape.availability_zone else "the properties"
        return (
            f"no host of Blazar's has {what} that it asks for, so nobody can book it until one "
            "has; Warre never asked hosts for a flavor's zone"
        )
    if capacity.when_empty(matching, shape):
        return None
    host = matching[0]
    limit = capacity.limits(host, shape).limits[0]
    why = f"host {host.name} hasn't enough {limit.name}"
    if limit.kind is LimitKind.RESOURCE_CLASS:
        why = (
            f"an instance takes {limit.asked} of {limit.name}, of which host {host.name} has "
            f"{limit.capacity}"
        )
    return (
        "no host of Blazar's can hold an instance of it, even if nothing else is on the host, so "
        f"nobody can book it until one can: {why}"
    )


def _properties(expression: str | None, remarks: list[str]) -> str | None:
    try:
        host_properties.parse(expression)
    except (ValueError, RecursionError) as error:
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
    except (ValueError, RecursionError) as error:
        remarks.append(f"taken without its extra specs, and closed, since they are wrong: {error}")
        return {}
    return specs


def _spec(value: Any) -> str:
    """The value of an extra spec as a text, which Nova requires."""
    return value if isinstance(value, str) else json.dumps(value)
