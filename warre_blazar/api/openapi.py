"""The API's OpenAPI 3.1 document, made from what the code itself checks by.

Bodies and answers come from ``schemas``, query parameters from the controllers' tables, statuses
from ``errors``, rules from ``policies``. ``python -m warre_blazar.api.openapi`` prints it.
"""

import dataclasses
import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from oslo_policy.policy import DocumentedRuleDefault

from warre_blazar import policies
from warre_blazar.api import errors, parsing, schemas
from warre_blazar.api.controllers import base, flavorprojects, flavors, limits, reservations
from warre_blazar.api.schemas import Schema

_Query = Mapping[str, Callable[[str, str], Any]]

#: Where the paths begin. They are the same under both, with and without a slash at the end.
SERVERS = {
    "/v2": "Blazar's API, version 2.",
    "/v2/warre/v1": "The same where Warre's clients look, with .../v2/warre as their endpoint.",
}

_DESCRIPTION = """\
Flavors that people book for a time, inside OpenStack Blazar.

Every path answers under each of the servers' URLs, with and without a slash at its end. What isn't
documented here is refused, by an answer of 400 or more that names the field. Times in requests are
ISO 8601 with or without offset (without: UTC); what is finer than a minute is dropped. Listings are
whole unless the request has a `limit`.

`x-policies` are the rules of Blazar's policy file that are asked; a thing that one may not see
isn't there (404)."""

#: The named parts of the document.
_COMPONENTS: dict[str, Schema] = {
    "Flavor": schemas.FLAVOR,
    "FlavorCreate": schemas.FLAVOR_CREATE,
    "FlavorUpdate": schemas.FLAVOR_UPDATE,
    "FlavorShown": schemas.FLAVOR_SHOWN,
    "Capacity": schemas.CAPACITY,
    "Span": schemas.SPAN,
    "Access": schemas.ACCESS,
    "AccessCreate": schemas.ACCESS_CREATE,
    "Reservation": schemas.RESERVATION,
    "ReservationCreate": schemas.RESERVATION_CREATE,
    "ReservationUpdate": schemas.RESERVATION_UPDATE,
    "Window": schemas.WINDOW,
    "WindowCreate": schemas.WINDOW_CREATE,
    "WindowUpdate": schemas.WINDOW_UPDATE,
    "Limits": schemas.LIMITS,
    "ProjectLimits": schemas.PROJECT_LIMITS,
    "Error": schemas.ERROR,
}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


@dataclasses.dataclass(frozen=True)
class Operation:
    """What one method of one path takes and answers."""

    method: str
    path: str
    summary: str
    #: Schemas by status; None: no body.
    answers: Mapping[int, Schema | None]
    #: Codes of the errors that it may answer, besides those that all or all of its kind may.
    codes: tuple[str, ...] = ()
    query: _Query = dataclasses.field(default_factory=dict)
    #: Name of the body's schema.
    body: str | None = None

    @property
    def noun(self) -> str:
        """The first part of the path."""
        return self.path.split("/")[1]

    def rules(self) -> list[str]:
        """The policy rules that say they are of this operation."""
        mine = {"path": f"/v2{self.path}", "method": self.method}
        documented = (r for r in policies.list_rules() if isinstance(r, DocumentedRuleDefault))
        return [rule.name for rule in documented if mine in rule.operations]

    def refusals(self) -> dict[int, list[str]]:
        """Codes of errors by status."""
        codes = {*self.codes, "invalid_field", "service_unavailable"}
        if "{" in self.path:
            codes.add("not_found")
        if self.body:
            codes |= {"empty_body", "malformed_json", "length_required", "body_too_large"}
        found: dict[int, list[str]] = defaultdict(list)
        for code in sorted(codes):
            found[errors.status(code, self.method)].append(code)
        return dict(sorted(found.items()))


_MANAGER = ("conflict", "no_answer", "not_found", "refused", "service_refused", "try_again")
_BOOKABLE = (
    "after_flavor_end",
    "before_flavor_start",
    "flavor_inactive",
    "flavor_not_accessible",
    "hosts_exhausted",
    "invalid_period",
    "limits_not_registered",
    "maintenance",
    "quota_exceeded",
    "slots_exhausted",
    "too_long",
)
_WINDOW_CODES = ("flavor_not_found", "invalid_period", "try_again", "window_conflict")

