"""Adds the page "Audit" to the dashboard "admin"."""

PANEL = "reservation_audit"
PANEL_GROUP = "flavor_reservations"
PANEL_DASHBOARD = "admin"
ADD_PANEL = "warre_blazar.dashboard.panels.AuditPanel"
