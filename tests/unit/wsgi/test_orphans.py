"""Over v1, too, others change and delete what a creator who is gone has booked."""

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
    """A lease of alpha's over v1."""
    flavor = things.add_flavor(admin)
    answer = sending.send(site.app, "POST", "/v1/leases", sending.lease(sending.slot(flavor)))
    assert answer.status_int == 201, answer
    return answer.json["lease"]


def ask(site: WholeSite, method: str, made: dict[str, Any], who: str, body: Any = b"") -> Any:
    return sending.send(site.app, method, f"/v1/leases/{made['id']}", body, who=who)


@pytest.mark.parametrize("how", identity.REFUSALS)
def test_colleague_changes_it(site: WholeSite, made: dict[str, Any], how: str):
    site.cloud.keystone.lose("alpha", how)
    answer = ask(site, "PUT", made, "colleague", LATER)
    assert answer.status_int == 200, answer
    assert answer.json["lease"]["end_date"] == "2100-01-03T12:00:00.000000"
    lease = db_api.lease_get(made["id"])
    assert (lease["status"], lease["end_date"].hour) == ("PENDING", 12)
    assert lease["trust_id"] != made["trust_id"]


def test_operator_without_a_role_is_told_so(site: WholeSite, made: dict[str, Any]):
    site.cloud.keystone.lose("alpha", "disabled")
    answer = ask(site, "PUT", made, "admin", LATER)
    assert sending.refused(answer) == (409, "owner_gone")
    assert db_api.lease_get(made["id"])["status"] == "PENDING"


@pytest.mark.parametrize("who", ["colleague", "admin"])
@pytest.mark.parametrize("how", identity.REFUSALS)
def test_anybody_who_may_deletes_it(site: WholeSite, made: dict[str, Any], how: str, who: str):
    site.cloud.keystone.lose("alpha", how)
    assert ask(site, "DELETE", made, who).status_int == 204
    assert db_api.lease_get(made["id"]) is None
    assert (made["id"], "on_end") in site.outside.told


def test_those_who_may_not_do_not(site: WholeSite, made: dict[str, Any]):
    site.cloud.keystone.lose("alpha", "disabled")
    assert ask(site, "DELETE", made, "beta").status_int in (403, 404)
    assert db_api.lease_get(made["id"])["status"] == "PENDING"


def test_failure_for_another_reason_stands(site: WholeSite, made: dict[str, Any]):
    """Keystone is away: the lease is as it was, and the answer says that it failed."""
    site.cloud.keystone.fail(match="POST.*auth/tokens", status=503)
    answer = ask(site, "DELETE", made, "alpha")
    assert answer.status_int >= 500
    site.cloud.mend()
    assert ask(site, "DELETE", made, "alpha").status_int == 204
