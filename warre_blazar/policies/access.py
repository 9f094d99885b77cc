"""Who may do what with projects' rights to private flavors."""

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
        "Let a project book a private flavor.",
        [{"path": _ALL, "method": "POST"}],
    ),
    policy.DocumentedRuleDefault(
        LIST,
        "rule:admin",
        "List which projects may book which private flavors.",
        [{"path": _ALL, "method": "GET"}],
    ),
    policy.DocumentedRuleDefault(
        GET,
        "rule:admin",
        "Show a project's right to a private flavor.",
        [{"path": _ONE, "method": "GET"}],
    ),
    policy.DocumentedRuleDefault(
        DELETE,
        "rule:admin",
        "Take back a project's right to a private flavor.",
        [{"path": _ONE, "method": "DELETE"}],
    ),
]
