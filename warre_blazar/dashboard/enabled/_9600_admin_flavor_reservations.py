"""Adds a group of pages to the dashboard "admin"."""

from django.utils.translation import gettext_lazy as _

PANEL_GROUP = "flavor_reservations"
PANEL_GROUP_NAME = _("Flavor Reservations")
PANEL_GROUP_DASHBOARD = "admin"
