"""Application credentials book on every way in."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.functional.cloud import world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.records import Records
from tests.functional.cloud.waiting import until

pytestmark = pytest.mark.together


@pytest.fixture(params=["restricted", "unrestricted"])
def script(alpha: Person, request: pytest.FixtureRequest) -> Iterator[Person]:
    """Alpha's script, which logs in with an application credential."""
    identity, user_id = alpha.cloud.identity, alpha.cloud.current_user_id
    credential = identity.create_application_credential(
        user_id, world.unique("functional"), unrestricted=request.param == "unrestricted"
    )
    yield Person("alpha", credential=credential)
    identity.delete_application_credential(user_id, credential)


@pytest.fixture
def listed(alpha: Person) -> Iterator[Person]:
    """Alpha's script, whose application credential allows nothing but to book over v2."""
    identity, user_id = alpha.cloud.identity, alpha.cloud.current_user_id
    rule = {"service": "reservation", "method": "POST", "path": "/v2/reservations"}
    credential = identity.create_application_credential(
        user_id, world.unique("functional"), access_rules=[rule]
    )
    yield Person("alpha", credential=credential)
    identity.delete_application_credential(user_id, credential)


def _over_v1(who: Person, flavor: dict[str, Any]) -> dict[str, Any]:
    lease = world.lease_now(lambda body: who.ask("POST", "/v1/leases", body), world.slot(flavor))
    (reservation,) = lease["reservations"]
    return world.show(who, reservation)


def _over_warres_path(who: Person, flavor: dict[str, Any]) -> dict[str, Any]:
    made = world.booked_now(who, flavor, path="/v2/warre/v1/reservations/")
    return world.show(who, made)


WAYS: dict[str, Callable[[Person, dict[str, Any]], dict[str, Any]]] = {
    "v1": _over_v1,
    "v2": world.booked_now,
    "Warre": _over_warres_path,
}


@pytest.mark.parametrize("way", WAYS)
def test_application_credential_books_starts_extends_and_deletes(
    script: Person, offer: Offer, records: Records, way: str
) -> None:
    booked = WAYS[way](script, offer())
    world.becomes(script, booked, "ACTIVE")
    end = world.Period.of(booked).moved(end=1).v2["end"]
    path = f"/v2/reservations/{booked['id']}/"
    assert script.asks("PATCH", path, {"end": end})["end"] == end
    (lease,) = records.rows("leases", id=booked["lease_id"])
    assert lease["trust_id"] is None
    assert script.ask("DELETE", path).status_code in (202, 204)
    until("its traces to go", lambda: not records.traces(booked["id"]))


def test_access_rules_allow_what_they_list_and_nothing_else(
    alpha: Person, listed: Person, offer: Offer
) -> None:
    period = world.far()
    body = {"flavor_id": offer()["id"], **period.v2}
    booked = listed.asks("POST", "/v2/reservations", body)
    path = f"/v2/reservations/{booked['id']}/"
    refused = [
        listed.ask("GET", path),
        listed.ask("DELETE", path),
        listed.ask("GET", "/v2/reservations"),
        listed.ask("GET", "/v1/leases"),
    ]
    assert [answer.status_code for answer in refused] == [401] * 4
    assert alpha.asks("GET", path)["id"] == booked["id"]
    alpha.ask("DELETE", path)
