"""The page "API" names all that the OpenAPI document has, and nothing that doesn't exist."""

import json
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import pytest

import warre_blazar
from tests.unit.api import contract
from warre_blazar.api.operation import Operation
from warre_blazar.api.operations import OPERATIONS
from warre_blazar.errors import exceptions, statuses

PAGE = pathlib.Path(warre_blazar.__file__).parents[1] / "doc/source/api/index.rst"
TEXT = PAGE.read_text()

#: What the section "Conventions" says once for all lists and for all requests that create.
_COMMON_PARAMETERS = {"limit", "page", "next", "Idempotency-Key"}
#: Words of the page that aren't in the document: keys of the field ``detail``, headers, methods,
#: services, a resource class, a role, options and parts of recurrence rules.
_OTHER_WORDS = {
    *(
        "action",
        "closed",
        "exceeded",
        "expected",
        "field",
        "flavorproject",
        "held",
        "key",
        "lease",
    ),
    *("lease_name", "longest", "matching", "next_free", "option", "reservation", "resource"),
    *(
        "calendar",
        "project",
        "service",
        "share",
        "start_from",
        "types",
        "wait",
        "window",
        "windows",
    ),
    *("fields", "now", "sent", "PATCH"),
    *("Accept", "Forwarded", "GET", "POST", "VCPU", "admin", "blazar-api", "blazar-manager"),
    "X-Warre-Blazar",
    *("COUNT", "DTSTART", "EXDATE", "FREQ", "UNTIL"),
    *("cleaning_time", "max_series_occurrences", "rpc_response_timeout"),
}


def split(text: str, underline: str) -> dict[str, str]:
    """The sections with headings that are underlined by a character, by heading."""
    found = re.split(rf"^(.+)\n{re.escape(underline)}{{3,}}$", text, flags=re.MULTILINE)
    return {heading.strip(): body for heading, body in zip(found[1::2], found[2::2], strict=True)}


#: The sections about a kind of resource.
KINDS = split(TEXT.split("\n===\n", 2)[-1], "=")
#: The sections about a method of a path, with ``{}`` for ids, and the kind of each.
SECTIONS = {
    contract.without_names(heading): (kind, body)
    for kind, whole in KINDS.items()
    for heading, body in split(whole, "-").items()
}


def title(operation: Operation) -> str:
    return contract.without_names(f"{operation.method} {operation.path}")


def literals(text: str) -> set[str]:
    """The single words that a text has in double backquotes, or as keys in its examples."""
    words = re.findall(r"``([A-Za-z][\w-]*)``", text)
    return {*words, *re.findall(r'"(\w+)":', text)}


def component(name: str) -> dict[str, Any]:
    return contract.document()["components"]["schemas"][name]


def fields(schema: Any) -> Iterator[str]:
    """The names of all fields in a schema, on every level.

    The fields of the flavor within a reservation are left out: the page refers to its section.
    """
    if isinstance(schema, list):
        for each in schema:
            yield from fields(each)
    elif isinstance(schema, dict):
        name = schema.get("$ref", "").rpartition("/")[2]
        if name and name != "Flavor":
            yield from fields(component(name))
        yield from schema.get("properties", {})
        for key, value in schema.items():
            yield from fields(list(value.values()) if key == "properties" else value)


def values(schema: Any) -> Iterator[str]:
    """The texts to which fields in a schema are limited, on every level."""
    if isinstance(schema, list):
        for each in schema:
            yield from values(each)
    elif isinstance(schema, dict):
        name = schema.get("$ref", "").rpartition("/")[2]
        if name and name != "Flavor":
            yield from values(component(name))
        yield from (value for value in schema.get("enum", ()) if isinstance(value, str))
        yield from values(list(schema.values()))


def described(operation: Operation) -> dict[str, Any]:
    return contract.document()["paths"][operation.path][operation.method.lower()]


def parameters(operation: Operation) -> set[str]:
    found = {p["name"] for p in described(operation)["parameters"] if p["in"] != "path"}
    return found - _COMMON_PARAMETERS


def table(text: str, heading: str) -> set[str]:
    """The names in the first column of a table, by the heading of this column."""
    found = re.search(rf"^=+  .*\n{heading} .*\n=+  .*\n((?:.*\n)*?)=+  ", text, re.MULTILINE)
    if not found:
        return set()
    rows = [re.match(r"(?:``[\w-]+``(?:, )?)+", line) for line in found[1].splitlines()]
    return {word for row in rows if row for word in literals(row[0])}


def errors(text: str) -> set[tuple[int, str]]:
    """The statuses and codes in the sentences that list the errors of a request."""
    found = set()
    for listed in re.findall(r"Errors: ((?:.+\n)+)", text):
        for status, codes in re.findall(r"(\d{3})((?:[^;.]|\.\w)*)", listed):
            found |= {(int(status), code) for code in re.findall(r"``([a-z_]+)``", codes)}
    return found


def codes() -> set[str]:
    """The codes of all errors except the base class, and the one that is only a status_reason."""
    classes = [c for c in vars(exceptions).values() if isinstance(c, type)]
    of_classes = {c.code for c in classes if issubclass(c, exceptions.WarreError)}
    refused = {c for o in OPERATIONS for found in o.refusals().values() for c in found}
    return (of_classes | refused | set(statuses.STATUSES)) - {
        exceptions.WarreError.code,
        exceptions.PlacesUnusable.code,
    }


OF_ALL = errors(KINDS["Errors"])


def by_title() -> Any:
    return pytest.mark.parametrize("operation", OPERATIONS, ids=title)


def test_page_has_a_section_for_each_route_and_no_other():
    assert set(SECTIONS) == {title(operation) for operation in OPERATIONS}


@by_title()
def test_parameters_are_named(operation: Operation):
    _, body = SECTIONS[title(operation)]
    named = literals(body) | set(re.findall(r"(\w+)=", body))
    assert parameters(operation) - named == set()
    assert table(body, "Query") - _COMMON_PARAMETERS <= parameters(operation)


@by_title()
def test_fields_of_the_request_are_named(operation: Operation):
    if operation.body:
        kind, body = SECTIONS[title(operation)]
        sent = set(fields(component(operation.body)))
        assert sent - literals(KINDS[kind]) == set()
        assert operation.method == "GET" or table(body, "Field") <= sent


@by_title()
def test_fields_of_the_answer_are_named(operation: Operation):
    kind, _ = SECTIONS[title(operation)]
    answered = set(fields(list(operation.answers.values())))
    assert answered - literals(KINDS[kind] + KINDS["Conventions"]) == set()


@by_title()
def test_values_of_fields_are_named(operation: Operation):
    kind, _ = SECTIONS[title(operation)]
    schemas = [*operation.answers.values(), component(operation.body) if operation.body else {}]
    words = set(re.findall(r"\w+", KINDS[kind]))
    assert set(values(schemas)) - words == set()


@by_title()
def test_errors_are_named_with_their_status(operation: Operation):
    _, body = SECTIONS[title(operation)]
    refusals = {(int(status), c) for status, cs in operation.refusals().items() for c in cs}
    assert errors(body) - refusals == set()
    assert refusals - errors(body) - OF_ALL == set()


def test_table_of_codes_has_all_codes_and_no_other():
    assert table(KINDS["Errors"], "Code") == codes()


def test_page_names_nothing_that_does_not_exist():
    document = json.dumps(contract.document())
    there = set(re.findall(r'"([\w-]+)"', document)) | set(re.findall(r"`(\w+)`", document))
    assert literals(TEXT) - there - codes() - _OTHER_WORDS == set()
