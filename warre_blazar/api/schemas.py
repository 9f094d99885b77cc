"""JSON Schemas of the API's documents. They check requests, and describe answers in OpenAPI.

The names of the fields and their meaning are those of Warre.
"""

from typing import Any

from warre_blazar.domain import labels

Schema = dict[str, Any]

_INT = {"type": "integer", "maximum": 2**31 - 1}
_POSITIVE: Schema = {**_INT, "minimum": 1}
_NATURAL: Schema = {**_INT, "minimum": 0}
_BOOLEAN: Schema = {"type": "boolean"}
# Texts without control characters. Nobody sees control characters in a list, and NUL ends a text in
# some databases. The pattern describes what is forbidden. A pattern of what is allowed would have
# to end with "$", which in Python allows a newline at the end.
_PRINTABLE: Schema = {"not": {"type": "string", "pattern": r"[\u0000-\u001f\u007f]"}}
# The same as _PRINTABLE, but tabs and line breaks are allowed.
_PROSE: Schema = {
    "not": {"type": "string", "pattern": r"[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]"}
}
# The same as _PRINTABLE, but without spaces at the start or the end.
_TRIMMED: Schema = {"not": {"type": "string", "pattern": r"[\u0000-\u001f\u007f]|^\s|\s$"}}
_NAME: Schema = {"type": "string", "minLength": 1, "maxLength": 64, **_PRINTABLE}
# A flavor can be named in paths, in place of its id. No path leads to these names.
_FLAVOR_NAME: Schema = {
    **_NAME,
    "not": {
        "type": "string",
        "pattern": r"[\u0000-\u001f\u007f/]|^\s|\s$|^\.\.?$|^freeslots$",
        "x-expected": "expected printable text without a slash that neither starts nor ends with a "
        'space, and isn\'t ".", ".." or "freeslots"',
    },
}
_TIME: Schema = {"type": "string", "format": "date-time", "maxLength": 64}


def _nullable(schema: Schema) -> Schema:
    return {**schema, "type": [schema["type"], "null"]}


def without(schema: Schema, *fields: str) -> Schema:
    """The schema of an object without some of its fields."""
    properties = {name: s for name, s in schema["properties"].items() if name not in fields}
    return {**schema, "properties": properties}


#: The fields of a flavor that can be changed.
_FLAVOR_FIELDS: dict[str, Schema] = {
    "name": _FLAVOR_NAME,
    "description": _nullable({"type": "string", "maxLength": 4096, **_PROSE}),
    "active": _BOOLEAN,
    "properties": _nullable({"type": "string", "maxLength": 4096, **_PROSE}),
    "max_length_hours": _POSITIVE,
    "slots": _POSITIVE,
    "is_public": _BOOLEAN,
    "extra_specs": {
        "type": "object",
        "maxProperties": 128,
        "propertyNames": {"minLength": 1, "maxLength": 255},
        "additionalProperties": {"type": "string", "maxLength": 255, **_PRINTABLE},
    },
    "start": _nullable(_TIME),
    "end": _nullable(_TIME),
    "category": _nullable(_NAME),
    "availability_zone": _nullable({**_NAME, "maxLength": 255}),
}

FLAVOR_CREATE: Schema = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name", "vcpu", "memory_mb", "disk_gb", "max_length_hours", "slots"],
    "properties": {
        **_FLAVOR_FIELDS,
        "vcpu": _POSITIVE,
        "memory_mb": _POSITIVE,
        "disk_gb": _POSITIVE,
        "ephemeral_gb": _NATURAL,
    },
}

#: The values of a new flavor's optional fields if the request doesn't contain them.
FLAVOR_DEFAULTS: dict[str, Any] = {
    "description": None,
    "active": True,
    "properties": None,
    "ephemeral_gb": 0,
    "is_public": True,
    "extra_specs": {},
    "start": None,
    "end": None,
    "category": None,
    "availability_zone": None,
}

#: The virtual CPUs, memory and disk of a flavor can't be changed.
FLAVOR_UPDATE: Schema = {
    "type": "object",
    "additionalProperties": False,
    "minProperties": 1,
    "properties": _FLAVOR_FIELDS,
}

_AFFINITY: Schema = {
    **_nullable(_BOOLEAN),
    "description": "true: all instances are on one host; false: each instance is on a host of its "
    "own; null: the instances are on any hosts that have room.",
}

_LABELS: dict[str, Schema] = {
    "name": {
        **_nullable({"type": "string", "minLength": 1, "maxLength": labels.LONGEST_NAME}),
        **_TRIMMED,
        "description": "A name by which people recognize the reservation. It needn't be unique.",
    },
    "note": _nullable(
        {"type": "string", "minLength": 1, "maxLength": labels.LONGEST_NOTE, **_PROSE}
    ),
}

