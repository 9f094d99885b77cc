"""Books all reservations of a new lease in one transaction, if any of them is of this package.

Blazar books the reservations of a lease one after the other. Between them, others could book what
the next one needs, and would see claims of a lease that is about to be refused.
"""

import contextvars
from collections.abc import Callable, Sequence
from typing import Any

from blazar import context
from blazar.db import api as db_api
from blazar.manager import service
from sqlalchemy.orm import Session

from warre_blazar.db import session
from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE
from warre_blazar.plugins import error_translation
from warre_blazar.plugins.wrapping import wrap
from warre_blazar.services.booking import quotas
from warre_blazar.services.booking.quotas import Quota
from warre_blazar.services.hosts import new_hosts
from warre_blazar.site_rules import conditions

#: Writes the claims of a reservation, whose id is the second argument, in the caller's transaction.
#: It returns the id of the reservation's row in ``instance_reservations``.
Claim = Callable[[Session, str, Quota | None], str]

#: The reservations of the lease that this thread is creating. None: they are booked one by one.
_joint: contextvars.ContextVar[Sequence[dict[str, Any]] | None] = contextvars.ContextVar(
    "joint", default=None
)


def register() -> None:
    """Let the manager of this process book such leases in one transaction."""
    manager = service.ManagerService
    wrap(__name__, manager, create_lease=_creating, _create_reservation=_reserving)


def _creating(method: Callable[..., Any]) -> Callable[..., Any]:
    def create_lease(self: Any, lease_values: dict[str, Any]) -> Any:
        reservations = lease_values.get("reservations", [])
        is_joint = len(reservations) > 1 and any(
            each.get("resource_type") == RESOURCE_TYPE for each in reservations
        )
        token = _joint.set(reservations if is_joint else None)
        try:
            return method(self, lease_values)
        finally:
            _joint.reset(token)

    return create_lease


def _reserving(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the method that Blazar calls for each reservation of a new lease, in their order."""

    def create_reservation(self: Any, values: dict[str, Any]) -> Any:
        reservations = _joint.get()
        if reservations is None:
            return method(self, values)
        if values is reservations[0]:
            _book(self.plugins, [{**each, **_of_lease(values)} for each in reservations])

    return create_reservation


def _of_lease(values: dict[str, Any]) -> dict[str, Any]:
    """What Blazar has added to a reservation of its lease."""
    return {name: values[name] for name in ("lease_id", "start_date", "end_date")}


def _book(plugins: dict[str, Any], reservations: Sequence[dict[str, Any]]) -> None:
    """Book all reservations, or none. If that fails, Blazar deletes the lease with their rows."""
    with error_translation.translated():
        claims = [plugins[each["resource_type"]].claim(each) for each in reservations]
        ids = [_add_row(each) for each in reservations]
        new_hosts.read()
        quotas.decided(
            conditions.slot_rule(),
            context.current().project_id,
            lambda quota: _claim_all(ids, claims, quota),
        )


def _add_row(values: dict[str, Any]) -> str:
    """Add the row of a reservation to Blazar's table. It holds nothing yet."""
    row = {name: values[name] for name in ("lease_id", "resource_type")}
    return str(db_api.reservation_create({**row, "status": "pending"})["id"])


@session.retried
def _claim_all(ids: Sequence[str], claims: Sequence[Claim], quota: Quota | None) -> None:
    with session.claiming() as db:
        for reservation_id, claim in zip(ids, claims, strict=True):
            resource_id = claim(db, reservation_id, quota)
            db_api.reservation_update(reservation_id, {"resource_id": resource_id})
