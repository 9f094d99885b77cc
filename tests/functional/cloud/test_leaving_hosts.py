"""Operators empty a host under a running reservation, and hosts leave Nova and come back."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional.cloud import devcloud, test_audit, world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.records import Records
from tests.functional.cloud.test_failing_host import boots, hosts_of
from tests.functional.cloud.waiting import until

#: The host that is left, and the only other one that its reservations may be on.
LEFT, OTHER = "cmp3", "cmp2"
COMPUTE = f"nova-compute-{LEFT}"
#: Flavors that only the two hosts match.
PROPERTIES = json.dumps(["!=", "$hypervisor_hostname", "cmp1"])


@pytest.fixture
def restored(admin: Person) -> Iterator[None]:
    """After the test, the compute runs, and the host can be booked."""
    yield
    devcloud.start(COMPUTE)
    for service in compute_services(admin):
        admin.cloud.compute.update_service_forced_down(service, LEFT, "nova-compute", forced=False)
    until("Nova to have the host", lambda: devcloud.manage_host("refresh", LEFT)[0] == 0)
    test_audit.audit("--fix")
    # The command refuses the host until Nova hears from the compute again.
    until("the undo", lambda: devcloud.manage_host("fail", LEFT, "--undo")[0] == 0)
    assert devcloud.manage_host("drain", LEFT, "--undo")[0] == 0
    until("the host to be bookable", lambda: state(admin) == "bookable")


def compute_services(admin: Person) -> list[Any]:
    return list(admin.cloud.compute.services(host=LEFT, binary="nova-compute"))


def state(admin: Person) -> str:
    """What operators are shown about the host."""
    hosts = admin.asks("GET", "/v2/hosts")["results"]
    (host,) = (each for each in hosts if each["name"] == LEFT)
    return str(host["state"])


@pytest.fixture
def running(admin: Person, alpha: Person, offer: Offer, records: Records) -> dict[str, Any]:
    """A reservation that runs on the host, which is the fuller one."""
    filler = offer(properties=world.on_host(LEFT), memory_mb=2048)
    filled = world.booked_now(alpha, filler)
    made = world.booked_now(alpha, offer(properties=PROPERTIES))
    assert hosts_of(records, made) == {LEFT: 1}
    world.end_now(alpha, filled)
    return world.becomes(alpha, made, "ACTIVE")


def is_on(admin: Person, server: Any) -> str:
    return str(admin.cloud.compute.get_server(server.id).compute_host)


def inventories_too_many() -> bool:
    return "inventory-too-many" in test_audit.found()


@pytest.mark.whole
@pytest.mark.usefixtures("clean", "restored")
def test_host_is_emptied_under_a_running_reservation(
    admin: Person, alpha: Person, records: Records, running: dict[str, Any]
) -> None:
    server = boots(alpha, admin, running)
    assert server.compute_host == LEFT
    status, said = devcloud.manage_host("drain", LEFT, "--running", "--yes")
    assert status == 0, said
    assert f"migrated  server {server.id}" in said
    assert (hosts_of(records, running), is_on(admin, server)) == ({OTHER: 1}, OTHER)
    assert admin.cloud.compute.get_server(server.id).status == "ACTIVE"
    until("nothing to be offered there", lambda: not inventories_too_many())


@pytest.mark.whole
@pytest.mark.usefixtures("clean", "restored")
def test_server_is_evacuated_right_after_its_host_is_said_to_have_failed(
    admin: Person, alpha: Person, records: Records, running: dict[str, Any]
) -> None:
    server = boots(alpha, admin, running)
    devcloud.stop(COMPUTE, kill=True)
    for service in compute_services(admin):
        admin.cloud.compute.update_service_forced_down(service, LEFT, "nova-compute", forced=True)
    status, said = devcloud.manage_host("fail", LEFT, "--yes")
    assert (status, hosts_of(records, running)) == (0, {OTHER: 1}), said
    admin.cloud.compute.evacuate_server(server.id)
    until("the evacuation", lambda: is_on(admin, server) == OTHER)
    # From microversion 2.95 on, Nova leaves an evacuated server stopped.
    compute = alpha.cloud.compute
    until("the server to be stopped", lambda: compute.get_server(server.id).status == "SHUTOFF")
    compute.start_server(server.id)
    shown = until("the server to settle", lambda: alpha.server_settles(server))
    assert shown.status == "ACTIVE", shown


@pytest.mark.whole
@pytest.mark.usefixtures("clean", "restored")
def test_host_whose_service_was_deleted_is_gone_until_it_is_in_the_freepool(
    admin: Person, alpha: Person, records: Records, running: dict[str, Any]
) -> None:
    devcloud.stop(COMPUTE)
    for service in compute_services(admin):
        admin.cloud.compute.delete_service(service)

    def is_gone() -> bool:
        devcloud.manage_host("refresh", LEFT)
        return state(admin) == "gone"

    until("the host to be gone", is_gone, pause=5)
    until("its reservation to leave", lambda: hosts_of(records, running) == {OTHER: 1})
    devcloud.start(COMPUTE)
    until("Nova to have the host", lambda: devcloud.manage_host("refresh", LEFT)[0] == 0)
    assert state(admin) == "gone"
    assert "host-outside-freepool" in test_audit.found()
    assert "host-outside-freepool" not in test_audit.found("--fix")
    # Managers look once in a while whether servers of moved reservations are left there.
    until("the host to be bookable", lambda: state(admin) == "bookable")
