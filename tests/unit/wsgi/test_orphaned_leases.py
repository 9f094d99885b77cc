"""Over v1 other users can change and delete leases whose creator is gone."""

from typing import Any

import pytest
from blazar.db import api as db_api

from tests.unit.api import identity, things
from tests.unit.api.people import Person
from tests.unit.wsgi import sending
from tests.unit.wsgi.whole import WholeSite

LATER = {"end_date": "2100-01-03 12:00"}


@pytest.fixture
def made(site: WholeSite, admin: Person) -> dict[str, Any]:
    """A lease that alpha has created over v1."""
    flavor = things.add_flavor(admin)
    answer = sending.send(site.app, "POST", "/v1/leases", sending.lease(sending.slot(flavor)))
    assert answer.status_int == 201, answer
    return answer.json["lease"]


def ask(site: WholeSite, method: str, made: dict[str, Any], who: str, body: Any = b"") -> Any:
    return sending.send(site.app, method, f"/v1/leases/{made['id']}", body, who=who)


@pytest.mark.parametrize("how", identity.REFUSALS)
def test_another_member_may_change_the_lease(site: WholeSite, made: dict[str, Any], how: str):
    site.cloud.keystone.lose("alpha", how)
    answer = ask(site, "PUT", made, "colleague", LATER)
    assert answer.status_int == 200, answer
    assert answer.json["lease"]["end_date"] == "2100-01-03T12:00:00.000000"
    lease = db_api.lease_get(made["id"])
    assert (lease["status"], lease["end_date"].hour) == ("PENDING", 12)
    assert lease["trust_id"] != made["trust_id"]


def test_operator_without_role_in_project_can_not_change(site: WholeSite, made: dict[str, Any]):
    site.cloud.keystone.lose("alpha", "disabled")
    answer = ask(site, "PUT", made, "admin", LATER)
    assert sending.refused(answer) == (409, "owner_gone")
    assert db_api.lease_get(made["id"])["status"] == "PENDING"


@pytest.mark.parametrize("who", ["colleague", "admin"])
@pytest.mark.parametrize("how", identity.REFUSALS)
def test_everyone_allowed_may_delete_the_lease(
    site: WholeSite, made: dict[str, Any], how: str, who: str
):
    site.cloud.keystone.lose("alpha", how)
    assert ask(site, "DELETE", made, who).status_int == 204
    assert db_api.lease_get(made["id"]) is None
    assert (made["id"], "on_end") in site.outside.told


def test_user_of_another_project_may_not_delete(site: WholeSite, made: dict[str, Any]):
    site.cloud.keystone.lose("alpha", "disabled")
    assert ask(site, "DELETE", made, "beta").status_int in (403, 404)
    assert db_api.lease_get(made["id"])["status"] == "PENDING"


def test_failure_for_another_reason_keeps_blazars_answer(site: WholeSite, made: dict[str, Any]):
    """While Keystone is unavailable, the lease stays unchanged and the answer is an error."""
    site.cloud.keystone.fail(match="POST.*auth/tokens", status=503)
    answer = ask(site, "DELETE", made, "alpha")
    assert answer.status_int >= 500
    site.cloud.mend()
    assert ask(site, "DELETE", made, "alpha").status_int == 204
