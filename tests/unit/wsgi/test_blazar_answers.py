"""Requests on which Blazar's own code fails or answers in another form are answered in ours."""

import pytest
import webob
from blazar.db import api as db_api
from oslo_db import exception as db_exc

from tests.unit.wsgi import hostile, sending
from warre_blazar.wsgi import blazar_answers

OWN_PATHS = ["/", "/versions", "/v1/os-hosts", "/v2/os-hosts", "/v2/os-hosts/1", "/v2/nothing"]


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
def test_path_without_a_slash_is_refused(site, method):
    for path in ("*", "v1/leases"):
        answer = sending.send(site.app, method, path)
        assert sending.refused(answer) == (400, "invalid_field")


@pytest.mark.parametrize(("method", "status"), [("GET", 300), ("POST", 405)])
def test_empty_path_is_the_root(site, method, status):
    assert sending.send(site.app, method, "").status_int == status


@pytest.mark.parametrize("path", OWN_PATHS)
@pytest.mark.parametrize("who", ["alpha", "admin"])
@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("multipart/form-data", b""),
        ("multipart/form-data", b"x"),
        ("application/json", b"{"),
        ("application/json", b"[" * 100_000),
        ("application/json", b"[" * 500 + b"]" * 500),
        ("application/json", '{"name": "x"}'.encode("utf-16")),
        ("", b"\xff"),
    ],
    ids=["no boundary", "no boundary, body", "open", "deep", "levels", "utf-16", "no utf-8"],
)
def test_body_that_blazar_can_not_parse_is_refused(site, path, who, kind, body):
    for method in ("POST", "PUT"):
        sent = {"CONTENT_TYPE": kind}
        answer = sending.send(site.app, method, path, body, who=who, environ=sent)
        code = "malformed_json" if b"\xff" in body or b"]" not in body else "invalid_field"
        code = "invalid_field" if kind.startswith("multipart") else code
        assert sending.refused(answer) == (400, code)


@pytest.mark.parametrize(
    "path", [*OWN_PATHS, "/v1/leases", "/v2/flavors", "/v2/warre/v1/reservations", "/v2"]
)
@pytest.mark.parametrize("query", ["x=%ff", "%ed%a0%80", "limit=\xff"])
def test_query_that_is_not_utf_8_is_answered_without_a_traceback(site, path, query, caplog):
    for who in ("alpha", "admin"):
        sent = {"QUERY_STRING": query}
        answer = sending.send(site.app, "GET", path, who=who, environ=sent)
        assert answer.status_int < 500
        if "v2/" in path:
            assert sending.refused(answer)[1] in ("invalid_field", "not_found")
    assert not [record for record in caplog.records if record.exc_info]


@pytest.mark.parametrize("path", ["/", "/versions", "/v2", "/v2/", "//v2/flavors"])
def test_form_is_answered_without_a_traceback(site, path, caplog):
    sent = {"CONTENT_TYPE": "application/x-www-form-urlencoded"}
    for method in ("POST", "PUT", "PATCH"):
        answer = sending.send(site.app, method, path, b"name=%ff", who="admin", environ=sent)
        # The list of versions can only be read.
        only_read = path in ("/", "/versions")
        expected = (405, "method_not_allowed") if only_read else (400, "invalid_field")
        assert sending.refused(answer) == expected
    assert not [record for record in caplog.records if record.exc_info]


@pytest.mark.parametrize("kind", ["application/json", "application/javascript"])
@pytest.mark.parametrize("charset", ["utf-16", "ascii", "nothing"])
@pytest.mark.parametrize("path", ["/", "/v2", "/v2/os-hosts"])
def test_charset_of_a_body_is_ignored(site, path, kind, charset, caplog):
    sent = {"CONTENT_TYPE": f"{kind}; charset={charset}"}
    for who in ("alpha", "admin"):
        answer = sending.send(site.app, "PATCH", path, b'{"name": 1}', who=who, environ=sent)
        assert answer.status_int < 500
    assert not [record for record in caplog.records if record.exc_info]


