"""Quotas by the limits in Keystone: booking up to a limit, extending past it, and releasing."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from tests.fakes.service import Answer, Request, Service
from tests.functional.cloud import devcloud, world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person, newcomer
from tests.functional.cloud.records import BACKGROUND, Records
from tests.functional.cloud.waiting import until
from warre_blazar import times

#: After so many seconds, no process has limits any more that it had cached before.
_FORGOTTEN = times.LIMITS_CACHED_FOR + 0.5


class Limits:
    """A project's limits, which are set as an operator sets them."""

    def __init__(self, project: str) -> None:
        self.project = project
        self._ids: dict[str, str] = {}

    def set(self, **limits: int) -> None:
        """Set limits. Raised limits hold at once, and lowered limits after ``_FORGOTTEN``."""
        for name, value in limits.items():
            if name in self._ids:
                # The limit is made again, because "limit set --resource-limit 0" changes nothing.
                _openstack("limit", "delete", self._ids[name])
            where = ("--project", self.project, "--service", "reservation", "--region", "RegionOne")
            words = ("limit", "create", *where, "--resource-limit", str(value), name)
            self._ids[name] = json.loads(_openstack(*words, "-f", "json"))["id"]

    def remove(self, admin: Person) -> None:
        identity = admin.cloud.identity
        for limit in identity.limits(project_id=identity.find_project(self.project).id):
            identity.delete_limit(limit)


def _openstack(*words: str) -> str:
    return devcloud.run("openstack", *words, user="admin")


@pytest.fixture
def limits(admin: Person) -> Iterator[Limits]:
    """The limits of project beta, which are removed after the test."""
    made = Limits("beta")
    made.remove(admin)
    yield made
    made.remove(admin)


def _standing(who: Person, query: str = "") -> tuple[int, int]:
    """The reservations and the hours that a project uses."""
    found = who.asks("GET", f"/v2/limits/{query}")["absolute"]
    return found["totalReservationsUsed"], found["totalHoursUsed"]


def _exceeded(answer: requests.Response) -> list[str]:
    """The names of the limits that a refused request to v2 would exceed."""
    assert answer.status_code == 413, answer.text
    assert answer.json()["code"] == "quota_exceeded"
    return [each["resource"] for each in answer.json()["detail"]["exceeded"]]


def test_bookings_and_extensions_past_a_limit_are_refused_until_something_is_deleted(
    admin: Person, beta: Person, offer: Offer, records: Records, limits: Limits
) -> None:
    flavor = offer(slots=9)
    reservations, hours = _standing(beta)
    limits.set(reservation=reservations + 1, hours=hours + 3)
    time.sleep(_FORGOTTEN)
    running = world.becomes(beta, world.booked_now(beta, flavor), "ACTIVE")

    body = {"flavor_id": flavor["id"], **world.far().v2}
    for path in ("/v2/reservations/", "/v2/warre/v1/reservations/"):
        assert _exceeded(beta.ask("POST", path, body)) == ["reservation"]
    refused = beta.ask("POST", "/v1/leases", world.lease_body(world.far(), world.slot(flavor)))
    assert refused.status_code == 413, refused.text
    used = f"reservation: 1 asked, {reservations + 1} of {reservations + 1} used"
    assert used in refused.json()["error_message"]

    limits.set(reservation=reservations + 5)
    world.booked(beta, flavor, world.far(2))
    assert _standing(beta) == (reservations + 2, hours + 3)

    server = beta.boots(running["compute_flavor"], "functional-quota")
    assert until("a server", lambda: beta.server_settles(server)).status == "ACTIVE"
    period = world.Period.of(running)
    before = _rows(records, running)
    path = f"/v2/reservations/{running['id']}/"
    assert _exceeded(beta.ask("PATCH", path, {"end": period.moved(end=1).v2["end"]})) == ["hours"]
    lease = f"/v1/leases/{running['lease_id']}"
    refused = beta.ask("PUT", lease, period.moved(end=1).v1)
    assert refused.status_code == 400, refused.text
    told = f"hours: 1 asked, {hours + 3} of {hours + 3} used"
    assert told in refused.json()["error_message"]
    assert _rows(records, running) == before
    assert world.show(beta, running) == running
    assert beta.asks("GET", lease)["lease"]["status"] == "ACTIVE"
    assert beta.cloud.compute.get_server(server.id).status == "ACTIVE"

    assert _exceeded(world.book(beta, flavor, world.far())) == ["hours"]
    beta.asks("DELETE", path, want=204)
    world.booked(beta, flavor, world.far())
    assert _standing(beta) == (reservations + 2, hours + 3)
    query = f"?project_id={beta.cloud.current_project_id}"
    assert _standing(admin, query) == (reservations + 2, hours + 3)
    everybody = admin.asks("GET", "/v2/limits/?all_projects=true")["results"]
    mine = [e for e in everybody if e["project_id"] == beta.cloud.current_project_id]
    assert [e["absolute"]["totalHoursUsed"] for e in mine] == [hours + 3]


