"""JSON Schemas of the bodies with which leases are created and changed over Blazar's v1 API.

Blazar's v1 passes every key of a body to the manager, and the manager writes nearly all of them
into the lease's row. The schemas therefore list the keys that a lease may have.
"""

import datetime
import math
from typing import Any

from warre_blazar import texts
from warre_blazar.api import parsing
from warre_blazar.domain.booking import booking_rules
from warre_blazar.errors import exceptions
from warre_blazar.fields.kinds import EXPECTED, Schema
from warre_blazar.texts import Said, expected

#: The key of the checked body in a request's WSGI environment. ``after_authentication``
#: gets the body by this key, to compare it with the lease.
CHECKED = "warre.lease"

#: The largest number of levels of lists and objects in a body. The deepest valid field,
#: extra_specs, needs four levels.
MAX_DEPTH = 6
#: The format in which Blazar reads and writes times, in UTC.
DATE_FORMAT = "%Y-%m-%d %H:%M"
_DATES = ("start_date", "end_date", "before_end_date")
_MAX_INT = 2**31 - 1
#: The largest number of characters of an expression about hosts. The properties of a flavor have
#: the same limit. Blazar sends separate queries to its database for parts of an expression, so a
#: long expression is expensive.
_LONGEST_EXPRESSION = 4096

_CONTROL = r"[\u0000-\u001f\u007f]"


def _text(longest: int, said: Said | None = None, **rules: Any) -> Schema:
    said = said or expected.PRINTABLE_UP_TO(most=longest)
    schema = {"type": "string", "minLength": 1, "maxLength": longest, **rules}
    return {**schema, "not": {"type": "string", "pattern": _CONTROL}, EXPECTED: said}


_NAME = _text(80)
# The format that Blazar parses. The years are limited so that Blazar's computations can't overflow.
_DATE = _text(
    16,
    expected.LEASE_TIME_UTC(),
    pattern=r"^(now|(19[7-9]|[2-8][0-9]{2})[0-9]-[0-9]{1,2}-[0-9]{1,2} [0-9]{1,2}:[0-9]{1,2})$",
)
_ID = _text(36, expected.ID_OF_RESERVATION(), pattern=r"^[0-9a-zA-Z-]+$")
#: The largest number of reservations in one lease. Each of them takes several requests to Nova and
#: Placement, so a lease with many would take long to start and to end.
MOST_RESERVATIONS = 32

_EXPRESSION: Schema = {
    "type": ["string", "null"],
    "maxLength": _LONGEST_EXPRESSION,
    EXPECTED: expected.SHORTER_STRING(most=_LONGEST_EXPRESSION),
}


def _number(least: int) -> Schema:
    return {
        "type": "integer",
        "minimum": least,
        "maximum": _MAX_INT,
        EXPECTED: expected.WHOLE_NUMBER_BETWEEN(least=least, most=_MAX_INT),
    }


#: The keys of a reservation that Blazar's resource types and this package's resource type use.
_READ: dict[str, Schema] = {
    "amount": _number(1),
    "min": _number(1),
    "max": _number(1),
    # Blazar enters an endless loop if vcpus, memory_mb and disk_gb are all 0.
    "vcpus": _number(1),
    "memory_mb": _number(1),
    "disk_gb": _number(0),
    "ephemeral_gb": {**_number(0), "type": ["integer", "null"]},
    "affinity": {
        "type": ["boolean", "string", "integer", "null"],
        "maxLength": 16,
        EXPECTED: expected.BOOLEAN_OR_NONE(),
    },
    "hypervisor_properties": _EXPRESSION,
    "resource_properties": _EXPRESSION,
    "before_end": _text(36),
    "movable_hours": _number(0),
    "flavor_id": _text(255, expected.FLAVOR_REF()),
    "network_id": _text(36),
    "required_floatingips": {"type": "array", "maxItems": 64, "items": _text(64)},
    "extra_specs": {"type": ["object", "null"]},
}
_NUMBERS = [name for name, schema in _READ.items() if "integer" in schema["type"]]
_NUMBERS.remove("affinity")

#: The keys of a reservation that only Blazar may set. For example, if a client sent the start_date
#: of a reservation, it would take precedence over the start of the lease.
_WRITTEN = {
    name: {"not": {}, EXPECTED: expected.SET_BY_BLAZAR()}
    for name in (
        *("lease_id", "project_id", "user_id", "trust_id", "start_date", "end_date"),
        *("resource_id", "status", "created_at", "updated_at"),
        *("missing_resources", "resources_changed", "count_range", "shown", "sent_flavor"),
    )
}


# Each virtual:instance reservation must have the keys that are required below. Blazar checks that
# too, but only after it has searched for hosts.
_INSTANCE: Schema = {
    "if": {"properties": {"resource_type": {"const": "virtual:instance"}}},
    "then": {
        "required": ["amount", "vcpus", "memory_mb", "disk_gb", "affinity", "resource_properties"],
        EXPECTED: expected.INSTANCE_FIELDS(),
    },
}


