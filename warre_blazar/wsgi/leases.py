"""Bodies of Blazar's v1 leases: what they may have in them, as JSON Schema.

Blazar's v1 passes every key of a body to the manager, and the manager writes nearly all of them
into the lease's row. So this is a list of what is allowed.
"""

import datetime
import math
from typing import Any

from warre_blazar import exceptions
from warre_blazar.api import parsing
from warre_blazar.api.parsing import EXPECTED
from warre_blazar.api.schemas import Schema

#: Where the checked body waits for who checks it against the lease, in the request's environment.
CHECKED = "warre.lease"

#: How deep lists and objects may be in each other; the deepest known (extra_specs) needs four.
MAX_DEPTH = 6
#: How Blazar reads and writes times, in UTC.
DATE_FORMAT = "%Y-%m-%d %H:%M"
_DATES = ("start_date", "end_date", "before_end_date")
_MAX_INT = 2**31 - 1
#: As the properties of a flavor; Blazar asks its database for some parts of an expression.
_LONGEST_EXPRESSION = 4096

_CONTROL = r"[\u0000-\u001f\u007f]"


def _text(longest: int, expected: str = "", **rules: Any) -> Schema:
    expected = expected or f"expected a printable text of 1 to {longest} characters"
    schema = {"type": "string", "minLength": 1, "maxLength": longest, **rules}
    return {**schema, "not": {"type": "string", "pattern": _CONTROL}, EXPECTED: expected}


_NAME = _text(80)
# As Blazar parses it, within what can be computed with.
_DATE = _text(
    16,
    'expected a time in UTC such as "2026-12-01 09:00"',
    pattern=r"^(now|(19[7-9]|[2-8][0-9]{2})[0-9]-[0-9]{1,2}-[0-9]{1,2} [0-9]{1,2}:[0-9]{1,2})$",
)
_ID = _text(36, "expected the id of a reservation", pattern=r"^[0-9a-zA-Z-]+$")
_EXPRESSION: Schema = {
    "type": ["string", "null"],
    "maxLength": _LONGEST_EXPRESSION,
    EXPECTED: f"expected a text of at most {_LONGEST_EXPRESSION} characters",
}


def _number(least: int) -> Schema:
    return {
        "type": "integer",
        "minimum": least,
        "maximum": _MAX_INT,
        EXPECTED: f"expected a whole number from {least} to {_MAX_INT}",
    }


#: What Blazar's resource types and ours read of a reservation.
_READ: dict[str, Schema] = {
    "amount": _number(1),
    "min": _number(1),
    "max": _number(1),
    # Blazar counts for ever where vcpus, memory_mb and disk_gb are 0.
    "vcpus": _number(1),
    "memory_mb": _number(1),
    "disk_gb": _number(0),
    "ephemeral_gb": {**_number(0), "type": ["integer", "null"]},
    "affinity": {
        "type": ["boolean", "string", "integer", "null"],
        "maxLength": 16,
        EXPECTED: "expected true, false or none",
    },
    "hypervisor_properties": _EXPRESSION,
    "resource_properties": _EXPRESSION,
    "before_end": _text(36),
    "flavor_id": _text(255, "expected the id or name of a flavor"),
    "network_id": _text(36),
    "required_floatingips": {"type": "array", "maxItems": 64, "items": _text(64)},
    "extra_specs": {"type": ["object", "null"]},
}
_NUMBERS = [name for name, schema in _READ.items() if "integer" in schema["type"]]
_NUMBERS.remove("affinity")

#: What Blazar itself writes beside them. In a change, a date of a reservation would go before
#: the lease's.
_WRITTEN = {
    name: {"not": {}, EXPECTED: "expected nothing, for Blazar sets it itself"}
    for name in (
        *("lease_id", "project_id", "user_id", "trust_id", "start_date", "end_date"),
        *("resource_id", "status", "created_at", "updated_at"),
        *("missing_resources", "resources_changed", "count_range"),
    )
}


# Blazar looks for hosts before it looks whether all of these are there.
_INSTANCE: Schema = {
    "if": {"properties": {"resource_type": {"const": "virtual:instance"}}},
    "then": {
        "required": ["amount", "vcpus", "memory_mb", "disk_gb", "affinity", "resource_properties"],
        EXPECTED: "expected amount, vcpus, memory_mb, disk_gb, affinity and resource_properties",
    },
}