RESERVATION_CREATE: Schema = {
    "type": "object",
    "additionalProperties": False,
    "required": ["flavor_id", "start", "end"],
    "properties": {
        "flavor_id": _NAME,
        "start": _TIME,
        "end": _TIME,
        "instance_count": _POSITIVE,
        "affinity": _AFFINITY,
        **_LABELS,
    },
}

#: A field that isn't in the request isn't changed.
RESERVATION_UPDATE: Schema = {
    "type": "object",
    "additionalProperties": False,
    "minProperties": 1,
    "properties": {"start": _TIME, "end": _TIME, "instance_count": _POSITIVE, **_LABELS},
}

#: On Warre's path only the end can be changed, as in Warre.
RESERVATION_EXTEND: Schema = {
    "type": "object",
    "additionalProperties": False,
    "required": ["end"],
    "properties": {"end": _TIME},
}

_IDS: Schema = {"type": "array", "maxItems": 1000, "uniqueItems": True, "items": _NAME}

_WINDOW: dict[str, Schema] = {
    "start": _TIME,
    "end": _TIME,
    "note": _nullable({"type": "string", "maxLength": 4096, **_PROSE}),
    "flavor_ids": _IDS,
}

WINDOW_CREATE: Schema = {
    "type": "object",
    "additionalProperties": False,
    "required": ["start", "end"],
    "properties": _WINDOW,
}

WINDOW_UPDATE: Schema = {
    "type": "object",
    "additionalProperties": False,
    "minProperties": 1,
    "properties": _WINDOW,
}

ACCESS_CREATE: Schema = {
    "type": "object",
    "additionalProperties": False,
    "required": ["flavor_id", "project_id"],
    "properties": {"flavor_id": _NAME, "project_id": {**_NAME, "maxLength": 255}},
}

# The schemas below describe answers. Times in answers have the offset of UTC.
_ID: Schema = {"type": "string", "minLength": 1, "maxLength": 64}
_MOMENT: Schema = {"type": "string", "format": "date-time"}
_TEXT: Schema = {"type": "string"}


def _answer(**properties: Schema) -> Schema:
    return {"type": "object", "required": list(properties), "properties": properties}


FLAVOR: Schema = _answer(
    id=_ID,
    name=_TEXT,
    description=_nullable(_TEXT),
    vcpu=_POSITIVE,
    memory_mb=_POSITIVE,
    disk_gb=_POSITIVE,
    ephemeral_gb=_NATURAL,
    active=_BOOLEAN,
    properties=_nullable(_TEXT),
    max_length_hours=_POSITIVE,
    slots=_POSITIVE,
    is_public=_BOOLEAN,
    extra_specs={"type": "object", "additionalProperties": _TEXT},
    start=_nullable(_MOMENT),
    end=_nullable(_MOMENT),
    category=_nullable(_TEXT),
    availability_zone=_nullable(_TEXT),
)

SPAN: Schema = _answer(start=_MOMENT, end=_MOMENT)

_REASON_CODES = (
    "flavor_inactive",
    "invalid_period",
    "before_flavor_start",
    "after_flavor_end",
    "too_long",
    "no_host_matches",
    "count_over_slots",
    "count_over_hosts",
    "maintenance",
    "not_that_long",
    "all_booked",
)

#: The spans of time in which a flavor is free, and the reason if there are none.
FREE: Schema = _answer(
    results={"type": "array", "items": {"$ref": "#/components/schemas/Span"}},
    reason={
        "anyOf": [
            {"type": "null"},
            _answer(
                code={"enum": list(_REASON_CODES)},
                message={**_TEXT, "description": "A text for people."},
                detail={
                    "type": "object",
                    "description": "Data for programs. The keys depend on `code`.",
                },
            ),
        ],
        "description": "Why there are no spans. This field is null if there are spans.",
    },
)

CAPACITY: Schema = _answer(
    **SPAN["properties"],
    hosts={
        "type": "array",
        "items": _answer(name=_TEXT, instances=_POSITIVE),
        "description": "The hosts that match the flavor, and how many instances each of them holds "
        "when it is empty.",
    },
    instances={
        **_NATURAL,
        "description": "How many instances the hosts hold when nothing else is on them.",
    },
    bookable={
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
        "items": _answer(id=_ID, name=_TEXT, hosts={"type": "array", "items": _TEXT}),
        "description": "The other flavors whose instances can be on the same hosts as instances of "
        "this flavor, each with the names of these hosts.",
    },
)

