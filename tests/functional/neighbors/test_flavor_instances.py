"""Flavors of this package, booked as flavor:instance beside one of Nova, on the real Nova."""

from typing import Any

import pytest

from tests.functional.cloud import nova_side, world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.waiting import until


@pytest.fixture
def shown(offer: Offer, alpha: Person) -> dict[str, Any]:
    """A flavor of this package that Nova shows."""
    flavor = offer(show_in_nova=True)
    until("Nova to show it", lambda: alpha.cloud.compute.find_flavor(flavor["id"]))
    return flavor


def asked(flavor_id: str) -> dict[str, Any]:
    kind = {"resource_type": "flavor:instance", "affinity": "None"}
    return {**kind, "flavor_id": flavor_id, "amount": 1}


def settled(who: Person, flavor_id: str) -> Any:
    """A server on a Nova flavor, once it runs or has failed."""
    server = who.boots(flavor_id, "functional-instances")
    return until("a server", lambda: who.server_settles(server))


def test_both_boot_in_one_lease_and_are_gone_after_it(
    admin: Person, alpha: Person, shown: dict[str, Any], plain: Any
) -> None:
    def lease() -> dict[str, Any]:
        return dict(alpha.asks("GET", f"/v1/leases/{made['id']}")["lease"])

    made = world.lease_now(
        lambda body: alpha.ask("POST", "/v1/leases", body), asked(shown["id"]), asked(plain.id)
    )
    until("the lease to start", lambda: lease()["status"] == "ACTIVE")
    ids = [each["id"] for each in lease()["reservations"]]
    servers = [settled(alpha, each) for each in ids]
    assert [server.status for server in servers] == ["ACTIVE", "ACTIVE"]
    assert alpha.ask("DELETE", f"/v1/leases/{made['id']}").status_code == 204
    for each in ids:
        until(
            "all of it to go",
            lambda r=each: not nova_side.leftovers(admin, r, [s.id for s in servers]),
        )


def test_shown_flavor_boots_nothing_outside_of_a_reservation(
    alpha: Person, shown: dict[str, Any]
) -> None:
    server = settled(alpha, shown["id"])
    assert server.status == "ERROR"
    assert "No valid host" in server.fault["message"]
    alpha.cloud.compute.delete_server(server.id)
