"""Policies on reservations."""

from blazar.policies import base
from oslo_policy import policy

CREATE = "warre:reservation:create"
CREATE_FOR = "warre:reservation:create:other_project"
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
        "Book a flavor for the caller's own project, at once or by a wait.",
        [{"path": _ALL, "method": "POST"}, {"path": "/v2/waits", "method": "POST"}],
    ),
    policy.DocumentedRuleDefault(
        CREATE_FOR,
        "rule:admin",
        "Book a flavor for another project. Whatever this rule says, the caller also needs a "
        "role in that project.",
        [{"path": _ALL, "method": "POST"}],
    ),
    policy.DocumentedRuleDefault(
        IN_WINDOW,
        "rule:admin",
        "Book inside a maintenance window, or extend a reservation into a maintenance window. "
        "blazar-manager checks this rule against the roles of the user who sent the request, so "
        "the rule must be set in the policy file that blazar-manager reads.",
        [
            {"path": _ALL, "method": "POST"},
            {"path": "/v2/reservations/{reservation_id}", "method": "PATCH"},
            {"path": "/v2/reservations/{reservation_id}/extensions", "method": "GET"},
            {"path": "/v2/series", "method": "POST"},
            {"path": "/v2/series/{series_id}", "method": "PATCH"},
            {"path": "/v1/leases", "method": "POST"},
            {"path": "/v1/leases/{lease_id}", "method": "PUT"},
        ],
    ),
    policy.DocumentedRuleDefault(
        LIST,
        base.PROJECT_READER_OR_ADMIN,
        "List the reservations of the caller's own project.",
        [{"path": _ALL, "method": "GET"}],
    ),
    policy.DocumentedRuleDefault(
        LIST_ALL,
        "rule:admin",
        "List the reservations of another project, of all projects, or on a given host.",
        [{"path": _ALL, "method": "GET"}],
    ),
    policy.DocumentedRuleDefault(
        GET,
        base.PROJECT_READER_OR_ADMIN,
        "Show a reservation. A caller who may not see it gets 404, as if the reservation didn't "
        "exist.",
        [{"path": _ONE, "method": "GET"}, {"path": f"{_ONE}/extensions", "method": "GET"}],
    ),
    policy.DocumentedRuleDefault(
        UPDATE,
        base.PROJECT_MEMBER_OR_ADMIN,
        "Change a reservation: its start and end, its number of instances, its name and its note. "
        "A caller who may see it but not change it gets 403; on Warre's path it is 404, as if the "
        "reservation didn't exist.",
        [{"path": _ONE, "method": "PATCH"}],
    ),
    policy.DocumentedRuleDefault(
        DELETE,
        base.PROJECT_MEMBER_OR_ADMIN,
        "Delete a reservation, or end it early. A caller who may see it but not delete it gets "
        "403; on Warre's path it is 404, as if the reservation didn't exist.",
        [{"path": _ONE, "method": "DELETE"}],
    ),
]
