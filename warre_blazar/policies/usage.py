"""Policies on usage."""

from warre_blazar.policies.declaration import admin, reader

GET = "warre:usage:get"
GET_OTHER = "warre:usage:get:other"

RULES = [
    reader(
        GET,
        "Show the usage of the caller's own project, also by user, flavor or day.",
        "GET /v2/usage",
    ),
    admin(GET_OTHER, "Show the usage of another project or of all projects.", "GET /v2/usage"),
]
