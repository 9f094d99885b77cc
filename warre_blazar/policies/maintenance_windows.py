"""Policies on maintenance windows."""

from blazar.policies import base
from oslo_policy import policy

CREATE = "warre:maintenancewindow:create"
LIST = "warre:maintenancewindow:list"
GET = "warre:maintenancewindow:get"
UPDATE = "warre:maintenancewindow:update"
DELETE = "warre:maintenancewindow:delete"

_ALL = "/v2/maintenancewindows"
_ONE = "/v2/maintenancewindows/{window_id}"

RULES = [
    policy.DocumentedRuleDefault(
        CREATE, "rule:admin", "Create a maintenance window.", [{"path": _ALL, "method": "POST"}]
    ),
    policy.DocumentedRuleDefault(
        LIST,
        base.PROJECT_READER_OR_ADMIN,
        "List maintenance windows.",
        [{"path": _ALL, "method": "GET"}],
    ),
    policy.DocumentedRuleDefault(
        GET,
        base.PROJECT_READER_OR_ADMIN,
        "Show a maintenance window.",
        [{"path": _ONE, "method": "GET"}],
    ),
    policy.DocumentedRuleDefault(
        UPDATE, "rule:admin", "Change a maintenance window.", [{"path": _ONE, "method": "PATCH"}]
    ),
    policy.DocumentedRuleDefault(
        DELETE, "rule:admin", "Delete a maintenance window.", [{"path": _ONE, "method": "DELETE"}]
    ),
]
