"""The panel "Audit"."""

import horizon
from django.utils.translation import gettext_lazy as _


class AuditPanel(horizon.Panel):
    name = _("Audit")
    slug = "reservation_audit"
    permissions = ("openstack.services.reservation",)
    policy_rules = (("reservation", "warre:audit:get"),)
