"""Adds the page "Reservations" to the dashboard "admin"."""

PANEL = "all_flavor_reservations"
PANEL_GROUP = "flavor_reservations"
PANEL_DASHBOARD = "admin"
ADD_PANEL = "warre_blazar.dashboard.panels.AllReservationsPanel"
