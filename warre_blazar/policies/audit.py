"""Policies on the audit's report."""

from warre_blazar.policies.declaration import admin

GET = "warre:audit:get"

RULES = [
    admin(
        GET,
        "Show what the last audit has found. The report names reservations, hosts and projects of "
        "the whole site.",
        "GET /v2/audit",
    ),
]
