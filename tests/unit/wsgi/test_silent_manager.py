"""A request to Blazar's own API whose manager doesn't answer gets a 503, and never a 500."""

import pytest
from blazar.db import api as db_api
from oslo_db import exception as db_exc

from tests.unit.wsgi import hostile, sending
from tests.unit.wsgi.whole import WholeSite
from warre_blazar.domain import lease_states

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