@pytest.mark.parametrize("path", ["/v1//leases", "/v1/os-hosts//x"])
def test_redirect_has_no_html(site, path):
    answer = sending.send(site.app, "GET", path)
    assert (answer.status_int, answer.body) == (308, b"")
    assert answer.location


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
@pytest.mark.parametrize("path", ["", *OWN_PATHS, "/v1/leases", "/v2/flavors"])
def test_content_type_of_a_request_without_a_body_is_ignored(site, path, method):
    for kind in ("multipart/form-data", "application/json; charset=utf-16"):
        sent = {"CONTENT_TYPE": kind}
        answer = sending.send(site.app, method, path, b"x", who="admin", environ=sent)
        assert answer.status_int < 500


def test_list_of_plugins_is_not_found(site):
    for path in ("/v1/plugins", "/v1/plugins.json"):
        assert sending.refused(sending.send(site.app, "GET", path)) == (404, "not_found")


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
@pytest.mark.parametrize("accept", ["application/json", "text/html", "*/*"])
@pytest.mark.parametrize(
    "path",
    ["/v2/nothing", "/v2/nothing/x", "/v2/_routes", "/v2/oshosts", "/nothing", "/v1/nothing"],
)
def test_unknown_path_is_answered_in_json(site, path, method, accept):
    answer = sending.send(site.app, method, path, environ={"HTTP_ACCEPT": accept})
    assert sending.refused(answer) == (404, "not_found")
    assert answer.content_type == "application/json"


def reservation(kind: str, **changes: object) -> dict[str, object]:
    return {"resource_type": kind, **hostile.KINDS.get(kind, {}), **changes}


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (reservation("no:such"), 400),
        (reservation("virtual:instance", amount=1000), 409),
        (reservation("flavor:instance", amount=1000), 409),
        (reservation("physical:host", min=50, max=50), 409),
    ],
    ids=lambda asked: asked["resource_type"] if isinstance(asked, dict) else "",
)
def test_lease_that_the_manager_refuses_is_no_failure(site, asked, expected):
    answer = sending.send(site.app, "POST", "/v1/leases", sending.lease(asked))
    assert (answer.status_int, answer.json["error_code"]) == (expected, expected)
    assert "Traceback" not in answer.text


def test_change_of_a_lease_that_is_being_changed_is_no_failure(site):
    body = sending.lease(reservation("virtual:instance"))
    made = sending.send(site.app, "POST", "/v1/leases", body).json["lease"]
    db_api.lease_update(made["id"], {"status": "UPDATING"})
    change = {"end_date": "2100-01-03 12:00"}
    answer = sending.send(site.app, "PUT", f"/v1/leases/{made['id']}", change)
    assert answer.status_int == 409
    assert answer.json["error_message"] == "Invalid lease status."


@pytest.mark.parametrize(
    ("path", "exists", "status"),
    [
        ("/v1/leases/abc", None, 500),
        ("/v1/leases/abc", False, 404),
        ("/v2/leases/abc/", False, 404),
        ("/v1/leases/abc", True, 500),
        ("/v1/os-hosts/1", False, 500),
    ],
)
def test_failure_about_a_lease_that_is_gone_is_404(
    monkeypatch: pytest.MonkeyPatch, path: str, exists: bool | None, status: int
) -> None:
    """Blazar's manager fails with a TypeError if the lease is deleted after Blazar has read it.

    ``exists`` is None if the database is away.
    """

    def fail(environ, start_response):
        start_response("500 Internal Server Error", [("Content-Type", "application/json")])
        return [b'{"error_code": 500, "error_message": "Internal Server Error"}']

    def lease_get(lease_id: str) -> dict[str, str] | None:
        if exists is None:
            raise db_exc.DBConnectionError
        return {"id": lease_id} if exists else None

    monkeypatch.setattr(db_api, "lease_get", lease_get)
    answer = webob.Request.blank(path, method="PUT").get_response(blazar_answers.Translated(fail))
    assert (answer.status_int, answer.json["error_code"]) == (status, status)
