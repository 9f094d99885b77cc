"""``ProjectQuotaFilter``: refuses leases with which a project would exceed its quota.

For ``flavor:slot`` the plugin checks the quota again in the transaction of the booking. So two
bookings at the same moment can't exceed the quota together. For Blazar's own resource types this
filter is the only check.
"""

from collections.abc import Mapping
from typing import Any

from blazar.db import api as db_api
from blazar.enforcement.filters import base_filter

from warre_blazar import conf
from warre_blazar.domain.booking import quota
from warre_blazar.domain.booking.quota import Amount, Rule
from warre_blazar.domain.timeline import Span
from warre_blazar.plugins import carried_decisions, error_translation
from warre_blazar.services.booking import quotas
from warre_blazar.site_rules import conditions

_Reservation = Mapping[str, Any]


class ProjectQuotaFilter(base_filter.BaseFilter):
    """Enforces the limits ``reservation`` and ``hours`` that a lease's project has in Keystone."""

    enforcement_opts = conf.enforcement.QUOTA

    def check_create(self, context: Any, lease_values: Mapping[str, Any]) -> None:
        if len(lease_values["reservations"]) == carried_decisions.count() == 1:
            return  # The plugin has decided about the only reservation, and about its quota.
        rule, span = conditions.quota_rule(), _span(lease_values)
        requested = Amount()
        for reservation in _counted(rule, lease_values):
            requested += quota.of_booking(span, _requested_instances(reservation))
        with error_translation.translated():
            quotas.check(rule, lease_values["project_id"], requested)

    def check_update(
        self,
        context: Any,
        current_lease_values: Mapping[str, Any],
        new_lease_values: Mapping[str, Any],
    ) -> None:
        rule = conditions.quota_rule()
        span_before, span_after = _span(current_lease_values), _span(new_lease_values)
        changes = {r["id"]: r for r in new_lease_values["reservations"]}
        amounts_before, before, after = {}, Amount(), Amount()
        with error_translation.translated(updating=True):
            for reservation in _counted(rule, current_lease_values):
                held = _held_instances(reservation)
                amount = amounts_before[reservation["id"]] = quota.of_booking(span_before, held)
                instances_after = _changed_instances(changes.get(reservation["id"], {}), held)
                before, after = (
                    before + amount,
                    after + quota.of_booking(span_after, instances_after),
                )
            project_id = current_lease_values["project_id"]
            quotas.check(rule, project_id, quota.growth(before, after), amounts_before)

    def on_end(self, context: Any, lease_values: Mapping[str, Any]) -> None:
        """Do nothing: a lease that has ended no longer counts when usage is next calculated."""


def _counted(rule: Rule, lease: Mapping[str, Any]) -> list[_Reservation]:
    """The lease's reservations whose resource types count against the quota."""
    return [r for r in lease["reservations"] if r["resource_type"] in rule.types]


def _span(lease: Mapping[str, Any]) -> Span:
    return Span(lease["start_date"], lease["end_date"])


def _requested_instances(reservation: _Reservation) -> int:
    """The number of instances of a new reservation.

    The reservation's plugin has already accepted the values.
    """
    if reservation["resource_type"] == "physical:host":
        return len(reservation["allocations"])
    return int(reservation["amount"])


def _held_instances(reservation: _Reservation) -> int:
    """The number of instances of an existing reservation."""
    if reservation["resource_type"] == "physical:host":
        return len(db_api.host_allocation_get_all_by_values(reservation_id=reservation["id"]))
    row = db_api.instance_reservation_get(reservation["resource_id"])
    return int(row["amount"]) if row else 0


def _changed_instances(change: _Reservation, held: int) -> int:
    """The number of instances of a reservation after an update.

    If the new value isn't a number, this is the present number of instances. The reservation's
    plugin will refuse the value.
    """
    try:
        return int(change["amount"]) if "amount" in change else max(held, int(change.get("min", 0)))
    except (TypeError, ValueError):
        return held
