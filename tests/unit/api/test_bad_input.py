"""Bad input is refused with a 4xx status that names the field, and nothing is written."""

import json
import urllib.parse
from typing import Any

import pytest
import webtest

from tests.unit.api import identity, people, things
from tests.unit.api.people import Answer, Person
from tests.unit.api.site import Site
from warre_blazar.api import openapi, parsing
from warre_blazar.wsgi import request_bodies

UNKNOWN = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def ids(site: Site, admin: Person, alpha: Person) -> dict[str, str]:
    """Ids of one item of each kind, by the names of the parameters in the document's paths."""

    def make() -> dict[str, str]:
        flavor = things.add_flavor(admin)
        booked = things.book(alpha, flavor)
        return {
            "flavor_id": flavor["id"],
            "flavorproject_id": things.grant(admin, flavor, alpha.project_id)["id"],
            "reservation_id": booked["id"],
            "share_id": things.share(alpha, booked, admin.project_id)["id"],
            "calendar_id": things.made(alpha.post("calendars", {"name": "GPUs"}))["id"],
            "window_id": things.add_window(admin, flavor)["id"],
            "series_id": things.add_series(alpha, flavor)["id"],
            "wait_id": things.add_wait(alpha, flavor)["id"],
        }

    return site.remembered(make)


#: A good body for each schema. Tests replace one of its values with a bad one.
GOOD: dict[str, dict[str, Any]] = {
    "FlavorCreate": {**things.FLAVOR, "name": "another"},
    "FlavorUpdate": {"description": "changed"},
    "AccessCreate": {"flavor_id": "gpu.small", "project_id": "another"},
    "ReservationCreate": {"flavor_id": "gpu.small", "start": things.at(3), "end": things.at(3, 2)},
    "ReservationUpdate": {"end": things.at(2, 12)},
    "WaitCreate": {"flavor_id": "gpu.small", "hours": 1},
    "CalendarCreate": {"name": "GPUs"},
    "ShareCreate": {"reservation_id": "{reservation_id}", "project_id": "another"},
    "WindowCreate": {"start": things.at(8), "end": things.at(9)},
    "WindowUpdate": {"note": "changed"},
    "MessagesUpdate": {"enabled": False},
    "SeriesCreate": things.series({"id": "gpu.small"}),
    "SeriesUpdate": {"more": 1},
}

_LONG = "x" * 5000
#: Bad values by the kind of a field, which is derived from the field's schema.
BAD: dict[str, list[Any]] = {
    "integer": [
        *(-1, 1.5, True, None, [], {}, "", "many", "1.5", " 1", "1\n", "٣", "0x10"),
        *(2**31, 2**63, 2**64, 10**400, "2147483648", "99999999999999999999"),
    ],
    "number": [
        *(-1, 0, 1e-9, 0.001, 1.0001, 1.23456, True, None, [], {}, "", "2", 2**31, 10**400, 1e300),
    ],
    "boolean": [None, 0, 1, "true", "", []],
    "true": [False, None, 0, 1, "true", "", []],
    "date-time": [
        *(0, None, True, [], "", "soon", "now", "2026-12-01", "2026-12", "20261201T0900"),
        # Days and times that don't exist.
        *("2100-02-29T00:00", "2026-02-30T00:00", "2026-13-01T00:00", "2026-12-01T25:00"),
        *("2026-12-01T09:60", "2026-12-01T09:00:61", "0000-01-01T00:00", "2026-12-01T09"),
        # Times that would overflow, by themselves or with their offset.
        *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "1969-12-31T23:59"),
        *("9000-01-01T00:00", "12026-12-01T09:00", "-2026-12-01T09:00"),
        # Offsets that don't exist, and names of time zones.
        *("2026-12-01T09:00+25:00", "2026-12-01T09:00+1", "2026-10-25T02:30 Europe/Berlin"),
        *("2026-10-25T02:30[Europe/Berlin]", "2026-10-25T02:30+02:00[Europe/Berlin]"),
        *("2026-12-01T09:00Z\n", "2026-12-01T09:00\x00", "٢٠٢٦-12-01T09:00", _LONG),
    ],
    "object": [None, [], "x", 1, {"k": 1}, {"k": None}, {"k": {}}, {"": "v"}, {"k": "a\x00b"}],
    "array": [None, {}, "x", [1], [None], [[]], ["a", "a"], ["x" * 65], ["a\x00"], ["n"] * 1001],
    "string": [0, True, [], {}, "a\x00b", "a\x07b", "x\ud800", _LONG],
}
#: Values that only fields that can't be null refuse, and values that only names refuse.
NOT_NULL: list[Any] = [None, ""]
UNTRIMMED = [" a", "a ", "a\n", "\ta", "\u3000a"]


