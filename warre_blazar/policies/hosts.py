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
            {"path": "/v2/maintenancewindows", "method": "GET"},
            {"path": "/v2/maintenancewindows", "method": "POST"},
            {"path": "/v2/maintenancewindows/{window_id}", "method": "GET"},
            {"path": "/v2/maintenancewindows/{window_id}", "method": "PATCH"},
        ],
    ),
]
