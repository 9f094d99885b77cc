"""``CreditsFilter``: asks a credits service whether a project has credits for a lease.

The service is Coral Credits or Chameleon's portal. Blazar's own ``ExternalServiceFilter`` speaks to
neither as their code wants it: it has no bearer token, no requests that charge a booked lease, and
no data about resources or flavors.

The filter charges when Blazar asks it, because the service may refuse. What a lease doesn't owe in
the end is given back afterwards (``services.credits.charging``).
"""

from collections.abc import Mapping
from typing import Any

from blazar.enforcement.filters import base_filter
from oslo_config import cfg

from warre_blazar import conf as options
from warre_blazar.db import clock
from warre_blazar.domain.running import lease_states
from warre_blazar.domain.timeline import Span
from warre_blazar.enforcement import charged_leases
from warre_blazar.plugins import carried_decisions, charged_requests, error_translation
from warre_blazar.services.credits import charging
from warre_blazar.site_rules import credits, enabling

_Lease = Mapping[str, Any]


class CreditsFilter(base_filter.BaseFilter):
    """Charges leases of all types with a credits service."""

    enforcement_opts = options.enforcement.CREDITS

    def __init__(self, conf: cfg.ConfigOpts | None = None) -> None:
        """
        :raises Misconfigured: an option is missing, or the plugin isn't enabled, whose threads give
            back what leases don't owe. Then the manager doesn't start.
        """
        super().__init__(conf=conf)
        enabling.check()
        self._charging = credits.charging()
        charged_requests.register()

    def check_create(self, context: Mapping[str, Any], lease_values: _Lease) -> None:
        reservations = lease_values["reservations"]
        types = {each["resource_type"] for each in reservations}
        if not types & set(charged_leases.CHARGED_TYPES):
            return
        with error_translation.translated():
            request_id, lease_id, ids = charged_requests.begin_booking(len(reservations))
            decisions = carried_decisions.kept()
            charge = charged_leases.of_new(lease_values, lease_id, ids, decisions)
            self._charging.book(credits.context(context), charge, request_id)

    def check_update(
        self,
        context: Mapping[str, Any],
        current_lease_values: _Lease,
        new_lease_values: _Lease,
    ) -> None:
        span = Span(new_lease_values["start_date"], new_lease_values["end_date"])
        amounts = charged_leases.amounts_of_change(new_lease_values)
        with error_translation.translated(updating=True):
            request_id = charged_requests.begin_change()
            self._charging.change(
                current_lease_values["id"], lambda charge: charge.at(span, amounts), request_id
            )

    def on_end(self, context: Mapping[str, Any], lease_values: _Lease) -> None:
        """Note that the lease ends. The service is told later, so that nobody waits for it."""
        # An executor calls this some seconds before the end of a lease that isn't being deleted.
        is_deleted = lease_values["status"] == lease_states.DELETING
        end = lease_values["end_date"]
        charging.end(lease_values["id"], min(clock.utcnow(), end) if is_deleted else end)
