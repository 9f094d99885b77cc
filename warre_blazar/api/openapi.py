"""Generates the OpenAPI 3.1 document of the API from the tables that the code itself uses.

The schemas of bodies and answers come from ``schemas``, and everything else comes from the table in
``operations``. ``python -m warre_blazar.api.openapi`` prints the document.
"""

import json
import re
import sys
from collections import defaultdict
from typing import Any

from warre_blazar.api import answer_schemas, parsing, schemas
from warre_blazar.api.controllers import base
from warre_blazar.api.operation import Operation
from warre_blazar.api.operations import OPERATIONS, ref
from warre_blazar.fields import (
    audit,
    calendars,
    flavors,
    others,
    reservations,
    series,
    shares,
    usage,
    waits,
)
from warre_blazar.fields.kinds import Schema

#: The URLs under which all paths exist, with descriptions.
SERVERS = {
    "/v2": "Blazar's API, version 2.",
    "/v2/warre/v1": "The same paths for Warre's clients. They add /v1 to their endpoint, "
    ".../v2/warre.",
}

_SUMMARY = "Flavors that users book for a period of time, in OpenStack Blazar."

_DESCRIPTION = f"""\
{_SUMMARY}

Every path exists under each of the servers' URLs, with and without a slash at its end. A request
with a field or a query parameter that isn't documented here is refused with a status of 400 or
more, and the answer names the field or parameter. Times in requests are in ISO 8601; a time without
an offset is in UTC, and seconds are dropped. A listing is complete unless the request has a
`limit`. The `x-policies` of an operation are the rules of Blazar's policy file that the operation
checks. If a request is for an item that the caller may not see, the answer is 404, as if the item
didn't exist."""

_RESOURCES = (
    *(flavors.FlavorFields, flavors.FlavorOffered, flavors.FlavorShown),
    *(
        reservations.ReservationFields,
        others.AccessFields,
        others.WindowFields,
        others.MessagesFields,
    ),
    *(
        usage.UsageFields,
        usage.RefusalFields,
        series.SeriesFields,
        waits.WaitFields,
        audit.AuditFindingFields,
        shares.ShareFields,
        calendars.CalendarFields,
    ),
)

#: A header that the application's guard adds.
_RETRY_AFTER = {
    "description": "The seconds after which the request should be repeated.",
    "schema": {"type": "integer", "minimum": 0},
}

#: The document's named schemas.
_COMPONENTS: dict[str, Schema] = {
    **{schemas.name_of(resource): schemas.of_answer(resource) for resource in _RESOURCES},
    "FlavorCreate": schemas.FLAVOR_CREATE,
    "FlavorUpdate": schemas.FLAVOR_UPDATE,
    "FlavorLimits": answer_schemas.FLAVOR_LIMITS,
    "Capacity": schemas.CAPACITY,
    "Span": schemas.SPAN,
    "Free": schemas.FREE,
    "AccessCreate": schemas.creation(others.AccessFields),
    "DryRun": answer_schemas.DRY_RUN,
    "ReservationCreate": schemas.RESERVATION_CREATE,
    "ReservationUpdate": schemas.RESERVATION_UPDATE,
    "WindowCreate": schemas.creation(others.WindowFields),
    "WindowUpdate": schemas.WINDOW_UPDATE,
    "WaitCreate": schemas.creation(waits.WaitFields),
    "MessagesUpdate": schemas.MESSAGES_UPDATE,
    "Limits": schemas.LIMITS,
    "ProjectLimits": schemas.PROJECT_LIMITS,
    "Host": answer_schemas.HOST,
    "UsageReport": schemas.USAGE_REPORT,
    "AuditReport": schemas.AUDIT_REPORT,
    "Offer": answer_schemas.OFFER,
    "Offers": answer_schemas.OFFERS,
    "Availability": answer_schemas.AVAILABILITY,
    "Extension": answer_schemas.EXTENSION,
    "SeriesCreate": schemas.SERIES_CREATE,
    "SeriesUpdate": schemas.SERIES_UPDATE,
    "SeriesForeseen": schemas.SERIES_FORESEEN,
    "ShareCreate": schemas.creation(shares.ShareFields),
    "CalendarCreate": schemas.creation(calendars.CalendarFields),
    "Error": schemas.ERROR,
}


_KEY_PARAMETER = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "A new text for each new request. If a request is repeated with its key within "
    "a day, it creates nothing again, and is answered with what was created.",
    "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
}


_MATCH_PARAMETER = {
    "name": "If-Match",
    "in": "header",
    "description": "The ETag of an earlier answer about the item. If a field of the request was "
    "changed since then, nothing is changed, and the answer is 412 with the present value and the "
    "sent one of each such field.",
    "schema": {"type": "string"},
}
_TAG_HEADER = {
    "ETag": {
        "description": "Says what each field that a PATCH can change had. Other fields may change "
        "without a new ETag.",
        "schema": {"type": "string"},
    }
}


def request_schema(name: str) -> Schema:
    """The schema of a request's body, by its name in the document."""
    return _COMPONENTS[name]


def document() -> dict[str, Any]:
    """The whole OpenAPI document."""
    paths: dict[str, dict[str, Any]] = defaultdict(dict)
    for operation in OPERATIONS:
        paths[operation.path][operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Reservable flavors",
            "version": "2",
            "summary": _SUMMARY,
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
        "parameters": [
            *_path_parameters(operation),
            *_query_parameters(operation),
            *([_KEY_PARAMETER] if operation.takes_key else []),
            *([_MATCH_PARAMETER] if operation.is_conditional else []),
        ],
    }
    if operation.body:
        described["requestBody"] = {"required": True, "content": _json(ref(operation.body))}
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
        responses[str(status)] = {"description": "Success."}
        if operation.is_tagged:
            responses[str(status)]["headers"] = _TAG_HEADER
        if schema:
            responses[str(status)]["content"] = _json(schema)
    responses["401"] = {
        "description": "The request has no valid token. Keystone's middleware answers it."
    }
    for status, codes in operation.refusals().items():
        schema = {"allOf": [ref("Error"), {"properties": {"code": {"enum": codes}}}]}
        responses[str(status)] = {"description": ", ".join(codes), "content": _json(schema)}
        if status == 503:
            responses[str(status)]["headers"] = {"Retry-After": _RETRY_AFTER}
    return dict(sorted(responses.items()))


def _json(schema: Schema) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _published(schema: Schema) -> Schema:
    """A schema as it is published.

    In the schema of a request's body, each whole number may also be sent as a string.
    """
    if schema.get("additionalProperties") is not False:
        return schema
    fields = {
        name: {"anyOf": [field, {"type": "string", "pattern": f"^{parsing.DIGITS}$"}]}
        if parsing.is_whole_number(field)
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
