"""Converts a request's query and body into checked values.

For a bad value, the functions raise ``InvalidField``. The error names the field.
"""

import datetime
import json
import re
import urllib.parse
import zoneinfo
from collections.abc import Callable, Mapping
from typing import Any

import jsonschema
from webob import Request

from warre_blazar import texts, times
from warre_blazar.db.booking.reservations import SORT_KEYS
from warre_blazar.domain.booking import reservation_states
from warre_blazar.domain.hosts import host_properties
from warre_blazar.domain.records import refusals
from warre_blazar.errors import exceptions
from warre_blazar.fields import waits
from warre_blazar.fields.kinds import EXPECTED, PROJECT_ID, Schema, Text, TimeZone
from warre_blazar.fields.usage import KEYS as USAGE_KEYS

_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]{1,9})?)?"
_OFFSET = r"(Z|z|[+-][0-9]{2}:?[0-9]{2})"
_TIME = f"{_DATE}[T ]{_CLOCK}{_OFFSET}?"
_EARLIEST, _LATEST = datetime.datetime(1970, 1, 1), datetime.datetime(9000, 1, 1)
_SORT = rf"(?P<key>{'|'.join(SORT_KEYS)})(:(?P<order>asc|desc))?"
#: The pattern of whole numbers that are sent as strings.
DIGITS = r"-?[0-9]{1,10}"
_HOURS = r"[0-9]{1,6}(\.[0-9]{1,6})?"
_ANY_STATE = "|".join(reservation_states.ALL)
_ANY_WAIT = "|".join(waits.STATES)
#: Words in queries are as in bodies, so that what was named in a body is found by its name.
_WORD = Text(255, 1)
_PARTS = {"day": times.DAY, "hour": times.HOUR}
_TRUE, _FALSE = {"true", "1", "yes", "on"}, {"false", "0", "no", "off"}


def body(request: Request, schema: Schema) -> dict[str, Any]:
    """The JSON body of a request, checked against a schema. Times are converted to naive UTC.

    :raises InvalidField: a field isn't valid.
    :raises Refused: the body is empty, too large or not a JSON object.
    """
    document = _json_object(request)
    properties = schema["properties"]
    for field, value in document.items():
        if is_whole_number(properties.get(field, {})):
            document[field] = whole(value)
    check(document, schema)
    for field, value in document.items():
        if properties[field].get("format") == "date-time" and value is not None:
            document[field] = time(field, value)
    return document


def is_whole_number(schema: Schema) -> bool:
    """Whether a field's schema is that of a whole number. The field may also allow null."""
    return schema.get("type") in ("integer", ["integer", "null"])


def whole(value: Any) -> Any:
    """Convert a value that stands for a whole number. Any other value is returned as it is.

    Warre accepts whole numbers as strings. In JSON, 2.0 is the same number as 2.
    """
    if isinstance(value, str) and re.fullmatch(DIGITS, value):
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _json_object(request: Request) -> dict[str, Any]:
    return json_object(request.body)


