"""``StrictLeaseFilter``: refuses values of leases that no client has a reason to send.

Blazar's v1 API passes every key of a request's body to the manager, and the manager writes nearly
all of them into the lease's row. So a client could give its lease to another project, or remove a
lease's trust.

A filter can't check everything that a client sends. Blazar removes ``events`` before it calls the
filters. If an update changes only the name, Blazar calls no filter. ``warre_blazar.wsgi`` checks
``events`` and names.
"""

from collections.abc import Collection, Mapping
from typing import Any

from blazar.enforcement.filters import base_filter
from oslo_utils import uuidutils

from warre_blazar import texts
from warre_blazar.domain.booking import booking_rules
from warre_blazar.domain.flavors.flavor import BESIDE
from warre_blazar.errors import exceptions
from warre_blazar.plugins import error_translation
from warre_blazar.plugins.flavor_instances import SENT
from warre_blazar.site_rules import conditions

#: The fields that a client may send.
_CLIENT_FIELDS = {"name", "start_date", "end_date", "before_end_date", "reservations"}
#: The fields that Blazar's API and manager add when a lease is created.
_BLAZARS_OWN = {"status", "user_id", "project_id"}

#: The fields that this package's v2 API adds when a lease is created.
_APIS_OWN = {"id"}

#: The length of the column ``name`` in Blazar's table of leases.
_LONGEST_NAME = 80


class StrictLeaseFilter(base_filter.BaseFilter):
    """Allows only the fields of a lease that a client may send, each with the right type.

    It also refuses new leases that would have reservations of this package beside others, unless
    this package starts and ends those too.
    """

    enforcement_opts: list[Any] = []  # noqa: RUF012

    def check_create(self, context: Any, lease_values: Mapping[str, Any]) -> None:
        with error_translation.translated():
            _check(lease_values, _CLIENT_FIELDS | _BLAZARS_OWN | _APIS_OWN)
            if "id" in lease_values and not uuidutils.is_uuid_like(lease_values["id"]):
                raise exceptions.InvalidField("id", texts.expected.UUID())
            _check_user(lease_values.get("user_id"))
            reservations = lease_values["reservations"]
            # A client of flavor:instance names flavors of this package and of Nova in one lease.
            beside = [BESIDE] if any(SENT in r for r in reservations) else []
            booking_rules.check_types((str(r.get("resource_type")) for r in reservations), beside)

    def check_update(
        self,
        context: Any,
        current_lease_values: Mapping[str, Any],
        new_lease_values: Mapping[str, Any],
    ) -> None:
        # If a filter raises an exception during an update, Blazar sets the lease to ERROR. A few
        # types of exceptions don't have this effect. ``updating`` selects one of these types.
        with error_translation.translated(updating=True):
            _check(new_lease_values, _CLIENT_FIELDS)

    def on_end(self, context: Any, lease_values: Mapping[str, Any]) -> None:
        """Do nothing: this filter keeps nothing about a lease."""


def _check(values: Mapping[str, Any], allowed: Collection[str]) -> None:
    unknown = sorted(str(key) for key in set(values) - set(allowed))
    if unknown:
        raise exceptions.InvalidField(
            unknown[0], texts.expected.UNKNOWN_OF(known=sorted(_CLIENT_FIELDS))
        )
    name = values.get("name", "a name")
    if not isinstance(name, str) or not 1 <= len(name) <= _LONGEST_NAME:
        raise exceptions.InvalidField("name", texts.expected.LENGTH(least=1, most=_LONGEST_NAME))
    if not isinstance(values.get("before_end_date"), str | None):
        raise exceptions.InvalidField("before_end_date", texts.expected.LEASE_TIME())
    reservations = values.get("reservations", [])
    if not isinstance(reservations, list) or not all(isinstance(r, dict) for r in reservations):
        raise exceptions.InvalidField("reservations", texts.expected.OBJECTS())


def _check_user(user_id: str | None) -> None:
    """Check that the lease is created for the caller, who is known from the request's context."""
    caller = conditions.caller().user_id
    if caller is not None and user_id != caller:
        raise exceptions.InvalidField("user_id", texts.expected.OWN_LEASE())
