"""The panel "Reservable Flavors"."""

import horizon
from django.utils.translation import gettext_lazy as _


class ReservableFlavorsPanel(horizon.Panel):
    name = _("Reservable Flavors")
    slug = "reservable_flavors"
    permissions = ("openstack.services.reservation",)
    policy_rules = (("reservation", "warre:flavor:create"),)
