"""From what a client sends to checked values. Whatever is wrong raises InvalidField."""

import datetime
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import jsonschema
from webob import Request

from warre_blazar import exceptions
from warre_blazar.api.schemas import Schema

MAX_BODY = 128 * 1024

_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]{1,9})?)?"
_OFFSET = r"(Z|z|[+-][0-9]{2}:?[0-9]{2})"
_TIME = f"{_DATE}[T ]{_CLOCK}{_OFFSET}?"
_EARLIEST, _LATEST = datetime.datetime(1970, 1, 1), datetime.datetime(9000, 1, 1)
#: In a schema: what it expects, in words of its own.
EXPECTED = "x-expected"
#: Whole numbers in texts.
DIGITS = r"-?[0-9]{1,10}"
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
        if properties.get(field, {}).get("type") == "integer":
            document[field] = whole(value)
    check(document, schema)
    for field, value in document.items():
        if properties[field].get("format") == "date-time" and value is not None:
            document[field] = time(field, value)
    return document


def whole(value: Any) -> Any:
    """A whole number that was sent as text, as Warre takes it, or as 2.0, which to JSON is 2."""
    if isinstance(value, str) and re.fullmatch(DIGITS, value):
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _json_object(request: Request) -> dict[str, Any]:
    if (request.content_length or 0) > MAX_BODY:
        raise exceptions.Refused(
            "body_too_large", f"The body is too large, expected at most {MAX_BODY} bytes"
        )
    return json_object(request.body)


def json_object(raw: bytes) -> dict[str, Any]:
    """The JSON object that a body is.

    :raises Refused: the body is empty, or anything else.
    """
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


def check(document: dict[str, Any], schema: Schema) -> None:
    """Check a document against a schema, whose own words for a rule go before ours.

    :raises InvalidField: naming the field.
    """
    unknown = sorted(set(document) - set(schema["properties"]))
    if unknown:
        raise exceptions.InvalidField(shown(unknown[0]), "Unknown field.")
    missing = [name for name in schema.get("required", ()) if name not in document]
    if missing:
        raise exceptions.InvalidField(missing[0], "Missing data for required field.")
    error = next(jsonschema.Draft202012Validator(schema).iter_errors(document), None)
    if error is not None:
        raise exceptions.InvalidField(_field(error), _expected(error))
    for field, value in document.items():
        # Half of a surrogate pair, which JSON can spell, is no character.
        if any("\ud800" <= c <= "\udfff" for c in json.dumps(value, ensure_ascii=False)):
            raise exceptions.InvalidField(shown(field), "expected Unicode text")


def _field(error: jsonschema.ValidationError) -> str:
    return ".".join(shown(str(part)) for part in error.absolute_path) or "body"


def shown(name: str) -> str:
    """A client's name for a field, short and in ASCII."""
    return name[:64].encode("ascii", "backslashreplace").decode()


def _expected(error: jsonschema.ValidationError) -> str:
    """What the schema wanted, in words; the value itself may be a megabyte."""
    want = error.validator_value
    if EXPECTED in error.schema:
        return str(error.schema[EXPECTED])
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
        if not re.fullmatch(_TIME, text):
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
    return time(field, f"{text}T00:00" if re.fullmatch(_DATE, text) else text)


def query(request: Request, known: Mapping[str, Any]) -> dict[str, Any]:
    """The query's values, each converted by its function in ``known``; absent ones are absent.

    A value that is given twice counts once when the two are the same.
    """
    values: dict[str, str] = {}
    for name, value in request.GET.items():
        if name not in known:
            raise exceptions.InvalidField(shown(name), "Unknown field.")
        if values.setdefault(name, value) != value:
            raise exceptions.InvalidField(shown(name), "expected one value")
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
    if not re.fullmatch(DIGITS, text) or not 1 <= int(text) < 2**31:
        raise exceptions.InvalidField(field, "expected a whole number of at least 1")
    return int(text)


def word(field: str, text: str) -> str:
    """A query's text."""
    if not 1 <= len(text) <= 255 or not text.isprintable():
        raise exceptions.InvalidField(field, "expected 1 to 255 printable characters")
    return text


def detail(field: str, text: str) -> str:
    """What else a query wants to be told."""
    if text != "capacity":
        raise exceptions.InvalidField(field, "expected capacity")
    return text


def next_page(field: str, text: str) -> int:
    """The page number in a listing's ``next`` link."""
    return positive(field, text.removeprefix("/?page="))


#: What each of the functions for a query's values takes, for the API's document.
QUERY_SCHEMAS: dict[Callable[[str, str], Any], Schema] = {
    boolean: {"type": "string", "enum": sorted(_TRUE | _FALSE), "description": "In any case."},
    positive: {"type": "integer", "minimum": 1, "maximum": 2**31 - 1},
    detail: {"type": "string", "enum": ["capacity"]},
    word: {"type": "string", "minLength": 1, "maxLength": 255},
    moment: {
        "type": "string",
        "pattern": f"^({_DATE}|{_TIME})$",
        "examples": ["2026-12-01", "2026-12-01T09:00:00+00:00"],
        "description": "A date, or an ISO 8601 time with or without offset (without: UTC).",
    },
    next_page: {
        "type": "string",
        "pattern": r"^(/\?page=)?[0-9]{1,10}$",
        "description": "The page, as the link to it says it; goes before `page`.",
    },
}
