"""Names and contents of a reservation's backing: its Nova flavor, aggregate and resource class.

The names follow Blazar's conventions, because blazar-nova's scheduler filter and Blazar's own
plugins find flavors, aggregates and resource classes by these names.
"""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from warre_blazar.domain.flavors import nova_requests
from warre_blazar.domain.flavors.flavor import Shape

FLAVOR_PREFIX = "reservation:"
#: In an aggregate's metadata, the value of this key is the reservation's id.
AGGREGATE_KEY = "reservation"
AGGREGATE_SPEC = f"aggregate_instance_extra_specs:{AGGREGATE_KEY}"
#: In an aggregate's metadata, the value of this key is the id of a project, or several with commas
#: between them. If AggregateMultiTenancyIsolation is on, only these projects may boot servers on
#: the aggregate's hosts. If Nova limits projects to aggregates, a project that is the whole value
#: may only boot servers in such aggregates.
PROJECT_KEY = "filter_tenant_id"
_OWNER_KEY = "blazar:owner"
CLASS_PREFIX = "CUSTOM_RESERVATION_"
#: When a host is registered, Blazar makes a resource provider below the host's own provider. The
#: name of Blazar's provider is this prefix and the host's hypervisor hostname.
PROVIDER_PREFIX = "blazar_"

_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")


def resource_class(reservation_id: str) -> str:
    """The name of a reservation's resource class. Each server of the reservation takes 1 of it.

    The trait of the reservation, if it has one, has the same name (``device_traits``).
    """
    return CLASS_PREFIX + reservation_id.upper().replace("-", "_")


def nova_flavor_id(reservation_id: str, *, in_stock_form: bool = False) -> str:
    """The id of a reservation's Nova flavor: the reservation's id without its dashes.

    The two ids differ because clients of Warre expect a reservation and its Nova flavor to have
    different ids. Clients of Blazar's ``flavor:instance`` expect the same id.

    :param in_stock_form: whether such a client has booked the reservation.
    """
    return reservation_id if in_stock_form else reservation_id.replace("-", "")


def of_class(name: str) -> str | None:
    """The id of the reservation to which a resource class or a trait belongs. None for others."""
    if not name.startswith(CLASS_PREFIX):
        return None
    return _reservation_id(name.removeprefix(CLASS_PREFIX).lower().replace("_", "-"))


def is_own(nova_flavor: str, reservation_id: str) -> bool:
    """Whether no other reservation ever has the Nova flavor with this id.

    Reservations with the same handle have it one after the other (``handles``).
    """
    return nova_flavor.replace("-", "") == reservation_id.replace("-", "")


def of_flavor(name: str, extra_specs: Mapping[str, str]) -> str | None:
    """The id of the reservation to which a Nova flavor belongs. None for other Nova flavors.

    :param name: the Nova flavor's name. If it comes from a handle, the extra specs decide.
    """
    if not name.startswith(FLAVOR_PREFIX):
        return None
    named = _reservation_id(name.removeprefix(FLAVOR_PREFIX))
    return named or _reservation_id(extra_specs.get(AGGREGATE_SPEC, ""))


def of_aggregate(name: str, metadata: Mapping[str, str]) -> str | None:
    """The id of the reservation to which an aggregate belongs.

    The result is None if the aggregate doesn't belong to a reservation of instances. The aggregate
    of a physical:host reservation has an id as its name too, but different metadata. An aggregate
    whose name is an id and that has no metadata counts as the aggregate of a reservation of
    instances. If a booking is interrupted before it sets the metadata, such an aggregate remains.
    """
    return _reservation_id(name) if metadata.get(AGGREGATE_KEY) == name or not metadata else None


def _reservation_id(text: str) -> str | None:
    return text if _ID.match(text) else None


#: Stands beside a project in the list of those that may use the hosts of a reservation.
_LISTED = "reservation"


def aggregate_metadata(
    reservation_id: str,
    project_id: str,
    shape: Shape,
    *,
    is_confined: bool = False,
    guests: Mapping[str, bool] = MappingProxyType({}),
) -> dict[str, str]:
    """The metadata of a reservation's aggregate.

    :param is_confined: whether aggregates of the site name the project, so that Nova would look for
        hosts only in these. Then this aggregate names the project in the same way. Otherwise it
        doesn't, because then the project could use no other hosts. The project stands in a list
        instead, which only AggregateMultiTenancyIsolation reads.
    :param guests: the projects with which the reservation is shared, each with whether it is
        confined. Nova reads all keys that begin with ``PROJECT_KEY``.
    """
    projects = {PROJECT_KEY: (project_id, is_confined)}
    projects |= {f"{PROJECT_KEY}_{guest}": (guest, own) for guest, own in guests.items()}
    specs = shape.extra_specs
    return {
        # Nova's AggregateInstanceExtraSpecsFilter takes these for requirements of the host.
        **{key: specs[key] for key in nova_requests.NOT_OF_AGGREGATES if key in specs},
        AGGREGATE_KEY: reservation_id,
        **{key: name if own else f"{name},{_LISTED}" for key, (name, own) in projects.items()},
        _OWNER_KEY: project_id,
    }


def flavor_specs(
    reservation_id: str, shape: Shape, told_groups: Iterable[str] = ()
) -> dict[str, str]:
    """The extra specs of a reservation's Nova flavor.

    :param told_groups: the suffixes of the groups that require the reservation's trait.
    """
    own = resource_class(reservation_id)
    return {
        **shape.extra_specs,
        AGGREGATE_SPEC: reservation_id,
        f"resources:{own}": "1",
        **{f"trait{suffix}:{own}": "required" for suffix in told_groups},
    }


def inventory(instances: int) -> dict[str, Any]:
    """The inventory that a host has of a reservation's resource class.

    The fields and values are exactly those that Placement returns, so that inventories can be
    compared.

    :param instances: how many instances the reservation has on the host.
    """
    return {
        "total": instances,
        "reserved": 0,
        "min_unit": 1,
        "max_unit": 1,
        "step_size": 1,
        "allocation_ratio": 1.0,
    }
