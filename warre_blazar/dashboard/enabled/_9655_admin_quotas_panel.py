"""Adds the page "Quotas" to the dashboard "admin"."""

PANEL = "reservation_quotas"
PANEL_GROUP = "flavor_reservations"
PANEL_DASHBOARD = "admin"
ADD_PANEL = "warre_blazar.dashboard.panels.QuotasPanel"
