"""Policies on waits."""

from blazar.policies import base
from oslo_policy import policy

CREATE = "warre:wait:create"
CREATE_FOR = "warre:wait:create:other_project"
LIST = "warre:wait:list"
LIST_ALL = "warre:wait:list:all"
GET = "warre:wait:get"
DELETE = "warre:wait:delete"

_ALL = "/v2/waits"
_ONE = "/v2/waits/{wait_id}"

RULES = [
    policy.DocumentedRuleDefault(
        CREATE,
        base.PROJECT_MEMBER_OR_ADMIN,
        "Wait for a flavor for the caller's own project. For a wait that books, blazar-api checks "
        "the rule warre:reservation:create against the roles that Keystone lists for the user in "
        "the project. When there is room, blazar-manager does the same, so the policy file that "
        "blazar-manager reads must have that rule too.",
        [{"path": _ALL, "method": "POST"}],
    ),
    policy.DocumentedRuleDefault(
        CREATE_FOR,
        "rule:admin",
        "Wait for a flavor for another project. Whatever this rule says, the caller also needs a "
        "role in that project.",
        [{"path": _ALL, "method": "POST"}],
    ),
    policy.DocumentedRuleDefault(
        LIST,
        base.PROJECT_READER_OR_ADMIN,
        "List the waits of the caller's own project.",
        [{"path": _ALL, "method": "GET"}],
    ),
    policy.DocumentedRuleDefault(
        LIST_ALL,
        "rule:admin",
        "List the waits of another project or of all projects.",
        [{"path": _ALL, "method": "GET"}],
    ),
    policy.DocumentedRuleDefault(
        GET,
        base.PROJECT_READER_OR_ADMIN,
        "Show a wait. A caller who may not see it gets 404, as if the wait didn't exist.",
        [{"path": _ONE, "method": "GET"}],
    ),
    policy.DocumentedRuleDefault(
        DELETE,
        base.PROJECT_MEMBER_OR_ADMIN,
        "Cancel a wait. A caller who may see it but not cancel it gets 403; on Warre's path it is "
        "404, as if the wait didn't exist.",
        [{"path": _ONE, "method": "DELETE"}],
    ),
]
