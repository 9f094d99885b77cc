"""Adds the page "My Reservations" to the dashboard "project"."""

PANEL = "flavor_reservations"
PANEL_GROUP = "flavor_reservations"
PANEL_DASHBOARD = "project"
ADD_PANEL = "warre_blazar.dashboard.panels.MyReservationsPanel"
