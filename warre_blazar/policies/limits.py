"""Who may see whose limits."""

from blazar.policies import base
from oslo_policy import policy

GET = "warre:limits:get"
GET_OTHER = "warre:limits:get:other"

_ALL = "/v2/limits"

RULES = [
    policy.DocumentedRuleDefault(
        GET,
        base.PROJECT_READER_OR_ADMIN,
        "See the project's limits and what it uses of them.",
        [{"path": _ALL, "method": "GET"}],
    ),
    policy.DocumentedRuleDefault(
        GET_OTHER,
        "rule:admin",
        "See another project's limits and what it uses of them.",
        [{"path": _ALL, "method": "GET"}],
    ),
]
