"""A server without a reservation has the room of a booking: its start moves instances, or says so.

The administrator forces the server onto a host, which Blazar's filter allows nobody else.
"""

import contextlib
import datetime
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional.cloud import world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.waiting import until

#: A host of the dev cloud has 7680 MB for servers. Two instances fill most of it, and with the
#: stranger there is room for one.
MEMORY, STRANGER = 3000, 4000
LACKING = "1 of 2 places can't be used yet: the operator was told"


@pytest.fixture
def nova_flavor(admin: Person) -> Iterator[Any]:
    """A Nova flavor that anybody can use."""
    made = admin.cloud.compute.create_flavor(
        name=world.unique("functional-ordinary"), ram=STRANGER, vcpus=1, disk=1
    )
    yield made
    admin.cloud.compute.delete_flavor(made)


@contextlib.contextmanager
def stranger(admin: Person, nova_flavor: Any, host: str) -> Iterator[Any]:
    """A server of the administrator on a host, until the block is left."""
    compute = admin.cloud.compute
    server = compute.create_server(
        name="functional-stranger",
        image_id=admin.cloud.image.find_image("tiny").id,
        flavor_id=nova_flavor.id,
        networks=[{"uuid": admin.cloud.network.find_network("shared").id}],
        availability_zone=f"nova:{host}",
    )
    try:
        settled = until("the stranger", lambda: admin.server_settles(server))
        assert settled.status == "ACTIVE", settled.fault
        yield server
    finally:
        compute.delete_server(server)
        compute.wait_for_delete(server)


def boots(who: Person, reservation: dict[str, Any], count: int) -> list[str]:
    """Boot servers of a reservation at once, and return their statuses, sorted."""
    servers = [who.boots(reservation["compute_flavor"], "functional-room") for _ in range(count)]
    settled = [until("a server", lambda s=s: who.server_settles(s)) for s in servers]
    return sorted(server.status for server in settled)


def test_reservation_says_what_it_lacks_until_the_stranger_has_gone(
    admin: Person, alpha: Person, offer: Offer, nova_flavor: Any
):
    flavor = offer(memory_mb=MEMORY, slots=2, properties=world.on_host("cmp1"))
    with stranger(admin, nova_flavor, "cmp1"):
        reservation = world.booked_now(alpha, flavor, 2)
        shown = world.becomes(alpha, reservation, "ACTIVE")
        assert shown["status_reason"] == LACKING
        assert shown["missing_resources"]
        # The place that can be used is really one.
        assert boots(alpha, shown, 1) == ["ACTIVE"]
    until("the reason to go", lambda: world.show(alpha, reservation)["status_reason"] is None)
    # A manager corrects the flag when the place can be used.
    until("the flag to go", lambda: not world.show(alpha, reservation)["missing_resources"])
    assert boots(alpha, shown, 1) == ["ACTIVE"]


@pytest.mark.whole
def test_instances_start_on_a_host_that_has_the_room(
    admin: Person, alpha: Person, offer: Offer, nova_flavor: Any
):
    two = json.dumps(["!=", "$hypervisor_hostname", "cmp3"])
    flavor = offer(memory_mb=MEMORY, slots=2, properties=two)
    with stranger(admin, nova_flavor, "cmp1"):
        reservation = world.booked_now(alpha, flavor, 2)
        shown = world.becomes(alpha, reservation, "ACTIVE")
        assert shown["status_reason"] is None
        assert not shown["missing_resources"]
        assert boots(alpha, shown, 2) == ["ACTIVE", "ACTIVE"]


@pytest.mark.whole
def test_booking_that_follows_another_on_a_full_host_is_not_blamed(
    admin: Person, alpha: Person, beta: Person, offer: Offer
):
    flavor = offer(memory_mb=MEMORY, slots=2, properties=world.on_host("cmp2"))
    first = world.booked_now(alpha, flavor, 2, hours=1)
    first = world.becomes(alpha, first, "ACTIVE")
    assert boots(alpha, first, 2) == ["ACTIVE", "ACTIVE"]
    start = datetime.datetime.fromisoformat(first["start"])
    end = world.now() + datetime.timedelta(minutes=2)
    until_then, after = world.Period(start, end), world.Period(end, end + (end - start))
    body = {"end_date": until_then.v1["end_date"]}
    alpha.asks("PUT", f"/v1/leases/{first['lease_id']}", body)
    second = world.booked(beta, flavor, after, 2)
    shown = world.becomes(beta, second, "ACTIVE")
    assert (shown["status_reason"], shown["missing_resources"]) == (None, False)
    log = beta.asks("GET", f"/v2/reservations/{second['id']}/?detail=log")["log"]
    assert "moved" not in {entry["change"] for entry in log}
    assert boots(beta, shown, 2) == ["ACTIVE", "ACTIVE"]


def test_host_names_who_has_taken_its_room(
    admin: Person, alpha: Person, offer: Offer, nova_flavor: Any
):
    def taken() -> dict[str, Any]:
        (host,) = admin.ask("GET", "/v2/hosts?host=cmp1").json()["results"]
        return {each["server_id"]: each for each in host["room_taken"]}

    reservation = world.booked_now(alpha, offer(properties=world.on_host("cmp1")))
    shown = world.becomes(alpha, reservation, "ACTIVE")
    own = alpha.boots(shown["compute_flavor"], "functional-room")
    assert until("a server", lambda: alpha.server_settles(own)).status == "ACTIVE"
    with stranger(admin, nova_flavor, "cmp1") as forced:
        found = taken()
        assert own.id not in found
        assert (found[forced.id]["kind"], found[forced.id]["needs"]) == ("server", "a person")
        assert "functional-stranger" in found[forced.id]["text"]
    until("the stranger to be gone", lambda: forced.id not in taken())
