"""The lives of leases of Blazar's own types, beside a flavor:slot reservation in use."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.functional.cloud import nova_side, world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.waiting import until

#: The host of the flavor:slot reservation, and a host for the others. A physical:host reservation
#: takes the whole host and moves it to an availability zone, so the host must not be in one.
OUR_HOST, FREE_HOST = "cmp3", "cmp2"


@pytest.fixture(scope="module")
def in_use(alpha: Person, shared_offer: Offer) -> dict[str, Any]:
    """An ACTIVE flavor:slot reservation on another host."""
    mine = world.booked_now(alpha, shared_offer(properties=world.on_host(OUR_HOST)))
    return world.becomes(alpha, mine, "ACTIVE")


def _wanted(kind: str, flavor: str) -> dict[str, Any]:
    if kind == "virtual:instance":
        return world.instance(FREE_HOST)
    if kind == "flavor:instance":
        return {"resource_type": kind, "flavor_id": flavor, "amount": 1, "affinity": None}
    host = world.on_host(FREE_HOST)
    # Blazar requires both fields.
    properties = {"hypervisor_properties": host, "resource_properties": ""}
    return {"resource_type": kind, "min": 1, "max": 1, **properties}


@pytest.mark.parametrize(
    "kinds",
    [
        ("virtual:instance", "flavor:instance"),
        pytest.param(("physical:host",), marks=pytest.mark.whole),
    ],
)
def test_stock_leases_are_booked_used_and_deleted_beside_ours(
    admin: Person,
    alpha: Person,
    beta: Person,
    in_use: dict[str, Any],
    lease: Callable,
    plain: Any,
    kinds: tuple[str, ...],
) -> None:
    made = world.lease_now(lambda body: lease(beta, body), *(_wanted(k, plain.id) for k in kinds))
    path = f"/v1/leases/{made['id']}"
    until(f"{kinds} to start", lambda: beta.asks("GET", path)["lease"]["status"] == "ACTIVE")

    ours = alpha.boots(in_use["compute_flavor"], "functional-ours")
    theirs = {}
    for reservation in made["reservations"]:
        kind, reservation_id = reservation["resource_type"], reservation["id"]
        # A scheduler hint leads to the whole host, and a Nova flavor to the other reservations.
        hint = {"reservation": reservation_id} if kind == "physical:host" else {}
        server = beta.boots(plain.id if hint else reservation_id, "functional-stock", **hint)
        theirs[reservation_id] = (kind, server.id)
        settled = until("a server", lambda s=server: beta.server_settles(s))
        assert settled.status == "ACTIVE", settled.fault
        if kind != "flavor:instance":
            assert admin.cloud.compute.get_server(server.id).hypervisor_hostname == FREE_HOST
    assert until("a server", lambda: alpha.server_settles(ours)).status == "ACTIVE"
    assert {kind for kind, _ in theirs.values()} == set(kinds)

    world.delete_lease(beta, made["id"])
    assert beta.ask("GET", path).status_code == 404
    for reservation_id, (kind, server_id) in theirs.items():
        until(
            f"what {kind} has to go",
            lambda r=reservation_id, s=server_id: not nova_side.leftovers(admin, r, [s]),
        )

    # The flavor:slot reservation isn't affected.
    assert world.show(alpha, in_use)["status"] == "ACTIVE"
    assert alpha.cloud.compute.get_server(ours.id).status == "ACTIVE"
    alpha.cloud.compute.delete_server(ours.id)
    alpha.cloud.compute.wait_for_delete(ours)
