"""Adds the page "Waiting for Room" to the dashboard "project"."""

PANEL = "reservation_waits"
PANEL_GROUP = "flavor_reservations"
PANEL_DASHBOARD = "project"
ADD_PANEL = "warre_blazar.dashboard.panels.WaitsPanel"
