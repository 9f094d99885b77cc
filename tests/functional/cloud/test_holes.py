"""What a member could do to everybody over v1, asked as an ordinary user of one project.

Each of these worked with stock Blazar's v1. The layers that stop them are listed in the security
page; ``tests/unit/wsgi`` tries them one by one.
"""

import datetime
import socket
import urllib.parse
from collections.abc import Callable
from typing import Any

import pytest
import requests

from tests.functional.cloud import world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.records import Records
from tests.functional.cloud.waiting import until

V1_TIME = "%Y-%m-%d %H:%M"


def put(who: Person, booked: dict[str, Any], body: Any) -> requests.Response:
    return who.ask("PUT", f"/v1/leases/{booked['lease_id']}", body)


def in_minutes(minutes: float) -> str:
    return (world.now() + datetime.timedelta(minutes=minutes)).strftime(V1_TIME)


def refused(answer: requests.Response) -> None:
    """A clear refusal: not a failure, and it says why."""
    assert 400 <= answer.status_code < 500, answer.text
    assert answer.json()["error_message"]


@pytest.fixture
def control(beta: Person, offer: Offer) -> Callable[[], None]:
    """Another project's booking that has to start, whatever is asked meanwhile."""
    booked = world.booked_now(beta, offer(slots=1))
    return lambda: world.becomes(beta, booked, "ACTIVE") and None


@pytest.fixture
def active(alpha: Person, offer: Offer) -> dict[str, Any]:
    """A running booking of alpha's."""
    return world.becomes(alpha, world.booked_now(alpha, offer(slots=2)), "ACTIVE")


def whole(records: Records, lease_id: str) -> None:
    """A lease has one start and one end event, and no event is without its lease."""
    kinds = sorted(e["event_type"] for e in records.rows("events", lease_id=lease_id))
    assert kinds == ["end_lease", "start_lease"]
    assert records.rows("events", lease_id=None) == []


def test_empty_events_of_an_update(
    alpha: Person, active: dict[str, Any], records: Records, control: Callable[[], None]
) -> None:
    before = world.show(alpha, active)
    refused(put(alpha, active, {"end_date": in_minutes(2), "events": []}))
    assert world.show(alpha, active) == before
    whole(records, active["lease_id"])
    control()


@pytest.mark.parametrize("suffix", ["", ".json"])
def test_start_event_of_a_clients_own(
    alpha: Person, offer: Offer, lease: Callable, records: Records, suffix: str
) -> None:
    """A lease for later isn't ACTIVE now."""
    period = world.far()
    event = {"event_type": "start_lease", "time": in_minutes(0), "status": "UNDONE"}
    body = world.lease_body(period, world.slot(offer()), events=[event])
    answer = alpha.ask("POST", f"/v1/leases{suffix}", body)
    refused(answer)
    assert not records.rows("leases", name=body["name"])


@pytest.mark.parametrize("field", ["project_id", "user_id"])
@pytest.mark.parametrize("suffix", ["", ".json"])
def test_lease_given_away(
    alpha: Person, beta: Person, offer: Offer, records: Records, field: str, suffix: str
) -> None:
    booked = world.booked(alpha, offer(), world.far())
    (before,) = records.rows("leases", id=booked["lease_id"])
    for value in ("nobody", beta.cloud.current_project_id):
        path = f"/v1/leases/{booked['lease_id']}{suffix}"
        refused(alpha.ask("PUT", path, {"name": "mine", field: value}))
        # A body of one value is written by Blazar without asking a filter.
        refused(alpha.ask("PUT", path, {field: value}))
    (after,) = records.rows("leases", id=booked["lease_id"])
    assert (after[field], after["status"]) == (before[field], "PENDING")


BODIES: dict[str, Any] = {
    "trust": {"trust_id": "another"},
    "id": {"id": "another"},
    "class": {"__class__": "Lease"},
    "no reservations": {"reservations": None},
    "no end": {"end_date": None},
    "long name": {"name": "x" * 100},
    "name of a number": {"name": 7},
    "list": [],
    "text": "lease",
    "nothing": None,
}


