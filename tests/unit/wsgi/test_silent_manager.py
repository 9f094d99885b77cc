"""A request whose manager doesn't answer gets a 503, and never a 500."""

from typing import Any

import pytest
from blazar.db import api as db_api
from oslo_db import exception as db_exc
from oslo_messaging._drivers import impl_fake

from tests.functional.db import managers
from tests.unit.api import things
from tests.unit.api.people import Person
from tests.unit.wsgi import hostile, sending
from tests.unit.wsgi.whole import WholeSite
from warre_blazar import timer
from warre_blazar.domain.running import lease_states
from warre_blazar.wsgi import request_threads

BODY = sending.lease({"resource_type": "virtual:instance", **hostile.KINDS["virtual:instance"]})
CHANGE = {"end_date": "2100-01-03 12:00"}


@pytest.fixture
def lease(site: WholeSite) -> str:
    return str(sending.send(site.app, "POST", "/v1/leases", BODY).json["lease"]["id"])


@pytest.mark.parametrize(
    ("method", "path", "body", "code"),
    [
        ("GET", "/v1/leases", b"", "service_unavailable"),
        ("GET", "/v1/leases/{lease}", b"", "service_unavailable"),
        ("GET", "/v2/leases/", b"", "service_unavailable"),
        ("GET", "/v1/os-hosts", b"", "service_unavailable"),
        ("POST", "/v1/leases", BODY, "no_answer"),
        ("PUT", "/v1/leases/{lease}", CHANGE, "no_answer"),
        ("DELETE", "/v1/leases/{lease}", b"", "no_answer"),
        ("DELETE", "/v2/leases/{lease}", b"", "no_answer"),
    ],
)
def test_request_without_an_answer_of_the_manager_is_503(site, lease, method, path, body, code):
    with site.without_manager():
        answer = sending.send(site.app, method, path.format(lease=lease), body, who="admin")
    assert sending.refused(answer) == (503, code)
    assert int(answer.headers["Retry-After"]) > 0
    assert sending.send(site.app, "GET", "/v1/leases").status_int == 200


