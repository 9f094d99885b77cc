"""How nectarclient-lib, on which Warre's client is built, handles the answers over HTTP."""

import threading
from collections.abc import Iterator
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest
from keystoneauth1 import adapter, session, token_endpoint
from nectarclient_lib import base, exceptions

from tests.unit.api import identity, things
from tests.unit.api.people import Person
from tests.unit.api.site import Site
from tests.unit.api.things import at


class Silent(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def url(site: Site) -> Iterator[str]:
    """The endpoint of the API. Warre's client finds ``.../v2/warre`` in Keystone's catalog."""
    with make_server("127.0.0.1", 0, site.app, handler_class=Silent) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


class Client(adapter.LegacyJsonAdapter):
    """A session that raises the library's errors, as clients that use the library make it."""

    def request(self, url: str, method: str, **kwargs: Any) -> Any:
        answer, body = super().request(url, method, raise_exc=False, **kwargs)
        if answer.status_code >= 400:
            raise exceptions.from_response(answer, url, method)
        return answer, body


class Thing(base.Resource):
    date_fields = ("start", "end")


class Things(base.Manager):
    resource_class = Thing


def manager(url: str, person: str) -> Things:
    endpoint = f"{url}/v2/warre"
    auth = token_endpoint.Token(endpoint, identity.token(person))
    return Things(Client(session.Session(auth=auth), endpoint_override=endpoint))


def test_all_pages(url: str, admin: Person):
    """The library sends limit and filters along with every link."""
    for n in range(7):
        things.add_flavor(admin, name=f"f{n}", category="gpu")
    things.add_flavor(admin, name="other")
    params = {"limit": 3, "category": "gpu"}
    found = manager(url, "alpha")._list("/v1/flavors/", params=params)
    assert [f.name for f in found] == [f"f{n}" for n in range(7)]


def test_limits_without_a_slash(url: str):
    body = manager(url, "alpha")._get("/v1/limits", "absolute")
    assert body.maxReservations == 1000


def test_a_booking_and_its_times(url: str, admin: Person):
    flavor = things.add_flavor(admin)
    bookings = manager(url, "alpha")
    made = bookings._create("/v1/reservations/", things.booking(flavor))
    assert made.start.isoformat() < made.end.isoformat()
    moved = bookings._update(f"/v1/reservations/{made.id}/", {"end": at(2, 12)})
    assert moved.end - moved.start == 1.5 * (made.end - made.start)
    bookings._delete(f"/v1/reservations/{made.id}/")
    assert bookings._list("/v1/reservations/") == []


ERRORS = {
    "no room": ({"instance_count": 3}, exceptions.BadRequest),
    "bad field": ({"start": "soon"}, exceptions.ClientException),
    "no flavor": ({"flavor_id": "nope"}, exceptions.NotFound),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(url: str, admin: Person, alpha: Person, case: str):
    """The message of the library's error is the error_message, for every status."""
    changes, expected = ERRORS[case]
    body = things.booking(things.add_flavor(admin), **changes)
    ours = alpha.post("/v2/warre/v1/reservations/", body)
    with pytest.raises(expected) as raised:
        manager(url, "alpha")._create("/v1/reservations/", body)
    assert raised.value.message == ours.json["error_message"]
    assert raised.value.code == ours.status_int


def test_a_body_that_is_too_large_is_no_reason_to_wait(url: str, admin: Person):
    """For 413 the library raises an error that may say when to retry. Ours doesn't say it."""
    with pytest.raises(exceptions.OverLimit) as raised:
        manager(url, "admin")._create("/v1/flavors/", {"description": "x" * 200_000})
    assert raised.value.retry_after == 0
    assert "too large" in raised.value.message


def test_no_token(url: str):
    with pytest.raises(exceptions.Unauthorized):
        manager(url, "stranger")._list("/v1/flavors/")
