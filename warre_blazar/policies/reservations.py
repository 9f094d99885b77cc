"""Policies on reservations."""

from warre_blazar.policies.declaration import admin, member, reader

CREATE = "warre:reservation:create"
CREATE_FOR = "warre:reservation:create:other_project"
IN_WINDOW = "warre:reservation:create:in_window"
LIST = "warre:reservation:list"
LIST_ALL = "warre:reservation:list:all"
GET = "warre:reservation:get"
UPDATE = "warre:reservation:update"
DELETE = "warre:reservation:delete"

RULES = [
    member(
        CREATE,
        "Book a flavor for the caller's own project, at once or by a wait.",
        "POST /v2/reservations",
        "POST /v2/waits",
    ),
    admin(
        CREATE_FOR,
        "Book a flavor for another project. Whatever this rule says, the caller also needs a "
        "role in that project.",
        "POST /v2/reservations",
    ),
    admin(
        IN_WINDOW,
        "Book inside a maintenance window, or extend a reservation into a maintenance window. "
        "blazar-manager checks this rule against the roles of the user who sent the request, so "
        "the rule must be set in the policy file that blazar-manager reads.",
        "POST /v2/reservations",
        "PATCH /v2/reservations/{reservation_id}",
        "GET /v2/reservations/{reservation_id}/extensions",
        "POST /v2/series",
        "PATCH /v2/series/{series_id}",
        "POST /v1/leases",
        "PUT /v1/leases/{lease_id}",
    ),
    reader(LIST, "List the reservations of the caller's own project.", "GET /v2/reservations"),
    admin(
        LIST_ALL,
        "List the reservations of another project, of all projects, or on a given host.",
        "GET /v2/reservations",
    ),
    reader(
        GET,
        "Show a reservation. A caller who may not see it gets 404, as if the reservation didn't "
        "exist.",
        "GET /v2/reservations/{reservation_id}",
        "GET /v2/reservations/{reservation_id}/extensions",
    ),
    member(
        UPDATE,
        "Change a reservation: its start and end, its number of instances, its name and its note. "
        "A caller who may see it but not change it gets 403; on Warre's path it is 404, as if the "
        "reservation didn't exist.",
        "PATCH /v2/reservations/{reservation_id}",
    ),
    member(
        DELETE,
        "Delete a reservation, or end it early. A caller who may see it but not delete it gets "
        "403; on Warre's path it is 404, as if the reservation didn't exist.",
        "DELETE /v2/reservations/{reservation_id}",
    ),
]
