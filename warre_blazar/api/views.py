"""Our values as the API's documents."""

import datetime
from typing import Any

from warre_blazar.db.access import Access
from warre_blazar.db.reservations import Reservation
from warre_blazar.domain import states
from warre_blazar.domain.flavor import Flavor
from warre_blazar.domain.timeline import Span
from warre_blazar.domain.window import Window
from warre_blazar.services import backing
from warre_blazar.services.capacity import Capacity
from warre_blazar.services.quotas import Standing


def _time(value: datetime.datetime | None) -> str | None:
    return None if value is None else value.replace(tzinfo=datetime.UTC).isoformat()


def flavor(item: Flavor) -> dict[str, Any]:
    """A flavor."""
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


def reservation(item: Reservation, its_flavor: Flavor) -> dict[str, Any]:
    """A reservation, its flavor in it; ``compute_flavor`` is the Nova flavor to boot on."""
    made = item.state != states.PENDING_CREATE
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
        "lease_id": item.lease_id,
        "compute_flavor": backing.nova_flavor(item.reservation_id) if made else None,
        "created_at": _time(item.created_at),
    }


def span(item: Span) -> dict[str, Any]:
    """A span of time in which a flavor is free."""
    return {"start": _time(item.start), "end": _time(item.end)}


def access(item: Access) -> dict[str, Any]:
    """A project's right to a private flavor; ``flavor`` is its id."""
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
    """A project's limits and what it uses of them."""
    return {
        "absolute": {
            "maxHours": item.limits.hours,
            "maxReservations": item.limits.reservations,
            "totalHoursUsed": item.used.hours,
            "totalReservationsUsed": item.used.reservations,
        }
    }


def project_limits(item: Standing) -> dict[str, Any]:
    """The same in a listing of projects."""
    return {"project_id": item.project_id, **limits(item)}