def kind(field: dict[str, Any]) -> str:
    if field.get("format") == "date-time":
        return "date-time"
    if field.get("enum") == [True]:
        return "true"
    types = field["type"] if isinstance(field["type"], list) else [field["type"]]
    return types[0]


def bad_values(schema: str, name: str, field: dict[str, Any]) -> list[Any]:
    nullable = isinstance(field.get("type"), list)
    values = [v for v in BAD[kind(field)] if not (nullable and v is None)]
    if kind(field) == "string" and not nullable:
        values += NOT_NULL
    if kind(field) == "integer" and field["minimum"] == 1:
        values += [0, "0"]
    if schema.startswith("Flavor") and name == "name":
        values += UNTRIMMED
    return values


OPERATIONS = {o.body: o for o in openapi.OPERATIONS if o.body}

FIELDS = [
    pytest.param(schema, name, id=f"{schema}-{name}")
    for schema in OPERATIONS
    for name in openapi.request_schema(schema)["properties"]
]


def send(person: Person, schema: str, ids: dict[str, str], body: Any) -> Answer:
    operation = OPERATIONS[schema]
    path = operation.path.format(**ids).removeprefix("/")
    if isinstance(body, dict) and body.get("reservation_id") == "{reservation_id}":
        body = {**body, "reservation_id": ids["reservation_id"]}
    return person.send(operation.method, path, body)


def names_the_field(answer: Answer, field: str) -> bool:
    """Whether an answer names the field; it must be a complete error in any case."""
    document = answer.json
    assert 400 <= answer.status_int < 500, answer
    assert {"error_code", "error_message", "error_name", "code"} <= set(document)
    assert answer.status_int == document["error_code"]
    named = document.get("detail", {}).get("field", "").split(".")[0]
    return named == field and field in document["error_message"]


def asker(schema: str, admin: Person, alpha: Person) -> Person:
    return alpha if schema.startswith("Reservation") else admin


@pytest.mark.parametrize(("schema", "name"), FIELDS)
def test_bad_value_is_refused_with_its_field(site: Site, admin, alpha, ids, schema: str, name: str):
    field = openapi.request_schema(schema)["properties"][name]
    before = site.rows()
    accepted = []
    for value in bad_values(schema, name, field):
        answer = send(asker(schema, admin, alpha), schema, ids, {**GOOD[schema], name: value})
        if answer.status_int < 400 or not names_the_field(answer, name):
            accepted.append((value, answer.status_int, answer.text[:200]))
    assert accepted == []
    assert site.rows() == before


@pytest.mark.parametrize("schema", OPERATIONS)
def test_unknown_field_is_refused_with_its_name(site: Site, admin, alpha, ids, schema: str):
    before = site.rows()
    for name in ("colour", "id", "self", "", "deleted", "generation", "é", "x" * 64):
        answer = send(asker(schema, admin, alpha), schema, ids, {**GOOD[schema], name: 1})
        if name.isascii():
            assert names_the_field(answer, name), (name, answer)
        assert answer.json["code"] == "invalid_field"
    assert site.rows() == before


