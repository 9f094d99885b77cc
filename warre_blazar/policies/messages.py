"""Policies on whether users get messages."""

from blazar.policies import base
from oslo_policy import policy

GET = "warre:messages:get"
UPDATE = "warre:messages:update"

_ALL = "/v2/messages"

RULES = [
    policy.DocumentedRuleDefault(
        GET,
        base.PROJECT_READER_OR_ADMIN,
        "Show whether the caller gets messages.",
        [{"path": _ALL, "method": "GET"}],
    ),
    policy.DocumentedRuleDefault(
        UPDATE,
        base.PROJECT_READER_OR_ADMIN,
        "Turn messages on or off for the caller. Nobody can do so for another user.",
        [{"path": _ALL, "method": "PATCH"}],
    ),
]
