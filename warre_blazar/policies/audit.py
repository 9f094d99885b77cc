"""Policies on the audit's report."""

from oslo_policy import policy

GET = "warre:audit:get"

RULES = [
    policy.DocumentedRuleDefault(
        GET,
        "rule:admin",
        "Show what the last audit has found. The report names reservations, hosts and projects of "
        "the whole site.",
        [{"path": "/v2/audit", "method": "GET"}],
    ),
]
