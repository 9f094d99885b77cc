"""JSON Schemas of the API's documents. They check requests, and describe answers in OpenAPI.

The schemas of resources are made from the declarations in ``warre_blazar.fields``.
"""

from collections.abc import Sequence
from typing import Any

from warre_blazar.domain.booking import verdict
from warre_blazar.fields import flavors, others, reservations, series, usage
from warre_blazar.fields.declaration import (
    Field,
    Resource,
    Use,
    answered,
    changeable,
    fields,
    given,
)
from warre_blazar.fields.kinds import Integer, Schema, Time, answer, reference

#: A keyword in the schemas of bodies: Warre has no such field.
_NOT_IN_WARRE = "x-not-in-warre"
_TEXT: Schema = {"type": "string"}
_POSITIVE = Integer(1).answer
_NATURAL = Integer(0).answer
_ID = flavors.FlavorFields.id.kind.answer
_MOMENT = Time().answer


def _body(declared: Sequence[Field[Any]], **rules: Any) -> Schema:
    properties = {
        field.name: {
            **field.kind.body,
            "description": field.description,
            **({_NOT_IN_WARRE: True} if Use.NOT_IN_WARRE in field.use else {}),
        }
        for field in declared
    }
    return {"type": "object", "additionalProperties": False, **rules, "properties": properties}


def creation(resource: type[Resource]) -> Schema:
    """The schema of a body that creates an item."""
    required = [field.name for field in given(resource) if field.mandatory]
    return _body(given(resource), required=required)


def change(resource: type[Resource]) -> Schema:
    """The schema of a body that changes an item. A field that isn't in the body isn't changed."""
    return _body(changeable(resource), minProperties=1)


def in_warre(body: Schema) -> Schema:
    """The schema of a body on Warre's path, without the fields that Warre doesn't have."""
    properties = {n: s for n, s in body["properties"].items() if _NOT_IN_WARRE not in s}
    return {**body, "properties": properties}


def name_of(resource: type[Resource]) -> str:
    """The name of a resource's schema."""
    return resource.__name__.removesuffix("Fields")


def of_answer(resource: type[Resource]) -> Schema:
    """The schema of an item in an answer.

    Fields that Warre doesn't have are optional, because answers under /v2/warre/v1 don't have them.
    So are fields that only some answers have.
    """
    optional = Use.NOT_IN_WARRE | Use.SOMETIMES
    above = resource.__bases__[0]
    inherited = {field.name for field in fields(above)}
    declared = [field for field in answered(resource) if field.name not in inherited]
    own = {
        "type": "object",
        "required": [field.name for field in declared if not field.use & optional],
        "properties": {field.name: _property(field) for field in declared},
    }
    return {"allOf": [reference(name_of(above)), own]} if inherited else own


def _property(field: Field[Any]) -> Schema:
    seen_by = f" Only callers who pass the rule `{field.seen_by}` get it." if field.seen_by else ""
    return {**field.kind.answer, "description": field.description + seen_by}


FLAVOR_CREATE = creation(flavors.FlavorFields)
FLAVOR_UPDATE = change(flavors.FlavorFields)
#: The values of a new flavor's optional fields if the request doesn't contain them.
FLAVOR_DEFAULTS = {
    field.name: field.default for field in given(flavors.FlavorFields) if not field.mandatory
}
RESERVATION_CREATE = creation(reservations.ReservationFields)
RESERVATION_UPDATE = change(reservations.ReservationFields)
#: On Warre's path only the end can be changed, as in Warre.
RESERVATION_EXTEND = _body([reservations.ReservationFields.end], required=["end"])
WINDOW_UPDATE = change(others.WindowFields)
MESSAGES_UPDATE = creation(others.MessagesFields)
SERIES_CREATE = creation(series.SeriesFields)
SERIES_CHANGE = change(series.SeriesFields)
#: A series gets further occurrences, or those that haven't begun change.
SERIES_UPDATE: Schema = {
    "type": "object",
    "additionalProperties": False,
    "minProperties": 1,
    "properties": {
        **SERIES_CHANGE["properties"],
        "more": {
            **Integer(1, 1000).body,
            "description": "How many further occurrences of the rule to book.",
        },
        "missing": {
            "enum": [True],
            "description": "Book the occurrences that couldn't be booked before and haven't begun.",
        },
        "exdates": series.SeriesFields.exdates.kind.body,
        "until": {
            **series.LOCAL_TIME.body,
            "description": "Book the further occurrences that start at this local time or before.",
        },
    },
}

