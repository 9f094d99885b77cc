"""A request that creates something and is repeated with its key creates nothing again."""

import contextlib
import datetime
import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from blazar.db import api as db_api
from blazar.utils import trusts
from oslo_utils import timeutils

from tests.unit.api import bus, things
from tests.unit.api.people import Answer, Person, refusal
from tests.unit.api.site import NOW, Site
from warre_blazar import times
from warre_blazar.db import session, tables
from warre_blazar.db.records import history
from warre_blazar.domain.running import lease_states
from warre_blazar.services.booking import idempotency

FIRST, SECOND = "key-1", "key-2"


def send(person: Person, noun: str, body: Any, key: str = FIRST) -> Answer:
    return person.send("POST", noun, body, {"Idempotency-Key": key})


@pytest.fixture
def flavor(admin: Person) -> dict:
    return things.add_flavor(admin)


def bodies(flavor: dict) -> dict[str, dict]:
    return {
        "flavors": {**things.FLAVOR, "name": "another"},
        "flavorprojects": {"flavor_id": flavor["id"], "project_id": "project-x"},
        "maintenancewindows": {
            "start": things.at(5),
            "end": things.at(6),
            "flavor_ids": [flavor["id"]],
        },
        "reservations": things.booking(flavor),
    }


NOUNS = ("flavors", "flavorprojects", "maintenancewindows", "reservations")