_FLAVOR = "/flavors/{flavor_id}"
_ACCESS = "/flavorprojects/{flavorproject_id}"
_RESERVATION = "/reservations/{reservation_id}"
_WINDOW = "/maintenancewindows/{window_id}"

OPERATIONS = (
    Operation(
        "GET",
        "/flavors",
        "List the flavors that the project may book, by name.",
        {200: schemas.page(_ref("Flavor"))},
        ("forbidden",),
        query=flavors.LIST_QUERY,
    ),
    Operation(
        "POST",
        "/flavors",
        "Create a flavor.",
        {202: _ref("Flavor")},
        ("forbidden", "flavor_exists"),
        body="FlavorCreate",
    ),
    Operation(
        "GET",
        _FLAVOR,
        "Show a flavor, by id or name; with `detail=capacity` what its hosts hold, and how much is "
        "booked from `start` (now) to `end` (30 days later).",
        {200: _ref("FlavorShown")},
        ("forbidden", "flavor_not_found"),
        query=flavors.SHOW_QUERY,
    ),
    Operation(
        "PATCH",
        _FLAVOR,
        "Change a flavor; what is booked stays as it was booked.",
        {200: _ref("Flavor")},
        ("flavor_exists", "flavor_not_found", "try_again"),
        body="FlavorUpdate",
    ),
    Operation(
        "DELETE",
        _FLAVOR,
        "Delete a flavor whose reservations are all complete.",
        {204: None},
        ("flavor_in_use", "flavor_not_found", "try_again"),
    ),
    Operation(
        "GET",
        f"{_FLAVOR}/freeslots",
        "List the longest spans within which `count` instances can be booked. They may overlap.",
        {200: {"type": "array", "items": _ref("Span")}},
        ("forbidden", "flavor_not_found"),
        query=flavors.FREE_QUERY,
    ),
    Operation(
        "GET",
        "/flavorprojects",
        "List which projects may book which private flavors.",
        {200: schemas.page(_ref("Access"))},
        ("forbidden",),
        query=flavorprojects.LIST_QUERY,
    ),
    Operation(
        "POST",
        "/flavorprojects",
        "Let a project book a private flavor.",
        {200: _ref("Access")},
        ("access_exists", "flavor_not_found", "forbidden"),
        body="AccessCreate",
    ),
    Operation(
        "GET",
        _ACCESS,
        "Show a project's right to a private flavor.",
        {200: _ref("Access")},
        ("access_not_found",),
    ),
    Operation(
        "DELETE",
        _ACCESS,
        "Take back a project's right to a private flavor; what is booked stays.",
        {204: None},
        ("access_not_found",),
    ),
    Operation(
        "GET",
        "/reservations",
        "List the project's reservations, by start.",
        {200: schemas.page(_ref("Reservation"))},
        ("forbidden",),
        query=reservations.LIST_QUERY,
    ),
    Operation(
        "POST",
        "/reservations",
        "Book a flavor. If that takes long the answer is PENDING_CREATE.",
        {200: _ref("Reservation")},
        ("flavor_not_found", "forbidden", *_BOOKABLE, *_MANAGER),
        body="ReservationCreate",
    ),
    Operation(
        "GET",
        _RESERVATION,
        "Show a reservation.",
        {200: _ref("Reservation")},
        ("reservation_not_found",),
    ),
    Operation(
        "PATCH",
        _RESERVATION,
        "Extend or shorten a reservation; 202: that goes on.",
        {200: _ref("Reservation"), 202: _ref("Reservation")},
        (
            "invalid_state",
            "lease_shared",
            "owner_gone",
            "reservation_not_found",
            *_BOOKABLE,
            *_MANAGER,
        ),
        body="ReservationUpdate",
    ),
    Operation(
        "DELETE",
        _RESERVATION,
        "Delete a reservation with its servers; 202: that goes on.",
        {204: None, 202: None},
        ("invalid_state", "lease_shared", "reservation_not_found", *_MANAGER),
    ),
    Operation(
        "GET",
        "/maintenancewindows",
        "List maintenance windows, by start.",
        {200: schemas.page(_ref("Window"))},
        ("forbidden",),
        query=base.PAGING,
    ),
    Operation(
        "POST",
        "/maintenancewindows",
        "Create a maintenance window; the flavors in it can't be booked then.",
        {201: _ref("Window")},
        ("forbidden", *_WINDOW_CODES),
        body="WindowCreate",
    ),
    Operation(
        "GET",
        _WINDOW,
        "Show a maintenance window.",
        {200: _ref("Window")},
        ("forbidden", "window_not_found"),
    ),
    Operation(
        "PATCH",
        _WINDOW,
        "Change a maintenance window.",
        {200: _ref("Window")},
        ("window_not_found", *_WINDOW_CODES),
        body="WindowUpdate",
    ),
    Operation(
        "DELETE",
        _WINDOW,
        "Delete a maintenance window.",
        {204: None},
        ("window_not_found",),
    ),
    Operation(
        "GET",
        "/limits",
        "See a project's limits and what it uses of them; of all projects as a listing.",
        {200: {"anyOf": [_ref("Limits"), schemas.page(_ref("ProjectLimits"))]}},
        ("forbidden", "limits_not_registered"),
        query=limits.QUERY,
    ),
)


