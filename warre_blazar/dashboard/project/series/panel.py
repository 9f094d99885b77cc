"""The panel "Series"."""

import horizon
from django.utils.translation import gettext_lazy as _


class SeriesPanel(horizon.Panel):
    name = _("Series")
    slug = "reservation_series"
    permissions = ("openstack.services.reservation",)
    policy_rules = (("reservation", "warre:series:list"),)
