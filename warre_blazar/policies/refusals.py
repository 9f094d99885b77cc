"""Policies on refused requests."""

from blazar.policies import base
from oslo_policy import policy

LIST = "warre:refusal:list"
LIST_ALL = "warre:refusal:list:all"

_ALL = "/v2/refusals"

RULES = [
    policy.DocumentedRuleDefault(
        LIST,
        base.PROJECT_READER_OR_ADMIN,
        "List the refused requests of the caller's own project.",
        [{"path": _ALL, "method": "GET"}],
    ),
    policy.DocumentedRuleDefault(
        LIST_ALL,
        "rule:admin",
        "List the refused requests of another project or of all projects.",
        [{"path": _ALL, "method": "GET"}],
    ),
]
