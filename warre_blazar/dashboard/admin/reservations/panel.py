"""The panel "All Reservations"."""

import horizon
from django.utils.translation import gettext_lazy as _


class AllReservationsPanel(horizon.Panel):
    name = _("All Reservations")
    slug = "all_flavor_reservations"
    permissions = ("openstack.services.reservation",)
    policy_rules = (("reservation", "warre:reservation:list:all"),)
