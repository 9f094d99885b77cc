"""Policies on usage."""

from blazar.policies import base
from oslo_policy import policy

GET = "warre:usage:get"
GET_OTHER = "warre:usage:get:other"

_ALL = "/v2/usage"

RULES = [
    policy.DocumentedRuleDefault(
        GET,
        base.PROJECT_READER_OR_ADMIN,
        "Show the usage of the caller's own project, also by user, flavor or day.",
        [{"path": _ALL, "method": "GET"}],
    ),
    policy.DocumentedRuleDefault(
        GET_OTHER,
        "rule:admin",
        "Show the usage of another project or of all projects.",
        [{"path": _ALL, "method": "GET"}],
    ),
]