@pytest.mark.parametrize("schema", OPERATIONS)
def test_missing_field_is_refused_with_its_name(site: Site, admin, alpha, ids, schema: str):
    before = site.rows()
    for name in openapi.request_schema(schema).get("required", []):
        body = {k: v for k, v in GOOD[schema].items() if k != name} or {"x": 1}
        answer = send(asker(schema, admin, alpha), schema, ids, body)
        assert answer.json["code"] == "invalid_field"
        assert names_the_field(answer, "x" if "x" in body else name)
    assert site.rows() == before


#: Bodies that aren't JSON objects or are too large, with the code of the error for each.
RAW = {
    "nothing": (b"", "empty_body"),
    "spaces": (b" \n", "empty_body"),
    "no fields": (b"{}", "empty_body"),
    "null": (b"null", "invalid_field"),
    "list": (b"[1]", "invalid_field"),
    "text": (b'"x"', "invalid_field"),
    "broken": (b'{"name": ', "malformed_json"),
    "not JSON's NaN": (b'{"slots": NaN}', "malformed_json"),
    "infinity": (b'{"slots": -Infinity}', "malformed_json"),
    "trailing": (b"{} {}", "malformed_json"),
    "form": (b"name=a&slots=2", "malformed_json"),
    "not UTF-8": (b'{"name": "\xff\xfe"}', "malformed_json"),
    "UTF-16": ('{"name": "a"}'.encode("utf-16"), "malformed_json"),
    "NUL": (b'{"name": "a\x00"}', "malformed_json"),
    "deep list": (b'{"name":' + b"[" * 20000 + b"]" * 20000 + b"}", "malformed_json"),
    "deep object": (b'{"a":' * 20000 + b"1" + b"}" * 20000, "malformed_json"),
    "many digits": (b'{"slots": ' + b"9" * 5000 + b"}", "malformed_json"),
    "a megabyte": (b'{"description": "' + b"x" * 2**20 + b'"}', "body_too_large"),
    "a megabyte of spaces": (b" " * 2**20, "body_too_large"),
    "just too large": (b" " * (request_bodies.MAX_BODY + 1), "body_too_large"),
}


@pytest.mark.parametrize("case", RAW, ids=[name.replace(" ", "-") for name in RAW])
def test_body_that_is_no_json_object_is_refused(site: Site, admin, alpha, ids, case: str):
    body, code = RAW[case]
    before = site.rows()
    for schema in OPERATIONS:
        answer = send(asker(schema, admin, alpha), schema, ids, body)
        assert answer.json["code"] == code, (schema, answer)
        assert 400 <= answer.status_int < 500
    assert site.rows() == before


CONTENT_TYPES = [
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "multipart/form-data",
    "application/json; charset=utf-16",
    "application/json; charset=nonesuch",
    "nonsense",
]


@pytest.mark.parametrize("content_type", CONTENT_TYPES)
@pytest.mark.parametrize("body", [b"name=%ff", b"{", b"\xff", b"--x\r\n\r\n"])
def test_malformed_body_of_any_content_type_is_refused(
    site: Site, admin, content_type: str, body: bytes
):
    before = site.rows()
    answer = admin.send("POST", "flavors", body, {"Content-Type": content_type})
    assert 400 <= answer.status_int < 500, answer
    assert site.rows() == before


EXTRA_SPECS: dict[str, Any] = {
    "nested": {"a": {"b": {"c": {}}}},
    "deep": json.loads('{"a":' * 60 + "1" + "}" * 60),
    "too many": {f"k{n}": "v" for n in range(129)},
    "long key": {"k" * 256: "v"},
    "long value": {"k": "v" * 256},
    "key with NUL": {"a\x00": "v"},
    "amount no number": {"resources:VGPU": "some"},
    "amount negative": {"resources:VGPU": "-1"},
    "groups without a policy": {"resources1:VGPU": "1", "resources2:VGPU": "1"},
    "a group of traits only": {"trait1:CUSTOM_A": "required"},
    "a CPU policy that doesn't exist": {"hw:cpu_policy": "exclusive"},
    "amount huge": {"resources:VGPU": "9" * 20},
    "no class": {"resources:": "1"},
    "trait neither": {"trait:CUSTOM_A": "maybe"},
    "surrogate": {"k": "\udfff"},
}


