"""The life of a reservation: offered, booked, started, used and deleted."""

import json

import pytest
from openstack import exceptions as sdk_exc

from tests.functional.cloud import nova_side, world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.waiting import at_once, until

pytestmark = pytest.mark.together


def test_booked_used_and_returned(admin: Person, alpha: Person, beta: Person, offer: Offer) -> None:
    flavor = offer(
        ephemeral_gb=1,
        properties=json.dumps(["==", f"${world.PROPERTY}", "pair"]),
        extra_specs={"functional:spec": "kept"},
    )
    mine = world.booked_now(alpha, flavor, 2)
    world.becomes(alpha, mine, "ACTIVE")
    nova_flavor = admin.cloud.compute.get_flavor(mine["compute_flavor"], get_extra_specs=True)
    assert (nova_flavor.vcpus, nova_flavor.ram, nova_flavor.disk) == (1, 128, 1)
    assert nova_flavor.ephemeral == 1
    assert nova_flavor.extra_specs["functional:spec"] == "kept"

    servers = [alpha.boots(mine["compute_flavor"], f"functional-{n}") for n in range(2)]
    settled = [until("a server", lambda s=s: alpha.server_settles(s)) for s in servers]
    assert [s.status for s in settled] == ["ACTIVE", "ACTIVE"], [s.fault for s in settled]
    hosts = {admin.cloud.compute.get_server(s.id).hypervisor_hostname for s in servers}
    assert hosts <= set(world.PAIR)

    third = alpha.boots(mine["compute_flavor"], "functional-third")
    assert until("the third server", lambda: alpha.server_settles(third)).status == "ERROR"
    with pytest.raises(sdk_exc.SDKException):
        beta.boots(mine["compute_flavor"], "functional-thief")

    overlapping = world.from_now().moved(start=0.1, end=-0.1)
    refused = world.book(beta, flavor, overlapping, 2)
    assert (refused.status_code, refused.json()["code"]) == (400, "slots_exhausted")
    world.booked(beta, flavor, overlapping, 1)

    ids = [s.id for s in [*servers, third]]
    assert len(nova_side.leftovers(admin, mine["id"], ids)) == 6
    alpha.asks("DELETE", f"/v2/reservations/{mine['id']}/", want=204)
    until("all of it to go", lambda: not nova_side.leftovers(admin, mine["id"], ids))
    answers = at_once(
        [
            lambda: alpha.ask("GET", f"/v2/reservations/{mine['id']}/"),
            lambda: alpha.ask("GET", f"/v1/leases/{mine['lease_id']}"),
        ]
    )
    assert [a.status_code for a in answers] == [404, 404]
