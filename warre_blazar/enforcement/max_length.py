"""Refuse a lease that is longer than a flavor in it allows, before Blazar writes anything.

The plugin itself enforces the same rule; with the filter enabled a refused extension doesn't even
reach it, and a lease of several reservations is refused before the first of them is made.
"""

from collections.abc import Mapping
from typing import Any

from blazar.enforcement.filters import base_filter

from warre_blazar import conf
from warre_blazar.domain.timeline import Span
from warre_blazar.plugins import errors
from warre_blazar.services import lengths


class FlavorMaxLengthFilter(base_filter.BaseFilter):
    """``max_length_hours`` of every flavor in a lease."""

    enforcement_opts = conf.enforcement.MAX_LENGTH

    def _is_exempt(self, lease: Mapping[str, Any]) -> bool:
        return lease["project_id"] in self.conf.enforcement.flavor_max_length_exempt_project_ids

    def check_create(self, context: Any, lease_values: Mapping[str, Any]) -> None:
        if self._is_exempt(lease_values):
            return
        wanted = [r.get("flavor_id") for r in _ours(lease_values)]
        with errors.translated():
            lengths.check_flavors([w for w in wanted if isinstance(w, str)], _span(lease_values))

    def check_update(
        self,
        context: Any,
        current_lease_values: Mapping[str, Any],
        new_lease_values: Mapping[str, Any],
    ) -> None:
        if self._is_exempt(current_lease_values):
            return
        booked = [r["id"] for r in _ours(current_lease_values)]
        with errors.translated(updating=True):
            lengths.check_reservations(booked, _span(new_lease_values))

    def on_end(self, context: Any, lease_values: Mapping[str, Any]) -> None:
        pass


def _ours(lease: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [r for r in lease["reservations"] if r["resource_type"] == "flavor:slot"]


def _span(lease: Mapping[str, Any]) -> Span:
    return Span(lease["start_date"], lease["end_date"])
