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
_PRINTABLE = r"^[^\u0000-\u001f\u007f]*$"
_PROSE = r"^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]*$"
_NAME: Schema = {"type": "string", "minLength": 1, "maxLength": 64, "pattern": _PRINTABLE}
_TIME: Schema = {"type": "string", "format": "date-time", "maxLength": 64}


def _nullable(schema: Schema) -> Schema:
    return {**schema, "type": [schema["type"], "null"]}


_FLAVOR_TERMS: dict[str, Schema] = {
    "name": {**_NAME, "pattern": r"^[^\u0000-\u001f\u007f\s]([^\u0000-\u001f\u007f]*\S)?$"},
    "description": _nullable({"type": "string", "maxLength": 4096, "pattern": _PROSE}),
    "active": _BOOLEAN,
    "properties": _nullable({"type": "string", "maxLength": 4096, "pattern": _PROSE}),
    "max_length_hours": _POSITIVE,
    "slots": _POSITIVE,
    "is_public": _BOOLEAN,
    "extra_specs": {
        "type": "object",
        "maxProperties": 128,
        "propertyNames": {"minLength": 1, "maxLength": 255},
        "additionalProperties": {"type": "string", "maxLength": 255, "pattern": _PRINTABLE},
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

RESERVATION_CREATE: Schema = {
    "type": "object",
    "additionalProperties": False,
    "required": ["flavor_id", "start", "end"],
    "properties": {
        "flavor_id": _NAME,
        "start": _TIME,
        "end": _TIME,
        "instance_count": _POSITIVE,
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
    "note": _nullable({"type": "string", "maxLength": 4096, "pattern": _PROSE}),
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
