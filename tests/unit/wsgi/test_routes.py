"""However a path is written: if Blazar routes it to a lease, the body has been checked."""

import json

import hypothesis
import pytest
import werkzeug.exceptions
from hypothesis import strategies as st

from tests.functional.db import world
from tests.unit.wsgi import sending
from warre_blazar.errors import exceptions
from warre_blazar.wsgi import guard, lease_bodies, request_bodies

FORBIDDEN = {"events": [{"event_type": "start_lease"}], "project_id": "other", "user_id": "other"}

#: {id} stands for a lease's id.
CREATIONS = [
    *("/v1/leases", "/v1/leases.json", "//v1/leases", "/v1//leases", "/v1/leases/", "/v1/leases//"),
    *(
        "/v1//leases.json",
        "/v1/./leases",
        "/v1/leases;x",
        "/v1/Leases",
        "/V1/leases",
        "/v1/leases ",
    ),
    *(
        "/v1/x/../leases",
        "/v1/leases/.json",
        "/reservation/v1/leases",
        "/v1/leases\x00",
        "v1/leases",
    ),
    *("/v2/leases", "/v2/leases/", "/v2//leases", "//v2/leases", "/v2/leases.json", "/v2/./leases"),
    *("/v2/leases//", "/v2/Leases", "/v2/leases/x"),
]
CHANGES = [
    *("/v1/leases/{id}", "/v1/leases/{id}.json", "/v1/leases/{id}/", "/v1//leases/{id}"),
    *("/v1/leases//{id}", "/v1/leases/{id}.json/", "/v1/leases.json/{id}", "//v1/leases/{id}"),
    *("/v1/leases/{id}/reservations", "/v2/leases/{id}", "/v2/leases//{id}", "/v2//leases/{id}"),
]


@pytest.fixture
def lease_id(site) -> str:
    return world.add_lease(world.hours(24, 26), project_id="project-alpha").id


def variants():
    for path in CREATIONS:
        yield "POST", path
    for path in CHANGES:
        yield "PUT", path
    # With "_method", Pecan lets a query or a form choose the method.
    for query in ("_method=POST", "%5fmethod=post", "_%6dethod=POST"):
        for method in ("GET", "POST", "DELETE", "PUT", "PATCH"):
            yield method, f"/v2/leases?{query}"
            yield method, f"/v1/leases?{query}"


def ask_all(app, asked, lease_id: str) -> list[tuple[str, str, int]]:
    """The requests with which forbidden keys reached the manager."""
    through = []
    body = {"name": "x", **sending.SPAN, "reservations": [], **FORBIDDEN}
    # v2 ignores ids of users and projects that aren't UUIDs.
    body = {**body, "user_id": "0" * 32, "project_id": "1" * 32}
    for method, url in variants():
        path, _, query = url.format(id=lease_id).partition("?")
        asked.values.clear()
        sent = {"QUERY_STRING": query}
        answer = sending.send(app, method, path, body, environ=sent)
        written = {
            key
            for _, values in asked.values
            for key in FORBIDDEN
            if key in values and values[key] == body[key]
        }
        if written:
            through.append((method, f"{path}?{query}", answer.status_int))
    return through


def test_forbidden_keys_reach_no_manager(site, asked, lease_id):
    assert ask_all(site.app, asked, lease_id) == []


def test_forbidden_keys_reach_the_manager_of_stock_blazar(site, asked, lease_id):
    """This shows that the variants above would get through without the checks."""

    def lenient(environ, start_response):
        # Blazar crashes on some of the requests, which doesn't matter here.
        try:
            return site.stock_app()(environ, start_response)
        except Exception:
            start_response("500 Failed", [])
            return []

    through = {(method, path) for method, path, _ in ask_all(lenient, asked, lease_id)}
    assert {
        ("POST", "/v1/leases?"),
        ("POST", "/v1/leases.json?"),
        ("PUT", f"/v1/leases/{lease_id}?"),
        ("PUT", f"/v1/leases/{lease_id}.json?"),
        ("POST", "/v2/leases?"),
        ("POST", "/v2/leases/?"),
    } <= through
    assert any("ethod=" in path for _, path in through)


