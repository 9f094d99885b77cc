"""Who may do what with reservations."""

from blazar.policies import base
from oslo_policy import policy

CREATE = "warre:reservation:create"
IN_WINDOW = "warre:reservation:create:in_window"
LIST = "warre:reservation:list"
LIST_ALL = "warre:reservation:list:all"
GET = "warre:reservation:get"
UPDATE = "warre:reservation:update"
DELETE = "warre:reservation:delete"

_ALL = "/v2/reservations"
_ONE = "/v2/reservations/{reservation_id}"

RULES = [
    policy.DocumentedRuleDefault(
        CREATE,
        base.PROJECT_MEMBER_OR_ADMIN,
        "Book a flavor for one's own project.",
        [{"path": _ALL, "method": "POST"}],
    ),
    policy.DocumentedRuleDefault(
        IN_WINDOW,
        "rule:admin",
        "Book, or extend a reservation, inside a maintenance window. blazar-manager asks this of "
        "the roles of whoever sent the request, so its policy file counts.",
        [
            {"path": _ALL, "method": "POST"},
            {"path": "/v2/reservations/{reservation_id}", "method": "PATCH"},
            {"path": "/v1/leases", "method": "POST"},
            {"path": "/v1/leases/{lease_id}", "method": "PUT"},
        ],
    ),
    policy.DocumentedRuleDefault(
        LIST,
        base.PROJECT_READER_OR_ADMIN,
        "List the project's reservations.",
        [{"path": _ALL, "method": "GET"}],
    ),
    policy.DocumentedRuleDefault(
        LIST_ALL,
        "rule:admin",
        "List the reservations of all projects or another one.",
        [{"path": _ALL, "method": "GET"}],
    ),
    policy.DocumentedRuleDefault(
        GET,
        base.PROJECT_READER_OR_ADMIN,
        "Show a reservation; others' don't exist for who may not.",
        [{"path": _ONE, "method": "GET"}],
    ),
    policy.DocumentedRuleDefault(
        UPDATE,
        base.PROJECT_MEMBER_OR_ADMIN,
        "Extend or shorten a reservation; others' don't exist for who may not.",
        [{"path": _ONE, "method": "PATCH"}],
    ),
    policy.DocumentedRuleDefault(
        DELETE,
        base.PROJECT_MEMBER_OR_ADMIN,
        "Delete a reservation, or end it; others' don't exist for who may not.",
        [{"path": _ONE, "method": "DELETE"}],
    ),
]
