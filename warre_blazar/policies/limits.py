"""Policies on projects' limits."""

from blazar.policies import base
from oslo_policy import policy

GET = "warre:limits:get"
GET_OTHER = "warre:limits:get:other"

_ALL = "/v2/limits"

RULES = [
    policy.DocumentedRuleDefault(
        GET,
        base.PROJECT_READER_OR_ADMIN,
        "Show the limits of the caller's own project, and how much of them the project uses.",
        [{"path": _ALL, "method": "GET"}],
    ),
    policy.DocumentedRuleDefault(
        GET_OTHER,
        "rule:admin",
        "Show the limits of another project or of all projects, and how much of its limits each "
        "project uses.",
        [{"path": _ALL, "method": "GET"}],
    ),
]
