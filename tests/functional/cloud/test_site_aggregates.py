"""Aggregates of the site decide which hosts are booked, and where reserved servers boot."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.functional.cloud import devcloud, world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.waiting import until

SSD = {"aggregate_instance_extra_specs:ssd": "true"}

pytestmark = pytest.mark.usefixtures("clean")


@contextlib.contextmanager
def aggregate(admin: Person, host: str, **metadata: str) -> Iterator[None]:
    """Put a host into an aggregate of the site, and let Blazar read it, while the block runs."""
    compute = admin.cloud.compute
    made = compute.create_aggregate(name=world.unique("site"))
    try:
        compute.set_aggregate_metadata(made, {k.replace("__", ":"): v for k, v in metadata.items()})
        compute.add_host_to_aggregate(made, host)
        refresh(host)
        yield
    finally:
        compute.remove_host_from_aggregate(made, host)
        compute.delete_aggregate(made)
        refresh(host)


def refresh(host: str) -> None:
    status, said = devcloud.manage_host("refresh", host)
    assert status in (0, 1), said


def booted(who: Person, flavor_id: str) -> str:
    """Boot a server, delete it when it has settled, and return its status."""
    server = who.boots(flavor_id, world.unique("server"))
    settled = until("the server to settle", lambda: who.server_settles(server))
    who.cloud.compute.delete_server(server.id, force=False)
    who.cloud.compute.wait_for_delete(server)
    return str(settled.status)


def running(who: Person, flavor: dict[str, Any], count: int = 1) -> dict[str, Any]:
    return world.becomes(who, world.booked_now(who, flavor, count), "ACTIVE")


@pytest.mark.whole
@pytest.mark.parametrize("specs", [SSD, {"ssd": "<or> true <or> yes"}])
def test_all_instances_boot_on_hosts_of_the_aggregate(
    admin: Person, alpha: Person, offer: Offer, specs: dict[str, str]
) -> None:
    with aggregate(admin, "cmp2", ssd="true"):
        flavor = offer(memory_mb=2000, slots=6, extra_specs=specs)
        refused = world.book(alpha, flavor, world.far(), 6).json()
        assert (refused["code"], refused["detail"]["free"]) == ("hosts_exhausted", 3)
        reservation = running(alpha, flavor, 3)
        servers = [alpha.boots(reservation["compute_flavor"], f"ssd-{n}") for n in range(3)]
        shown = [until("to settle", lambda s=s: alpha.server_settles(s)) for s in servers]
        assert [server.status for server in shown] == ["ACTIVE"] * 3
        hosts = {admin.cloud.compute.get_server(server.id).compute_host for server in servers}
        assert hosts == {"cmp2"}
        world.end_now(alpha, reservation)


def test_key_that_no_aggregate_has_is_refused(admin: Person) -> None:
    answer = admin.ask("POST", "/v2/flavors/", world.flavor_body(extra_specs=SSD))
    assert answer.status_code in (400, 422)
    assert "no aggregate has ssd" in answer.json()["error_message"]


@pytest.mark.whole
def test_isolated_host_is_not_booked_by_other_flavors(
    admin: Person, alpha: Person, offer: Offer
) -> None:
    isolating = {"enable_isolated_aggregate_filtering": "true"}
    metadata = {"trait__COMPUTE_NODE": "required"}
    with devcloud.scheduler_options(isolating), aggregate(admin, "cmp2", **metadata):
        plain = offer(properties=world.on_host("cmp2"))
        assert world.book(alpha, plain, world.from_now()).status_code == 409
        specs = {"trait:COMPUTE_NODE": "required"}
        flavor = offer(properties=world.on_host("cmp2"), extra_specs=specs)
        reservation = running(alpha, flavor)
        assert booted(alpha, reservation["compute_flavor"]) == "ACTIVE"
        world.end_now(alpha, reservation)


@pytest.fixture
def ordinary(admin: Person, alpha: Person) -> Iterator[Callable[[], str]]:
    """A function that boots a server without a reservation on cmp3, and returns its status.

    Meanwhile cmp3 isn't in the freepool.
    """
    compute = admin.cloud.compute
    (pool,) = (each for each in compute.aggregates() if each.name == "freepool")
    flavor = compute.create_flavor(name=world.unique("ordinary"), ram=128, vcpus=1, disk=1)
    compute.remove_host_from_aggregate(pool, "cmp3")
    try:
        yield lambda: booted(alpha, flavor.id)
    finally:
        compute.add_host_to_aggregate(pool, "cmp3")
        compute.delete_flavor(flavor)


@pytest.mark.whole
@pytest.mark.parametrize("is_named", [False, True])
def test_project_with_a_reservation_boots_other_servers(
    admin: Person, alpha: Person, offer: Offer, ordinary: Callable[[], str], is_named: bool
) -> None:
    limiting = {"limit_tenants_to_placement_aggregate": "true"}
    named = {"filter_tenant_id_1": alpha.cloud.current_project_id} if is_named else {"x": "y"}
    of_others, of_hosts = (aggregate(admin, host, **named) for host in ("cmp3", "cmp1"))
    with devcloud.scheduler_options(limiting), of_others, of_hosts:
        reservation = running(alpha, offer(properties=world.on_host("cmp1")))
        assert booted(alpha, reservation["compute_flavor"]) == "ACTIVE"
        assert ordinary() == "ACTIVE"
        world.end_now(alpha, reservation)


@pytest.mark.whole
def test_host_of_a_project_is_booked_by_no_other(
    admin: Person, alpha: Person, beta: Person, offer: Offer
) -> None:
    named = {"filter_tenant_id": alpha.cloud.current_project_id}
    with aggregate(admin, "cmp1", **named):
        flavor = offer(properties=world.on_host("cmp1"))
        answer = world.book(beta, flavor, world.far())
        assert (answer.status_code, answer.json()["code"]) == (409, "no_host_matches")
        reservation = running(alpha, flavor)
        assert booted(alpha, reservation["compute_flavor"]) == "ACTIVE"
        world.end_now(alpha, reservation)
