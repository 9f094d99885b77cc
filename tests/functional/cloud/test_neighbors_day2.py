"""What users and operators do to servers and in Nova leaves each place usable."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.functional.cloud import nova_side, world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.waiting import until

pytestmark = pytest.mark.together

Boot = Callable[[str], Any]


@pytest.fixture(scope="module")
def running(alpha: Person, shared_offer: Offer) -> dict[str, Any]:
    """A reservation with an instance on each of two hosts."""
    flavor = shared_offer(slots=3)
    return world.becomes(alpha, world.booked_now(alpha, flavor, 2, affinity=False), "ACTIVE")


@pytest.fixture
def boot(admin: Person, alpha: Person, running: dict[str, Any]) -> Any:
    """A function that boots a server on the reservation. The servers are deleted afterwards."""
    made = []

    def boot(name: str, **hints: str) -> Any:
        made.append(alpha.boots(running["compute_flavor"], world.unique(name), **hints))
        settled = until("a server", lambda: alpha.server_settles(made[-1]))
        assert settled.status == "ACTIVE", settled.fault
        return admin.cloud.compute.get_server(settled.id)

    yield boot
    for server in made:
        admin.cloud.compute.delete_server(server.id, ignore_missing=True)
        admin.cloud.compute.wait_for_delete(server)


def becomes(who: Person, server: Any, status: str) -> Any:
    def settled() -> Any:
        shown = who.cloud.compute.get_server(server.id)
        assert shown.status != "ERROR", shown.fault
        return shown if (shown.status, shown.task_state) == (status, None) else None

    return until(f"a server in {status}", settled)


@pytest.fixture(scope="module")
def another_image(alpha: Person) -> Any:
    image = alpha.cloud.image
    made = image.create_image(
        world.unique("another"),
        data=b"another image",
        disk_format="raw",
        container_format="bare",
        wait=True,
    )
    yield made.id
    image.delete_image(made.id)


@pytest.mark.whole
def test_rescued_and_rebuilt_server_keeps_its_place(
    admin: Person, alpha: Person, boot: Boot, another_image: str
) -> None:
    server, other = boot("functional-rebuilt"), boot("functional-other")
    compute = alpha.cloud.compute
    compute.rescue_server(server, None, another_image)
    becomes(alpha, server, "RESCUE")
    compute.unrescue_server(server)
    becomes(alpha, server, "ACTIVE")
    compute.rebuild_server(server.id, image=another_image)
    becomes(alpha, server, "ACTIVE")
    shown = admin.cloud.compute.get_server(server.id)
    assert shown.image.id == another_image
    assert shown.compute_host == server.compute_host != other.compute_host


def test_server_group_has_a_server_on_each_host(alpha: Person, boot: Boot) -> None:
    compute = alpha.cloud.compute
    group = compute.create_server_group(name=world.unique("apart"), policy="anti-affinity")
    try:
        servers = [boot("functional-apart", group=group.id) for _ in range(2)]
        assert len({server.compute_host for server in servers}) == 2
    finally:
        compute.delete_server_group(group)


@pytest.mark.whole
def test_server_is_unshelved_in_its_zone_only(alpha: Person, boot: Boot) -> None:
    compute, server = alpha.cloud.compute, boot("functional-zoned")
    compute.shelve_server(server)
    becomes(alpha, server, "SHELVED_OFFLOADED")
    refused, taken = (
        compute.post(
            f"/servers/{server.id}/action",
            json={"unshelve": {"availability_zone": zone}},
            microversion="2.77",
        )
        for zone in ("nowhere", "nova")
    )
    assert (refused.status_code, taken.status_code) == (400, 202)
    becomes(alpha, server, "ACTIVE")


def test_what_an_operator_deletes_in_nova_is_made_anew(
    admin: Person, alpha: Person, running: dict[str, Any], boot: Boot
) -> None:
    first = boot("functional-first")
    compute = admin.cloud.compute
    (aggregate,) = (each for each in compute.aggregates() if each.name == running["id"])
    (host,) = set(aggregate.hosts) - {first.compute_host}
    compute.delete_flavor(running["compute_flavor"])
    compute.remove_host_from_aggregate(aggregate.id, host)

    def mended() -> bool:
        # The project sees the flavor only if it has access.
        seen = alpha.cloud.compute.find_flavor(running["compute_flavor"], ignore_missing=True)
        return bool(seen) and host in compute.get_aggregate(aggregate.id).hosts

    until("the flavor and the aggregate to be mended", mended)
    assert boot("functional-second").compute_host == host
    assert compute.get_server(first.id).status == "ACTIVE"


@pytest.mark.whole
def test_server_that_an_operator_has_locked_goes_at_the_end(
    admin: Person, alpha: Person, offer: Offer
) -> None:
    mine = world.becomes(alpha, world.booked_now(alpha, offer()), "ACTIVE")
    server = alpha.boots(mine["compute_flavor"], world.unique("functional-locked"))
    until("a server", lambda: alpha.server_settles(server))
    admin.cloud.compute.lock_server(server)
    world.delete_lease(alpha, mine["lease_id"])
    until("nothing to be left", lambda: not nova_side.leftovers(admin, mine["id"], [server.id]))
