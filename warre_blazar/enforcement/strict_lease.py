"""Refuse values of a lease that no client has a reason to send, whatever the lease holds.

Blazar's v1 API hands every key of a request's body to the manager, and the manager writes them: a
client could give its lease to another project, or take a lease's trust away. Blazar shows filters
the values of a creation and of an update as they were sent, with two exceptions: it takes
``events`` out before, and an update of the name alone asks no filter. ``warre_blazar.wsgi`` checks
those.
"""

from collections.abc import Collection, Mapping
from typing import Any

from blazar.enforcement.filters import base_filter

from warre_blazar import exceptions, terms
from warre_blazar.plugins import errors

_SENT = {"name", "start_date", "end_date", "before_end_date", "reservations"}
#: What Blazar's API and manager put beside these when a lease is created.
_BLAZARS_OWN = {"status", "user_id", "project_id"}

#: As long as Blazar's column.
_LONGEST_NAME = 80


class StrictLeaseFilter(base_filter.BaseFilter):
    """Only what a client may say of a lease, each of the right type."""

    enforcement_opts: list[Any] = []  # noqa: RUF012

    def check_create(self, context: Any, lease_values: Mapping[str, Any]) -> None:
        with errors.translated():
            _check(lease_values, _SENT | _BLAZARS_OWN)
            _check_user(lease_values.get("user_id"))

    def check_update(
        self,
        context: Any,
        current_lease_values: Mapping[str, Any],
        new_lease_values: Mapping[str, Any],
    ) -> None:
        # An error of another type would set the lease to ERROR.
        with errors.translated(updating=True):
            _check(new_lease_values, _SENT)

    def on_end(self, context: Any, lease_values: Mapping[str, Any]) -> None:
        """Nothing was noted."""


def _check(values: Mapping[str, Any], allowed: Collection[str]) -> None:
    unknown = sorted(str(key) for key in set(values) - set(allowed))
    if unknown:
        raise exceptions.InvalidField(
            unknown[0], f"Unknown field, expected none but {', '.join(sorted(_SENT))}"
        )
    name = values.get("name", "a name")
    if not isinstance(name, str) or not 1 <= len(name) <= _LONGEST_NAME:
        raise exceptions.InvalidField("name", f"expected a text of 1 to {_LONGEST_NAME} characters")
    if not isinstance(values.get("before_end_date"), str | None):
        raise exceptions.InvalidField("before_end_date", "expected a time as YYYY-MM-DD HH:MM")
    reservations = values.get("reservations", [])
    if not isinstance(reservations, list) or not all(isinstance(r, dict) for r in reservations):
        raise exceptions.InvalidField("reservations", "expected a list of objects")


def _check_user(user_id: str | None) -> None:
    """A lease is the caller's own, who is known by the context of the request."""
    caller = terms.caller().user_id
    if caller is not None and user_id != caller:
        raise exceptions.InvalidField("user_id", "expected none: a lease is its maker's")
