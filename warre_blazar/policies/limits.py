"""Policies on projects' limits."""

from warre_blazar.policies.declaration import admin, reader

GET = "warre:limits:get"
GET_OTHER = "warre:limits:get:other"

RULES = [
    reader(
        GET,
        "Show the limits of the caller's own project, and how much of them the project uses.",
        "GET /v2/limits",
    ),
    admin(
        GET_OTHER,
        "Show the limits of another project or of all projects, and how much of its limits each "
        "project uses.",
        "GET /v2/limits",
    ),
]
