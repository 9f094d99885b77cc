"""``FlavorMaxLengthFilter``: refuses extensions that are longer than a flavor allows.

The rule is the plugin's own. When a lease is made, the plugin has applied it before Blazar asks the
filters. When a lease of several reservations is changed, the filter refuses the change before the
first of them is changed.
"""

from collections.abc import Mapping
from typing import Any

from blazar.enforcement.filters import base_filter

from warre_blazar import conf
from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE
from warre_blazar.domain.timeline import Span
from warre_blazar.plugins import error_translation
from warre_blazar.services.booking import changing
from warre_blazar.site_rules import conditions


class FlavorMaxLengthFilter(base_filter.BaseFilter):
    """Enforces ``max_length_hours`` of every flavor in a lease."""

    enforcement_opts = conf.enforcement.MAX_LENGTH

    def check_create(self, context: Any, lease_values: Mapping[str, Any]) -> None:
        """Do nothing: Blazar has asked the plugin for hosts, and it decided about the length."""

    def check_update(
        self,
        context: Any,
        current_lease_values: Mapping[str, Any],
        new_lease_values: Mapping[str, Any],
    ) -> None:
        if current_lease_values["project_id"] in conditions.projects_of_any_length():
            return
        ours = (
            r for r in current_lease_values["reservations"] if r["resource_type"] == RESOURCE_TYPE
        )
        span = Span(new_lease_values["start_date"], new_lease_values["end_date"])
        with error_translation.translated(updating=True):
            changing.check_lengths([r["id"] for r in ours], span)

    def on_end(self, context: Any, lease_values: Mapping[str, Any]) -> None:
        """Do nothing: a lease that ends may have any length."""
