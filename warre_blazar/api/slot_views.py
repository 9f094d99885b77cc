"""The documents that the API answers with about free slots and offers."""

from collections.abc import Sequence
from typing import Any

from warre_blazar import times
from warre_blazar.api import views
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.slots.offers import FlavorOffer, NotOffered
from warre_blazar.domain.timeline import Span
from warre_blazar.fields.kinds import Time
from warre_blazar.services.slots.availability import FreeInstances
from warre_blazar.services.slots.extension import PossibleExtension
from warre_blazar.services.slots.free_slots import NotFree
from warre_blazar.services.slots.offers import Found


def free(spans: list[Span], none: NotFree | None) -> dict[str, Any]:
    """The spans of time in which a flavor is free, and the reason if there are none."""
    reason = None
    if none is not None:
        reason = none.why.document
        more: dict[str, Any] = {
            "longest": none.longest and views.span(none.longest),
            "next_free": none.next_free and views.span(none.next_free),
        }
        if none.windows:
            more["windows"] = [
                {"id": w.id, "note": w.note, **views.span(w.span)} for w in none.windows
            ]
        reason["detail"] = {**reason["detail"], **more}
    return {"results": [views.span(item) for item in spans], "reason": reason}


def offers(item: Found) -> dict[str, Any]:
    """Offers of many flavors, and why there are none of other flavors."""
    return {
        "results": [offer(each) for each in item.offers],
        "total": item.total,
        "missing": [_missing(each) for each in item.missing],
        "longest": [offer(each) for each in item.longest],
    }


def _missing(item: NotOffered) -> dict[str, Any]:
    return {
        "flavor": flavor_named(item.flavor),
        "reason": item.why.code,
        "wait_start": Time().to_json(item.wait_start),
        "fewer_instances": item.fewer_instances and offer(item.fewer_instances),
        "fewer_hours": item.fewer_hours and offer(item.fewer_hours),
    }


def offer(item: FlavorOffer) -> dict[str, Any]:
    """A start at which a flavor can be booked, and the latest end of such a booking."""
    return {
        "flavor": flavor_named(item.flavor),
        "instance_count": item.count,
        "start": Time().to_json(item.span.start),
        "latest_end": Time().to_json(item.span.end),
        "longest_hours": item.longest / times.HOUR,
    }


def flavor_named(item: Flavor) -> dict[str, Any]:
    """What tells a flavor from others: its id, name, category, size and zone."""
    shape = item.shape
    return {
        "id": item.id,
        "name": item.name,
        "category": item.texts["category"],
        "vcpu": shape.vcpu,
        "memory_mb": shape.memory_mb,
        "disk_gb": shape.disk_gb,
        "availability_zone": shape.availability_zone,
        "slots": item.slots,
    }


def extension(item: PossibleExtension) -> dict[str, Any]:
    """How far a reservation can be extended."""
    return {
        "latest_end": Time().to_json(item.end),
        "stopped_by": item.stop and item.stop.code,
        "extend_from": item.stop and item.stop.detail.get("extend_from"),
    }


def availability(
    found: Sequence[FreeInstances], missing: Sequence[NotOffered] = ()
) -> dict[str, Any]:
    """How many instances of flavors are free in the parts of a time, and why of others none are."""
    return {
        "results": [
            {
                "flavor": flavor_named(each.flavor),
                "free": [
                    {
                        **views.span(part.span),
                        "instances": part.instances,
                        "can_start": part.can_start,
                        "reason": part.reason,
                    }
                    for part in each.parts
                ],
            }
            for each in found
        ],
        "missing": [_missing(each) for each in missing],
    }
