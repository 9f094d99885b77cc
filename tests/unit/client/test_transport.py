"""How requests reach the v2 API, and which errors its answers raise."""

import datetime
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer

import pytest
from keystoneauth1 import exceptions as ksa
from keystoneauth1 import session, token_endpoint

from tests.fakes.service import Answer
from tests.unit.cli import fake_api
from tests.unit.cli.fake_api import Api, Page, error, flavor, listing
from warre_blazar import texts
from warre_blazar.client import Client, errors, times, transport


def connect(endpoint: str) -> Client:
    auth = token_endpoint.Token(endpoint, "a-token")
    return Client(session=session.Session(auth=auth, timeout=10))


@pytest.mark.parametrize(
    "suffix", ["/v1", "/v1/", "/v1.0", "/v2", "/v2/", "/v2/warre", "/v2/warre/v1/", "", "/"]
)
def test_endpoint_ending_in_any_version_reaches_v2(api: Api, suffix: str) -> None:
    api.answers["GET /v2/flavors"] = listing(flavor())
    (found,) = connect(api.url + suffix).flavors.list()
    assert found.document == flavor()
    assert [r.line for r in api.seen] == ["GET /v2/flavors"]
    assert api.seen[0].headers["x-auth-token"] == "a-token"


def test_path_before_version_is_kept(api: Api) -> None:
    api.answers["GET /reservation/v2/flavors"] = listing()
    assert connect(f"{api.url}/reservation/v1").flavors.list() == []


def test_blazar_with_v1_only_raises_no_endpoint(api: Api) -> None:
    api.versions.body["versions"].pop()
    api.answers["GET /v2/flavors"] = Answer(404, {"message": "no"})
    with pytest.raises(errors.NoEndpoint, match="serves v1 only; the operator has to enable v2"):
        connect(api.url).flavors.list()


def test_unreadable_version_list_raises_not_served(api: Api) -> None:
    api.versions = Answer(404, {"message": "no"})
    api.answers["GET /v2/flavors"] = Answer(404, {"message": "no"})
    with pytest.raises(errors.NotServed):
        connect(api.url).flavors.list()


def test_catalog_without_endpoint_raises_no_endpoint(api: Api) -> None:
    with pytest.raises(errors.NoEndpoint, match="no endpoint of type 'reservation'"):
        connect("").flavors.list()


def test_pages_are_followed_to_the_end(api: Api) -> None:
    # As behind a proxy, the links have an address that the client can't reach.
    link = "http://inside:1/v2/flavors?category=a+b&limit=2&next=/?page={}"
    api.answers["GET /v2/flavors"] = [
        listing(flavor(id="1"), flavor(id="2"), next=link.format(2)),
        listing(flavor(id="3"), flavor(id="4"), next=link.format(3)),
        listing(flavor(id="5")),
    ]
    found = connect(api.url).flavors.list(category="a b")
    assert [f.id for f in found] == ["1", "2", "3", "4", "5"]
    assert [r.query for r in api.seen] == [
        {"category": "a b"},
        {"category": "a b", "limit": "2", "next": "/?page=2"},
        {"category": "a b", "limit": "2", "next": "/?page=3"},
    ]


@pytest.mark.parametrize("name", ["a ë?#%", "😀", 'it\'s "quoted" & <b>'])
def test_name_with_special_characters_is_quoted(api: Api, name: str) -> None:
    path = transport.path("flavors", name)
    assert set(path) <= set("/%abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-~")
    api.answers[f"GET /v2{path}"] = Answer(200, flavor(name=name))
    assert connect(api.url).flavors.get(name).name == name


@pytest.mark.parametrize("name", [".", "..", "a/b"])
def test_name_that_no_path_can_contain_is_looked_up(api: Api, name: str) -> None:
    api.answers["GET /v2/flavors"] = listing(flavor(id="1"), flavor(id="2", name=name))
    api.answers["DELETE /v2/flavors/2"] = Answer(204)
    connect(api.url).flavors.delete(name)
    assert api.requests == ["GET /v2/flavors", "DELETE /v2/flavors/2"]


def test_error_keeps_status_code_and_detail(api: Api) -> None:
    api.answers["GET /v2/flavors/a"] = error(409, "One\n  line", "some_code", asked=2)
    with pytest.raises(errors.ApiError, match=r"^One line$") as caught:
        connect(api.url).flavors.get("a")
    found = caught.value
    assert (found.status, found.code, found.detail) == (409, "some_code", {"asked": 2})


