"""Policies on hosts."""

from warre_blazar.policies.declaration import admin

LIST = "warre:host:list"

RULES = [
    admin(
        LIST,
        "List the hosts with their state, with how full they are, and with the reservations of all "
        "projects on them. See which hosts a maintenance window closes.",
        "GET /v2/hosts",
        "GET /v2/maintenancewindows",
        "POST /v2/maintenancewindows",
        "GET /v2/maintenancewindows/{window_id}",
        "PATCH /v2/maintenancewindows/{window_id}",
    ),
]
