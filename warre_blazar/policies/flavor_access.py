"""Policies on the access of projects to private flavors."""

from warre_blazar.policies.declaration import admin

CREATE = "warre:flavorproject:create"
LIST = "warre:flavorproject:list"
GET = "warre:flavorproject:get"
DELETE = "warre:flavorproject:delete"

RULES = [
    admin(
        CREATE,
        "Give a project access to a private flavor, so that it can book the flavor.",
        "POST /v2/flavorprojects",
    ),
    admin(
        LIST, "List which projects have access to which private flavors.", "GET /v2/flavorprojects"
    ),
    admin(
        GET,
        "Show a project's access to a private flavor.",
        "GET /v2/flavorprojects/{flavorproject_id}",
    ),
    admin(
        DELETE,
        "Remove a project's access to a private flavor.",
        "DELETE /v2/flavorprojects/{flavorproject_id}",
    ),
]
