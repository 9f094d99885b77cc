"""A manager whose database may be an older one refuses all changes with 503, and is still read."""

from typing import Any

import pytest
from blazar.db import api as db_api

from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.wsgi import hostile, sending
from tests.unit.wsgi.whole import WholeSite
from warre_blazar import times
from warre_blazar.services.running import mark

BODY = sending.lease({"resource_type": "virtual:instance", **hostile.KINDS["virtual:instance"]})


@pytest.fixture
def lease(site: WholeSite) -> str:
    return str(sending.send(site.app, "POST", "/v1/leases", BODY).json["lease"]["id"])


@pytest.fixture
def held(lease: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(times, "GATE_WAITED_FOR", 0)
    mark.gate.begin()


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/leases", BODY),
        ("PUT", "/v1/leases/{lease}", {"end_date": "2100-01-03 12:00"}),
        ("DELETE", "/v1/leases/{lease}", b""),
        ("DELETE", "/v2/leases/{lease}", b""),
    ],
)
def test_lease_of_a_stock_type_is_not_changed(
    site: WholeSite, lease: str, held: None, method: str, path: str, body: Any
):
    before = db_api.lease_get(lease)
    answer = sending.send(site.app, method, path.format(lease=lease), body, who="admin")
    assert answer.status_int == 503
    assert "database was restored" in answer.text
    assert int(answer.headers["Retry-After"]) > 0
    assert db_api.lease_get(lease) == before
    assert len(db_api.lease_list()) == 1
    assert sending.send(site.app, "GET", f"/v1/leases/{lease}").status_int == 200


def test_reservation_is_neither_booked_nor_deleted(
    site: WholeSite, admin: Person, alpha: Person, monkeypatch: pytest.MonkeyPatch
):
    flavor = things.add_flavor(admin)
    booked = things.book(alpha, flavor)
    monkeypatch.setattr(times, "GATE_WAITED_FOR", 0)
    mark.gate.begin()
    path = f"reservations/{booked['id']}"
    for answer in (
        alpha.post("reservations", things.booking(flavor)),
        alpha.patch(path, {"instance_count": 2}),
        alpha.delete(path),
    ):
        assert refusal(answer) == (503, "service_unavailable")
    assert len(db_api.lease_list()) == 1
    assert alpha.get(path).status_int == 200
