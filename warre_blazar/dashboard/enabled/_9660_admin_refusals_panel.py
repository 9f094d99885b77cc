"""Adds the page "Refused Requests" to the dashboard "admin"."""

PANEL = "refused_requests"
PANEL_GROUP = "flavor_reservations"
PANEL_DASHBOARD = "admin"
ADD_PANEL = "warre_blazar.dashboard.panels.RefusedRequestsPanel"