def _reservation(required: str, **more: Schema) -> Schema:
    # A reservation may also have keys that aren't listed here, because other packages' resource
    # types have keys of their own.
    return {
        "type": "object",
        "required": [required],
        "maxProperties": 64,
        "propertyNames": _text(64),
        "properties": {**_READ, **_WRITTEN, "resource_type": _text(66), **more},
        EXPECTED: expected.RESERVATION_OBJECT(required=required, most=64),
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
            EXPECTED: expected.SOME_RESERVATIONS(),
            "items": {**_reservation("resource_type", id=_WRITTEN["lease_id"]), **_INSTANCE},
        },
        # An empty list is allowed, because python-blazarclient sends one.
        "events": {"type": "array", "maxItems": 0, EXPECTED: expected.EMPTY_LIST()},
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
            EXPECTED: expected.RESERVATIONS(),
        },
    },
}


def checked(method: str, body: bytes) -> dict[str, Any]:
    """Check the body of a request that creates or changes a lease, and parse it for Blazar.

    Whole numbers that were sent as strings are converted, because Blazar compares some of them with
    numbers.

    :param method: POST for a creation, any other method for a change.
    :returns: the checked body, which Blazar reads in place of the original one.
    :raises InvalidField: a field isn't valid.
    :raises MixedLease: a new lease would have reservations of ours and others.
    :raises Refused: the body is empty, isn't JSON, or has too many reservations.
    """
    document = parsing.json_object(body)
    reservations = document.get("reservations")
    if isinstance(reservations, list):
        _check_count(len(reservations))
    check_values("body", document, MAX_DEPTH)
    if isinstance(reservations, list):
        for reservation in reservations:
            _convert_numbers(reservation)
    parsing.check(document, CREATE if method == "POST" else UPDATE)
    _check_unique_ids(document.get("reservations", []))
    if method == "POST":
        booking_rules.check_types(r["resource_type"] for r in document["reservations"])
    for name in _DATES:
        _check_day(name, document.get(name))
    return document


def _check_unique_ids(reservations: list[dict[str, Any]]) -> None:
    """Refuse two changes of one reservation, of which Blazar would keep only the second one.

    :param reservations: the reservations of a body. The reservations of a new lease have no ids.
    """
    ids = set()
    for number, reservation in enumerate(reservations):
        if (reservation_id := reservation.get("id")) in ids:
            raise exceptions.InvalidField(
                f"reservations.{number}.id", texts.expected.RESERVATION_ONCE()
            )
        if reservation_id is not None:
            ids.add(reservation_id)


def _check_count(count: int) -> None:
    if count > MOST_RESERVATIONS:
        raise exceptions.Refused(
            texts.refusals.TOO_MANY_RESERVATIONS(asked=count, limit=MOST_RESERVATIONS)
        )


def _check_day(field: str, text: str | None) -> None:
    """Refuse a time that has the right format but doesn't exist, such as one on 30 February."""
    if text in (None, "now"):
        return
    try:
        datetime.datetime.strptime(str(text), DATE_FORMAT)
    except ValueError:
        raise exceptions.InvalidField(field, texts.expected.REAL_TIME()) from None


def _convert_numbers(reservation: Any) -> None:
    if isinstance(reservation, dict):
        numbers = {n: parsing.whole(reservation[n]) for n in _NUMBERS if n in reservation}
        reservation.update(numbers)
        flavor = reservation.get("flavor_id")
        if isinstance(flavor, int) and not isinstance(flavor, bool):
            # python-blazarclient sends an id that looks like a number as a number.
            reservation["flavor_id"] = str(flavor)


def check_values(field: str, value: Any, depth: int) -> None:
    """Refuse values on which Blazar's parser, its message bus or its database would fail.

    :param field: the path of the value in the body.
    :param depth: the largest number of levels of lists and objects that the value may have.
    """
    match value:
        case dict() | list() if depth == 0:
            raise exceptions.InvalidField(
                parsing.shown(field), texts.expected.LEVELS(levels=MAX_DEPTH)
            )
        case dict():
            for name, item in value.items():
                check_values(field, name, depth)
                check_values(f"{field}.{name}" if depth < MAX_DEPTH else name, item, depth - 1)
        case list():
            for number, item in enumerate(value):
                check_values(f"{field}.{number}", item, depth - 1)
        case float() if not math.isfinite(value):
            raise exceptions.InvalidField(parsing.shown(field), texts.expected.NUMBER())
        case int() if abs(value) > 2**63:
            raise exceptions.InvalidField(parsing.shown(field), texts.expected.SMALLER_NUMBER())
        case str() if not value.isascii() and any(not _is_storable(c) for c in value):
            raise exceptions.InvalidField(parsing.shown(field), texts.expected.BASIC_PLANE_IN_V1())


def _is_storable(char: str) -> bool:
    # JSON can contain half of a surrogate pair, which isn't a character.
    return ord(char) <= 0xFFFF and not "\ud800" <= char <= "\udfff"
