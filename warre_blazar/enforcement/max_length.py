"""Refuses a lease that is longer than one of its flavors allows, before Blazar writes anything.

The plugin enforces the same rule, but later. If an extension is too long, the filter refuses it
before the plugin is called. If a new lease with several reservations is too long, the filter
refuses it before the first of these reservations is made.
"""

from collections.abc import Mapping
from typing import Any

from blazar.enforcement.filters import base_filter

from warre_blazar import blazar_errors, conf, exemptions
from warre_blazar.domain.flavor import RESOURCE_TYPE
from warre_blazar.domain.timeline import Span
from warre_blazar.services.booking import max_length


class FlavorMaxLengthFilter(base_filter.BaseFilter):
    """Enforces ``max_length_hours`` of every flavor in a lease."""

    enforcement_opts = conf.enforcement.MAX_LENGTH

    def check_create(self, context: Any, lease_values: Mapping[str, Any]) -> None:
        if lease_values["project_id"] in exemptions.projects_of_any_length():
            return
        flavor_refs = [r.get("flavor_id") for r in _ours(lease_values)]
        # The plugin refuses a flavor_id that isn't a string.
        refs = [ref for ref in flavor_refs if isinstance(ref, str)]
        with blazar_errors.translated():
            max_length.check_flavors(refs, _span(lease_values), lease_values["project_id"])

    def check_update(
        self,
        context: Any,
        current_lease_values: Mapping[str, Any],
        new_lease_values: Mapping[str, Any],
    ) -> None:
        if current_lease_values["project_id"] in exemptions.projects_of_any_length():
            return
        reservation_ids = [r["id"] for r in _ours(current_lease_values)]
        with blazar_errors.translated(updating=True):
            max_length.check_reservations(reservation_ids, _span(new_lease_values))

    def on_end(self, context: Any, lease_values: Mapping[str, Any]) -> None:
        pass


def _ours(lease: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [r for r in lease["reservations"] if r["resource_type"] == RESOURCE_TYPE]


def _span(lease: Mapping[str, Any]) -> Span:
    return Span(lease["start_date"], lease["end_date"])