def _rows(records: Records, reservation: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """A reservation's rows, without what the background writes at any time.

    The table of leases is left out, because Blazar writes there when it looked.
    """
    of_reservation = {"reservation_id": reservation["id"]}
    tables = ("instance_reservations", "computehost_allocations", "warre_reservations")
    found = {
        "reservations": records.rows("reservations", id=reservation["id"]),
        "events": records.rows("events", lease_id=reservation["lease_id"]),
        **{table: records.rows(table, **of_reservation) for table in tables},
    }
    return {
        table: [{k: v for k, v in row.items() if k not in BACKGROUND} for row in rows]
        for table, rows in found.items()
    }


@pytest.mark.whole
def test_limit_zero_refuses_and_limit_minus_one_allows(
    beta: Person, offer: Offer, limits: Limits
) -> None:
    flavor = offer()
    limits.set(reservation=0, hours=-1)
    time.sleep(_FORGOTTEN)
    assert _exceeded(world.book(beta, flavor, world.far())) == ["reservation"]
    # What is cached refuses, so Keystone is asked again.
    limits.set(reservation=-1, hours=0)
    assert _exceeded(world.book(beta, flavor, world.far())) == ["hours"]
    limits.set(hours=-1)
    world.booked(beta, flavor, world.far(20))


@pytest.mark.whole
def test_unregistered_limit_is_named_to_the_operator(
    admin: Person, beta: Person, offer: Offer
) -> None:
    flavor = offer()
    identity = admin.cloud.identity
    registered = next(r for r in identity.registered_limits() if r.resource_name == "hours")
    identity.delete_registered_limit(registered)
    try:
        time.sleep(_FORGOTTEN)
        refused = world.book(beta, flavor, world.far())
        assert (refused.status_code, refused.json()["code"]) == (503, "limits_not_registered")
        assert "hours" in refused.json()["error_message"]
    finally:
        limit = str(registered.default_limit)
        config = str(devcloud.home() / "etc" / "blazar" / "blazar.conf")
        words = ("--config-file", config, "quota", "register", "--hours", limit)
        told = devcloud.run("warre-blazar-manage", *words, user="admin")
    assert f"hours: {limit} (was not registered)" in told
    world.booked(beta, flavor, world.far())


def test_reservation_of_a_deleted_project_stays_until_it_is_deleted(
    admin: Person, offer: Offer, records: Records
) -> None:
    name, identity = world.unique("functional"), admin.cloud.identity
    somebody, user, project = newcomer(admin, name)
    booked = world.booked(somebody, offer(), world.far(2))
    identity.update_user(user, is_enabled=False)
    path = f"/v2/reservations/{booked['id']}/"
    longer = {"end": world.Period.of(booked).moved(end=1).v2["end"]}
    extended = admin.asks("PATCH", path, longer)
    identity.delete_user(user)
    identity.delete_project(project)
    assert world.show(admin, booked) == extended
    assert world.Period.of(extended) == world.Period.of(booked).moved(end=1)
    # What is gone counts until its reservation is deleted.
    assert _standing(admin, f"?project_id={project.id}") == (1, 3)
    admin.asks("DELETE", path, want=204)
    until("its traces to go", lambda: not records.traces(booked["id"]))


class _Bouncer(Service):
    """An external enforcement service that refuses some leases."""

    routes = (("POST", "/(check-create|check-update|on-end)", "check"),)

    def check(self, request: Request, what: str) -> Answer:
        if request.body["lease"].get("name") == "unwelcome":
            return Answer(403, {"message": "The bouncer said no"})
        return Answer(204)


def test_quotas_hold_beside_blazars_own_filters(beta: Person, offer: Offer, limits: Limits) -> None:
    long, short = offer(max_length_hours=100), offer(max_length_hours=1)
    # The manager starts with the options below, and so without cached limits.
    limits.set(hours=_standing(beta)[1] + 10)
    bouncer = _Bouncer()
    options = {
        "enabled_filters": "MaxLeaseDurationFilter,ExternalServiceFilter,StrictLeaseFilter,"
        "FlavorMaxLengthFilter,"
        "ProjectQuotaFilter",
        "max_lease_duration": str(6 * 3600),
        "external_service_base_endpoint": bouncer.url,
    }

    def refusal(hours: int, flavor: dict[str, Any], amount: int = 1, **changes: Any) -> str:
        """The error of a booking over v1, where all checks are the manager's."""
        body = world.lease_body(world.far(hours), world.slot(flavor, amount), **changes)
        answer = beta.ask("POST", "/v1/leases", body)
        assert 400 <= answer.status_code < 500, answer.text
        return answer.json()["error_message"]

    with devcloud.enforcing(options):
        assert "maximum lease duration" in refusal(7, long)
        assert "The bouncer said no" in refusal(1, long, name="unwelcome")
        assert "max allowed is 1 hours" in refusal(2, short)
        assert "hours: 12 asked" in refusal(6, long, amount=2)
        made = world.booked(beta, long, world.far(2))
        lease = f"/v1/leases/{made['lease_id']}"
        period = world.Period.of(made)
        assert beta.ask("PUT", lease, period.moved(end=9).v1).status_code == 400
        assert world.show(beta, made) == made
        beta.asks("PUT", lease, period.moved(end=1).v1)
        beta.asks("DELETE", f"/v2/reservations/{made['id']}/", want=204)
    asked = {line.rpartition("/")[2] for line in bouncer.requests}
    assert asked == {"check-create", "check-update", "on-end"}
    bouncer.stop()
