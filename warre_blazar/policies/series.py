"""Policies on series of reservations."""

from blazar.policies import base
from oslo_policy import policy

CREATE = "warre:series:create"
CREATE_FOR = "warre:series:create:other_project"
LIST = "warre:series:list"
LIST_ALL = "warre:series:list:all"
GET = "warre:series:get"
UPDATE = "warre:series:update"
DELETE = "warre:series:delete"

_ALL = "/v2/series"
_ONE = "/v2/series/{series_id}"

RULES = [
    policy.DocumentedRuleDefault(
        CREATE,
        base.PROJECT_MEMBER_OR_ADMIN,
        "Book a series of reservations for the caller's own project.",
        [{"path": _ALL, "method": "POST"}],
    ),
    policy.DocumentedRuleDefault(
        CREATE_FOR,
        "rule:admin",
        "Book a series for another project, for example for a course. Whatever this rule says, the "
        "caller also needs a role in that project.",
        [{"path": _ALL, "method": "POST"}],
    ),
    policy.DocumentedRuleDefault(
        LIST,
        base.PROJECT_READER_OR_ADMIN,
        "List the series of the caller's own project.",
        [{"path": _ALL, "method": "GET"}],
    ),
    policy.DocumentedRuleDefault(
        LIST_ALL,
        "rule:admin",
        "List the series of another project or of all projects.",
        [{"path": _ALL, "method": "GET"}],
    ),
    policy.DocumentedRuleDefault(
        GET,
        base.PROJECT_READER_OR_ADMIN,
        "Show a series. A caller who may not see it gets 404, as if the series didn't exist.",
        [{"path": _ONE, "method": "GET"}],
    ),
    policy.DocumentedRuleDefault(
        UPDATE,
        base.PROJECT_MEMBER_OR_ADMIN,
        "Book further reservations of a series.",
        [{"path": _ONE, "method": "PATCH"}],
    ),
    policy.DocumentedRuleDefault(
        DELETE,
        base.PROJECT_MEMBER_OR_ADMIN,
        "End a series: delete its reservations that haven't begun, or also the running ones.",
        [{"path": _ONE, "method": "DELETE"}],
    ),
]
