"""The panel "Refused Requests"."""

import horizon
from django.utils.translation import gettext_lazy as _


class RefusedRequestsPanel(horizon.Panel):
    name = _("Refused Requests")
    slug = "refused_requests"
    permissions = ("openstack.services.reservation",)
    policy_rules = (("reservation", "warre:refusal:list:all"),)
