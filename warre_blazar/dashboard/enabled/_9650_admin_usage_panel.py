"""Adds the page "Usage" to the dashboard "admin"."""

PANEL = "all_reservation_usage"
PANEL_GROUP = "flavor_reservations"
PANEL_DASHBOARD = "admin"
ADD_PANEL = "warre_blazar.dashboard.panels.AllUsagePanel"
