"""Adds a group of pages to the dashboard "project"."""

from django.utils.translation import gettext_lazy as _

PANEL_GROUP = "flavor_reservations"
PANEL_GROUP_NAME = _("Flavor Reservations")
PANEL_GROUP_DASHBOARD = "project"
ADD_INSTALLED_APPS = ["warre_blazar.dashboard"]
