"""Leases with several reservations."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.functional.cloud import nova_side, world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.records import Records
from tests.functional.cloud.waiting import until

IMPOSSIBLE: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    # Each of these is refused only after the first reservation was made. "ours" would fit without
    # the first one. "stock" has a bad affinity, which the stock plugin reads only then; it doesn't
    # see other reservations of the same lease.
    "ours": lambda flavor: world.slot(flavor, 2),
    "stock": lambda _: world.instance("cmp3") | {"affinity": "perhaps"},
}


@pytest.fixture(scope="module", autouse=True)
def mixed(alpha: Person, shared_offer: Offer) -> dict[str, Any]:
    """A running lease with a flavor:slot and a virtual:instance reservation on the same host."""
    flavor = shared_offer(properties=world.on_host("cmp3"))
    made = world.lease_now(
        lambda body: alpha.ask("POST", "/v1/leases", body),
        world.slot(flavor),
        world.instance("cmp3"),
    )
    until("the mixed lease to start", lambda: _lease(alpha, made)["status"] == "ACTIVE")
    return made


def _lease(who: Person, made: dict[str, Any]) -> dict[str, Any]:
    found = who.asks("GET", f"/v1/leases/{made['id']}")["lease"]
    assert found["status"] != "ERROR", found
    return found


@pytest.fixture(scope="module")
def orphans_before(admin: Person, records: Records) -> set[tuple[str, str]]:
    """What Nova and Placement held without a reservation before these tests."""
    return nova_side.orphans(admin, records)


@pytest.mark.parametrize("second", IMPOSSIBLE)
@pytest.mark.usefixtures("orphans_before")
def test_lease_with_an_impossible_second_reservation_is_refused(
    alpha: Person, offer: Offer, records: Records, lease: Callable, second: str
) -> None:
    flavor = offer(slots=3, memory_mb=1024, properties=world.on_host("cmp3"))
    before = records.dump("warre_backings")
    body = world.lease_body(world.far(), world.slot(flavor, 2), IMPOSSIBLE[second](flavor))
    refused = lease(alpha, body)
    assert 400 <= refused.status_code < 500, refused.text
    assert refused.json()["error_message"]
    # The first reservation's claims are gone at once.
    assert records.dump("warre_backings") == before


def test_lease_with_one_impossible_reservation_leaves_nothing(
    alpha: Person, offer: Offer, records: Records, lease: Callable
) -> None:
    flavor = offer()
    before = records.dump()
    body = world.lease_body(
        world.far(), world.slot(flavor), world.instance("cmp3", 100 * world.HOST_MEMORY_MB)
    )
    refused = lease(alpha, body)
    assert "Not enough hosts" in refused.json()["error_message"]
    assert records.dump() == before


def test_refused_lease_leaves_nothing(
    admin: Person, records: Records, orphans_before: set[tuple[str, str]]
) -> None:
    until("leftovers to go", lambda: nova_side.orphans(admin, records) <= orphans_before, 90)
    until("notes to go", lambda: not records.stale_notes(), 90)


def test_ours_and_stock_in_one_lease(admin: Person, alpha: Person, mixed: dict[str, Any]) -> None:
    ours, stock = (
        next(r for r in mixed["reservations"] if r["resource_type"] == kind)
        for kind in ("flavor:slot", "virtual:instance")
    )
    shown = world.show(alpha, ours)
    servers = [
        alpha.boots(flavor_id, "functional-mixed")
        for flavor_id in (shown["compute_flavor"], stock["id"])
    ]
    for server in servers:
        settled = until("a server", lambda s=server: alpha.server_settles(s))
        assert settled.status == "ACTIVE", settled.fault
        found = admin.cloud.compute.get_server(server.id)
        assert found.hypervisor_hostname == "cmp3"
    shared = alpha.ask("DELETE", f"/v2/reservations/{ours['id']}/")
    assert (shared.status_code, shared.json()["code"]) == (409, "lease_shared")

    world.end_now(alpha, shown)
    until("the lease to end", lambda: _lease(alpha, mixed)["status"] == "TERMINATED")
    assert world.show(alpha, shown)["status"] == "COMPLETE"
    ids = [s.id for s in servers]
    for reservation in (ours, stock):
        until(
            "all of it to go",
            lambda r=reservation: not nova_side.leftovers(admin, r["id"], ids),
        )
