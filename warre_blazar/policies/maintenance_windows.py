"""Policies on maintenance windows."""

from warre_blazar.policies.declaration import admin, reader

CREATE = "warre:maintenancewindow:create"
LIST = "warre:maintenancewindow:list"
GET = "warre:maintenancewindow:get"
UPDATE = "warre:maintenancewindow:update"
DELETE = "warre:maintenancewindow:delete"

RULES = [
    admin(CREATE, "Create a maintenance window.", "POST /v2/maintenancewindows"),
    reader(LIST, "List maintenance windows.", "GET /v2/maintenancewindows"),
    reader(GET, "Show a maintenance window.", "GET /v2/maintenancewindows/{window_id}"),
    admin(UPDATE, "Change a maintenance window.", "PATCH /v2/maintenancewindows/{window_id}"),
    admin(DELETE, "Delete a maintenance window.", "DELETE /v2/maintenancewindows/{window_id}"),
]