@pytest.mark.parametrize("case", EXTRA_SPECS, ids=[n.replace(" ", "-") for n in EXTRA_SPECS])
def test_bad_extra_specs_are_refused(site: Site, admin, ids, case: str):
    before = site.rows()
    for schema in ("FlavorCreate", "FlavorUpdate"):
        answer = send(admin, schema, ids, {**GOOD[schema], "extra_specs": EXTRA_SPECS[case]})
        assert names_the_field(answer, "extra_specs"), answer
    assert site.rows() == before


PROPERTIES = ["nope", '["=="]', "{}", "1", '["xor", "a", "b"]', '["and"]' * 2, '["=="' + "]" * 9]


@pytest.mark.parametrize("properties", PROPERTIES)
def test_bad_properties_are_refused(site: Site, admin, ids, properties: str):
    before = site.rows()
    for schema in ("FlavorCreate", "FlavorUpdate"):
        answer = send(admin, schema, ids, {**GOOD[schema], "properties": properties})
        assert names_the_field(answer, "properties")
    assert site.rows() == before


#: Bad values of query parameters, by the function that converts the parameter.
QUERIES: dict[Any, list[str]] = {
    parsing.boolean: ["", "maybe", "2", "%00", "true%0A", "%FF"],
    parsing.positive: ["", "0", "-1", "1.5", "x", "1%0A", "2147483648", "9" * 30, "%D9%A3", "%FF"],
    parsing.word: ["", "%00", "a%07", "x" * 256, "%FF", "%ED%A0%80"],
    parsing.project_id: ["", "a_b", "a%20b", "..%2Fa", "a%0A", "%D9%A3", "x" * 65, "%FF"],
    parsing.moment: ["", "soon", "2100-02-29", "1969-12-31", "9000-01-01", "2100-01-01%0A", "%FF"],
    parsing.hours: [
        "",
        "0",
        "-1",
        "x",
        "1e3",
        "0.0001",
        "1.3333",
        "nan",
        "9" * 400,
        "%D9%A3",
        "%FF",
    ],
    parsing.statuses: ["", "x", "ACTIVE,", "ACTIVE,x", "%00", "%FF"],
    parsing.wait_states: ["", "x", "WAITING,", "WAITING,x", "ACTIVE", "%00", "%FF"],
    parsing.sort: ["", "x", "start:", "start:up", "start,end", "id", "start%0A", "%FF"],
    parsing.detail: ["", "x", "Capacity", "capacity%0A", "%FF"],
    parsing.part_of_time: ["", "x", "week", "day%0A", "%FF"],
    parsing.properties: ["[1", '["=="]', "x", "%FF"],
    parsing.reservation_detail: ["", "x", "Log", "log%0A", "log,servers", "%FF"],
    parsing.refusal_code: ["", "x", "gap_to_short", "Too_long", "%FF"],
    parsing.timezone: ["", "x", "Europe/berlin%0A", "../../etc/passwd", "+10:00", "%00", "%FF"],
    parsing.usage_key: ["", "x", "Day", "day%0A", "%FF"],
    parsing.next_page: ["", "x", "/?page=", "/?page=0", "/?page=x", "/?page=" + "9" * 30, "%FF"],
}
PARAMETERS = [
    pytest.param(o, name, id=f"{o.path.removeprefix('/')}-{name}")
    for o in openapi.OPERATIONS
    for name in o.query
]


@pytest.mark.parametrize(("operation", "name"), PARAMETERS)
def test_bad_query_value_is_refused_with_its_parameter(
    admin: Person, ids, operation: openapi.Operation, name: str
):
    path = operation.path.format(**ids).removeprefix("/")
    for value in QUERIES[operation.query[name]]:
        answer = admin.get(f"{path}?{name}={value}")
        assert answer.status_int == 422, (value, answer)
        named = answer.json["detail"]["field"]
        # A query that isn't UTF-8 can't be split into parameters.
        assert named == ("query" if value in ("%FF", "%ED%A0%80") else name), (value, answer)


