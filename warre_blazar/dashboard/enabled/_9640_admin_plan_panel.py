"""Adds the page "Plan and Hosts" to the dashboard "admin"."""

PANEL = "reservation_plan"
PANEL_GROUP = "flavor_reservations"
PANEL_DASHBOARD = "admin"
ADD_PANEL = "warre_blazar.dashboard.panels.PlanPanel"
