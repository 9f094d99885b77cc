"""How policy rules are declared: by whom they allow by default, and the operations they are about.

Each function takes a rule's name, its description, and its operations, such as
``GET /v2/flavors/{flavor_id}``.
"""

from typing import Any

from blazar.policies import base
from oslo_policy import policy

from warre_blazar.fields.declaration import By, Resource


def admin(name: str, description: str, *operations: str) -> policy.DocumentedRuleDefault:
    """A rule that by default allows operators."""
    return _rule(name, "rule:admin", description, operations)


def member(name: str, description: str, *operations: str) -> policy.DocumentedRuleDefault:
    """A rule that by default allows the members of a project, and operators."""
    return _rule(name, base.PROJECT_MEMBER_OR_ADMIN, description, operations)


def reader(name: str, description: str, *operations: str) -> policy.DocumentedRuleDefault:
    """A rule that by default allows all who have a role in a project, and operators."""
    return _rule(name, base.PROJECT_READER_OR_ADMIN, description, operations)


def _rule(
    name: str, check: str, description: str, operations: tuple[str, ...]
) -> policy.DocumentedRuleDefault:
    split = (operation.split(" ") for operation in operations)
    documented: list[Any] = [{"path": path, "method": method} for method, path in split]
    return policy.DocumentedRuleDefault(name, check, description, documented)


_BY = {By.ADMIN: admin, By.MEMBER: member, By.READER: reader}


def of(resource: type[Resource]) -> list[policy.DocumentedRuleDefault]:
    """The rules of the actions that a resource declares."""
    rules = []
    for name, action in resource.actions.items():
        method, path = resource.request(name)
        text = action.rule or action.summary
        rules.append(_BY[action.by](resource.rule(name), text, f"{method} /v2{path}"))
    return rules