def request_schema(name: str) -> Schema:
    """The schema of a named body."""
    return _COMPONENTS[name]


def document() -> dict[str, Any]:
    """The whole document."""
    paths: dict[str, dict[str, Any]] = defaultdict(dict)
    for operation in OPERATIONS:
        paths[operation.path][operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Reservable flavors",
            "version": "2",
            "summary": "Flavors that people book for a time, inside OpenStack Blazar.",
            "description": _DESCRIPTION,
        },
        "servers": [{"url": url, "description": text} for url, text in SERVERS.items()],
        "security": [{"token": []}],
        "paths": dict(paths),
        "components": {
            "securitySchemes": {
                "token": {"type": "apiKey", "in": "header", "name": "X-Auth-Token"}
            },
            "schemas": {name: _published(schema) for name, schema in _COMPONENTS.items()},
        },
    }


def _operation(operation: Operation) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": _operation_id(operation),
        "summary": operation.summary,
        "tags": [operation.noun],
        "x-policies": operation.rules(),
        "parameters": [*_path_parameters(operation), *_query_parameters(operation)],
    }
    if operation.body:
        described["requestBody"] = {"required": True, "content": _json(_ref(operation.body))}
    described["responses"] = _responses(operation)
    return described


def _operation_id(operation: Operation) -> str:
    verb = operation.method.lower()
    if verb == "get" and "{" not in operation.path:
        verb = "list"
    words = [w for w in operation.path.split("/") if w and not w.startswith("{")]
    return "_".join([verb, *words])


def _path_parameters(operation: Operation) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "minLength": 1, "maxLength": base.MAX_ID},
        }
        for name in re.findall(r"{(\w+)}", operation.path)
    ]


def _query_parameters(operation: Operation) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "query", "schema": parsing.QUERY_SCHEMAS[read]}
        for name, read in operation.query.items()
    ]


def _responses(operation: Operation) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status, schema in operation.answers.items():
        responses[str(status)] = {"description": "Done."}
        if schema:
            responses[str(status)]["content"] = _json(schema)
    responses["401"] = {"description": "No valid token; what Keystone's middleware answers."}
    for status, codes in operation.refusals().items():
        schema = {"allOf": [_ref("Error"), {"properties": {"code": {"enum": codes}}}]}
        responses[str(status)] = {"description": ", ".join(codes), "content": _json(schema)}
    return dict(sorted(responses.items()))


def _json(schema: Schema) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _published(schema: Schema) -> Schema:
    """A request's schema as a client may keep to it: whole numbers may come as text."""
    if schema.get("additionalProperties") is not False:
        return schema
    fields = {
        name: {"anyOf": [field, {"type": "string", "pattern": f"^{parsing.DIGITS}$"}]}
        if field["type"] == "integer"
        else field
        for name, field in schema["properties"].items()
    }
    return {**schema, "properties": fields}


def main() -> None:
    """Print the document."""
    json.dump(document(), sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
