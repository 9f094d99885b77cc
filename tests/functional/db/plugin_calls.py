"""Reservations that the database tests make by calling the resource plugin as Blazar does."""

from typing import Any

from tests.functional.db import world

SPAN = world.hours(1, 3)


def values(flavor, amount: int = 2, **changes) -> dict[str, Any]:
    """What Blazar passes to the plugin to reserve instances of a flavor."""
    return {
        "resource_type": "flavor:slot",
        "flavor_id": flavor.id,
        "amount": amount,
        "start_date": SPAN.start,
        "end_date": SPAN.end,
        **changes,
    }


def reserve(plugin, flavor, **changes) -> world.Lease:
    """Add a lease and let the plugin reserve for it, as Blazar's manager does."""
    lease = world.add_lease(SPAN)
    wanted = values(flavor, lease_id=lease.id, **changes)
    world.settle(lease, plugin.reserve_resource(lease.reservation_id, wanted))
    return lease
