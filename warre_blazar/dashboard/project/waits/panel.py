"""The panel "Waiting for Room"."""

import horizon
from django.utils.translation import gettext_lazy as _


class WaitsPanel(horizon.Panel):
    name = _("Waiting for Room")
    slug = "reservation_waits"
    permissions = ("openstack.services.reservation",)
    policy_rules = (("reservation", "warre:wait:list"),)
