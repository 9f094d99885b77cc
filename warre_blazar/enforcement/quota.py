"""Refuse a lease that would take its project over its quota, before Blazar writes anything.

For ``flavor:slot`` the plugin decides again, exactly, in the transaction that books. For Blazar's
own types this look is all there is.
"""

from collections.abc import Mapping
from typing import Any

from blazar.db import api as db_api
from blazar.enforcement.filters import base_filter

from warre_blazar import conf, terms
from warre_blazar.domain.quota import Amount
from warre_blazar.domain.timeline import Span
from warre_blazar.plugins import errors
from warre_blazar.services import quotas

_Reservation = Mapping[str, Any]


class ProjectQuotaFilter(base_filter.BaseFilter):
    """``reservation`` and ``hours`` of a lease's project in Keystone."""

    enforcement_opts = conf.enforcement.QUOTA

    def check_create(self, context: Any, lease_values: Mapping[str, Any]) -> None:
        rule, hours = terms.quota_rule(), _hours(lease_values)
        asked = Amount()
        for reservation in _counted(rule, lease_values):
            asked += Amount(1, hours * _asked_instances(reservation))
        with errors.translated():
            quotas.check(rule, lease_values["project_id"], asked)

    def check_update(
        self,
        context: Any,
        current_lease_values: Mapping[str, Any],
        new_lease_values: Mapping[str, Any],
    ) -> None:
        rule = terms.quota_rule()
        before, after = _hours(current_lease_values), _hours(new_lease_values)
        changes = {r["id"]: r for r in new_lease_values["reservations"]}
        growing, wanted = {}, 0
        with errors.translated(updating=True):
            for reservation in _counted(rule, current_lease_values):
                held = _held_instances(reservation)
                growing[reservation["id"]] = Amount(1, before * held)
                wanted += after * _changed_instances(changes.get(reservation["id"], {}), held)
            more = wanted - sum(each.hours for each in growing.values())
            project_id = current_lease_values["project_id"]
            quotas.check(rule, project_id, Amount(hours=max(more, 0)), growing)

    def on_end(self, context: Any, lease_values: Mapping[str, Any]) -> None:
        """Nothing to give back: what is over isn't counted."""


def _counted(rule: quotas.Rule, lease: Mapping[str, Any]) -> list[_Reservation]:
    return [r for r in lease["reservations"] if r["resource_type"] in rule.types]


def _hours(lease: Mapping[str, Any]) -> int:
    return Span(lease["start_date"], lease["end_date"]).hours()


def _asked_instances(reservation: _Reservation) -> int:
    """The instances of a new reservation, whose values its plugin has found to be fine."""
    if reservation["resource_type"] == "physical:host":
        return len(reservation["allocations"])
    return int(reservation["amount"])


def _held_instances(reservation: _Reservation) -> int:
    """The instances of a reservation that Blazar has."""
    if reservation["resource_type"] == "physical:host":
        return len(db_api.host_allocation_get_all_by_values(reservation_id=reservation["id"]))
    found = db_api.instance_reservation_get(reservation["resource_id"])
    return int(found["amount"]) if found else 0


def _changed_instances(change: _Reservation, held: int) -> int:
    """The instances of a reservation after an update, as far as its values tell.

    What isn't a number is for its plugin to refuse.
    """
    try:
        return int(change["amount"]) if "amount" in change else max(held, int(change.get("min", 0)))
    except (TypeError, ValueError):
        return held
