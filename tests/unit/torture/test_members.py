"""What the campaign sends: every operation of the document, at the bounds of every field."""

import collections
import datetime
import itertools
import json
import random

import pytest

from tests.torture import bounds
from tests.torture.members import Known, Members, Request
from tests.torture.users import Person

PERSON = Person(1, "name", "user", "project", "project-id")
NOW = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
LARGEST = 2**31 - 1


@pytest.fixture
def known() -> Known:
    return Known()


@pytest.fixture
def members(known: Known) -> Members:
    return Members(1, ["f1", "f2"], PERSON, known, lambda: NOW)


def test_document_has_the_operations_of_members():
    kinds = {operation.kind for operation in bounds.operations()}
    for kind in ("POST /reservations", "PATCH /reservations/{reservation_id}", "POST /waits"):
        assert kind in kinds
    assert len(kinds) > 30


@pytest.mark.parametrize(
    ("operation", "field", "wanted"),
    [
        ("POST /reservations", "instance_count", [0, 1, LARGEST, LARGEST + 1, "x", None, []]),
        ("PATCH /reservations/{reservation_id}", "movable_hours", [-1, 0, 8760, 8761]),
        ("POST /series", "hours", [0.01, 100_000, 100_001, "x"]),
        ("POST /reservations", "name", ["", "x" * 255, "x" * 256, "\x00", 7]),
        ("POST /reservations", "start", ["9999-12-31T23:59", "now", 7]),
        ("POST /waits", "mode", ["book", "tell", "x"]),
        ("POST /series", "all_or_none", [True, False, "true"]),
    ],
)
def test_values_are_at_the_bounds_and_beyond(operation: str, field: str, wanted: list):
    (found,) = [each for each in bounds.operations() if each.kind == operation]
    values = bounds.values(found.body[field])
    assert [value for value in wanted if value not in values] == []


def test_every_kind_is_sent(members: Members):
    sent = collections.Counter(
        request.kind for request in itertools.islice(members.requests(), 20_000)
    )
    assert set(sent) == set(members.kinds)
    documented = {operation.kind for operation in bounds.operations()}
    for root in ("/v2", "/v2/warre/v1"):
        assert {kind.replace(" ", f" {root}") for kind in documented} <= set(sent)
    assert {"POST /v1/leases", "PUT /v1/leases/{lease_id}", "DELETE /v1/leases/{lease_id}"} <= set(
        sent
    )


def test_huge_counts_are_sent_on_every_way(members: Members):
    found = collections.Counter(
        request.kind
        for request in itertools.islice(members.requests(), 20_000)
        if str(LARGEST) in f"{request.path} {request.body}"
    )
    for kind in (
        "POST /v1/leases",
        "POST /v2/reservations",
        "PATCH /v2/reservations/{reservation_id}",
        "POST /v2/series",
        "POST /v2/waits",
        "GET /v2/offers",
        "GET /v2/flavors/{flavor_id}/freeslots",
    ):
        assert found[kind] > 0, kind


def test_each_type_of_lease_is_sent(members: Members):
    types = collections.Counter(
        reservation["resource_type"]
        for request in itertools.islice(members.requests(), 2_000)
        if request.kind == "POST /v1/leases"
        for reservation in request.body["reservations"]
    )
    assert set(types) == {"flavor:slot", "virtual:instance", "flavor:instance", "physical:host"}


def test_same_seed_sends_the_same(known: Known):
    def sent(seed: int) -> list[str]:
        members = Members(seed, ["f1"], PERSON, known, lambda: NOW)
        return [str(request) for request in itertools.islice(members.requests(), 300)]

    assert sent(1) == sent(1) != sent(2)


def test_bodies_are_bytes_or_json(members: Members):
    for request in itertools.islice(members.requests(), 5_000):
        assert request.path.isascii()
        if not isinstance(request.body, bytes):
            json.dumps(request.body)


@pytest.mark.parametrize(
    ("path", "document", "collection"),
    [
        ("/v2/reservations?dry_run=0", {"id": "made"}, "reservations"),
        ("/v2/warre/v1/waits", {"id": "made"}, "waits"),
        ("/v1/leases", {"lease": {"id": "made"}}, "leases"),
    ],
)
def test_what_was_made_is_asked_for_later(known, path, document, collection):
    known.note(Request("", "POST", path), document)
    assert known.any(collection, random.Random(1)) == "made"


@pytest.mark.parametrize("document", [None, [], {}, {"id": 7}, {"lease": None}])
def test_answer_without_an_id_is_ignored(known: Known, document: object):
    known.note(Request("", "POST", "/v2/waits"), document)
    assert known.any("waits", random.Random(1)) == "00000000-0000-0000-0000-000000000007"
