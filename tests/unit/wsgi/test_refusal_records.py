"""What is noted about requests to /v1 that are refused: the same as about those to /v2."""

from typing import Any

import pytest
from oslo_db import exception as db_exc

from tests.unit.api import things
from tests.unit.api.people import Person
from tests.unit.wsgi import hostile, sending
from tests.unit.wsgi.whole import WholeSite
from warre_blazar.db.booking import reservations as stored
from warre_blazar.db.records import refusals


def listed(person: Person) -> list[dict[str, Any]]:
    return things.made(person.get("refusals"))["results"]


def day(number: int) -> str:
    return things.at(number)[:10]


@pytest.fixture
def flavor(site: WholeSite) -> dict[str, Any]:
    return things.add_flavor(Person(site.app, "admin"), slots=1)


def post(site: WholeSite, *reservations: dict[str, Any], **more: Any) -> int:
    body = sending.lease(*reservations, **more)
    return sending.send(site.app, "POST", "/v1/leases", body).status_int


def put(site: WholeSite, lease_id: str, **values: Any) -> int:
    return sending.send(site.app, "PUT", f"/v1/leases/{lease_id}", values).status_int


def test_refused_lease_is_noted_once(site: WholeSite, alpha: Person, flavor: dict[str, Any]):
    assert post(site, sending.slot(flavor, amount="2")) == 400
    (found,) = listed(alpha)
    assert (found["code"], found["user_id"]) == ("slots_exhausted", alpha.user_id)
    assert (found["flavor_id"], found["instance_count"]) == (flavor["id"], 2)
    assert (found["start"], found["end"]) == (things.at(2, 9), things.at(2, 11))


def test_lease_that_begins_now_is_noted_with_its_start(
    site: WholeSite, alpha: Person, flavor: dict[str, Any]
):
    assert post(site, sending.slot(flavor, amount=2), start_date="now") == 400
    (found,) = listed(alpha)
    assert found["start"] == things.at(0, 12)


@pytest.mark.parametrize(
    ("end", "code"), [(f"{day(2)} 13:00", "slots_exhausted"), (f"{day(9)} 11:00", "too_long")]
)
def test_change_that_the_plugin_or_a_filter_refuses_is_noted_once(
    site: WholeSite, alpha: Person, flavor: dict[str, Any], end: str, code: str
):
    mine = things.book(alpha, flavor)
    things.book(alpha, flavor, start=things.at(2, 12), end=things.at(2, 13))
    assert put(site, mine["lease_id"], end_date=end) == 400
    (found,) = listed(alpha)
    assert (found["code"], found["reservation_id"]) == (code, mine["id"])
    assert (found["start"], found["instance_count"]) == (things.at(2, 9), 1)
    assert found["end"] == f"{end.replace(' ', 'T')}:00+00:00"


def test_operators_change_is_noted_for_the_project_of_the_lease(
    site: WholeSite, alpha: Person, flavor: dict[str, Any]
):
    mine = things.book(alpha, flavor)
    path, body = f"/v1/leases/{mine['lease_id']}", {"end_date": f"{day(9)} 11:00"}
    assert sending.send(site.app, "PUT", path, body, who="admin").status_int == 400
    (found,) = listed(alpha)
    assert found["user_id"] == Person(site.app, "admin").user_id


def test_other_refusals_are_not_noted(site: WholeSite, alpha: Person, flavor: dict[str, Any]):
    assert post(site, sending.slot(flavor, amount=0)) == 400
    host = {"resource_type": "physical:host", **hostile.KINDS["physical:host"], "min": 9, "max": 9}
    assert post(site, host) >= 400
    assert listed(alpha) == []


@pytest.mark.parametrize(("module", "name"), [(refusals, "add"), (stored, "find_by_lease")])
def test_failing_note_changes_no_answer(
    site: WholeSite,
    alpha: Person,
    flavor: dict[str, Any],
    module: Any,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
):
    mine = things.book(alpha, flavor)
    things.book(alpha, flavor, start=things.at(2, 12), end=things.at(2, 13))

    def fail(*_: object) -> None:
        raise db_exc.DBConnectionError

    monkeypatch.setattr(module, name, fail)
    path, body = f"/v1/leases/{mine['lease_id']}", {"end_date": f"{day(2)} 13:00"}
    answer = sending.send(site.app, "PUT", path, body)
    assert answer.status_int == 400
    assert "No capacity" in answer.json["error_message"]
