"""The panel "My Reservations"."""

import horizon
from django.utils.translation import gettext_lazy as _


class MyReservationsPanel(horizon.Panel):
    name = _("My Reservations")
    slug = "flavor_reservations"
    permissions = ("openstack.services.reservation",)
    policy_rules = (("reservation", "warre:reservation:list"),)
