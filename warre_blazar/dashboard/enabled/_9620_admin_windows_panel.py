"""Adds the page "Maintenance Windows" to the dashboard "admin"."""

PANEL = "maintenance_windows"
PANEL_GROUP = "flavor_reservations"
PANEL_DASHBOARD = "admin"
ADD_PANEL = "warre_blazar.dashboard.panels.MaintenanceWindowsPanel"
