"""Bad input over HTTP, at v2 and at Warre's paths: errors name the field, nothing is written."""

from typing import Any

import pytest
import requests

from tests.functional.cloud import world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.records import Records

ROOTS = ("/v2", "/v2/warre/v1")
_DROPPED = object()


def _check(answer: requests.Response, field: str) -> None:
    document = answer.json()
    assert 400 <= answer.status_code < 500, answer.text
    assert document["error_code"] == answer.status_code
    assert document["error_name"]
    assert document["code"]
    assert field in document["error_message"]


@pytest.fixture(scope="module")
def target(shared_offer: Offer) -> dict[str, Any]:
    """A flavor that could be booked or changed."""
    return shared_offer()


@pytest.fixture(params=ROOTS)
def root(request: pytest.FixtureRequest) -> str:
    """The path of the API."""
    return request.param


@pytest.fixture
def unwritten(records: Records) -> Any:
    """Check after the test that nothing was written."""
    before = records.dump()
    yield
    assert records.dump() == before


BODIES = {
    "nothing": (b"", "No input"),
    "cut off": (b'{"name": "x"', "JSON"),
    "a list": (b"[1]", "JSON object"),
    "a number": (b"1", "JSON object"),
    "not a number": (b'{"slots": NaN}', "JSON"),
    "not UTF-8": (b'{"name": "\xff"}', "body"),
    "nested without end": (b"[" * 100_000, "body"),
    "empty object": (b"{}", "No input"),
    "too large": (b'{"name": "' + b"x" * 200_000 + b'"}', "too large"),
}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("noun", ["flavors", "reservations"])
@pytest.mark.usefixtures("unwritten")
def test_malformed_body_is_refused(admin: Person, root: str, noun: str, body: str) -> None:
    data, words = BODIES[body]
    headers = {"Content-Type": "application/json"}
    answer = admin.ask("POST", f"{root}/{noun}/", data=data, headers=headers)
    _check(answer, words)


#: A field and a bad value of it, by case.
FLAVORS: dict[str, tuple[str, Any]] = {
    "unknown field": ("shoe_size", 44),
    "name empty": ("name", ""),
    "name too long": ("name", "x" * 65),
    "name a number": ("name", 7),
    "name null": ("name", None),
    "name missing": ("name", _DROPPED),
    "name of spaces": ("name", "   "),
    "name with a NUL": ("name", "a\0b"),
    "slots zero": ("slots", 0),
    "slots negative": ("slots", -1),
    "slots a fraction": ("slots", 1.5),
    "slots true": ("slots", True),
    "slots a word": ("slots", "many"),
    "slots beyond the database": ("slots", 2**31),
    "slots missing": ("slots", _DROPPED),
    "vcpu zero": ("vcpu", 0),
    "vcpu a list": ("vcpu", [1]),
    "memory negative": ("memory_mb", -512),
    "memory missing": ("memory_mb", _DROPPED),
    "disk negative": ("disk_gb", -1),
    "ephemeral negative": ("ephemeral_gb", -1),
    "length zero": ("max_length_hours", 0),
    "active a word": ("active", "perhaps"),
    "is_public a number": ("is_public", 2),
    "properties not JSON": ("properties", "gpu == a100"),
    "properties cut off": ("properties", '["==", "$gpu"'),
    "properties with an unknown operator": ("properties", '["~", "$gpu", "a"]'),
    "properties without a variable": ("properties", '["==", "gpu", "a"]'),
    "properties a list": ("properties", ["==", "$gpu", "a100"]),
    "extra specs a list": ("extra_specs", ["a"]),
    "extra specs of a number": ("extra_specs", {"a": 1}),
    "extra specs of null": ("extra_specs", {"a": None}),
    "extra specs of a bad resource": ("extra_specs", {"resources:VGPU": "one"}),
    "extra specs of a bad trait": ("extra_specs", {"trait:CUSTOM_X": "wanted"}),
    "extra specs with a bad key": ("extra_specs", {"a/b": "c"}),
    "start not a time": ("start", "tomorrow"),
    "start a number": ("start", 1),
    "end of no calendar": ("end", "2040-02-30T00:00:00"),
    "category empty": ("category", ""),
    "description a number": ("description", 1),
    "zone an object": ("availability_zone", {}),
}


@pytest.mark.parametrize("case", FLAVORS)
@pytest.mark.usefixtures("unwritten")
def test_creating_a_flavor_with_a_bad_field_is_refused(admin: Person, root: str, case: str) -> None:
    field, value = FLAVORS[case]
    body = {k: v for k, v in (world.flavor_body() | {field: value}).items() if v is not _DROPPED}
    _check(admin.ask("POST", f"{root}/flavors/", body), field)


@pytest.mark.parametrize("case", [c for c in FLAVORS if FLAVORS[c][1] is not _DROPPED])
@pytest.mark.usefixtures("unwritten")
def test_changing_a_flavor_to_a_bad_field_is_refused(
    admin: Person, target: dict[str, Any], case: str
) -> None:
    field, value = FLAVORS[case]
    _check(admin.ask("PATCH", f"/v2/flavors/{target['id']}/", {field: value}), field)


@pytest.mark.usefixtures("unwritten")
def test_flavor_that_ends_before_it_starts_is_refused(admin: Person, root: str) -> None:
    period = {"start": "2040-01-02T00:00:00Z", "end": "2040-01-01T00:00:00Z"}
    _check(admin.ask("POST", f"{root}/flavors/", world.flavor_body(**period)), "end")


