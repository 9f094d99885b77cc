"""Leases of this package have no trust, on every way in. Leases of stock types have one."""

from typing import Any

import pytest
from blazar import context
from blazar.db import api as db_api
from blazar.enforcement import enforcement

from tests.functional.db import world
from tests.unit.api import identity, things
from tests.unit.api.people import Person
from tests.unit.wsgi import hostile, sending
from tests.unit.wsgi.whole import WholeSite
from warre_blazar.errors import exceptions
from warre_blazar.openstack import manager

LONGER = {"end_date": "2100-01-03 12:00"}
STOCK = {"resource_type": "virtual:instance", **hostile.KINDS["virtual:instance"]}


def v1(site: WholeSite, method: str, path: str = "", body: Any = b"", who: str = "alpha") -> Any:
    return sending.send(site.app, method, f"/v1/leases{path}", body, who=who)


def book(site: WholeSite, way: str) -> dict[str, Any]:
    """Book a flavor, and return the lease."""
    flavor = things.add_flavor(Person(site.app, "admin"))
    if way == "v1":
        answer = v1(site, "POST", body=sending.lease(sending.slot(flavor)))
        assert answer.status_int == 201, answer
        return answer.json["lease"]
    base = "/v2/warre/v1" if way == "Warre" else "/v2"
    path = f"{base}/reservations/"
    answer = sending.send(site.app, "POST", path, things.booking(flavor))
    assert answer.status_int < 300, answer
    return db_api.lease_get(answer.json["lease_id"])


@pytest.fixture
def contexts(monkeypatch: pytest.MonkeyPatch) -> list[context.BlazarContext]:
    """The contexts in which Blazar's manager calls the filters."""
    seen: list[context.BlazarContext] = []
    name = "format_context"
    stock = getattr(enforcement.UsageEnforcement, name)

    def formatted(self: Any, ctx: Any, lease_values: Any) -> Any:
        seen.append(ctx)
        return stock(self, ctx, lease_values)

    monkeypatch.setattr(enforcement.UsageEnforcement, name, formatted)
    return seen


@pytest.mark.parametrize("way", ["v1", "v2", "Warre"])
def test_booking_change_and_deletion_need_no_trust_and_no_login(site: WholeSite, way: str):
    book(site, way)  # The process keeps the logins of its first booking.
    logins = site.cloud.keystone.logins
    lease = book(site, way)
    assert lease["trust_id"] is None
    assert lease["project_id"] == identity.project_id("alpha")
    assert lease["user_id"] == identity.user_id("alpha")
    assert v1(site, "PUT", f"/{lease['id']}", LONGER).status_int == 200
    assert v1(site, "DELETE", f"/{lease['id']}").status_int == 204
    assert site.cloud.keystone.trusts == {}
    assert site.cloud.keystone.logins == logins


def test_filters_get_the_user_and_the_project_of_the_lease(
    site: WholeSite, contexts: list[context.BlazarContext]
):
    lease = book(site, "v1")
    created = contexts[-1]
    assert created.roles == identity.PEOPLE["alpha"]
    v1(site, "PUT", f"/{lease['id']}", LONGER, who="admin")
    changed = contexts[-1]
    v1(site, "DELETE", f"/{lease['id']}", who="admin")
    deleted = contexts[-1]
    assert deleted is not changed
    for ctx in (created, changed, deleted):
        assert ctx.user_id == identity.user_id("alpha")
        assert ctx.project_id == identity.project_id("alpha")
        assert ctx.auth_token is None
        assert ctx.service_catalog


def test_catalog_of_the_service_user_stands_in_for_that_of_the_request(
    site: WholeSite, contexts: list[context.BlazarContext]
):
    """With [keystone_authtoken] include_service_catalog = false, requests have no catalog."""
    flavor = things.add_flavor(Person(site.app, "admin"))
    ctx = context.BlazarContext(user_id="user", project_id="project").to_dict()
    values = {**sending.lease(sending.slot(flavor)), "user_id": "user", "trust_id": None}
    lease = manager.create_lease(ctx, values)
    manager.delete_lease(ctx, lease["id"])
    assert all(ctx.service_catalog for ctx in contexts)


def test_lease_of_an_older_release_stops_using_its_trust(site: WholeSite):
    lease = book(site, "v1")
    world.write_lease(lease["id"], {"trust_id": "dead"})
    assert v1(site, "PUT", f"/{lease['id']}", LONGER).status_int == 200
    assert v1(site, "DELETE", f"/{lease['id']}").status_int == 204


@pytest.mark.parametrize(("said", "answered"), [(403, 400), (503, 503)])
def test_keystone_that_makes_no_trust_is_named(site: WholeSite, said: int, answered: int):
    site.cloud.keystone.fail(match="POST /v3/OS-TRUST/trusts", status=said)
    answer = v1(site, "POST", body=sending.lease(STOCK))
    assert answer.status_int == answered
    assert answer.json["error_message"].startswith("Keystone ")
    assert ("Retry-After" in answer.headers) == (answered == 503)


def test_lease_of_a_stock_type_has_a_trust(site: WholeSite):
    lease = v1(site, "POST", body=sending.lease(STOCK)).json["lease"]
    assert list(site.cloud.keystone.trusts) == [lease["trust_id"]]
    assert v1(site, "PUT", f"/{lease['id']}", LONGER).status_int == 200
    site.cloud.keystone.lose("alpha", "disabled")
    assert v1(site, "PUT", f"/{lease['id']}", LONGER, who="colleague").status_int >= 500


@pytest.mark.parametrize("values", [{}, {"trust_id": None}], ids=["left out", "none"])
def test_manager_refuses_a_lease_of_a_stock_type_without_a_trust(site: WholeSite, values):
    ctx = context.BlazarContext(user_id="user", project_id="project").to_dict()
    before = site.rows()
    with pytest.raises(exceptions.WarreError):
        manager.create_lease(ctx, {**sending.lease(STOCK), **values})
    assert site.rows() == before
    assert site.cloud.keystone.trusts == {}


@pytest.mark.parametrize("trust_id", ["another's", None])
def test_client_can_not_name_or_leave_out_a_trust(site: WholeSite, trust_id: str | None):
    before = site.rows()
    answer = v1(site, "POST", body=sending.lease(STOCK) | {"trust_id": trust_id})
    assert (answer.status_int, answer.json["detail"]["field"]) == (400, "trust_id")
    assert site.rows() == before