HEADS = ["/v1", "//v1", "/v1/", "/v1/leases", "/v2", "/v1/x/..", "/v1;x", ""]
TAILS = [
    "/leases",
    "leases",
    "/x",
    "/x.json",
    "/",
    "//",
    ".json",
    "/.",
    "/..",
    ";",
    "%2f",
    " ",
    "/os-hosts",
]
PATHS = st.tuples(st.sampled_from(HEADS), st.lists(st.sampled_from(TAILS), max_size=4)).map(
    lambda parts: parts[0] + "".join(parts[1])
)


def test_every_path_that_blazar_routes_to_a_lease_is_checked(site):
    """This compares Blazar's own map of v1 with our middleware, for random paths."""
    urls = site.stock_app().v1.url_map
    found = set()

    @hypothesis.settings(max_examples=2000, deadline=None, derandomize=True, database=None)
    @hypothesis.given(PATHS, st.sampled_from(["POST", "PUT"]))
    def run(path: str, method: str) -> None:
        environ = {
            "REQUEST_METHOD": method,
            "PATH_INFO": path,
            "SERVER_NAME": "x",
            "SERVER_PORT": "80",
            "wsgi.url_scheme": "http",
            "HTTP_HOST": "x",
        }
        try:
            rule, _ = urls.bind_to_environ(environ).match(return_rule=True)
        except (werkzeug.exceptions.HTTPException, werkzeug.routing.RequestRedirect):
            return
        if path.startswith("/v1") and "lease" in rule.endpoint:
            found.add(rule.rule)
            request_bodies.put(environ, json.dumps(FORBIDDEN).encode())
            with pytest.raises(exceptions.WarreError):
                guard._prepare(environ, lambda _: False)
            assert lease_bodies.CHECKED not in environ

    run()
    assert found == {
        *("/v1/leases", "/v1/leases.json", "/v1/leases/<lease_id>", "/v1/leases/<lease_id>.json")
    }


@pytest.mark.parametrize("script_name", ["", "/reservation"])
def test_lease_is_checked_below_a_url_prefix(site, asked, lease_id, script_name):
    sent = {"SCRIPT_NAME": script_name}
    path = f"/v1/leases/{lease_id}"
    assert sending.refused(sending.send(site.app, "PUT", path, FORBIDDEN, environ=sent)) == (
        400,
        "invalid_field",
    )
    assert sending.send(site.app, "PUT", path, {"name": "x"}, environ=sent).status_int == 200
    assert asked.values == [("update_lease", {"name": "x"})]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
@pytest.mark.parametrize("path", ["/v2/leases", "/v2/leases/", "/v2/leases/x"])
def test_v2_leases_can_not_be_created_or_changed(site, asked, method, path):
    answer = sending.send(site.app, method, path, sending.lease())
    assert sending.refused(answer) == (405, "method_not_allowed")
    assert set(answer.allow) == {"GET", "HEAD", "DELETE"}
    assert asked.values == []


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
@pytest.mark.parametrize("path", ["/v2/os-hosts", "/v2/os-hosts/", "/v2//os-hosts/1"])
def test_hosts_can_not_be_created_or_changed_over_v2(site, method, path):
    answer = sending.send(site.app, method, path, {"name": "host-1"}, who="admin")
    assert sending.refused(answer) == (405, "method_not_allowed")
    assert "/v1/os-hosts" in answer.json["error_message"]


@pytest.mark.parametrize("path", ["/v2/os-hosts", "/v2/os-hosts/1", "/v2/leases", "/v2/leases/x"])
@pytest.mark.parametrize("query", ["id=x", "lease_id=x", "q=1", "x"])
def test_query_of_blazars_v2_is_refused(site, path, query, caplog):
    """Blazar would fill the id from the query, and fail on an id that isn't a number."""
    sent = {"QUERY_STRING": query}
    for method in ("GET", "DELETE"):
        answer = sending.send(site.app, method, path, who="admin", environ=sent)
        assert sending.refused(answer) == (400, "invalid_field")
    assert not [record for record in caplog.records if record.exc_info]


def test_v2_leases_can_be_listed(site):
    assert sending.send(site.app, "GET", "/v2/leases").status_int == 200


def test_other_routes_of_v1_are_not_checked(site, asked):
    """For instance, a property of hosts may be called leases."""
    path = "/v1/os-hosts/properties/leases"
    answer = sending.send(site.app, "PATCH", path, {"private": True}, who="admin")
    assert "InvalidResourceProperty" in answer.json["error_message"]
