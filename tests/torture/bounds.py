"""Values at and beyond the bounds that the OpenAPI document gives a field, and of wrong types."""

import dataclasses
import json
import pathlib
from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]

_DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "doc" / "source" / "api" / "openapi.json"
#: The longest text that is sent for a field without a length.
_LONG = 5000
_ODD_TEXTS = ("", " ", "\x00", "\U0001f600", "=?utf-8?q?a=0D=0ABcc:?=", "' OR 1=1", "../../users")
#: Times and numbers that no schema names.
_ODD_TIMES = ("0001-01-01T00:00", "9999-12-31T23:59", "2026-02-30T00:00", "now", "")
_ODD_NUMBERS = (-1, 0, 2**31 - 1, 2**31, 2**63, 10**30, 1.5, 1e308)
_WRONG_TYPES = (None, True, [], {}, [1], {"a": 1}, "x", 7)


@dataclasses.dataclass(frozen=True)
class Operation:
    """An operation of the document."""

    method: str
    path: str
    #: Schemas by name.
    query: Mapping[str, Schema]
    body: Mapping[str, Schema]
    required: frozenset[str]

    @property
    def kind(self) -> str:
        return f"{self.method} {self.path}"


def operations() -> list[Operation]:
    """All operations of the document."""
    document = json.loads(_DOCUMENT.read_text())
    found = []
    for path, methods in document["paths"].items():
        for method, described in methods.items():
            body = _body(document, described)
            query = {p["name"]: p["schema"] for p in described["parameters"] if p["in"] == "query"}
            required = frozenset(body.get("required", ()))
            properties = body.get("properties", {})
            found.append(Operation(method.upper(), path, query, properties, required))
    return found


def _body(document: Schema, operation: Schema) -> Schema:
    if "requestBody" not in operation:
        return {}
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    name = schema["$ref"].rpartition("/")[2]
    return dict(document["components"]["schemas"][name])


def values(schema: Schema) -> list[Any]:
    """Values at the bounds of a schema, just beyond them, and of other types."""
    found: list[Any] = [*_WRONG_TYPES]
    for part in schema.get("anyOf", [schema]):
        kinds = part.get("type", ())
        kinds = {kinds} if isinstance(kinds, str) else set(kinds)
        if kinds & {"integer", "number"}:
            found += _numbers(part)
        if "string" in kinds:
            found += _texts(part)
        if "boolean" in kinds:
            found += [True, False, "true", 1]
    return found


def _numbers(schema: Schema) -> list[Any]:
    found: list[Any] = [*_ODD_NUMBERS]
    for name, beyond in (("minimum", -1), ("maximum", 1)):
        if name in schema:
            found += [schema[name], schema[name] + beyond, str(schema[name])]
    return found


def _texts(schema: Schema) -> list[str]:
    found = [*_ODD_TEXTS, *schema.get("enum", ()), *schema.get("examples", ())]
    longest = schema.get("maxLength", _LONG)
    found += ["x" * longest, "x" * (longest + 1), "9" * 10, "-1"]
    return [*found, *_ODD_TIMES] if schema.get("format") == "date-time" else found
