"""Policies on series of reservations."""

from warre_blazar.policies.declaration import admin, member, reader

CREATE = "warre:series:create"
CREATE_FOR = "warre:series:create:other_project"
LIST = "warre:series:list"
LIST_ALL = "warre:series:list:all"
GET = "warre:series:get"
UPDATE = "warre:series:update"
DELETE = "warre:series:delete"

RULES = [
    member(
        CREATE, "Book a series of reservations for the caller's own project.", "POST /v2/series"
    ),
    admin(
        CREATE_FOR,
        "Book a series for another project, for example for a course. Whatever this rule says, the "
        "caller also needs a role in that project.",
        "POST /v2/series",
    ),
    reader(LIST, "List the series of the caller's own project.", "GET /v2/series"),
    admin(LIST_ALL, "List the series of another project or of all projects.", "GET /v2/series"),
    reader(
        GET,
        "Show a series. A caller who may not see it gets 404, as if the series didn't exist.",
        "GET /v2/series/{series_id}",
    ),
    member(
        UPDATE,
        "Book further reservations of a series, or change those that haven't begun.",
        "PATCH /v2/series/{series_id}",
    ),
    member(
        DELETE,
        "End a series: delete its reservations that haven't begun, or also the running ones.",
        "DELETE /v2/series/{series_id}",
    ),
]