def test_unreachable_api_raises_connect_failure(api: Api) -> None:
    api.stop()
    with pytest.raises(ksa.ConnectFailure):
        connect(api.url).flavors.list()


def test_late_answer_raises_connect_timeout(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    api.fail(hang=True)
    monkeypatch.setattr(times, "ANSWER_TIMEOUT", 0.05)
    auth = token_endpoint.Token(api.url, "a-token")
    with pytest.raises(ksa.ConnectTimeout):
        Client(session.Session(auth=auth)).flavors.list()
    api.mend()


@pytest.fixture
def page() -> Iterator[Callable[[int, str], Client]]:
    """A function that makes a client of a server that answers with an HTML page."""
    handler = type("Handler", (Page,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()

    def answering(status: int, text: str) -> Client:
        handler.answer = (status, text)  # type: ignore[attr-defined]
        return connect(f"http://127.0.0.1:{server.server_port}/v1")

    yield answering
    server.shutdown()
    server.server_close()


_NOT_FOUND = "<html>\n<head><title>404 Not Found</title></head>\n<body>Nothing here</body></html>"
_BUSY = "<!DOCTYPE HTML>\n<body><h1>503 Service Unavailable</h1>\nNo server.\n</body>"


@pytest.mark.parametrize(
    ("status", "text", "said"),
    [
        pytest.param(404, _NOT_FOUND, "its blazar-api has no warre-blazar", id="no plugin"),
        pytest.param(
            405, _NOT_FOUND, "its blazar-api has no warre-blazar", id="no plugin, 405 from Pecan"
        ),
        pytest.param(503, _BUSY, "503 Service Unavailable No server.", id="proxy"),
        pytest.param(502, "", "GET /flavors: 502 without an error message", id="empty answer"),
        pytest.param(200, "<html>log in</html>", "is it Blazar's endpoint?", id="not an API"),
        pytest.param(200, "[]", "its blazar-api has no warre-blazar", id="another API"),
    ],
)
def test_html_or_empty_answer_raises_a_one_line_error(
    page: Callable[[int, str], Client], status: int, text: str, said: str
) -> None:
    with pytest.raises(errors.ClientError) as caught:
        page(status, text).flavors.list()
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "<" not in str(caught.value)


@pytest.mark.parametrize("refusal", [(404, "not_found"), (405, "method_not_allowed")])
def test_older_server_without_a_route_raises_not_served(api: Api, refusal: tuple[int, str]) -> None:
    api.answers["GET /v2/flavors/f/freeslots"] = error(refusal[0], "No", refusal[1])
    with pytest.raises(errors.NotServed, match=r"GET /flavors/f/freeslots: .* older than this"):
        connect(api.url).flavors.free_slots("f")


def test_fake_api_refuses_invalid_body(api: Api) -> None:
    with pytest.raises(errors.ApiError, match="the fake: "):
        connect(api.url).flavors.update(fake_api.FLAVOR.id, vcpu=3)


def test_client_imports_no_server_package() -> None:
    script = (
        "import sys, warre_blazar.client; "
        "print([m for m in sys.modules if m.partition('.')[0] in "
        "('blazar', 'blazarclient', 'oslo_db', 'sqlalchemy', 'pecan', 'rich', 'tzlocal')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_answers_are_worded_for_the_clients_reader(api: Api) -> None:
    where = datetime.timezone(datetime.timedelta(hours=10))
    reader = texts.reader(lambda moment: f"{moment.astimezone(where):%H:%M} here")
    auth = token_endpoint.Token(api.url, "token")
    client = Client(session.Session(auth=auth), reader=reader)
    terms = {"max_days_ahead": 7, "latest_end": "2026-12-01T09:00:00+00:00"}
    api.answers["GET /v2/flavors/f"] = error(
        400, "Until 2026-12-01 09:00 UTC", "too_far_ahead", **terms
    )
    with pytest.raises(errors.ApiError, match="choose an end until 19:00 here") as refused:
        client.flavors.get("f")
    assert refused.value.detail == terms
    with pytest.raises(errors.ApiError, match="Until 2026-12-01 09:00 UTC"):
        connect(api.url).flavors.get("f")
