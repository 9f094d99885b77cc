"""Policies on the access of projects to private flavors."""

from oslo_policy import policy

CREATE = "warre:flavorproject:create"
LIST = "warre:flavorproject:list"
GET = "warre:flavorproject:get"
DELETE = "warre:flavorproject:delete"

_ALL = "/v2/flavorprojects"
_ONE = "/v2/flavorprojects/{flavorproject_id}"

RULES = [
    policy.DocumentedRuleDefault(
        CREATE,
        "rule:admin",
        "Give a project access to a private flavor, so that it can book the flavor.",
        [{"path": _ALL, "method": "POST"}],
    ),
    policy.DocumentedRuleDefault(
        LIST,
        "rule:admin",
        "List which projects have access to which private flavors.",
        [{"path": _ALL, "method": "GET"}],
    ),
    policy.DocumentedRuleDefault(
        GET,
        "rule:admin",
        "Show a project's access to a private flavor.",
        [{"path": _ONE, "method": "GET"}],
    ),
    policy.DocumentedRuleDefault(
        DELETE,
        "rule:admin",
        "Remove a project's access to a private flavor.",
        [{"path": _ONE, "method": "DELETE"}],
    ),
]