#: A flavor in the answers under /flavors. The flavor inside a reservation, and every flavor on
#: Warre's path, has only the fields of Warre.
FLAVOR_OFFERED: Schema = {
    "allOf": [
        {"$ref": "#/components/schemas/Flavor"},
        {
            "properties": {
                "bookable": {
                    **_BOOLEAN,
                    "description": "Whether any host could hold an instance of the flavor. If no "
                    "host could, a booking is refused with `no_host_matches`.",
                },
                "bookable_hosts": {
                    **_NATURAL,
                    "description": "How many hosts match the flavor and hold at least one instance "
                    "when empty. Only callers who may see the flavor's capacity get this field.",
                },
                "warnings": {
                    "type": "array",
                    "items": _answer(
                        code={
                            "enum": [
                                "device_not_counted",
                                "devices_shared",
                                "no_candidates",
                                "not_checked",
                            ]
                        },
                        message={**_TEXT, "description": "A text for people."},
                    ),
                    "description": "What is wrong with the flavor. `device_not_counted`: the "
                    "flavor's extra specs ask for devices that can't be counted. Therefore more "
                    "instances may be booked than there are devices. The other warnings are only "
                    "in the answer to the request that makes or changes the flavor. "
                    "`devices_shared`: another flavor takes the same devices in other amounts, so "
                    "that servers may be placed where too little is left for the next one. "
                    "`no_candidates`: Placement finds no host on which a server could boot now. "
                    "`not_checked`: Nova or Placement couldn't be asked whether a server could "
                    "ever boot.",
                },
            }
        },
    ]
}

#: The answer to a request for one flavor. If the query has detail=capacity, the answer also has the
#: flavor's capacity.
FLAVOR_SHOWN: Schema = {
    "allOf": [
        {"$ref": "#/components/schemas/FlavorOffered"},
        {
            "properties": {
                "capacity": {"$ref": "#/components/schemas/Capacity"},
                "limits": {"$ref": "#/components/schemas/FlavorLimits"},
            }
        },
    ]
}

RESERVATION: Schema = _answer(
    id=_ID,
    flavor={"$ref": "#/components/schemas/Flavor"},
    instance_count=_POSITIVE,
    affinity=_AFFINITY,
    **SPAN["properties"],
    status={"enum": ["PENDING_CREATE", "ALLOCATED", "ACTIVE", "COMPLETE", "ERROR"]},
    status_reason=_nullable(_TEXT),
    project_id=_TEXT,
    user_id=_nullable(_TEXT),
    lease_id=_nullable(_TEXT),
    compute_flavor={
        **_nullable(_TEXT),
        "description": "The id of the Nova flavor to boot servers on. It is null while the status "
        "is PENDING_CREATE.",
    },
    created_at=_MOMENT,
)
# These properties are optional, because answers under /v2/warre/v1 don't have them.
RESERVATION["properties"] |= {
    "name": _nullable(_TEXT),
    "note": _nullable(_TEXT),
    "missing_resources": {
        "type": "boolean",
        "description": "Whether some instances are still on failed hosts, because other hosts have "
        "no room for them.",
    },
    "resources_changed": {
        "type": "boolean",
        "description": "Whether some instances got other hosts while the reservation was running, "
        "because their previous hosts had failed.",
    },
}
# Only deleted reservations have these properties. Only a listing with ``deleted=true`` contains
# deleted reservations.
RESERVATION["properties"] |= {
    "deleted_at": _MOMENT,
    "deleted_by": {
        **_nullable(_TEXT),
        "description": "The id of the user who deleted the reservation. It is null if no user did.",
    },
}

ACCESS: Schema = _answer(
    id=_ID, flavor={**_ID, "description": "The flavor's id."}, project_id=_TEXT
)

WINDOW: Schema = _answer(
    id=_ID,
    **SPAN["properties"],
    note=_nullable(_TEXT),
    flavors={"type": "array", "items": _answer(id=_ID, name=_TEXT)},
)

_LIMIT: Schema = {"type": "integer", "minimum": -1, "description": "-1 means unlimited."}

_ABSOLUTE: Schema = _answer(
    maxHours=_LIMIT,
    maxReservations=_LIMIT,
    totalHoursUsed={"type": "integer", "minimum": 0},
    totalReservationsUsed={"type": "integer", "minimum": 0},
)

LIMITS: Schema = _answer(absolute=_ABSOLUTE)

PROJECT_LIMITS: Schema = _answer(project_id=_TEXT, absolute=_ABSOLUTE)


def page(items: Schema) -> Schema:
    """The schema of a page of a listing. The last page has no ``next``."""
    document = _answer(
        results={"type": "array", "items": items}, total={"type": "integer", "minimum": 0}
    )
    document["properties"]["next"] = {"type": "string", "description": "The next page's URL."}
    return document


#: An error's body: Blazar's three keys, ``code``, and ``detail`` if the error has any.
ERROR: Schema = _answer(
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
