"""Policies on refused requests."""

from warre_blazar.policies.declaration import admin, reader

LIST = "warre:refusal:list"
LIST_ALL = "warre:refusal:list:all"

RULES = [
    reader(LIST, "List the refused requests of the caller's own project.", "GET /v2/refusals"),
    admin(
        LIST_ALL,
        "List the refused requests of another project or of all projects.",
        "GET /v2/refusals",
    ),
]
