"""An operation of the API: its query, its body, its answers and its errors."""

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from oslo_policy.policy import DocumentedRuleDefault

from warre_blazar import policies
from warre_blazar.api import schemas
from warre_blazar.api.controllers import base
from warre_blazar.api.controllers.declared import list_query
from warre_blazar.errors import statuses
from warre_blazar.fields.declaration import METHODS, DeclaredAction, Resource
from warre_blazar.fields.kinds import Schema, reference

#: The resources whose answers have an ETag.
_TAGGED = frozenset({"flavors", "maintenancewindows", "reservations"})


Query = Mapping[str, Callable[[str, str], Any]]


@dataclasses.dataclass(frozen=True)
class Operation:
    """One method of one path."""

    method: str
    path: str
    summary: str
    #: The schemas of successful answers by status. None means an answer without a body.
    answers: Mapping[int, Schema | None]
    #: The codes of the operation's own errors. ``refusals`` adds codes that many operations share.
    codes: tuple[str, ...] = ()
    #: The query parameters, each with the function that converts its value.
    query: Query = dataclasses.field(default_factory=dict)
    #: The name of the schema of the request's body. None means that there is no body.
    body: str | None = None

    @property
    def noun(self) -> str:
        """The resource, which is the first part of the path."""
        return self.path.split("/")[1]

    @property
    def creates(self) -> bool:
        """Whether the operation creates an item."""
        return self.method == "POST"

    @property
    def takes_key(self) -> bool:
        """Whether the operation takes an idempotency key.

        All other changes can be repeated as they are. An extension of a series by a number can't.
        """
        return self.creates or (self.method, self.noun) == ("PATCH", "series")

    @property
    def is_tagged(self) -> bool:
        """Whether answers have the ETag of an item, which changes of the item take."""
        of_item = self.creates or (self.method != "DELETE" and self.path.endswith("}"))
        return self.noun in _TAGGED and of_item

    @property
    def is_conditional(self) -> bool:
        """Whether the operation takes an ETag."""
        return self.is_tagged and self.method == "PATCH"

    def rules(self) -> list[str]:
        """The names of the policy rules that this operation checks."""
        operation = {"path": f"/v2{self.path}", "method": self.method}
        documented = (r for r in policies.list_rules() if isinstance(r, DocumentedRuleDefault))
        return [rule.name for rule in documented if operation in rule.operations]

    def refusals(self) -> dict[int, list[str]]:
        """The codes of all errors that the operation may answer with, by status."""
        codes = {*self.codes, "invalid_field", "service_unavailable"}
        if "{" in self.path:
            codes.add("not_found")
        if self.takes_key:
            codes |= {"idempotency_key_reused", "try_again"}
        if self.is_conditional:
            codes.add("changed_since_shown")
        if self.body:
            codes |= {"empty_body", "incomplete_body", "malformed_json"}
            codes |= {"length_required", "body_too_large"}
        by_status: dict[int, list[str]] = defaultdict(list)
        for code in sorted(codes):
            by_status[statuses.in_controllers(code, self.method)].append(code)
        return dict(sorted(by_status.items()))


def declared(
    resource: type[Resource], codes: Mapping[str, tuple[str, ...]] | None = None
) -> list[Operation]:
    """The operations that follow from the actions that a resource declares.

    :param codes: further codes of errors, by action.
    """
    return [
        _of_action(resource, name, action, (codes or {}).get(name, ()))
        for name, action in resource.actions.items()
        if name in METHODS
    ]


def _of_action(
    resource: type[Resource], name: str, action: DeclaredAction, codes: tuple[str, ...]
) -> Operation:
    item = reference(schemas.name_of(resource))
    answers: dict[str, dict[int, Schema | None]] = {
        "list": {200: schemas.page(item)},
        "create": {action.status: item},
        "delete": {204: None},
    }
    queries: dict[str, Query] = {"list": list_query(resource)}
    bodies = {"create": "Create", "update": "Update"}
    return Operation(
        *resource.request(name),
        action.summary,
        {**answers.get(name, {200: item}), **({200: item} if action.dry_run else {})},
        action.codes + codes,
        query=queries.get(name, base.DRY_RUN if action.dry_run else {}),
        body=schemas.name_of(resource) + bodies[name] if name in bodies else None,
    )
