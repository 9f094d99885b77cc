"""The panel "Maintenance Windows"."""

import horizon
from django.utils.translation import gettext_lazy as _


class MaintenanceWindowsPanel(horizon.Panel):
    name = _("Maintenance Windows")
    slug = "maintenance_windows"
    permissions = ("openstack.services.reservation",)
    policy_rules = (("reservation", "warre:maintenancewindow:create"),)