def json_object(raw: bytes) -> dict[str, Any]:
    """The JSON object in a body.

    :raises InvalidField: the body is JSON, but isn't an object.
    :raises Refused: the body or the object is empty, or the body isn't JSON.
    """
    if not raw.strip():
        raise exceptions.Refused(texts.bodies.EMPTY_BODY())
    try:
        document = json.loads(raw.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise exceptions.Refused(texts.bodies.MALFORMED_JSON()) from None
    if not isinstance(document, dict):
        raise exceptions.InvalidField("body", texts.expected.JSON_OBJECT())
    if not document:
        raise exceptions.Refused(texts.bodies.EMPTY_BODY())
    return document


def _no_constant(name: str) -> None:
    raise ValueError(name)


def check(document: dict[str, Any], schema: Schema) -> None:
    """Check a document against a schema.

    :raises InvalidField: a field is unknown, missing or not valid.
    """
    unknown = sorted(set(document) - set(schema["properties"]))
    if unknown:
        raise exceptions.InvalidField(shown(unknown[0]), texts.expected.UNKNOWN())
    missing = [name for name in schema.get("required", ()) if name not in document]
    if missing:
        raise exceptions.InvalidField(missing[0], texts.expected.MISSING())
    error = next(jsonschema.Draft202012Validator(schema).iter_errors(document), None)
    if error is not None:
        raise exceptions.InvalidField(_field(error), _expected(error))
    for field, value in document.items():
        # JSON can contain half of a surrogate pair, which isn't a character.
        if any("\ud800" <= c <= "\udfff" for c in json.dumps(value, ensure_ascii=False)):
            raise exceptions.InvalidField(shown(field), texts.expected.UNICODE())


def _field(error: jsonschema.ValidationError) -> str:
    return ".".join(shown(str(part)) for part in error.absolute_path) or "body"


def shown(name: str) -> str:
    """A field's name from a request, as it is shown in the text of an error.

    The name is shortened, and its characters that aren't ASCII are escaped.
    """
    return name[:64].encode("ascii", "backslashreplace").decode()


def _expected(error: jsonschema.ValidationError) -> texts.Said:
    """What the schema expects.

    It doesn't contain the client's value, because the value may be large.
    """
    rule_value = error.validator_value
    if EXPECTED in error.schema:
        return _said(error.schema)
    match error.validator:
        case "type":
            names = rule_value if isinstance(rule_value, list) else [rule_value]
            return texts.expected.TYPE(types=[texts.expected.TYPES[name] for name in names])
        case "minimum":
            return texts.expected.MINIMUM(least=rule_value)
        case "maximum":
            return texts.expected.MAXIMUM(most=rule_value)
        case "minLength":
            return texts.expected.NOT_EMPTY()
        case "maxLength":
            return texts.expected.SHORTER(most=rule_value)
        case "maxProperties" | "maxItems":
            return texts.expected.FEWER_ENTRIES(most=rule_value)
        case "uniqueItems":
            return texts.expected.UNIQUE_ENTRIES()
        case "not" if EXPECTED in rule_value:
            return _said(rule_value)
        case _:
            return texts.expected.PRINTABLE_TEXT()


def _said(schema: Schema) -> texts.Said:
    said: texts.Said = schema[EXPECTED]
    return said


def time(field: str, text: str) -> datetime.datetime:
    """The naive UTC time of an ISO 8601 text, without its seconds.

    A text without an offset is in UTC.

    :raises InvalidField: the text isn't a time in ISO 8601 from 1970 to 8999.
    """
    try:
        if not re.fullmatch(_TIME, text):
            raise ValueError(text)
        parsed = datetime.datetime.fromisoformat(text)
        if parsed.tzinfo is not None:
            parsed = parsed.astimezone(datetime.UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        raise exceptions.InvalidField(field, texts.expected.DATETIME()) from None
    if not _EARLIEST <= parsed < _LATEST:
        raise exceptions.InvalidField(field, texts.expected.DATETIME_RANGE())
    return parsed.replace(second=0, microsecond=0)


def moment(field: str, text: str) -> datetime.datetime:
    """The naive UTC time of a query parameter that is a time or a date.

    A date means the first minute of the day, in UTC.
    """
    # A "+" that the client didn't encode arrives as a space.
    text = re.sub(r" (\d\d:?\d\d)$", r"+\1", text) if "T" in text else text
    return time(field, f"{text}T00:00" if re.fullmatch(_DATE, text) else text)


def query(request: Request, known: Mapping[str, Any]) -> dict[str, Any]:
    """The converted values of the parameters in a request's query.

    A parameter may be repeated only with the same value.

    :param known: the functions that convert the values, by the names of the parameters.
    :raises InvalidField: a parameter is unknown, has two values, or has an invalid value.
    """
    values: dict[str, str] = {}
    for name, value in request.GET.items():
        if name not in known:
            raise exceptions.InvalidField(shown(name), texts.expected.UNKNOWN())
        if values.setdefault(name, value) != value:
            raise exceptions.InvalidField(shown(name), texts.expected.ONE_VALUE())
    return {name: known[name](name, value) for name, value in values.items()}


def check_encoding(query_string: str) -> None:
    """Check that a query is UTF-8. Pecan and Flask fail on any other query.

    :param query_string: the query as the WSGI server passes it to the application.
    :raises InvalidField:
    """
    try:
        urllib.parse.unquote_to_bytes(query_string.encode("latin-1")).decode()
    except UnicodeDecodeError:
        raise exceptions.InvalidField("query", texts.expected.UTF8()) from None


def boolean(field: str, text: str) -> bool:
    """The Boolean value of a query parameter."""
    if text.lower() in _TRUE:
        return True
    if text.lower() in _FALSE:
        return False
    raise exceptions.InvalidField(field, texts.expected.BOOLEAN())


def positive(field: str, text: str) -> int:
    """The value of a query parameter that is a whole number of at least 1."""
    if not re.fullmatch(DIGITS, text) or not 1 <= int(text) < 2**31:
        raise exceptions.InvalidField(field, texts.expected.WHOLE_NUMBER(least=1))
    return int(text)


def hours(field: str, text: str) -> datetime.timedelta:
    """The value of a query parameter that is a length of time in hours, such as 24 or 1.5.

    It must be a whole number of minutes.
    """
    # Some numbers of minutes, such as 20, can only be written as a rounded number of hours.
    minutes = round(float(text) * times.HOUR / times.MINUTE, 3) if re.fullmatch(_HOURS, text) else 0
    if minutes < 1 or minutes != int(minutes):
        raise exceptions.InvalidField(field, texts.expected.HOURS())
    return minutes * times.MINUTE


def word(field: str, text: str) -> str:
    """The value of a query parameter that is a text of 1 to 255 printable characters."""
    try:
        return _WORD.validate(text)
    except ValueError:
        raise exceptions.InvalidField(field, texts.expected.PRINTABLE_UP_TO(most=255)) from None


def project_id(field: str, text: str) -> str:
    """The value of a query parameter that is the id of a project."""
    try:
        return PROJECT_ID.validate(text)
    except texts.NotValid as error:
        raise exceptions.InvalidField(field, error.expected) from None


def properties(field: str, text: str) -> list[host_properties.Comparison]:
    """The comparisons of a query parameter that is an expression on host properties."""
    try:
        return host_properties.parse(text)
    except texts.NotValid as error:
        raise exceptions.InvalidField(field, error.expected) from None


def part_of_time(field: str, text: str) -> datetime.timedelta:
    """The length of the parts of time that an answer is about."""
    if text not in _PARTS:
        raise exceptions.InvalidField(field, texts.expected.WORD(words=sorted(_PARTS)))
    return _PARTS[text]


def statuses(field: str, text: str) -> frozenset[str]:
    """The states of reservations in a query parameter. Commas separate the states."""
    states = frozenset(text.upper().split(","))
    if not states <= set(reservation_states.ALL):
        raise exceptions.InvalidField(field, texts.expected.SOME_OF(known=reservation_states.ALL))
    return states


def wait_states(field: str, text: str) -> frozenset[str]:
    """The states of waits in a query parameter. Commas separate the states."""
    states = frozenset(text.upper().split(","))
    if not states <= set(waits.STATES):
        raise exceptions.InvalidField(field, texts.expected.SOME_OF(known=waits.STATES))
    return states


def sort(field: str, text: str) -> tuple[str, bool]:
    """The key by which a listing is sorted, and whether the order is descending."""
    match = re.fullmatch(_SORT, text)
    if not match:
        raise exceptions.InvalidField(field, texts.expected.SORT_KEY(known=SORT_KEYS))
    return match["key"], match["order"] == "desc"


def detail(field: str, text: str) -> str:
    """The value of a flavor's query parameter ``detail``, which can only be "capacity"."""
    if text != "capacity":
        raise exceptions.InvalidField(field, texts.expected.WORD(words=["capacity"]))
    return text


#: What the answer about a reservation can have in addition.
RESERVATION_DETAILS = ("log", "servers")


def reservation_detail(field: str, text: str) -> str:
    """The value of a reservation's query parameter ``detail``."""
    if text not in RESERVATION_DETAILS:
        raise exceptions.InvalidField(field, texts.expected.ONE_OF(known=RESERVATION_DETAILS))
    return text


def timezone(field: str, text: str) -> datetime.tzinfo:
    """A time zone, by its name."""
    try:
        return zoneinfo.ZoneInfo(TimeZone().validate(text))
    except texts.NotValid as error:
        raise exceptions.InvalidField(field, error.expected) from None


def usage_key(field: str, text: str) -> str:
    """What usage is added up by."""
    if text not in USAGE_KEYS:
        raise exceptions.InvalidField(field, texts.expected.ONE_OF(known=USAGE_KEYS))
    return text


def refusal_code(field: str, text: str) -> str:
    """The code of a refused request."""
    if text not in refusals.CODES:
        raise exceptions.InvalidField(field, texts.expected.ONE_OF(known=sorted(refusals.CODES)))
    return text


def next_page(field: str, text: str) -> int:
    """The page number in a listing's ``next`` link."""
    return positive(field, text.removeprefix("/?page="))


#: The schema of the values that each conversion function accepts, for the OpenAPI document.
QUERY_SCHEMAS: dict[Callable[[str, str], Any], Schema] = {
    boolean: {
        "type": "string",
        "enum": sorted(_TRUE | _FALSE),
        "description": "The case doesn't matter.",
    },
    positive: {"type": "integer", "minimum": 1, "maximum": 2**31 - 1},
    detail: {"type": "string", "enum": ["capacity"]},
    reservation_detail: {"type": "string", "enum": list(RESERVATION_DETAILS)},
    refusal_code: {"type": "string", "enum": sorted(refusals.CODES)},
    timezone: {"type": "string", "examples": ["Europe/Berlin"]},
    usage_key: {"type": "string", "enum": list(USAGE_KEYS)},
    part_of_time: {"type": "string", "enum": sorted(_PARTS)},
    properties: {
        "type": "string",
        "examples": ['["==", "$gpu_model", "A100"]'],
        "description": "An expression on host properties, as in the properties of flavors. It "
        "selects the flavors whose own properties have all of its comparisons.",
    },
    hours: {
        "type": "string",
        "pattern": f"^{_HOURS}$",
        "examples": ["24", "1.5"],
        "description": "A number of hours. It must be a whole number of minutes.",
    },
    statuses: {
        "type": "string",
        "pattern": f"^({_ANY_STATE})(,({_ANY_STATE}))*$",
        "examples": ["ALLOCATED,ACTIVE"],
        "description": "One or more states, separated by commas. The case doesn't matter.",
    },
    wait_states: {
        "type": "string",
        "pattern": f"^({_ANY_WAIT})(,({_ANY_WAIT}))*$",
        "examples": ["WAITING,BOOKING"],
        "description": "One or more states, separated by commas. The case doesn't matter.",
    },
    sort: {
        "type": "string",
        "pattern": f"^({'|'.join(SORT_KEYS)})(:(asc|desc))?$",
        "examples": ["start", "created_at:desc"],
    },
    word: {"type": "string", "minLength": 1, "maxLength": 255},
    project_id: {"type": "string", "minLength": 1, "maxLength": 64, "pattern": "^[A-Za-z0-9-]+$"},
    moment: {
        "type": "string",
        "pattern": f"^({_DATE}|{_TIME})$",
        "examples": ["2026-12-01", "2026-12-01T09:00:00+00:00"],
        "description": "A date, or a time in ISO 8601. Without an offset the time is in UTC.",
    },
    next_page: {
        "type": "string",
        "pattern": r"^(/\?page=)?[0-9]{1,10}$",
        "description": "The page, in the form in which the link to the next page contains it. It "
        "takes precedence over `page`.",
    },
}
