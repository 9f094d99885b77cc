"""Adds the page "Reservable Flavors" to the dashboard "admin"."""

PANEL = "reservable_flavors"
PANEL_GROUP = "flavor_reservations"
PANEL_DASHBOARD = "admin"
ADD_PANEL = "warre_blazar.dashboard.panels.ReservableFlavorsPanel"
