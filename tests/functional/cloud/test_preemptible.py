"""Preemptible servers on a host give way when a reservation begins there."""

from collections.abc import Iterator

import pytest

from tests.functional.cloud import world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.waiting import until
from warre_blazar import times

_HOST = "cmp3"


@pytest.fixture
def preemptible(admin: Person) -> Iterator[str]:
    """A Nova flavor whose servers fill a host, and give way to reservations."""
    compute = admin.cloud.compute
    flavor = compute.create_flavor(
        name=world.unique("preemptible"), vcpus=1, ram=world.HOST_MEMORY_MB - 128, disk=1
    )
    compute.create_flavor_extra_specs(flavor, {"blazar:preemptible": "true"})
    yield flavor.id
    compute.delete_flavor(flavor)


@pytest.mark.whole
def test_start_deletes_what_fills_its_host(
    admin: Person, alpha: Person, offer: Offer, preemptible: str
):
    """An operator forces the server onto the host, which no option of Nova keeps off."""
    server = admin.boots(preemptible, "functional-pre", zone=f"nova:{_HOST}")
    assert until("a server", lambda: admin.server_settles(server)).status == "ACTIVE"
    # Managers read Nova's flavors once in a while.
    big = offer(memory_mb=7000, properties=world.on_host(_HOST))
    wait = times.PREEMPTIBLE_FLAVORS_KEPT + times.PREEMPTIBLE_LOOKED_AT_EVERY
    running = world.becomes(alpha, world.booked_now(alpha, big), "ACTIVE")
    until(
        "the server to give way",
        lambda: admin.cloud.compute.find_server(server.id) is None,
        seconds=wait + 60,
    )
    # Until then, the place couldn't be used. The reconciler finds that it can be now.
    until("the place", lambda: world.show(alpha, running)["status_reason"] is None)
    mine = alpha.boots(running["compute_flavor"], "functional-after")
    assert until("a server", lambda: alpha.server_settles(mine)).status == "ACTIVE"