@pytest.mark.parametrize("case", BODIES)
def test_update_that_wedged_the_lease(
    alpha: Person, offer: Offer, records: Records, case: str
) -> None:
    booked = world.booked(alpha, offer(), world.far())
    refused(put(alpha, booked, BODIES[case]))
    (row,) = records.rows("leases", id=booked["lease_id"])
    assert row["status"] == "PENDING"
    assert alpha.ask("DELETE", f"/v2/reservations/{booked['id']}/").status_code == 204


@pytest.mark.parametrize(
    "events",
    [[1], [{}], [{"event_type": "end_lease", "time": "2100-01-01 00:00", "status": "DONE"}], {}, 1],
    ids=["number", "empty", "decoy", "object", "no list"],
)
def test_creation_with_events(alpha: Person, offer: Offer, records: Records, events: Any) -> None:
    body = world.lease_body(world.far(), world.slot(offer()), events=events)
    refused(alpha.ask("POST", "/v1/leases", body))
    assert not records.rows("leases", name=body["name"])


@pytest.mark.parametrize("many", ["reservations", "events"])
def test_expensive_creation(alpha: Person, offer: Offer, records: Records, many: str) -> None:
    """Refused before a manager hears of it."""
    flavor = offer()
    body = world.lease_body(world.far(), world.slot(flavor))
    body[many] = [world.slot(flavor)] * 3000
    refused(alpha.ask("POST", "/v1/leases", body))
    assert not records.rows("leases", name=body["name"])


@pytest.fixture(scope="module")
def unscoped(alpha: Person) -> str:
    """A token of alpha's without a project."""
    session = alpha.cloud.session
    user = {"id": alpha.cloud.current_user_id, "password": session.auth._password}
    login = {"auth": {"identity": {"methods": ["password"], "password": {"user": user}}}}
    login["auth"]["scope"] = "unscoped"  # type: ignore[assignment]
    answer = requests.post(f"{alpha._keystone}/auth/tokens", json=login, timeout=60)
    assert answer.status_code == 201, answer.text
    return answer.headers["X-Subject-Token"]


@pytest.mark.parametrize(
    "path", ["flavors/", "reservations/", "limits/", "maintenancewindows/", "warre/v1/flavors/"]
)
def test_token_without_a_project(alpha: Person, unscoped: str, path: str) -> None:
    answer = requests.get(
        f"{alpha._root}/v2/{path}", headers={"X-Auth-Token": unscoped}, timeout=60
    )
    assert answer.status_code == 403, answer.text
    assert "project" in answer.json()["error_message"]


def raw(who: Person, request: str) -> str:
    """What comes back for a request as it is written."""
    url = urllib.parse.urlsplit(who._root)
    token = who.cloud.session.get_token()
    text = request.replace("TOKEN", token).replace("HOST", url.netloc)
    with socket.create_connection((url.hostname, url.port), timeout=60) as connection:
        connection.sendall(text.replace("\n", "\r\n").encode("latin-1"))
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b"")).decode("latin-1")


def test_path_that_is_no_utf8(alpha: Person) -> None:
    answer = raw(alpha, "HEAD /v2/flavors/%ff%fe HTTP/1.0\nHost: HOST\nX-Auth-Token: TOKEN\n\n")
    assert answer.split()[1] in ("400", "404", "422"), answer


def test_lease_of_beta_is_untouched_by_alpha(
    alpha: Person, beta: Person, offer: Offer, records: Records
) -> None:
    booked = world.booked(beta, offer(), world.far())
    for suffix in ("", ".json"):
        answer = alpha.ask("PUT", f"/v1/leases/{booked['lease_id']}{suffix}", {"name": "mine"})
        assert answer.status_code in (403, 404), answer.text
    (row,) = records.rows("leases", id=booked["lease_id"])
    assert row["status"] == "PENDING"


def test_orphan_event_stops_nobody(
    alpha: Person, beta: Person, offer: Offer, records: Records
) -> None:
    """Left by what was before: due, without a lease. Blazar's executor stumbles over it."""
    records.add_orphan_event()
    until("the orphan to go", lambda: not records.rows("events", lease_id=None))
    world.becomes(beta, world.booked_now(beta, offer(slots=1)), "ACTIVE")
