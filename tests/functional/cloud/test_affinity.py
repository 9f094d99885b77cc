"""Affinity: on which hosts Nova puts the servers of a reservation."""

import json

import pytest

from tests.functional.cloud import world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.waiting import until

pytestmark = pytest.mark.together


@pytest.mark.parametrize("affinity", [pytest.param(True, marks=pytest.mark.whole), False])
def test_servers_are_where_they_were_asked_to_be(
    admin: Person, alpha: Person, offer: Offer, affinity: bool
) -> None:
    flavor = offer(properties=json.dumps(["==", f"${world.PROPERTY}", "pair"]))
    mine = world.booked_now(alpha, flavor, 2, affinity=affinity)
    assert mine["affinity"] is affinity
    shown = alpha.asks("GET", f"/v1/leases/{mine['lease_id']}")["lease"]["reservations"][0]
    assert shown["affinity"] is affinity

    world.becomes(alpha, mine, "ACTIVE")
    servers = [alpha.boots(mine["compute_flavor"], f"functional-{n}") for n in range(2)]
    settled = [until("a server", lambda s=s: alpha.server_settles(s)) for s in servers]
    assert [s.status for s in settled] == ["ACTIVE", "ACTIVE"], [s.fault for s in settled]
    hosts = {admin.cloud.compute.get_server(s.id).hypervisor_hostname for s in servers}
    assert len(hosts) == (1 if affinity else 2)


def test_more_instances_apart_than_hosts_is_refused(alpha: Person, offer: Offer) -> None:
    flavor = offer(properties=json.dumps(["==", f"${world.PROPERTY}", "pair"]))
    refused = world.book(alpha, flavor, world.far(), 3, affinity=False)
    assert (refused.status_code, refused.json()["code"]) == (400, "hosts_exhausted")
    path = f"/v2/flavors/{flavor['id']}/freeslots?count=3&affinity="
    assert alpha.asks("GET", path + "false") == []
    assert alpha.asks("GET", path + "true") != []
