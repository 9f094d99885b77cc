"""The documents that the API answers with, made from this package's objects."""

import dataclasses
import datetime
from typing import Any

from warre_blazar.db.flavor_access import Access
from warre_blazar.db.reservations import Reservation
from warre_blazar.domain import reservation_states
from warre_blazar.domain.capacity import Limit
from warre_blazar.domain.flavor import Flavor
from warre_blazar.domain.labels import Labels
from warre_blazar.domain.maintenance_window import Window
from warre_blazar.domain.timeline import Span
from warre_blazar.services.booking.quotas import Standing
from warre_blazar.services.offering.bootable import Doubt
from warre_blazar.services.offering.capacity import Capacity, FlavorLimits
from warre_blazar.services.offering.no_free_slots import Reason
from warre_blazar.services.running import backing


def _time(value: datetime.datetime | None) -> str | None:
    return None if value is None else value.replace(tzinfo=datetime.UTC).isoformat()


def flavor(item: Flavor) -> dict[str, Any]:
    """A flavor, with the fields of Warre."""
    return {
        "id": item.id,
        "name": item.name,
        "description": item.description,
        "vcpu": item.shape.vcpu,
        "memory_mb": item.shape.memory_mb,
        "disk_gb": item.shape.disk_gb,
        "ephemeral_gb": item.shape.ephemeral_gb,
        "active": item.active,
        "properties": item.shape.properties,
        "max_length_hours": item.max_length_hours,
        "slots": item.slots,
        "is_public": item.is_public,
        "extra_specs": dict(item.shape.extra_specs),
        "start": _time(item.start),
        "end": _time(item.end),
        "category": item.category,
        "availability_zone": item.shape.availability_zone,
    }


def offered(item: Flavor, hosts: int, *, counted: bool) -> dict[str, Any]:
    """A flavor, with two additions: whether a host could hold an instance, and warnings about it.

    :param hosts: the number of hosts that could hold an instance of the flavor.
    :param counted: whether the caller may see the number of hosts.
    """
    number = {"bookable_hosts": hosts} if counted else {}
    warnings = [
        {"code": "device_not_counted", "message": _sentence(device.text)}
        for device in item.uncounted_devices
    ]
    return {**flavor(item), "bookable": hosts > 0, **number, "warnings": warnings}


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def doubt(item: Doubt) -> dict[str, Any]:
    """A warning about a flavor that was made or changed."""
    return {"code": item.code, "message": _sentence(item.text)}


def capacity(item: Capacity) -> dict[str, Any]:
    """A flavor's capacity."""
    return {
        **span(item.window),
        "hosts": [{"name": r.host.name, "instances": r.instances} for r in item.rooms],
        "instances": item.instances,
        "bookable": item.bookable,
        "booked_now": item.booked_now,
        "booked_peak": item.booked_peak,
        "utilisation": item.utilisation,
        "sharing": [
            {"id": s.flavor.id, "name": s.flavor.name, "hosts": s.hosts} for s in item.sharing
        ],
    }


def flavor_limits(item: FlavorLimits) -> dict[str, Any]:
    """The limits on how many instances of a flavor can be booked at the same time, by host."""
    return {
        "by": "slots" if item.by_slots else "hosts",
        "instances": item.instances,
        "hosts": [
            {
                "name": each.host.name,
                "instances": each.instances,
                "limits": [_limit(limit) for limit in each.tightest],
            }
            for each in item.hosts
        ],
    }


def _limit(item: Limit) -> dict[str, Any]:
    return {
        "kind": item.kind.name.lower(),
        "name": item.name,
        "providers": list(item.providers),
        "asked": item.asked,
        "capacity": item.capacity,
    }


def reservation(item: Reservation, its_flavor: Flavor) -> dict[str, Any]:
    """A reservation with its flavor.

    ``compute_flavor`` is the id of the Nova flavor to boot servers on.
    """
    return {
        "id": item.id,
        "flavor": flavor(its_flavor),
        "instance_count": item.instance_count,
        "affinity": item.affinity,
        "start": _time(item.span.start),
        "end": _time(item.span.end),
        "status": item.state,
        "status_reason": item.status_reason,
        "project_id": item.project_id,
        "user_id": item.user_id,
        "lease_id": item.lease_id or None,
        "compute_flavor": _compute_flavor(item),
        "created_at": _time(item.created_at),
    }


def _compute_flavor(item: Reservation) -> str | None:
    if item.state == reservation_states.PENDING_CREATE:
        return None
    # For a new reservation, perhaps no row with the Nova flavor's id has been written yet. In that
    # case the id of the Nova flavor is derived from the reservation's id.
    made = None if item.is_record else backing.nova_flavor(item.reservation_id)
    return item.nova_flavor or made


def deletion(item: Reservation) -> dict[str, Any]:
    """The time of a reservation's deletion, and the id of the user who deleted it, if any."""
    return {"deleted_at": _time(item.deleted_at), "deleted_by": item.deleted_by}


def host_flags(item: Reservation) -> dict[str, Any]:
    """Blazar's two flags, which show what happened to a reservation when a host failed."""
    return {
        "missing_resources": item.missing_resources,
        "resources_changed": item.resources_changed,
    }


def labels(item: Labels) -> dict[str, Any]:
    """A reservation's name and note."""
    return {"name": item.name, "note": item.note}


def span(item: Span) -> dict[str, Any]:
    """A span of time."""
    return {"start": _time(item.start), "end": _time(item.end)}


def free(spans: list[Span], why_none: Reason | None) -> dict[str, Any]:
    """The spans of time in which a flavor is free, and the reason if there are none."""
    reason = None if why_none is None else dataclasses.asdict(why_none)
    return {"results": [span(item) for item in spans], "reason": reason}


def access(item: Access) -> dict[str, Any]:
    """A project's access to a private flavor. ``flavor`` is the flavor's id."""
    return {"id": item.id, "flavor": item.flavor_id, "project_id": item.project_id}


def window(item: Window) -> dict[str, Any]:
    """A maintenance window."""
    return {
        "id": item.id,
        **span(item.span),
        "note": item.note,
        "flavors": [{"id": flavor_id, "name": name} for flavor_id, name in item.flavors],
    }


def limits(item: Standing) -> dict[str, Any]:
    """A project's limits, and how much of them the project uses."""
    return {
        "absolute": {
            "maxHours": item.limits.hours,
            "maxReservations": item.limits.reservations,
            "totalHoursUsed": item.used.hours,
            "totalReservationsUsed": item.used.reservations,
        }
    }


def project_limits(item: Standing) -> dict[str, Any]:
    """A project's limits in a listing of all projects, with the project's id."""
    return {"project_id": item.project_id, **limits(item)}
