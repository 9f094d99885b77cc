"""Requests on which Blazar's own code fails or answers in another form are answered in ours."""

import pytest
from blazar.db import api as db_api

from tests.unit.wsgi import hostile, sending

OWN_PATHS = ["/", "/versions", "/v1/os-hosts", "/v2/os-hosts", "/v2/os-hosts/1", "/v2/nothing"]


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
def test_path_without_a_slash_is_refused(site, method):
    for path in ("*", "v1/leases"):
        answer = sending.send(site.app, method, path)
        assert sending.refused(answer) == (400, "invalid_field")


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_empty_path_is_the_root(site, method):
    assert sending.send(site.app, method, "").status_int == 300


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
