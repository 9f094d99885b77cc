"""The panel "Limits and Usage"."""

import horizon
from django.utils.translation import gettext_lazy as _


class LimitsAndUsagePanel(horizon.Panel):
    name = _("Limits and Usage")
    slug = "reservation_usage"
    permissions = ("openstack.services.reservation",)
    policy_rules = (("reservation", "warre:limits:get"),)