@pytest.mark.parametrize("operation", openapi.OPERATIONS, ids=lambda o: f"{o.method}{o.path}")
def test_unknown_query_parameter_is_refused(
    site: Site, admin: Person, alpha: Person, ids, operation
):
    before = site.rows()
    path = operation.path.format(**ids).removeprefix("/")
    body = GOOD[operation.body] if operation.body else None
    bad = {
        "colour=red": "colour",
        "x=%FF": "query",
        "=": "",
        "%00=1": "\0",
        "_method=get": "_method",
    }
    for query, named in bad.items():
        answer = admin.send(operation.method, f"{path}?{query}", body)
        assert answer.status_int == (400 if operation.method == "PATCH" else 422), answer
        assert answer.json["detail"]["field"] == named
    assert site.rows() == before


def test_repeated_parameter_must_have_one_value(admin: Person):
    assert admin.get("flavors?limit=1&limit=1").status_int == 200
    answer = admin.get("flavors?limit=1&limit=2")
    assert names_the_field(answer, "limit")


#: Ids that no item has.
STRANGE_IDS = [UNKNOWN, "nope", "x" * 64, "x" * 65, "x" * 5000, "%00", "a%0A", "%20", ".."]
STRANGE_IDS += ["%F0%9F%98%80", "'%20or%201=1", "null", "0", "-1", "a%2Fb"]
BY_ID = [o for o in openapi.OPERATIONS if "{" in o.path]


@pytest.mark.parametrize("operation", BY_ID, ids=lambda o: f"{o.method}{o.path}")
def test_unknown_id_in_path_is_refused(
    site: Site, admin: Person, ids, operation: openapi.Operation
):
    before = site.rows()
    body = GOOD[operation.body] if operation.body else None
    for strange in STRANGE_IDS:
        path = operation.path.replace("{", "{0[").replace("}", "]}")
        path = path.format(dict.fromkeys(ids, strange)).removeprefix("/")
        answer = admin.send(operation.method, path, body)
        assert answer.status_int in (400, 404, 405, 422), (strange, answer)
    assert site.rows() == before


def test_path_that_is_not_utf_8_is_refused(site: Site):
    """Pecan refuses it before it looks for a controller, in an answer of its own."""
    headers = {"X-Auth-Token": identity.token("admin")}
    app = webtest.TestApp(site.app)
    assert app.get("/v2/flavors/%FF", headers=headers, expect_errors=True).status_int == 400