@pytest.mark.parametrize(
    ("error", "expected"),
    [(db_exc.DBDeadlock, (503, "service_unavailable")), (KeyError, (500, None))],
)
def test_failure_of_the_manager_tells_whether_to_try_again(
    site: WholeSite, lease: str, monkeypatch: pytest.MonkeyPatch, error: type, expected: tuple
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(site._manager, "list_leases", fail)
    answer = sending.send(site.app, "GET", "/v1/leases")
    assert (answer.status_int, answer.json.get("code")) == expected


@pytest.mark.parametrize("path", ["/v1/leases", "/v1/leases/abc", "/v2/leases/abc"])
def test_database_that_is_away_is_503(site, monkeypatch, path):
    def fail(*_: object, **__: object) -> None:
        raise db_exc.DBConnectionError

    monkeypatch.setattr(db_api, "lease_get", fail)
    monkeypatch.setattr(db_api, "lease_list", fail)
    answer = sending.send(site.app, "GET", path)
    assert sending.refused(answer) == (503, "service_unavailable")


@pytest.mark.parametrize("path", ["/v1/leases/{lease}", "/v2/leases/{lease}"])
def test_lease_whose_creation_was_cut_off_can_not_be_deleted_yet(site, lease, path):
    """Blazar's manager fails on it, and leaves it in the status ERROR."""
    for event in db_api.event_get_all_sorted_by_filters("lease_id", "asc", {"lease_id": lease}):
        db_api.event_destroy(event["id"])
    db_api.lease_update(lease, {"status": lease_states.CREATING})
    answer = sending.send(site.app, "DELETE", path.format(lease=lease))
    assert sending.refused(answer) == (409, "invalid_state")
    assert "being made" in answer.json["error_message"]
    assert db_api.lease_get(lease)["status"] == lease_states.CREATING


def test_only_answers_of_503_have_retry_after(site):
    assert "Retry-After" not in sending.send(site.app, "GET", "/v1/leases").headers
    assert "Retry-After" not in sending.send(site.app, "GET", "/v1/none").headers


#: The requests that call a manager.
CALLS = {
    "v1 list": ("GET", "/v1/leases", b""),
    "v1 hosts": ("GET", "/v1/os-hosts", b""),
    "v1 booking": ("POST", "/v1/leases", BODY),
    "v1 change": ("PUT", "/v1/leases/{lease}", CHANGE),
    "v1 deletion": ("DELETE", "/v1/leases/{lease}", b""),
    "v2 lease's deletion": ("DELETE", "/v2/leases/{lease}", b""),
    "booking": ("POST", "/v2/reservations", "{booking}"),
    "change": ("PATCH", "/v2/reservations/{booked}", {"end": things.at(3)}),
    "deletion": ("DELETE", "/v2/reservations/{booked}", b""),
    "Warre's booking": ("POST", "/v2/warre/v1/reservations", "{booking}"),
    "Warre's change": ("PATCH", "/v2/warre/v1/reservations/{booked}", {"end": things.at(3)}),
    "Warre's deletion": ("DELETE", "/v2/warre/v1/reservations/{booked}", b""),
}


class Booker:
    """Sends the requests of ``CALLS`` about a reservation and a lease that are there."""

    def __init__(self, site: WholeSite, admin: Person, alpha: Person, lease: str) -> None:
        self._app = site.app
        self._flavor = things.add_flavor(admin, slots=9)
        self._names = {"lease": lease, "booked": things.book(alpha, self._flavor)["id"]}

    def send(self, name: str, **headers: str) -> Any:
        method, path, body = CALLS[name]
        body = things.booking(self._flavor) if body == "{booking}" else body
        who = "admin" if name == "v1 hosts" else "alpha"
        path = path.format(**self._names)
        return sending.send(self._app, method, path, body, who=who, **headers)


@pytest.fixture
def booker(site: WholeSite, admin: Person, alpha: Person, lease: str) -> Booker:
    return Booker(site, admin, alpha, lease)


@pytest.mark.parametrize("name", CALLS)
def test_request_is_refused_at_once_if_all_managers_are_dead(site, booker, name):
    """The manager of this site listens, but its heartbeat says that it doesn't."""
    managers.add_heartbeat(silent=21)
    managers.add_heartbeat(silent=3600)
    before = site.rows()
    answer = booker.send(name)
    assert sending.refused(answer) == (503, "service_unavailable")
    assert "no manager" in answer.json["error_message"]
    assert int(answer.headers["Retry-After"]) > 0
    assert site.rows() == before


@pytest.mark.parametrize("name", CALLS)
def test_request_reaches_one_living_manager(booker, name):
    managers.add_heartbeat(silent=3600)
    managers.add_heartbeat(silent=15)
    assert booker.send(name).status_int < 300


@pytest.mark.parametrize("name", CALLS)
def test_request_is_sent_if_no_manager_has_ever_had_a_heartbeat(booker, name):
    """On such a site, the managers don't have the plugin, but serve Blazar's own types."""
    assert booker.send(name).status_int < 300


def test_lists_of_ours_need_no_manager(site, booker):
    managers.add_heartbeat(silent=21)
    for path in ("/v2/reservations", "/v2/flavors", "/v2/warre/v1/reservations"):
        assert sending.send(site.app, "GET", path).status_int == 200


class Timeouts:
    """The seconds for which callers would wait for an answer of a manager."""

    def __init__(self) -> None:
        self.answer: list[float | None] = []
        #: How long they would wait for a sign that a manager works on their request.
        self.sign: list[float | None] = []


@pytest.fixture
def timeouts(site: WholeSite, monkeypatch: pytest.MonkeyPatch) -> Timeouts:
    found = Timeouts()
    send = impl_fake.FakeDriver.send

    def recording(*args: Any, timeout: Any, call_monitor_timeout: Any, **more: Any) -> Any:
        found.answer.append(timeout)
        found.sign.append(call_monitor_timeout)
        return send(*args, timeout=timeout, call_monitor_timeout=call_monitor_timeout, **more)

    monkeypatch.setattr(impl_fake.FakeDriver, "send", recording)
    return found


@pytest.fixture
def _one_thread(site: WholeSite, monkeypatch: pytest.MonkeyPatch) -> None:
    """The application as a process with one thread serves it."""
    monkeypatch.setattr(timer, "limit", None)
    monkeypatch.setattr(request_threads, "_told", 1)
    site._make_app()


BLAZARS = [name for name in CALLS if name.startswith(("v1", "v2"))]
OURS = [name for name in CALLS if name not in BLAZARS]


@pytest.mark.parametrize("name", OURS)
@pytest.mark.usefixtures("_one_thread")
def test_process_with_one_thread_does_not_wait_long(booker, timeouts, name):
    booker.send(name)
    assert timeouts.answer
    assert all(seconds <= 5 for seconds in timeouts.answer)


@pytest.mark.parametrize("name", OURS)
def test_process_with_many_threads_waits_as_long_as_is_configured(booker, timeouts, name):
    booker.send(name)
    assert set(timeouts.answer) == {60}


@pytest.mark.parametrize("name", BLAZARS)
@pytest.mark.usefixtures("_one_thread")
def test_blazars_own_request_waits_for_the_manager_that_works_on_it(booker, timeouts, name):
    """Stock leases may take longer than five seconds, and v1 has no keys to repeat a request."""
    booker.send(name)
    assert set(timeouts.answer) == {60}
    assert all(seconds <= 5 for seconds in timeouts.sign)


@pytest.mark.usefixtures("_one_thread")
def test_repeat_of_a_booking_that_took_too_long_finds_it(site, booker):
    key = {"Idempotency_Key": "mine"}
    with site.without_manager():
        answer = booker.send("booking", **key)
    assert sending.refused(answer) == (503, "no_answer")
    assert "perhaps" in answer.json["error_message"]
    first, again = booker.send("booking", **key), booker.send("booking", **key)
    assert (first.status_int, again.json["id"]) == (again.status_int, first.json["id"])
