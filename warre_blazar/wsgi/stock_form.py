"""Shows reservations over v1 as Blazar's own, if a client of ``flavor:instance`` has booked them.

These clients know only what Blazar's plugin answers, down to the form of each value.
"""

import functools
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from blazar.api.v1.leases import service
from blazar.plugins import flavor as stock_flavor

from warre_blazar.db import session
from warre_blazar.db.booking import reservations
from warre_blazar.db.running import backings
from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE
from warre_blazar.domain.running import lease_states

#: By column of a reservation, the field of its source flavor that Blazar's plugin writes there.
_SIZES = {"vcpus": "vcpus", "memory_mb": "ram", "disk_gb": "disk"}


def register() -> None:
    """Show such reservations in their form in Blazar's API in this process."""
    api = service.API
    if hasattr(api.get_lease, "shows_stock_form"):
        return
    for name in ("get_lease", "get_leases", "create_lease", "update_lease"):
        setattr(api, name, _showing(getattr(api, name)))
    setattr(api.get_lease, "shows_stock_form", True)  # noqa: B010 - a function's attribute


def shown_type(reservation: Mapping[str, Any]) -> str:
    """The resource type that v1 shows for a row of Blazar's table of reservations."""
    return stock_flavor.RESOURCE_TYPE if _shown([reservation]) else reservation["resource_type"]


def _shown(rows: Iterable[Mapping[str, Any]]) -> set[str]:
    """The ids of the reservations that are shown as those of ``flavor:instance``."""
    ids = [
        str(row["id"])
        for row in rows
        if row.get("resource_type") == RESOURCE_TYPE
        # Nearly all other reservations of this package have Nova flavors with other ids.
        and row.get("flavor_id") == row.get("id", row)
    ]
    if not ids:
        return set()
    with session.reader() as db:
        return reservations.in_stock_form(db, ids)


def without_type(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a change, without the type of ``flavor:instance``, which clients may send back.

    Blazar's manager adds the stored type to what lacks one, and refuses to change reservations of
    ``flavor:instance``.
    """
    changes = [dict(each) for each in body.get("reservations") or ()]
    for each in changes:
        if each.get("resource_type") == stock_flavor.RESOURCE_TYPE:
            del each["resource_type"]
    return {**body, **({"reservations": changes} if changes else {})}


def _showing(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        answer = method(*args, **kwargs)
        # There is no lease if another request has deleted it meanwhile.
        leases = [each for each in (answer if isinstance(answer, list) else [answer]) if each]
        ids = _shown(row for lease in leases for row in lease.get("reservations", ()))
        shown = [lease for lease in leases if ids and _show(lease, ids)]
        if running := [each for each in shown if each["status"] == lease_states.ACTIVE]:
            _withhold(running)
        return answer

    return call


def _show(lease: dict[str, Any], ids: Collection[str]) -> bool:
    """Put a lease in stock form, if any of its reservations is shown so. Return whether one is."""
    ours = [each for each in lease["reservations"] if each["id"] in ids]
    for reservation in ours:
        source = json.loads(reservation["resource_properties"])
        reservation.update({name: source[field] for name, field in _SIZES.items()})
        reservation["resource_type"] = stock_flavor.RESOURCE_TYPE
    if ours:
        for item in (lease, *lease["reservations"], *lease["events"]):
            _without_microseconds(item)
    return bool(ours)


def _withhold(leases: list[dict[str, Any]]) -> None:
    """Show leases as starting as long as their projects can't use the Nova flavors yet.

    This package starts a lease even if Nova is away, and opens its reservations later. But Azimuth
    takes ACTIVE for a promise that the Nova flavors are there, and goes on without them.
    """
    ids = [each["id"] for lease in leases for each in lease["reservations"]]
    with session.reader() as db:
        unopened = backings.unopened(db, ids)
    for lease in leases:
        if not unopened.isdisjoint(each["id"] for each in lease["reservations"]):
            lease["status"] = lease_states.STARTING


def _without_microseconds(item: dict[str, Any]) -> None:
    """Give times the form that they have with MariaDB, which stores whole seconds.

    python-chi can read no other.
    """
    for name in ("created_at", "updated_at"):
        if item[name] is not None:
            item[name] = item[name].partition(".")[0]
