"""The panel "Usage"."""

import horizon
from django.utils.translation import gettext_lazy as _


class AllUsagePanel(horizon.Panel):
    name = _("Usage")
    slug = "all_reservation_usage"
    permissions = ("openstack.services.reservation",)
    policy_rules = (("reservation", "warre:usage:get:other"),)
