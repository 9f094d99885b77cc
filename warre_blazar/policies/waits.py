"""Policies on waits."""

from warre_blazar.policies.declaration import admin, member, reader

CREATE = "warre:wait:create"
CREATE_FOR = "warre:wait:create:other_project"
LIST = "warre:wait:list"
LIST_ALL = "warre:wait:list:all"
GET = "warre:wait:get"
DELETE = "warre:wait:delete"

RULES = [
    member(
        CREATE,
        "Wait for a flavor for the caller's own project. For a wait that books, blazar-api checks "
        "the rule warre:reservation:create against the roles that Keystone lists for the user in "
        "the project. When there is room, blazar-manager does the same, so the policy file that "
        "blazar-manager reads must have that rule too.",
        "POST /v2/waits",
    ),
    admin(
        CREATE_FOR,
        "Wait for a flavor for another project. Whatever this rule says, the caller also needs a "
        "role in that project.",
        "POST /v2/waits",
    ),
    reader(LIST, "List the waits of the caller's own project.", "GET /v2/waits"),
    admin(LIST_ALL, "List the waits of another project or of all projects.", "GET /v2/waits"),
    reader(
        GET,
        "Show a wait. A caller who may not see it gets 404, as if the wait didn't exist.",
        "GET /v2/waits/{wait_id}",
    ),
    member(
        DELETE,
        "Cancel a wait. A caller who may see it but not cancel it gets 403; on Warre's path it is "
        "404, as if the wait didn't exist.",
        "DELETE /v2/waits/{wait_id}",
    ),
]
