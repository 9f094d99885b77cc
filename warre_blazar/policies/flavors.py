"""Policies on flavors."""

from blazar.policies import base
from oslo_policy import policy

CREATE = "warre:flavor:create"
LIST = "warre:flavor:list"
LIST_ALL = "warre:flavor:list:all"
GET = "warre:flavor:get"
FREE = "warre:flavor:free"
CAPACITY = "warre:flavor:capacity"
UPDATE = "warre:flavor:update"
DELETE = "warre:flavor:delete"

_ALL = "/v2/flavors"
_ONE = "/v2/flavors/{flavor_id}"
_FREE = f"{_ONE}/freeslots"

RULES = [
    policy.DocumentedRuleDefault(
        CREATE, "rule:admin", "Create a flavor.", [{"path": _ALL, "method": "POST"}]
    ),
    policy.DocumentedRuleDefault(
        LIST,
        base.PROJECT_READER_OR_ADMIN,
        "List the flavors that the caller's project may book.",
        [{"path": _ALL, "method": "GET"}],
    ),
    policy.DocumentedRuleDefault(
        LIST_ALL,
        "rule:admin",
        "List and show all flavors, including inactive ones and private ones to which the caller's "
        "project has no access, also in maintenance windows.",
        [
            {"path": _ALL, "method": "GET"},
            {"path": _ONE, "method": "GET"},
            {"path": _FREE, "method": "GET"},
            {"path": "/v2/maintenancewindows", "method": "GET"},
            {"path": "/v2/maintenancewindows/{window_id}", "method": "GET"},
        ],
    ),
    policy.DocumentedRuleDefault(
        GET,
        base.PROJECT_READER_OR_ADMIN,
        "Show a flavor that the caller's project may book.",
        [{"path": _ONE, "method": "GET"}],
    ),
    policy.DocumentedRuleDefault(
        FREE,
        base.PROJECT_READER_OR_ADMIN,
        "List the times for which a flavor can be booked.",
        [{"path": _FREE, "method": "GET"}],
    ),
    policy.DocumentedRuleDefault(
        CAPACITY,
        "rule:admin",
        "See the capacity of a flavor: how many hosts can hold an instance of it, the names of all "
        "hosts, how many instances each host holds, what limits this number, how many instances "
        "all projects have booked, and the names of other flavors on the same hosts, including "
        "inactive and private flavors.",
        [
            {"path": _ALL, "method": "GET"},
            {"path": _ALL, "method": "POST"},
            {"path": _ONE, "method": "GET"},
            {"path": _ONE, "method": "PATCH"},
        ],
    ),
    policy.DocumentedRuleDefault(
        UPDATE, "rule:admin", "Change a flavor.", [{"path": _ONE, "method": "PATCH"}]
    ),
    policy.DocumentedRuleDefault(
        DELETE, "rule:admin", "Delete a flavor.", [{"path": _ONE, "method": "DELETE"}]
    ),
]
