"""Refuses changes of a lease that are well formed, but would set the lease to ERROR.

If an exception is raised while Blazar's manager changes a lease, the manager sets the lease to
ERROR. Only a few types of exceptions don't have this effect. The changes that are refused here
would raise exceptions of other types.
"""

import datetime
from collections.abc import Iterable, Mapping
from typing import Any

from blazar import exceptions as blazar_exc
from blazar.db import api as db_api
from blazar.utils import plugins

from warre_blazar import texts
from warre_blazar.errors import exceptions
from warre_blazar.wsgi import lease_bodies, stock_form

_EXPRESSIONS = ("hypervisor_properties", "resource_properties")
_ENDED = "TERMINATED"
# Once a virtual:instance reservation is active, Blazar's plugin can't change the keys in
# ``_INSTANCE_KEYS``.
_INSTANCE = "virtual:instance"
_INSTANCE_KEYS = ("vcpus", "memory_mb", "disk_gb", "affinity", "resource_properties")
_NOT_SUPPORTED = "flavor:instance"
_FLOATING_IP = "virtual:floatingip"

Values = Mapping[str, Any]


def check_expressions(body: Values) -> None:
    """Check that the expressions in a request can be used to search for hosts.

    :raises InvalidField: an expression can't be used to search for hosts.
    """
    for number, reservation in enumerate(body.get("reservations", [])):
        for name in _EXPRESSIONS:
            if text := reservation.get(name):
                _check_expression(f"reservations.{number}.{name}", text)


def _check_expression(field: str, text: str) -> None:
    try:
        db_api.reservable_host_get_all_by_queries(plugins.convert_requirements(text))
    except (blazar_exc.BlazarException, LookupError, TypeError, ValueError) as error:
        raise exceptions.InvalidField(field, texts.expected.HOST_EXPRESSION()) from error


def check(lease: Any, reservations: Iterable[Any], body: Values, now: datetime.datetime) -> None:
    """Check a change of a lease against the lease's present values.

    :param lease: the lease's row.
    :param reservations: the rows of the lease's reservations.
    :param body: the request's body, which is well formed.
    :param now: the present time in naive UTC.
    :raises InvalidField: before_end_date isn't between the lease's start and its end.
    :raises FixedValue: the change contains a value of a reservation that Blazar can't change.
    :raises InvalidState: the lease has ended, or a reservation has failed.
    """
    if _has_ended(lease, now) and set(body) != {"name"}:
        raise exceptions.InvalidState(texts.refusals.LEASE_ENDED())
    if "before_end_date" in body:
        start, end = (
            _time(body[name], now) if name in body else lease[name]
            for name in ("start_date", "end_date")
        )
        if not start < _time(body["before_end_date"], now) < end:
            raise exceptions.InvalidField("before_end_date", texts.expected.BEFORE_END_DATE())
    by_id = {reservation["id"]: reservation for reservation in reservations}
    for number, changes in enumerate(body.get("reservations", [])):
        # Blazar itself refuses reservations that aren't in the lease.
        if changes["id"] in by_id:
            _check_reservation(f"reservations.{number}", by_id[changes["id"]], changes)


def _has_ended(lease: Any, now: datetime.datetime) -> bool:
    """Whether a lease has ended, or its end is before the present minute.

    Blazar refuses to change a lease whose end is before the present minute, with another status
    than this package's. A lease can have ended within the present minute, or be ACTIVE or in ERROR
    after its end. The answer to a change is the same in all these cases.
    """
    return lease["status"] == _ENDED or lease["end_date"] < now.replace(second=0, microsecond=0)


def _time(text: str, now: datetime.datetime) -> datetime.datetime:
    if text == "now":
        return now.replace(second=0, microsecond=0)
    return datetime.datetime.strptime(text, lease_bodies.DATE_FORMAT)


def _check_reservation(field: str, reservation: Any, changes: Values) -> None:
    """Check the changes of one of the lease's reservations.

    :param field: the path of the reservation in the body.
    :param reservation: the reservation's row.
    :param changes: the reservation's values in the body.
    """
    resource_type = reservation["resource_type"]
    fixed_keys = []
    shown = stock_form.shown_type(reservation)
    if changes.get("resource_type", shown) not in (shown, resource_type):
        # Blazar would let the plugin of the other type change the reservation.
        fixed_keys = ["resource_type"]
    elif resource_type == _NOT_SUPPORTED:
        fixed_keys = ["id"]
    elif resource_type == _INSTANCE:
        if reservation["status"] == "error":
            raise exceptions.InvalidState(texts.refusals.RESERVATION_FAILED(field=field))
        if reservation["status"] == "active":
            fixed_keys = [name for name in _INSTANCE_KEYS if name in changes]
    elif resource_type == _FLOATING_IP:
        fixed_keys = [name for name in ("network_id", "required_floatingips") if name in changes]
    if fixed_keys:
        raise exceptions.FixedValue(f"{field}.{fixed_keys[0]}")
