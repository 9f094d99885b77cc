"""Policies on whether users get messages."""

from warre_blazar.policies.declaration import reader

GET = "warre:messages:get"
UPDATE = "warre:messages:update"

RULES = [
    reader(GET, "Show whether the caller gets messages.", "GET /v2/messages"),
    reader(
        UPDATE,
        "Turn messages on or off for the caller. Nobody can do so for another user.",
        "PATCH /v2/messages",
    ),
]