def test_name_of_two_flavors_is_refused_where_one_is_meant(admin: Person, offer: Offer) -> None:
    first = offer()
    second = offer(name=first["name"])
    answer = admin.ask("GET", f"/v2/flavors/{first['name']}/")
    assert (answer.status_code, answer.json()["code"]) == (409, "flavor_ambiguous"), answer.text
    told = {flavor["id"] for flavor in answer.json()["detail"]["flavors"]}
    assert told == {first["id"], second["id"]}
    _check(answer, first["name"])


RESERVATIONS: dict[str, tuple[str, Any]] = {
    "unknown field": ("shoe_size", 44),
    "unknown flavor": ("flavor_id", "no-such-flavor"),
    "flavor missing": ("flavor_id", _DROPPED),
    "flavor a number": ("flavor_id", 7),
    "flavor empty": ("flavor_id", ""),
    "flavor too long": ("flavor_id", "x" * 65),
    "count zero": ("instance_count", 0),
    "count negative": ("instance_count", -1),
    "count a fraction": ("instance_count", 0.5),
    "count true": ("instance_count", True),
    "count a word": ("instance_count", "x"),
    "count null": ("instance_count", None),
    "count beyond the database": ("instance_count", 2**31),
    "affinity a word": ("affinity", "together"),
    "start missing": ("start", _DROPPED),
    "start not a time": ("start", "soon"),
    "start a number": ("start", 1),
    "start null": ("start", None),
    "end missing": ("end", _DROPPED),
    "end of no calendar": ("end", "2040-02-30T00:00:00"),
    "end beyond all calendars": ("end", "99999-01-01T00:00:00"),
}
#: What the message says instead of the field's name.
_WORDS = {"unknown flavor": "does not exist"}


@pytest.mark.parametrize("case", RESERVATIONS)
@pytest.mark.usefixtures("unwritten")
def test_booking_with_a_bad_field_is_refused(
    alpha: Person, root: str, target: dict[str, Any], case: str
) -> None:
    field, value = RESERVATIONS[case]
    good = {"flavor_id": target["id"], **world.far().v2, "instance_count": 1}
    body = {k: v for k, v in (good | {field: value}).items() if v is not _DROPPED}
    _check(alpha.ask("POST", f"{root}/reservations/", body), _WORDS.get(case, field))


PERIODS = {
    "in the past": (-3, -2, "past"),
    "reversed": (3, 2, "after reservation end"),
    "empty": (3, 3, "after reservation end"),
}


@pytest.mark.parametrize("case", PERIODS)
@pytest.mark.usefixtures("unwritten")
def test_booking_a_bad_period_is_refused(
    alpha: Person, root: str, target: dict[str, Any], case: str
) -> None:
    start, end, words = PERIODS[case]
    period = world.from_now().moved(start=start, end=end - 1)
    body = {"flavor_id": target["id"], **period.v2}
    answer = alpha.ask("POST", f"{root}/reservations/", body)
    assert answer.status_code == 400
    _check(answer, words)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/flavors/no-such-flavor/"),
        ("PATCH", "/flavors/no-such-flavor/"),
        ("DELETE", "/flavors/no-such-flavor/"),
        ("GET", "/reservations/no-such-reservation/"),
        ("DELETE", "/reservations/no-such-reservation/"),
    ],
)
@pytest.mark.usefixtures("unwritten")
def test_unknown_flavor_or_reservation_is_not_found(
    admin: Person, root: str, method: str, path: str
) -> None:
    body = {"slots": 2} if method == "PATCH" else None
    answer = admin.ask(method, root + path, body)
    assert answer.status_code == 404
    _check(answer, "")


QUERIES = {
    "shoe_size=44": "shoe_size",
    "limit=0": "limit",
    "limit=x": "limit",
    "all_projects=perhaps": "all_projects",
    "category=%ff": "UTF-8",
}


@pytest.mark.parametrize("query", QUERIES)
def test_bad_query_is_refused(admin: Person, root: str, query: str) -> None:
    for noun in ("flavors", "reservations"):
        _check(admin.ask("GET", f"{root}/{noun}/?{query}"), QUERIES[query])


@pytest.mark.usefixtures("unwritten")
def test_normal_user_cannot_create_change_or_delete_flavors(
    alpha: Person, root: str, target: dict[str, Any]
) -> None:
    path = f"{root}/flavors/"
    made = alpha.ask("POST", path, world.flavor_body())
    assert made.status_code == 403
    _check(made, "")
    for method, body in (("PATCH", {"slots": 2}), ("DELETE", None)):
        changed = alpha.ask(method, f"{path}{target['id']}/", body)
        assert changed.status_code in (403, 404)
        _check(changed, "")


@pytest.mark.usefixtures("unwritten")
def test_emoji_with_a_three_byte_connection_names_the_field(
    admin: Person, root: str, target: dict[str, Any]
) -> None:
    """Blazar's installation guide configures MariaDB's utf8, with up to 3 bytes a character."""
    emoji = "gpu \N{GRINNING FACE}"
    _check(admin.ask("POST", f"{root}/flavors/", world.flavor_body(name=emoji)), "name")
    _check(admin.ask("GET", f"{root}/flavors/?category={emoji}"), "category")
    _check(admin.ask("GET", f"{root}/flavors/{emoji}/"), "path")
    body = world.lease_body(world.far(), {**world.slot(target), "flavor_id": emoji})
    refused = admin.ask("POST", "/v1/leases", body)
    assert refused.status_code == 400, refused.text
    assert "flavor_id" in refused.json()["error_message"]


def test_unknown_collection_is_not_found(admin: Person) -> None:
    answer = admin.ask("GET", "/v2/warre/v1/no-such-noun/")
    assert answer.status_code == 404
    _check(answer, "")


def test_request_without_a_token_is_unauthorized(admin: Person, root: str) -> None:
    answer = admin.ask("GET", f"{root}/flavors/", authenticated=False)
    assert answer.status_code == 401
