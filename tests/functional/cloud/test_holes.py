"""Attacks on other projects over v1, tried as an ordinary member of one project.

Each of these attacks works with stock Blazar's v1. The security page lists the layers that stop
them; ``tests/unit/wsgi`` tests each layer.
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
from tests.functional.cloud.records import ORPHAN, Records
from tests.functional.cloud.waiting import until

pytestmark = pytest.mark.together

V1_TIME = "%Y-%m-%d %H:%M"


def put(who: Person, booked: dict[str, Any], body: Any) -> requests.Response:
    return who.ask("PUT", f"/v1/leases/{booked['lease_id']}", body)


def in_minutes(minutes: float) -> str:
    return (world.now() + datetime.timedelta(minutes=minutes)).strftime(V1_TIME)


def refused(answer: requests.Response) -> None:
    """Check that a response is a clear refusal: a client error with a message."""
    assert 400 <= answer.status_code < 500, answer.text
    assert answer.json()["error_message"]


@pytest.fixture
def control(beta: Person, offer: Offer) -> Callable[[], None]:
    """A check that another project's booking starts, whatever was requested in the meantime."""
    booked = world.booked_now(beta, offer(slots=1))
    return lambda: world.becomes(beta, booked, "ACTIVE") and None


@pytest.fixture
def active(alpha: Person, offer: Offer) -> dict[str, Any]:
    """A running booking of alpha's."""
    return world.becomes(alpha, world.booked_now(alpha, offer(slots=2)), "ACTIVE")


def whole(records: Records, lease_id: str) -> None:
    """Check that a lease has one start and one end event, and that no event has no lease."""
    kinds = sorted(e["event_type"] for e in records.rows("events", lease_id=lease_id))
    assert kinds == ["end_lease", "start_lease"]
    # Another test adds an event without a lease.
    strays = [e["id"] for e in records.rows("events", lease_id=None)]
    assert [event_id for event_id in strays if not event_id.startswith(ORPHAN)] == []


def test_update_with_empty_events_is_refused(
    alpha: Person, active: dict[str, Any], records: Records, control: Callable[[], None]
) -> None:
    before = world.show(alpha, active)
    refused(put(alpha, active, {"end_date": in_minutes(2), "events": []}))
    assert world.show(alpha, active) == before
    whole(records, active["lease_id"])
    control()


@pytest.mark.parametrize("suffix", ["", ".json"])
def test_creation_with_a_clients_own_start_event_is_refused(
    alpha: Person, offer: Offer, lease: Callable, records: Records, suffix: str
) -> None:
    """A client can't make a future lease ACTIVE now."""
    period = world.far()
    event = {"event_type": "start_lease", "time": in_minutes(0), "status": "UNDONE"}
    body = world.lease_body(period, world.slot(offer()), events=[event])
    answer = alpha.ask("POST", f"/v1/leases{suffix}", body)
    refused(answer)
    assert not records.rows("leases", name=body["name"])


@pytest.mark.parametrize("field", ["project_id", "user_id"])
@pytest.mark.parametrize("suffix", ["", ".json"])
def test_update_cannot_give_a_lease_away(
    alpha: Person, beta: Person, offer: Offer, records: Records, field: str, suffix: str
) -> None:
    booked = world.booked(alpha, offer(), world.far())
    (before,) = records.rows("leases", id=booked["lease_id"])
    for value in ("nobody", beta.cloud.current_project_id):
        path = f"/v1/leases/{booked['lease_id']}{suffix}"
        refused(alpha.ask("PUT", path, {"name": "mine", field: value}))
        # Stock Blazar writes an update of a single value without asking any filter.
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
def test_update_that_would_wedge_the_lease_is_refused(
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
def test_creation_with_bad_events_is_refused(
    alpha: Person, offer: Offer, records: Records, events: Any
) -> None:
    body = world.lease_body(world.far(), world.slot(offer()), events=events)
    refused(alpha.ask("POST", "/v1/leases", body))
    assert not records.rows("leases", name=body["name"])


@pytest.mark.parametrize("many", ["reservations", "events"])
def test_creation_with_too_many_parts_is_refused(
    alpha: Person, offer: Offer, records: Records, many: str
) -> None:
    """The API refuses the request before a manager gets it."""
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
def test_token_without_a_project_is_forbidden(alpha: Person, unscoped: str, path: str) -> None:
    answer = requests.get(
        f"{alpha._root}/v2/{path}", headers={"X-Auth-Token": unscoped}, timeout=60
    )
    assert answer.status_code == 403, answer.text
    assert "project" in answer.json()["error_message"]


def raw(who: Person, request: str) -> str:
    """Send a request exactly as it is written, and return the response as text."""
    url = urllib.parse.urlsplit(who._root)
    token = who.cloud.session.get_token()
    text = request.replace("TOKEN", token).replace("HOST", url.netloc)
    with socket.create_connection((url.hostname, url.port), timeout=60) as connection:
        connection.sendall(text.replace("\n", "\r\n").encode("latin-1"))
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b"")).decode("latin-1")


def test_path_that_is_not_utf8_is_refused(alpha: Person) -> None:
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
    """An event that is due and has no lease would stop Blazar's own executor."""
    records.add_orphan_event()
    until("the orphan to go", lambda: not records.rows("events", lease_id=None))
    world.becomes(beta, world.booked_now(beta, offer(slots=1)), "ACTIVE")