def _reservation(required: str, **more: Schema) -> Schema:
    # Open, for resource types of others have keys of their own.
    return {
        "type": "object",
        "required": [required],
        "maxProperties": 64,
        "propertyNames": _text(64),
        "properties": {**_READ, **_WRITTEN, "resource_type": _text(66), **more},
        EXPECTED: f"expected an object with {required}, of at most 64 keys",
    }


CREATE: Schema = {
    "type": "object",
    "required": ["name", "start_date", "end_date", "reservations"],
    "properties": {
        "name": _NAME,
        "start_date": _DATE,
        "end_date": _DATE,
        "before_end_date": {**_DATE, "type": ["string", "null"]},
        "reservations": {
            "type": "array",
            "minItems": 1,
            EXPECTED: "expected a list of at least one reservation",
            "items": {**_reservation("resource_type", id=_WRITTEN["lease_id"]), **_INSTANCE},
        },
        # Clients send an empty list of events.
        "events": {"type": "array", "maxItems": 0, EXPECTED: "expected an empty list"},
    },
}

UPDATE: Schema = {
    "type": "object",
    "properties": {
        "name": _NAME,
        "start_date": _DATE,
        "end_date": _DATE,
        "before_end_date": _DATE,
        "reservations": {
            "type": "array",
            "items": _reservation("id", id=_ID),
            EXPECTED: "expected a list of reservations",
        },
    },
}


def checked(method: str, body: bytes, most_reservations: int) -> dict[str, Any]:
    """The body of a request that makes (POST) or changes a lease, as Blazar may have it.

    Whole numbers that were sent as texts are numbers in it, since Blazar compares some of them.

    :raises InvalidField: naming the field.
    :raises Refused: the body is empty, isn't a JSON object, or has too many reservations.
    """
    document = parsing.json_object(body)
    reservations = document.get("reservations")
    if isinstance(reservations, list):
        _check_number(len(reservations), most_reservations)
    _check_values("body", document, MAX_DEPTH)
    if isinstance(reservations, list):
        for reservation in reservations:
            _make_whole(reservation)
    parsing.check(document, CREATE if method == "POST" else UPDATE)
    for name in _DATES:
        _check_day(name, document.get(name))
    return document


def _check_number(asked: int, limit: int) -> None:
    if asked > limit:
        raise exceptions.Refused(
            "too_many_reservations",
            f"reservations: expected at most {limit} in one lease, not {asked}",
            asked=asked,
            limit=limit,
        )


def _check_day(field: str, text: str | None) -> None:
    """Refuse a time of the right form that there isn't, such as one on 30 February."""
    if text in (None, "now"):
        return
    try:
        datetime.datetime.strptime(str(text), DATE_FORMAT)
    except ValueError:
        raise exceptions.InvalidField(field, "expected a day and hour that there are") from None


def _make_whole(reservation: Any) -> None:
    if isinstance(reservation, dict):
        numbers = {n: parsing.whole(reservation[n]) for n in _NUMBERS if n in reservation}
        reservation.update(numbers)


def _check_values(field: str, value: Any, depth: int) -> None:
    """Refuse what Blazar's parser, its message bus or its database would fail on."""
    match value:
        case dict() | list() if depth == 0:
            raise exceptions.InvalidField(
                parsing.shown(field), f"expected at most {MAX_DEPTH} levels"
            )
        case dict():
            for name, each in value.items():
                _check_values(field, name, depth)
                _check_values(f"{field}.{name}" if depth < MAX_DEPTH else name, each, depth - 1)
        case list():
            for number, each in enumerate(value):
                _check_values(f"{field}.{number}", each, depth - 1)
        case float() if not math.isfinite(value):
            raise exceptions.InvalidField(parsing.shown(field), "expected a number")
        case int() if abs(value) > 2**63:
            raise exceptions.InvalidField(parsing.shown(field), "expected a smaller number")
        case str() if not value.isascii() and any(not _is_storable(c) for c in value):
            raise exceptions.InvalidField(
                parsing.shown(field),
                "expected no characters beyond U+FFFF, such as emoji, which Blazar's tables "
                "don't hold",
            )


def _is_storable(char: str) -> bool:
    # Halves of surrogate pairs, which JSON can spell, are no characters.
    return ord(char) <= 0xFFFF and not "\ud800" <= char <= "\udfff"
