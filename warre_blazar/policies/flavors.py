"""Policies on flavors."""

from warre_blazar.policies.declaration import admin, reader

CREATE = "warre:flavor:create"
LIST = "warre:flavor:list"
LIST_ALL = "warre:flavor:list:all"
GET = "warre:flavor:get"
FREE = "warre:flavor:free"
CAPACITY = "warre:flavor:capacity"
UPDATE = "warre:flavor:update"
DELETE = "warre:flavor:delete"

RULES = [
    admin(CREATE, "Create a flavor.", "POST /v2/flavors"),
    reader(LIST, "List the flavors that the caller's project may book.", "GET /v2/flavors"),
    admin(
        LIST_ALL,
        "List and show all flavors, including inactive ones and private ones to which the caller's "
        "project has no access, also in maintenance windows.",
        "GET /v2/flavors",
        "GET /v2/flavors/{flavor_id}",
        "GET /v2/flavors/{flavor_id}/freeslots",
        "GET /v2/maintenancewindows",
        "GET /v2/maintenancewindows/{window_id}",
    ),
    reader(GET, "Show a flavor that the caller's project may book.", "GET /v2/flavors/{flavor_id}"),
    reader(
        FREE,
        "List the times for which a flavor can be booked.",
        "GET /v2/flavors/{flavor_id}/freeslots",
    ),
    admin(
        CAPACITY,
        "See the capacity of a flavor: how many hosts can hold an instance of it, the names of all "
        "hosts, how many instances each host holds, what limits this number, how many instances "
        "all projects have booked, and the names of other flavors on the same hosts, including "
        "inactive and private flavors.",
        "GET /v2/flavors",
        "POST /v2/flavors",
        "GET /v2/flavors/{flavor_id}",
        "PATCH /v2/flavors/{flavor_id}",
    ),
    admin(UPDATE, "Change a flavor.", "PATCH /v2/flavors/{flavor_id}"),
    admin(DELETE, "Delete a flavor.", "DELETE /v2/flavors/{flavor_id}"),
]
