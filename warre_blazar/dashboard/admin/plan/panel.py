"""The panel "Plan and Hosts"."""

import horizon
from django.utils.translation import gettext_lazy as _


class PlanPanel(horizon.Panel):
    name = _("Plan and Hosts")
    slug = "reservation_plan"
    permissions = ("openstack.services.reservation",)
    policy_rules = (("reservation", "warre:host:list"),)
