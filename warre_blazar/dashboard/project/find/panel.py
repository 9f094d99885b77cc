"""The panel "Find and Book"."""

import horizon
from django.utils.translation import gettext_lazy as _


class FindPanel(horizon.Panel):
    name = _("Find and Book")
    slug = "find_reservations"
    permissions = ("openstack.services.reservation",)
    policy_rules = (("reservation", "warre:offer:availability"),)
