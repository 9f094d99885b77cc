"""The documents of the API as JSON Schema, which checks requests and documents answers.

Names and meaning of the fields are Warre's.
"""

from typing import Any

Schema = dict[str, Any]

_INT = {"type": "integer", "maximum": 2**31 - 1}
_POSITIVE: Schema = {**_INT, "minimum": 1}
_NATURAL: Schema = {**_INT, "minimum": 0}
_BOOLEAN: Schema = {"type": "boolean"}
# No control characters: they hide in a list, and NUL ends a text in some databases.
# (As what may not be in it: in Python a "$" lets a last newline through.)
_PRINTABLE: Schema = {"not": {"type": "string", "pattern": r"[\u0000-\u001f\u007f]"}}
_PROSE: Schema = {
    "not": {"type": "string", "pattern": r"[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]"}
}
_TRIMMED: Schema = {"not": {"type": "string", "pattern": r"[\u0000-\u001f\u007f]|^\s|\s$"}}
_NAME: Schema = {"type": "string", "minLength": 1, "maxLength": 64, **_PRINTABLE}
_TIME: Schema = {"type": "string", "format": "date-time", "maxLength": 64}


def _nullable(schema: Schema) -> Schema:
    return {**schema, "type": [schema["type"], "null"]}


_FLAVOR_TERMS: dict[str, Schema] = {
    "name": {**_NAME, **_TRIMMED},
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
        **_FLAVOR_TERMS,
        "vcpu": _POSITIVE,
        "memory_mb": _POSITIVE,
        "disk_gb": _POSITIVE,
        "ephemeral_gb": _NATURAL,
    },
}

#: What a flavor is when its creation doesn't say.
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

#: The sizes of a flavor stay as they were made.
FLAVOR_UPDATE: Schema = {
    "type": "object",
    "additionalProperties": False,
    "minProperties": 1,
    "properties": _FLAVOR_TERMS,
}

_AFFINITY: Schema = {
    **_nullable(_BOOLEAN),
    "description": "true: all on one host; false: each on a host of its own; null: wherever.",
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
    },
}

#: Of a reservation only the end can be changed.
RESERVATION_UPDATE: Schema = {
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

# What the API answers. Times have an offset, which is always UTC's.
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

CAPACITY: Schema = _answer(
    **SPAN["properties"],
    hosts={
        "type": "array",
        "items": _answer(name=_TEXT, instances=_POSITIVE),
        "description": "The hosts that match, and how many instances each holds when empty.",
    },
    instances={**_NATURAL, "description": "What the hosts hold with nothing else on them."},
    bookable={**_NATURAL, "description": "The same, or the slots where these are fewer."},
    booked_now={**_NATURAL, "description": "Instances booked at this minute."},
    booked_peak={**_NATURAL, "description": "The most booked at one moment of the time asked for."},
    utilisation={
        "type": ["number", "null"],
        "minimum": 0,
        "description": "Instances booked, times how long, in relation to the bookable ones over "
        "all of the time; null where none are bookable. Above 1 where slots or hosts went.",
    },
    sharing={
        "type": "array",
        "items": _answer(id=_ID, name=_TEXT, hosts={"type": "array", "items": _TEXT}),
        "description": "Other flavors that the same hosts take, and which hosts.",
    },
)

#: A flavor as one is shown alone; capacity for who asks for it.
FLAVOR_SHOWN: Schema = {
    "allOf": [
        {"$ref": "#/components/schemas/Flavor"},
        {"properties": {"capacity": {"$ref": "#/components/schemas/Capacity"}}},
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
    lease_id=_TEXT,
    compute_flavor={**_nullable(_TEXT), "description": "The Nova flavor to boot on, once made."},
    created_at=_MOMENT,
)

ACCESS: Schema = _answer(
    id=_ID, flavor={**_ID, "description": "The flavor's id."}, project_id=_TEXT
)

WINDOW: Schema = _answer(
    id=_ID,
    **SPAN["properties"],
    note=_nullable(_TEXT),
    flavors={"type": "array", "items": _answer(id=_ID, name=_TEXT)},
)

_LIMIT: Schema = {"type": "integer", "minimum": -1, "description": "-1 is unlimited."}

_ABSOLUTE: Schema = _answer(
    maxHours=_LIMIT,
    maxReservations=_LIMIT,
    totalHoursUsed={"type": "integer", "minimum": 0},
    totalReservationsUsed={"type": "integer", "minimum": 0},
)

LIMITS: Schema = _answer(absolute=_ABSOLUTE)

PROJECT_LIMITS: Schema = _answer(project_id=_TEXT, absolute=_ABSOLUTE)


def page(items: Schema) -> Schema:
    """A page of a listing; the last one has no ``next``."""
    document = _answer(
        results={"type": "array", "items": items}, total={"type": "integer", "minimum": 0}
    )
    document["properties"]["next"] = {"type": "string", "description": "The next page's URL."}
    return document


#: Blazar's three keys, and ours: a stable code, and data where there are any.
ERROR: Schema = _answer(
    error_code={"type": "integer", "description": "The status."},
    error_message={"type": "string", "minLength": 1, "description": "For a person."},
    error_name=_TEXT,
    code={"type": "string", "description": "For a program; it stays as it is."},
)
ERROR["properties"]["detail"] = {"type": "object", "description": "Data, by the code."}
