"""Who may do what with flavors."""

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
        "List the flavors that the project may book.",
        [{"path": _ALL, "method": "GET"}],
    ),
    policy.DocumentedRuleDefault(
        LIST_ALL,
        "rule:admin",
        "List and show inactive flavors, and private ones whose projects one doesn't belong to.",
        [
            {"path": _ALL, "method": "GET"},
            {"path": _ONE, "method": "GET"},
            {"path": _FREE, "method": "GET"},
        ],
    ),
    policy.DocumentedRuleDefault(
        GET,
        base.PROJECT_READER_OR_ADMIN,
        "Show a flavor that the project may book.",
        [{"path": _ONE, "method": "GET"}],
    ),
    policy.DocumentedRuleDefault(
        FREE,
        base.PROJECT_READER_OR_ADMIN,
        "See when a flavor is free.",
        [{"path": _FREE, "method": "GET"}],
    ),
    policy.DocumentedRuleDefault(
        CAPACITY,
        "rule:admin",
        "See a flavor's hosts, how much they hold and how much of it is booked by whomever, and "
        "the names of other flavors on them, inactive and private ones too.",
        [{"path": _ONE, "method": "GET"}],
    ),
    policy.DocumentedRuleDefault(
        UPDATE, "rule:admin", "Change a flavor.", [{"path": _ONE, "method": "PATCH"}]
    ),
    policy.DocumentedRuleDefault(
        DELETE, "rule:admin", "Delete a flavor.", [{"path": _ONE, "method": "DELETE"}]
    ),
]