#: Methods that no path has, and methods that these paths don't have.
METHODS = ["PUT", "OPTIONS", "TRACE", "NONESUCH"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("path", ["flavors", "flavors/x", "flavors/x/freeslots", "limits"])
def test_method_that_path_does_not_have_is_refused(admin: Person, method: str, path: str):
    answer = admin.send(method, path)
    assert answer.status_int == 405
    assert answer.content_type == "application/json"
    if method != "HEAD":
        assert people.refusal(answer) == (405, "method_not_allowed")


@pytest.mark.parametrize("path", ["/v2/warre", "/v2/warre/v1", "/v2/warre/v1/nope", "flavors/x/y"])
def test_unknown_path_is_not_found(admin: Person, path: str):
    for each in (path, path + "/"):
        assert people.refusal(admin.get(each)) == (404, "not_found")


def test_request_for_html_is_not_acceptable(admin: Person):
    answer = admin.send("GET", "flavors", headers={"Accept": "text/html"})
    assert people.refusal(answer) == (406, "not_acceptable")


def test_unknown_flavor_id_in_body_is_not_found(site: Site, admin: Person, alpha: Person, ids):
    before = site.rows()
    for unknown in (UNKNOWN, "nope", "é", "x" * 64):
        asked = {
            "reservations": {**GOOD["ReservationCreate"], "flavor_id": unknown},
            "flavorprojects": {**GOOD["AccessCreate"], "flavor_id": unknown},
            "maintenancewindows": {**GOOD["WindowCreate"], "flavor_ids": [unknown]},
            "waits": {**GOOD["WaitCreate"], "flavor_id": unknown},
        }
        for path, body in asked.items():
            person = alpha if path in ("reservations", "waits") else admin
            answer = person.post(path, body)
            assert (answer.status_int, answer.json["code"]) == (404, "flavor_not_found")
        path = f"maintenancewindows/{ids['window_id']}"
        assert admin.patch(path, {"flavor_ids": [unknown]}).status_int == 404
    assert site.rows() == before


#: Valid times in different formats, with the time that the API answers for each.
TIMES = {
    "2100-01-04T00:30:59.999999Z": "2100-01-04T00:30:00+00:00",
    "2100-01-04 00:30": "2100-01-04T00:30:00+00:00",
    "2100-01-04T00:30:00,5": "2100-01-04T00:30:00+00:00",
    "2100-01-04T06:15:00+05:45": "2100-01-04T00:30:00+00:00",
    "2100-01-03T14:30:00-1000": "2100-01-04T00:30:00+00:00",
    "2104-02-29T00:00": "2104-02-29T00:00:00+00:00",
    "8999-12-31T23:59": "8999-12-31T23:59:00+00:00",
}


@pytest.mark.parametrize("text", TIMES)
def test_valid_time_is_stored_in_utc_without_seconds(admin: Person, text: str):
    flavor = things.add_flavor(admin, start=text)
    assert flavor["start"] == TIMES[text]


def test_whole_number_as_string_or_float_is_accepted(admin: Person, alpha: Person):
    """HTML forms and some programming languages send whole numbers in these ways."""
    flavor = things.add_flavor(admin, slots="3", ephemeral_gb="0", vcpu=1.0)
    assert (flavor["slots"], flavor["ephemeral_gb"], flavor["vcpu"]) == (3, 0, 1)
    assert isinstance(flavor["vcpu"], int)
    assert things.book(alpha, flavor, instance_count=2.0)["instance_count"] == 2
    flavor = things.add_flavor(admin, max_days_ahead="30", extend_within_hours=24.0)
    assert (flavor["max_days_ahead"], flavor["extend_within_hours"]) == (30, 24)


def test_unicode_text_is_stored_unchanged(admin: Person):
    text = "Größe 😀\u202e\u00a0x'\";--"
    flavor = things.add_flavor(admin, name=text, description=f"{text}\n\tmore", category=text)
    assert admin.get(f"flavors/{flavor['id']}").json["name"] == text
    assert flavor["description"] == f"{text}\n\tmore"


@pytest.mark.parametrize("name", ["gpu\u00a0half", "a\u2028b", "\u200bx", "\u0600\ue000"])
def test_name_that_a_body_may_have_is_found_in_paths_and_filters(
    admin: Person, alpha: Person, name: str
):
    flavor = things.add_flavor(admin, name=name)
    quoted = urllib.parse.quote(name)
    assert admin.get(f"flavors/{quoted}").json["id"] == flavor["id"]
    booked = things.book(alpha, flavor, name=name)
    listed = alpha.get(f"reservations?name={quoted}&flavor_id={flavor['id']}").json["results"]
    assert [each["id"] for each in listed] == [booked["id"]]


@pytest.mark.parametrize("query", ["", "?dry_run=true"])
def test_longest_time_is_refused_by_the_rules(admin: Person, alpha: Person, query: str):
    """The refusal says whether a wait would help, although no calendar is so long."""
    wanted = things.booking(things.add_flavor(admin), end="8999-12-31T23:59:00+00:00")
    answer = alpha.post(f"reservations{query}", wanted)
    assert answer.status_int == (200 if query else 400), answer
    refused = answer.json["refusals"][0] if query else answer.json
    assert refused["code"] == "too_long"
