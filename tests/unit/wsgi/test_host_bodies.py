"""Bodies of hosts that Blazar would fail on, or store as something else, are refused."""

import pytest
from blazar.db import api as db_api

from tests.unit.wsgi import sending


@pytest.fixture
def host_id(site) -> str:
    host = db_api.host_list()[0]["id"]
    values = {"property_name": "gpu_model", "capability_value": "a100"}
    db_api.host_extra_capability_create({"computehost_id": host, **values})
    return host


@pytest.mark.parametrize(
    ("body", "field"),
    [
        *((value, "body") for value in (1, "x", [], [{"name": "x"}], None, True)),
        ({"name": ["x"]}, "name"),
        ({"name": 1}, "name"),
        *(({"name": name}, "name") for name in ("", ".", "..", "../servers", "a/b", "a?b", "a#b")),
        ({"name": "host-9", "gpu_model": {"x": 1}}, "gpu_model"),
        ({"name": "host-9", "gpu_model": ["x"]}, "gpu_model"),
        ({"name": "host-9", "gpu_model": "\U0001f600"}, "gpu_model"),
        ({"name": "host-9", "": "x"}, "body"),
        ({"name": "host-9", "x" * 65: "x"}, "body"),
    ],
    ids=repr,
)
def test_malformed_host_is_refused(site, host_id, body, field):
    for method, path in (("POST", "/v1/os-hosts"), ("PUT", f"/v1/os-hosts/{host_id}")):
        before = site.rows()
        answer = sending.send(site.app, method, path, body, who="admin")
        assert sending.refused(answer) == (400, "invalid_field"), answer
        assert answer.json["detail"]["field"] == field
        assert site.rows() == before


def test_host_without_a_name_is_refused(site):
    answer = sending.send(site.app, "POST", "/v1/os-hosts", {"gpu_model": "x"}, who="admin")
    assert sending.refused(answer) == (400, "invalid_field")


def test_host_that_nova_does_not_know_is_not_found(site):
    answer = sending.send(site.app, "POST", "/v1/os-hosts", {"name": "host-9"}, who="admin")
    assert (answer.status_int, answer.json["error_code"]) == (404, 404)


@pytest.mark.parametrize("value", ["h100", 7, 1.5, True, None])
def test_property_of_a_host_is_changed(site, host_id, value):
    path = f"/v1/os-hosts/{host_id}"
    answer = sending.send(site.app, "PUT", path, {"gpu_model": value}, who="admin")
    assert answer.status_int == 200
    found = answer.json["host"].get("gpu_model")
    assert found in (value, str(value), "1")


@pytest.mark.parametrize(
    "body",
    [1, [], "x", {}, {"private": "x"}, {"private": None}, {"id": "x", "private": True}, {"x": 1}],
    ids=repr,
)
def test_malformed_property_is_refused(site, host_id, body):
    before = site.rows()
    path = "/v1/os-hosts/properties/gpu_model"
    answer = sending.send(site.app, "PATCH", path, body, who="admin")
    assert sending.refused(answer)[0] == 400
    assert site.rows() == before


def test_property_is_made_private(site, host_id):
    path = "/v1/os-hosts/properties/gpu_model"
    answer = sending.send(site.app, "PATCH", path, {"private": True}, who="admin")
    assert answer.status_int == 200
    assert answer.json["resource_property"]["private"] is True


def test_unknown_property_is_not_found(site, host_id):
    path = "/v1/os-hosts/properties/nothing"
    answer = sending.send(site.app, "PATCH", path, {"private": True}, who="admin")
    assert (answer.status_int, answer.json["error_code"]) == (404, 404)
