"""Leases with several reservations."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.functional.cloud import nova_side, world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.records import Records
from tests.functional.cloud.waiting import until


@pytest.fixture(scope="module")
def running(alpha: Person, shared_offer: Offer) -> dict[str, Any]:
    """A running lease of two flavors on the same host."""
    flavors = [shared_offer(properties=world.on_host("cmp3")) for _ in range(2)]
    made = world.lease_now(
        lambda body: alpha.ask("POST", "/v1/leases", body), *map(world.slot, flavors)
    )
    until("the lease to start", lambda: _lease(alpha, made)["status"] == "ACTIVE")
    return made


def _lease(who: Person, made: dict[str, Any]) -> dict[str, Any]:
    found = who.asks("GET", f"/v1/leases/{made['id']}")["lease"]
    assert found["status"] != "ERROR", found
    return found


@pytest.fixture(scope="module")
def orphans_before(admin: Person, records: Records) -> set[tuple[str, str]]:
    """What Nova and Placement held without a reservation before these tests."""
    return nova_side.orphans(admin, records)


@pytest.mark.usefixtures("orphans_before")
def test_lease_with_an_impossible_second_reservation_is_refused(
    alpha: Person, offer: Offer, records: Records, lease: Callable
) -> None:
    """The second reservation would fit without the first one, so it is refused only after that."""
    flavor = offer(slots=3, memory_mb=1024, properties=world.on_host("cmp3"))
    before = records.dump("warre_backings")
    body = world.lease_body(world.far(), world.slot(flavor, 2), world.slot(flavor, 2))
    refused = lease(alpha, body)
    assert 400 <= refused.status_code < 500, refused.text
    assert refused.json()["error_message"]
    # The first reservation's claims are gone at once.
    assert records.dump("warre_backings") == before


def test_lease_that_mixes_resource_types_is_refused(
    alpha: Person, offer: Offer, records: Records, lease: Callable
) -> None:
    flavor = offer()
    before = records.dump()
    body = world.lease_body(world.far(), world.slot(flavor), world.instance("cmp3"))
    refused = lease(alpha, body)
    assert (refused.status_code, refused.json()["code"]) == (400, "mixed_lease")
    assert records.dump() == before


def test_refused_lease_leaves_nothing(
    admin: Person, records: Records, orphans_before: set[tuple[str, str]]
) -> None:
    until("leftovers to go", lambda: nova_side.orphans(admin, records) <= orphans_before)
    until("notes to go", lambda: not records.stale_notes())


@pytest.mark.whole
def test_two_flavors_in_one_lease(admin: Person, alpha: Person, running: dict[str, Any]) -> None:
    shown = [world.show(alpha, each) for each in running["reservations"]]
    servers = [alpha.boots(each["compute_flavor"], "functional-several") for each in shown]
    for server in servers:
        settled = until("a server", lambda s=server: alpha.server_settles(s))
        assert settled.status == "ACTIVE", settled.fault
        found = admin.cloud.compute.get_server(server.id)
        assert found.hypervisor_hostname == "cmp3"
    shared = alpha.ask("DELETE", f"/v2/reservations/{shown[0]['id']}/")
    assert (shared.status_code, shared.json()["code"]) == (409, "lease_shared")

    world.end_now(alpha, shown[0])
    until("the lease to end", lambda: _lease(alpha, running)["status"] == "TERMINATED")
    assert {world.show(alpha, each)["status"] for each in shown} == {"COMPLETE"}
    ids = [s.id for s in servers]
    for reservation in shown:
        until(
            "all of it to go",
            lambda r=reservation: not nova_side.leftovers(admin, r["id"], ids),
        )