# The schemas below describe answers. Times in answers have the offset of UTC.
_ABSOLUTE = of_answer(others.LimitsFields)
LIMITS = answer(absolute=_ABSOLUTE)
PROJECT_LIMITS = answer(project_id=_TEXT, absolute=_ABSOLUTE)
SPAN = answer(start=_MOMENT, end=_MOMENT)

#: The spans of time in which a flavor is free, and the reason if there are none.
FREE: Schema = answer(
    results={"type": "array", "items": reference("Span")},
    reason={
        "anyOf": [
            {"type": "null"},
            answer(
                code={"enum": list(verdict.CODES)},
                message={**_TEXT, "description": "A text for people."},
                detail={
                    "type": "object",
                    "description": "The data of the refusal that a booking would get, "
                    "`next_free`, the first time that is long enough, and `longest`, the longest "
                    "time that is free in the time that was searched.",
                },
            ),
        ],
        "description": "Why there are no spans. This field is null if there are spans.",
    },
)

#: What booking a series would do.
SERIES_FORESEEN: Schema = answer(
    bookable={"type": "boolean", "description": "Whether the request would be fulfilled."},
    occurrences={"type": "array", "items": reference("Span")},
    refused={
        **series.REFUSED,
        "description": "The occurrences that couldn't be booked. Each is decided by itself, apart "
        "from the quota.",
    },
)

CAPACITY: Schema = answer(
    **SPAN["properties"],
    hosts={
        "type": "array",
        "items": answer(name=_TEXT, instances=_POSITIVE),
        "description": "The hosts that match the flavor, and how many instances each of them holds "
        "when it is empty.",
    },
    instances={
        **_NATURAL,
        "description": "How many instances the hosts hold when nothing else is on them.",
    },
    bookable_instances={
        **_NATURAL,
        "description": "How many instances can be booked at the same time: the smaller of "
        "`instances` and the flavor's slots.",
    },
    booked_now={**_NATURAL, "description": "How many instances are booked at this minute."},
    booked_peak={
        **_NATURAL,
        "description": "The largest number of instances that are booked at the same moment between "
        "`start` and `end`.",
    },
    utilisation={
        "type": ["number", "null"],
        "minimum": 0,
        "description": "The booked part of the bookable instances, averaged over the time from "
        "`start` to `end`. It is null if no instances are bookable. If slots or hosts were removed "
        "after the bookings, it can be above 1: more instances may be booked than are bookable "
        "now.",
    },
    sharing={
        "type": "array",
        "items": answer(id=_ID, name=_TEXT, hosts={"type": "array", "items": _TEXT}),
        "description": "The other flavors whose instances can be on the same hosts as instances of "
        "this flavor, each with the names of these hosts.",
    },
)


#: The usage of a time.
USAGE_REPORT: Schema = answer(
    start=_MOMENT,
    end=_MOMENT,
    by={"enum": [None, *usage.KEYS], "description": "What the usage is added up by."},
    results={
        "type": "array",
        "items": reference("Usage"),
        "description": "A row for each project, user, flavor or day that has usage or refusals. "
        "Without `by`, one row.",
    },
)


AUDIT_REPORT: Schema = answer(
    finished_at={
        "type": ["string", "null"],
        "format": "date-time",
        "description": "When the last audit has finished. Null: there was none yet.",
    },
    found={
        "type": "integer",
        "minimum": 0,
        "description": "How many differences the audit has found. Of very many, only the first are "
        "kept and listed.",
    },
    away={
        "type": "array",
        "items": answer(service={"type": "string"}, reason={"type": "string"}),
        "description": "The services that couldn't be compared, and why.",
    },
    results={
        "type": "array",
        "items": reference("AuditFinding"),
        "description": "What the audit has found. The differences that remain come first.",
    },
    total={"type": "integer", "minimum": 0, "description": "How many are kept, on all pages."},
)
AUDIT_REPORT["properties"]["next"] = {"type": "string", "description": "The next page's URL."}


def page(items: Schema) -> Schema:
    """The schema of a page of a listing. The last page has no ``next``."""
    document = answer(
        results={"type": "array", "items": items}, total={"type": "integer", "minimum": 0}
    )
    document["properties"]["next"] = {"type": "string", "description": "The next page's URL."}
    return document


#: An error's body: Blazar's three keys, ``code``, and ``detail`` if the error has any.
ERROR: Schema = answer(
    error_code={"type": "integer", "description": "The HTTP status."},
    error_message={"type": "string", "minLength": 1, "description": "A text for people."},
    error_name=_TEXT,
    code={
        "type": "string",
        "description": "The kind of error, for programs. Codes don't change between releases.",
    },
)
ERROR["properties"]["detail"] = {
    "type": "object",
    "description": "Data for programs. The keys depend on `code`.",
}
