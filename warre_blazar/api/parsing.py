"""From what a client sends to checked values. Whatever is wrong raises InvalidField."""

import datetime
import json
import re
from collections.abc import Mapping
from typing import Any

import jsonschema
from webob import Request

from warre_blazar import exceptions
from warre_blazar.api.schemas import Schema

MAX_BODY = 128 * 1024

_TIME = re.compile(r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?(Z|z|[+-]\d\d:?\d\d)?$")
_DATE = re.compile(r"^\d{4}-\d\d-\d\d$")
_EARLIEST, _LATEST = datetime.datetime(1970, 1, 1), datetime.datetime(9000, 1, 1)
_DIGITS = re.compile(r"^-?[0-9]{1,10}$")
_TRUE, _FALSE = {"true", "1", "yes", "on"}, {"false", "0", "no", "off"}
_TYPE_NAMES = {
    "integer": "a whole number",
    "string": "a text",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}


def body(request: Request, schema: Schema) -> dict[str, Any]:
    """The request's JSON body, checked against a schema, its times as naive UTC.

    :raises InvalidField: naming the field.
    :raises Refused: nothing sent, or too much.
    """
    document = _json_object(request)
    properties = schema["properties"]
    for field, value in document.items():
        # Form values and the like arrive as text; Warre takes them.
        is_integer = properties.get(field, {}).get("type") == "integer"
        if is_integer and isinstance(value, str) and _DIGITS.match(value):
            document[field] = int(value)
    _check(document, schema)
    for field, value in document.items():
        if properties[field].get("format") == "date-time" and value is not None:
            document[field] = time(field, value)
    return document


def _json_object(request: Request) -> dict[str, Any]:
    if (request.content_length or 0) > MAX_BODY:
        raise exceptions.Refused(
            "body_too_large", f"The body is too large, expected at most {MAX_BODY} bytes"
        )
    raw = request.body
    if not raw.strip():
        raise exceptions.Refused("empty_body", "No input data provided")
    try:
        document = json.loads(raw.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise exceptions.Refused("malformed_json", "body: expected JSON in UTF-8") from None
    if not isinstance(document, dict):
        raise exceptions.Refused("malformed_json", "body: expected a JSON object")
    if not document:
        raise exceptions.Refused("empty_body", "No input data provided")
    return document


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _check(document: dict[str, Any], schema: Schema) -> None:
    unknown = sorted(set(document) - set(schema["properties"]))
    if unknown:
        raise exceptions.InvalidField(_shown(unknown[0]), "Unknown field.")
    missing = [name for name in schema.get("required", ()) if name not in document]
    if missing:
        raise exceptions.InvalidField(missing[0], "Missing data for required field.")
    error = next(jsonschema.Draft202012Validator(schema).iter_errors(document), None)
    if error is not None:
        raise exceptions.InvalidField(_field(error), _expected(error))


def _field(error: jsonschema.ValidationError) -> str:
    return ".".join(_shown(str(part)) for part in error.absolute_path) or "body"


def _shown(name: str) -> str:
    return name[:64].encode("ascii", "backslashreplace").decode()


def _expected(error: jsonschema.ValidationError) -> str:
    """What the schema wanted, in words; the value itself may be a megabyte."""
    want = error.validator_value
    match error.validator:
        case "type":
            names = want if isinstance(want, list) else [want]
            return "expected " + " or ".join(_TYPE_NAMES[name] for name in names)
        case "minimum":
            return f"expected at least {want}"
        case "maximum":
            return f"expected at most {want}"
        case "minLength":
            return "expected a text that isn't empty"
        case "maxLength":
            return f"expected at most {want} characters"
        case "maxProperties" | "maxItems":
            return f"expected at most {want} entries"
        case "uniqueItems":
            return "expected each entry once"
        case _:
            return "expected printable text that neither starts nor ends with a space"


def time(field: str, text: str) -> datetime.datetime:
    """ISO 8601 with or without offset (without: UTC), to the minute, as naive UTC."""
    try:
        if not _TIME.match(text):
            raise ValueError(text)
        parsed = datetime.datetime.fromisoformat(text)
        if parsed.tzinfo is not None:
            parsed = parsed.astimezone(datetime.UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        raise exceptions.InvalidField(
            field, "Not a valid datetime, expected one such as 2026-12-01T09:00:00+00:00."
        ) from None
    if not _EARLIEST <= parsed < _LATEST:
        raise exceptions.InvalidField(
            field, "Not a valid datetime, expected one between 1970 and 9000."
        )
    return parsed.replace(second=0, microsecond=0)


def moment(field: str, text: str) -> datetime.datetime:
    """A query's date (its first minute, in UTC) or time."""
    # A + that wasn't quoted arrives as a space.
    text = re.sub(r" (\d\d:?\d\d)$", r"+\1", text) if "T" in text else text
    return time(field, f"{text}T00:00" if _DATE.match(text) else text)


def query(request: Request, known: Mapping[str, Any]) -> dict[str, Any]:
    """The query's values, each converted by its function in ``known``; absent ones are absent.

    A value that is given twice counts once when the two are the same.
    """
    values: dict[str, str] = {}
    for name, value in request.GET.items():
        if name not in known:
            raise exceptions.InvalidField(_shown(name), "Unknown field.")
        if values.setdefault(name, value) != value:
            raise exceptions.InvalidField(_shown(name), "expected one value")
    return {name: known[name](name, value) for name, value in values.items()}


def boolean(field: str, text: str) -> bool:
    """A query's true or false."""
    if text.lower() in _TRUE:
        return True
    if text.lower() in _FALSE:
        return False
    raise exceptions.InvalidField(field, "expected true or false")


def positive(field: str, text: str) -> int:
    """A query's whole number of at least 1."""
    if not _DIGITS.match(text) or not 1 <= int(text) < 2**31:
        raise exceptions.InvalidField(field, "expected a whole number of at least 1")
    return int(text)


def word(field: str, text: str) -> str:
    """A query's text."""
    if not 1 <= len(text) <= 255 or not text.isprintable():
        raise exceptions.InvalidField(field, "expected 1 to 255 printable characters")
    return text


def next_page(field: str, text: str) -> int:
    """The page number in a listing's ``next`` link."""
    return positive(field, text.removeprefix("/?page="))
