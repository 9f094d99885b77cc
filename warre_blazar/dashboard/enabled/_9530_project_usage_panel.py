"""Adds the page "Limits and Usage" to the dashboard "project"."""

PANEL = "reservation_usage"
PANEL_GROUP = "flavor_reservations"
PANEL_DASHBOARD = "project"
ADD_PANEL = "warre_blazar.dashboard.panels.LimitsAndUsagePanel"
