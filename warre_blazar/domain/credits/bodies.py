"""The bodies of requests to credits services.

Coral Credits and Chameleon's portal read the same document, each other fields of it. Both check
forms strictly: times have neither microseconds nor a zone, and keys that aren't known are left out
rather than null.
"""

import json
import uuid
from collections.abc import Collection, Mapping
from typing import Any

from warre_blazar.domain.credits.charges import Charge, ChargedReservation
from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE
from warre_blazar.domain.timeline import Span

#: A reservation of this package is a reservation of a flavor, for which Blazar has this type. The
#: services know no other name for it.
_OF_FLAVORS = "flavor:instance"

#: What is asked for in place of nothing. Coral Credits refuses a new lease that takes nothing of a
#: class, and fails if a class is missing for which the account has credits. It rounds the amount up
#: to one hour of the class, which is given back when the true amount is told.
_ALMOST_NOTHING = 1e-9


def coral(
    context: Mapping[str, Any],
    charge: Charge,
    classes: Collection[str],
    *,
    before: Charge | None = None,
    is_new: bool = False,
) -> dict[str, Any]:
    """A request to Coral Credits.

    :param classes: the resource classes of which accounts have credits. Others cost nothing.
    :param before: the charge that is changed.
    :param is_new: whether the service knows no charge of the lease yet.
    """

    def lease(each: Charge) -> dict[str, Any]:
        least = _ALMOST_NOTHING if is_new else 0
        amounts = {name: each.amounts.get(name) or least for name in classes}
        reservations = [_of_coral(one) for one in each.reservations]
        return {**_lease(each), "reservations": reservations, "resource_requests": amounts}

    user_id = _uuid(context["user_id"])
    changed = {} if before is None else {"current_lease": lease(before)}
    return {"context": {**context, "user_id": user_id}, "lease": lease(charge), **changed}


def _uuid(user_id: str) -> str:
    """A user's id in the only form that Coral Credits takes. Ids from LDAP are longer.

    Coral Credits writes the id down, and does nothing else with it.
    """
    try:
        return str(uuid.UUID(user_id))
    except ValueError:
        return str(uuid.uuid5(uuid.NAMESPACE_OID, user_id))


def _of_coral(reservation: ChargedReservation) -> dict[str, Any]:
    """A reservation with the fields of each of its types. It passes over what it doesn't need.

    Coral Credits refuses ``virtual:instance`` unless its affinity is a text, such as ``None``.
    """
    number = reservation.amount
    return {
        **_reservation(reservation),
        "affinity": str(reservation.affinity),
        "min": number,
        "max": number,
        "allocations": [
            {name: str(host[name]) for name in ("id", "hypervisor_hostname")}
            for host in reservation.hosts_of_instances
        ],
    }


def chameleon(
    context: Mapping[str, Any], charge: Charge, *, before: Charge | None = None
) -> dict[str, Any]:
    """A request to the balance service of Chameleon's portal.

    :param before: the charge that is changed.
    """

    def lease(each: Charge) -> dict[str, Any]:
        owner = {name: context[name] for name in ("user_id", "project_id")}
        reservations = [_of_chameleon(one) for one in each.reservations]
        return {**_lease(each), **owner, "reservations": reservations}

    changed = {} if before is None else {"current_lease": lease(before)}
    return {"context": dict(context), "lease": lease(charge), **changed}


def _of_chameleon(reservation: ChargedReservation) -> dict[str, Any]:
    """A reservation with its id, by which the portal finds its charge.

    The portal adds up the allocations. So there is one for each instance at each request, and not
    one for each host, as Blazar has it after the booking.
    """
    properties = reservation.properties
    flavor = {} if properties is None else {"resource_properties": json.dumps(properties)}
    return {
        **_reservation(reservation),
        "id": reservation.id,
        **flavor,
        "allocations": [dict(host) for host in reservation.hosts_of_instances],
    }


def _lease(charge: Charge) -> dict[str, Any]:
    return {"id": charge.lease_id, "name": charge.name, **_dates(charge.span)}


def _dates(span: Span) -> dict[str, str]:
    return {
        "start_date": span.start.isoformat(timespec="seconds"),
        "end_date": span.end.isoformat(timespec="seconds"),
    }


def _reservation(reservation: ChargedReservation) -> dict[str, Any]:
    kind = reservation.resource_type
    names = ("amount", "flavor_id", "vcpus", "memory_mb", "disk_gb")
    return {
        "resource_type": _OF_FLAVORS if kind == RESOURCE_TYPE else kind,
        **{name: getattr(reservation, name) for name in names},
    }
