"""Adds the page "Find" to the dashboard "project"."""

PANEL = "find_reservations"
PANEL_GROUP = "flavor_reservations"
PANEL_DASHBOARD = "project"
ADD_PANEL = "warre_blazar.dashboard.panels.FindPanel"
