"""How requests reach v2, and how errors reach people."""

import threading
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer

import pytest
from blazarclient import client as blazarclient
from blazarclient.exception import BlazarClientException, NoBlazarEndpoint
from keystoneauth1 import exceptions as ksa

from tests.fakes.service import Answer
from tests.unit.cli import fake_api
from tests.unit.cli.conftest import connect
from tests.unit.cli.fake_api import Api, Page, error, flavor, listing
from warre_blazar.cli import client as ours
from warre_blazar.cli.client import V2Client


@pytest.mark.parametrize("suffix", ["/v1", "/v1/", "/v1.0", "/v2", "", "/"])
def test_the_endpoint_may_end_in_any_version(api: Api, suffix: str) -> None:
    api.answers["GET /v2/flavors"] = listing(flavor())
    assert V2Client(connect(api.url + suffix)).list("flavors", {}) == [flavor()]
    assert [r.line for r in api.seen] == ["GET /v2/flavors"]
    assert api.seen[0].headers["x-auth-token"] == "a-token"


def test_a_path_before_the_version_stays(api: Api) -> None:
    api.answers["GET /reservation/v2/flavors"] = listing()
    assert V2Client(connect(f"{api.url}/reservation/v1")).list("flavors", {}) == []


def test_url_and_token_without_a_session(api: Api) -> None:
    api.answers |= {
        "GET /v2/flavors/a": Answer(200, flavor()),
        "PATCH /v2/flavors/a": Answer(200, flavor(slots=3)),
        "DELETE /v2/flavors/a": Answer(204),
        "GET /v2/flavors/b": error(404, "Flavor does not exist"),
    }
    old = blazarclient.Client("1", blazar_url=f"{api.url}/v1", auth_token="another")
    v2 = V2Client(old)
    assert v2.get("flavors", "a") == flavor()
    assert v2.update("flavors", "a", {"slots": 3})["slots"] == 3
    assert v2.delete("flavors", "a")
    with pytest.raises(BlazarClientException, match=r"^ERROR: Flavor does not exist$"):
        v2.get("flavors", "b")
    assert {r.headers["x-auth-token"] for r in api.seen} == {"another"}
    assert old.lease.request_manager.blazar_url.endswith("/v1")


def test_pages_are_followed_to_the_end(api: Api) -> None:
    # The API's own idea of its address is wrong, as behind a proxy.
    link = "http://inside:1/v2/flavors?category=a+b&limit=2&next=/?page={}"
    api.answers["GET /v2/flavors"] = [
        listing(flavor(id="1"), flavor(id="2"), next=link.format(2)),
        listing(flavor(id="3"), flavor(id="4"), next=link.format(3)),
        listing(flavor(id="5")),
    ]
    found = V2Client(connect(api.url)).list("flavors", {"category": "a b"})
    assert [f["id"] for f in found] == ["1", "2", "3", "4", "5"]
    assert [r.query for r in api.seen] == [
        {"category": "a b"},
        {"category": "a b", "limit": "2", "next": "/?page=2"},
        {"category": "a b", "limit": "2", "next": "/?page=3"},
    ]


def test_names_are_quoted(api: Api) -> None:
    api.answers["GET /v2/flavors/a%20%C3%AB%3F%23%25"] = Answer(200, flavor())
    assert V2Client(connect(api.url)).get("flavors", "a ë?#%") == flavor()


@pytest.mark.parametrize("ref", ["", ".", "..", "a/b"])
def test_what_a_path_cannot_name_is_not_sent(api: Api, ref: str) -> None:
    with pytest.raises(BlazarClientException, match="give the ID"):
        V2Client(connect(api.url)).delete("flavors", ref)
    assert not api.seen


def test_an_error_keeps_its_code(api: Api) -> None:
    api.answers["GET /v2/flavors/a"] = error(409, "One\n  line")
    with pytest.raises(BlazarClientException, match=r"^ERROR: One line$") as caught:
        V2Client(connect(api.url)).get("flavors", "a")
    assert caught.value.kwargs["code"] == 409


def test_no_endpoint(api: Api) -> None:
    with pytest.raises(NoBlazarEndpoint):
        V2Client(connect(""))


def test_nobody_there(api: Api) -> None:
    api.stop()
    with pytest.raises(ksa.ConnectFailure) as caught:
        V2Client(connect(api.url)).list("flavors", {})
    assert "\n" not in str(caught.value)


def test_no_answer_in_time(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    api.fail(hang=True)
    monkeypatch.setattr(ours, "TIMEOUT", 0.05)
    client = connect(api.url)
    client.session.timeout = None
    with pytest.raises(ksa.ConnectTimeout):
        V2Client(client).list("flavors", {})
    api.mend()


@pytest.fixture
def page() -> Iterator[Callable[[int, str], V2Client]]:
    """A client on something that answers with a page for browsers."""
    handler = type("Handler", (Page,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()

    def answering(status: int, text: str) -> V2Client:
        handler.answer = (status, text)  # type: ignore[attr-defined]
        return V2Client(connect(f"http://127.0.0.1:{server.server_port}/v1"))

    yield answering
    server.shutdown()
    server.server_close()


_NOT_FOUND = "<html>\n<head><title>404 Not Found</title></head>\n<body>Nothing here</body></html>"
_BUSY = "<!DOCTYPE HTML>\n<body><h1>503 Service Unavailable</h1>\nNo server.\n</body>"


@pytest.mark.parametrize(
    ("status", "text", "said"),
    [
        pytest.param(404, _NOT_FOUND, "does its API have warre-blazar?", id="no such API"),
        pytest.param(503, _BUSY, "ERROR: 503 Service Unavailable No server.", id="proxy"),
        pytest.param(502, "", "ERROR:", id="nothing said"),
        pytest.param(200, "<html>log in</html>", "is it Blazar's endpoint?", id="not an API"),
    ],
)
def test_pages_for_browsers(
    page: Callable[[int, str], V2Client], status: int, text: str, said: str
) -> None:
    with pytest.raises(BlazarClientException) as caught:
        page(status, text).list("flavors", {})
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "<" not in str(caught.value)


def test_the_fake_checks_bodies(api: Api) -> None:
    with pytest.raises(BlazarClientException, match="the fake: "):
        V2Client(connect(api.url)).update("flavors", fake_api.FLAVOR.id, {"vcpu": 3})