@pytest.fixture(params=NOUNS)
def noun(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.parametrize("root", ["/v2", "/v2/warre/v1"])
def test_repeated_request_gets_the_first_item(admin: Person, flavor, noun, root):
    admin.root = root
    before = admin.get(noun).json["total"] if noun != "reservations" else 0
    first = send(admin, noun, bodies(flavor)[noun])
    again = send(admin, noun, bodies(flavor)[noun])
    assert (again.status_int, again.json) == (first.status_int, first.json)
    assert admin.get(noun).json["total"] == before + 1


def test_other_request_with_the_key_is_refused(site: Site, admin: Person, flavor, noun):
    things.made(send(admin, noun, bodies(flavor)[noun]))
    rows = site.rows()
    body = bodies(flavor)[noun]
    other = {**body, "name": "x"} if "name" in body or noun == "reservations" else None
    other = other or {**body, **({"note": "x"} if "start" in body else {"project_id": "y"})}
    answer = send(admin, noun, other)
    assert refusal(answer) == (422, "idempotency_key_reused")
    assert answer.json["detail"] == {"field": "Idempotency-Key"}
    assert site.rows() == rows


def test_key_of_another_kind_of_item_is_refused(admin: Person, flavor):
    things.made(send(admin, "flavors", bodies(flavor)["flavors"]))
    answer = send(admin, "maintenancewindows", bodies(flavor)["maintenancewindows"])
    assert refusal(answer) == (422, "idempotency_key_reused")


def test_keys_belong_to_users(alpha: Person, beta: Person, flavor):
    one, two = (send(person, "reservations", things.booking(flavor)) for person in (alpha, beta))
    assert things.made(one)["id"] != things.made(two)["id"]


def test_new_key_is_a_new_request(alpha: Person, flavor):
    made = {send(alpha, "reservations", things.booking(flavor), k).json["id"] for k in "ab"}
    assert len(made) == 2


@pytest.mark.parametrize("key", ["", "x" * 256, "a b", "\x7f", "\u00e9".encode().decode("latin-1")])
def test_bad_key_is_refused(site: Site, alpha: Person, flavor, key):
    rows = site.rows()
    answer = send(alpha, "reservations", things.booking(flavor), key)
    assert refusal(answer) == (422, "invalid_field")
    assert answer.json["detail"]["field"] == "Idempotency-Key"
    assert site.rows() == rows


def test_refused_request_can_be_repeated(alpha: Person, flavor):
    other = things.book(alpha, flavor, instance_count=2)
    body = things.booking(flavor)
    assert refusal(send(alpha, "reservations", body)) == (400, "slots_exhausted")
    alpha.delete(f"reservations/{other['id']}")
    made = things.made(send(alpha, "reservations", body))
    assert things.made(send(alpha, "reservations", body)) == made


def test_reservation_that_was_deleted_is_not_booked_again(alpha: Person, flavor):
    body = things.booking(flavor)
    made = things.made(send(alpha, "reservations", body))
    assert alpha.delete(f"reservations/{made['id']}").status_int == 204
    again = things.made(send(alpha, "reservations", body))
    assert again["id"] == made["id"]
    assert alpha.get("reservations").json["total"] == 0


def test_half_made_reservation_that_was_removed_is_booked_again(site: Site, alpha: Person, flavor):
    """A manager was killed while it made the lease, and another one has removed it."""
    first = things.made(send(alpha, "reservations", bodies(flavor)["reservations"]))
    with session.writer() as db:
        lease = tables.leases.c.id == first["lease_id"]
        db.execute(tables.leases.update().where(lease).values(status=lease_states.CREATING))
        half_made = (db.connection(), first["lease_id"], NOW, None)
        history.record_deletion(*half_made, is_half_made=True)
    db_api.lease_destroy(first["lease_id"])
    again = things.made(send(alpha, "reservations", bodies(flavor)["reservations"]))
    assert again["id"] != first["id"]
    assert again["status"] == "ALLOCATED"
    assert things.made(send(alpha, "reservations", bodies(flavor)["reservations"])) == again


def test_reservation_that_took_the_last_slot_is_answered(alpha: Person, flavor):
    body = things.booking(flavor, instance_count=2)
    made = things.made(send(alpha, "reservations", body))
    assert things.made(send(alpha, "reservations", body)) == made


def test_key_ends_after_a_day(site: Site, alpha: Person, flavor):
    body = things.booking(flavor, start=things.at(4, 9), end=things.at(4, 11))
    made = things.made(send(alpha, "reservations", body))
    site.set_time(NOW + times.KEYS_KEPT)
    assert things.made(send(alpha, "reservations", body))["id"] == made["id"]
    site.set_time(NOW + times.KEYS_KEPT + datetime.timedelta(seconds=1))
    assert things.made(send(alpha, "reservations", body))["id"] != made["id"]


def test_old_keys_are_deleted(site: Site, alpha: Person, flavor):
    things.made(send(alpha, "reservations", things.booking(flavor)))
    assert idempotency.forget(timeutils.utcnow()) == 0
    assert len(site.rows()[tables.idempotency_keys.name]) == 1
    assert idempotency.forget(NOW + times.KEYS_KEPT + datetime.timedelta(seconds=1)) == 1


@pytest.fixture
def go(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """The manager does nothing until this is set, and the API gives up waiting for it.

    From then on, the manager handles one request after the other. Blazar doesn't repeat a write
    that SQLite refuses because of another writer, so both requests would fail now and then.
    """
    function, turn = trusts.create_ctx_from_trust, threading.Lock()

    @contextlib.contextmanager
    def in_turn(trust_id: Any) -> Iterator[Any]:
        with turn, function(trust_id) as ctx:
            yield ctx

    monkeypatch.setattr(trusts, "create_ctx_from_trust", in_turn)
    yield from bus.held(monkeypatch, trusts, "create_ctx_from_trust")


def test_lost_answer_is_found_by_repeating(site: Site, alpha: Person, flavor, go):
    body = things.booking(flavor)
    assert refusal(send(alpha, "reservations", body)) == (503, "no_answer")
    go.set()
    site.settle()
    made = things.made(send(alpha, "reservations", body))
    assert [r["id"] for r in alpha.get("reservations").json["results"]] == [made["id"]]


def test_repeating_before_the_manager_is_done_books_once(
    site: Site, alpha: Person, flavor, go, caplog
):
    """The manager has begun both requests, and the database refuses the second lease."""
    caplog.set_level(logging.INFO, "oslo_messaging.rpc.server")
    body = things.booking(flavor)
    for _ in range(2):
        assert refusal(send(alpha, "reservations", body)) == (503, "no_answer")
    go.set()
    site.settle()
    assert alpha.get("reservations").json["total"] == 1
    assert len(site.rows()["leases"]) == 1
    refused = [record for record in caplog.records if "LeaseNameAlreadyExists" in record.message]
    assert [(line.levelname, line.exc_info) for line in refused] == [("INFO", None)]
    assert not [r for r in caplog.records if "duplicated" in r.message]


def test_repeated_extension_of_a_series_books_nothing_again(alpha: Person, flavor):
    made = things.add_series(alpha, flavor)
    path, key = f"series/{made['id']}", {"Idempotency-Key": FIRST}
    first, again = (alpha.send("PATCH", path, {"more": 2}, key).json for _ in range(2))
    assert (again, again["planned"]) == (first, 4)
    other = alpha.send("PATCH", path, {"more": 1}, key)
    assert refusal(other) == (422, "idempotency_key_reused")
    assert alpha.send("PATCH", path, {"more": 1}, {"Idempotency-Key": SECOND}).json["planned"] == 5


def test_repeated_extension_says_again_what_was_refused(alpha: Person, beta: Person, flavor):
    made = things.add_series(alpha, flavor)
    things.book(beta, flavor, start=things.at(5, 9), end=things.at(5, 20), instance_count=2)
    path, key = f"series/{made['id']}", {"Idempotency-Key": FIRST}
    first, again = (alpha.send("PATCH", path, {"more": 2}, key).json for _ in range(2))
    assert [each["start"] for each in first["refused"]] == [things.at(5, 9)]
    assert without_proposals(again) == without_proposals(first)


def test_what_was_missing_is_booked_once_and_said_again(alpha: Person, beta: Person, flavor):
    taken = things.book(beta, flavor, start=things.at(4, 9), end=things.at(4, 20), instance_count=2)
    things.book(beta, flavor, start=things.at(5, 9), end=things.at(5, 20), instance_count=2)
    body = things.series(flavor, rrule="FREQ=DAILY;COUNT=3")
    made, repeated = (send(alpha, "series", body, SECOND).json for _ in range(2))
    assert [each["start"] for each in made["refused"]] == [things.at(4, 9), things.at(5, 9)]
    assert without_proposals(repeated) == without_proposals(made)
    beta.delete(f"reservations/{taken['id']}")
    path, key = f"series/{made['id']}", {"Idempotency-Key": FIRST}
    first, again = (alpha.send("PATCH", path, {"missing": True}, key).json for _ in range(2))
    assert [each["start"] for each in first["refused"]] == [things.at(5, 9)]
    assert without_proposals(again) == without_proposals(first)


def without_proposals(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer about a series without the next starts, which a repeat doesn't look for again."""
    refused = [{**each, "next_start": None} for each in answer["refused"]]
    return {**answer, "refused": refused}
