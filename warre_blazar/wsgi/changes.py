"""Changes of leases that are well formed, but on which Blazar's manager would break the lease.

While it changes a lease, Blazar's manager puts the lease into ERROR on any exception whose type
isn't in a short list of its own. What these functions refuse raises others there.
"""

import datetime
from collections.abc import Iterable, Mapping
from typing import Any

from blazar import exceptions as blazar_exc
from blazar.db import api as db_api
from blazar.utils import plugins

from warre_blazar import exceptions
from warre_blazar.wsgi import leases

_EXPRESSIONS = ("hypervisor_properties", "resource_properties")
_ENDED = "TERMINATED"
# What Blazar's plugin of that name takes for a change, and what of it once it is active.
_INSTANCE = "virtual:instance"
_INSTANCE_KEYS = ("vcpus", "memory_mb", "disk_gb", "affinity", "resource_properties")
_NOT_SUPPORTED = "flavor:instance"
_FLOATING_IP = "virtual:floatingip"

Values = Mapping[str, Any]


def check_expressions(body: Values) -> None:
    """Try a request's expressions about hosts on the hosts that there are.

    :raises InvalidField: Blazar can't ask its database by one of them.
    """
    for number, reservation in enumerate(body.get("reservations", [])):
        for name in _EXPRESSIONS:
            if text := reservation.get(name):
                _check_expression(f"reservations.{number}.{name}", text)


def _check_expression(field: str, text: str) -> None:
    try:
        db_api.reservable_host_get_all_by_queries(plugins.convert_requirements(text))
    except (blazar_exc.BlazarException, LookupError, TypeError, ValueError) as error:
        raise exceptions.InvalidField(
            field, 'expected an expression about hosts such as ["==", "$vcpus", "8"]'
        ) from error


def check(lease: Any, reservations: Iterable[Any], body: Values, now: datetime.datetime) -> None:
    """Check a change against the lease as it is.

    :param reservations: the lease's own.
    :param body: what was asked for, of the right form.
    :param now: in naive UTC.
    :raises InvalidField: before_end_date is outside of the lease.
    :raises FixedValue: Blazar can't change that of a reservation.
    :raises InvalidState: the lease has ended, or a reservation has failed.
    """
    # Blazar refuses this as well, but not in the minute in which the lease has ended.
    if lease["status"] == _ENDED and set(body) != {"name"}:
        raise exceptions.InvalidState("The lease has ended: it can only be renamed, or deleted")
    if "before_end_date" in body:
        start, end = (
            _time(body[name], now) if name in body else lease[name]
            for name in ("start_date", "end_date")
        )
        if not start < _time(body["before_end_date"], now) < end:
            raise exceptions.InvalidField(
                "before_end_date", "expected a time between the lease's start and its end"
            )
    present = {reservation["id"]: reservation for reservation in reservations}
    for number, asked in enumerate(body.get("reservations", [])):
        # Of others Blazar says that they aren't there.
        if asked["id"] in present:
            _check_reservation(f"reservations.{number}", present[asked["id"]], asked)


def _time(text: str, now: datetime.datetime) -> datetime.datetime:
    if text == "now":
        return now.replace(second=0, microsecond=0)
    return datetime.datetime.strptime(text, leases.DATE_FORMAT)


def _check_reservation(field: str, present: Any, asked: Values) -> None:
    kinds = {present["resource_type"], asked.get("resource_type")}
    fixed = []
    if _NOT_SUPPORTED in kinds:
        fixed = ["id"]
    elif present["resource_type"] == _INSTANCE:
        if present["status"] == "error":
            raise exceptions.InvalidState(f"{field}: the reservation has failed; delete the lease")
        if present["status"] == "active":
            fixed = [name for name in _INSTANCE_KEYS if name in asked]
    elif present["resource_type"] == _FLOATING_IP:
        fixed = [name for name in ("network_id", "required_floatingips") if name in asked]
    if fixed:
        raise exceptions.FixedValue(f"{field}.{fixed[0]}")
