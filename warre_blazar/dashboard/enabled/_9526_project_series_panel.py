"""Adds the page "Series" to the dashboard "project"."""

PANEL = "reservation_series"
PANEL_GROUP = "flavor_reservations"
PANEL_DASHBOARD = "project"
ADD_PANEL = "warre_blazar.dashboard.panels.SeriesPanel"
