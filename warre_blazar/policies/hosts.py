"""Policies on hosts."""

from oslo_policy import policy

LIST = "warre:host:list"

RULES = [
    policy.DocumentedRuleDefault(
        LIST,
        "rule:admin",
        "List the hosts with their state, with how full they are, and with the reservations of all "
        "projects on them. See which hosts a maintenance window closes.",
        [
            {"path": "/v2/hosts", "method": "GET"},
            *(
                {"path": f"/v2/maintenancewindows{path}", "method": method}
                for path, method in (
                    *(("", "GET"), ("", "POST")),
                    *(("/{window_id}", "GET"), ("/{window_id}", "PATCH")),
                )
            ),
        ],
    ),
]
