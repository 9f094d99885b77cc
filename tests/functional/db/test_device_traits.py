"""While a reservation runs, the devices that are assigned to it carry its trait."""

import pytest
import sqlalchemy as sa

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from tests.functional.db.test_assignments import assigned, forget, put, settle
from warre_blazar.db import session, tables
from warre_blazar.db.hosts import allocations
from warre_blazar.db.running import backings
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.hosts.providers import Inventory, Provider
from warre_blazar.domain.running import backing_names
from warre_blazar.services.running import backing

pytestmark = pytest.mark.usefixtures("database")

SPAN = world.hours(1, 2)


def add_host(cloud: Cloud, name: str, gpus: int = 2) -> str:
    """A host with GPUs that flavors can share."""
    providers = []
    for number in range(gpus):
        gpu = cloud.placement.add_provider(f"{name}-{number}", None, CUSTOM_GPU=2)
        amounts = {"CUSTOM_GPU": Inventory(2)}
        providers.append(Provider(gpu, f"{name}-{number}", "root", amounts, frozenset()))
    return world.add_host(cloud, name, children=tuple(providers))


@pytest.fixture
def flavor(cloud: Cloud) -> Flavor:
    add_host(cloud, "a")
    return world.add_flavor(slots=9, extra_specs={"resources1:CUSTOM_GPU": "1"})


def trait(lease: world.Lease) -> str:
    return backing_names.resource_class(lease.reservation_id)


def carriers(cloud: Cloud, lease: world.Lease) -> set[str]:
    """The names of the providers that carry a reservation's trait."""
    providers = cloud.placement.providers.values()
    return {p["name"] for p in providers if trait(lease) in p["traits"]}


def gpus(cloud: Cloud, lease: world.Lease) -> set[str]:
    """The names of the GPUs that are assigned to a reservation."""
    return {cloud.placement.providers[i]["name"] for i, _, _ in assigned(lease)}


def specs(cloud: Cloud, lease: world.Lease) -> dict[str, str]:
    flavor_id = backing_names.nova_flavor_id(lease.reservation_id)
    return dict(cloud.nova.flavors[flavor_id]["extra_specs"])


def test_devices_carry_the_trait_from_start_to_end(cloud: Cloud, flavor: Flavor):
    lease = world.book(world.request(flavor, SPAN))
    assert specs(cloud, lease)[f"trait1:{trait(lease)}"] == "required"
    assert carriers(cloud, lease) == set()
    world.begin(lease)
    assert carriers(cloud, lease) == gpus(cloud, lease)
    assert len(gpus(cloud, lease)) == 1
    world.finish(lease)
    assert carriers(cloud, lease) == set()
    assert trait(lease) not in cloud.placement.traits


@pytest.mark.parametrize(
    ("gpus", "extra_specs"),
    [(1, {"resources1:CUSTOM_GPU": "1"}), (2, {"resources:CUSTOM_GPU": "1"}), (2, {})],
    ids=["no choice", "a group without a suffix", "no device"],
)
def test_reservation_without_a_trait_sends_no_request_about_traits(
    cloud: Cloud, gpus: int, extra_specs: dict[str, str]
):
    add_host(cloud, "a", gpus)
    flavor = world.add_flavor(slots=9, extra_specs=extra_specs)
    lease = world.book(world.request(flavor, SPAN))
    world.begin(lease)
    world.finish(lease)
    assert not any("trait" in str(request) for request in cloud.placement.requests)


def test_only_device_of_another_host_carries_the_trait_too(cloud: Cloud, flavor: Flavor):
    """The Nova flavor, which requires the trait, is the same on all hosts."""
    add_host(cloud, "b", gpus=1)
    lease = world.book(world.request(flavor, SPAN, 6))
    world.begin(lease)
    assert carriers(cloud, lease) == {"a-0", "a-1", "b-0"}


def test_trait_moves_with_the_reservation(cloud: Cloud, flavor: Flavor):
    lease = world.book(world.request(flavor, SPAN))
    world.begin(lease)
    other = add_host(cloud, "b", gpus=1)
    with session.writer() as db:
        allocations.reallocate(db, lease.reservation_id, {other: 1})
        backings.half_close(db, lease.reservation_id)
    backing.reconcile()
    assert carriers(cloud, lease) == {"b-0"}


def test_trait_follows_a_new_assignment(cloud: Cloud, flavor: Flavor):
    """An instance whose device is gone may get any, until it is assigned to another one."""
    lease = world.book(world.request(flavor, SPAN))
    put(lease, "gone")
    world.begin(lease)
    assert carriers(cloud, lease) == {"a-0", "a-1"}
    forget(lease)
    settle()
    backing.reconcile()
    assert carriers(cloud, lease) == gpus(cloud, lease)
    assert len(gpus(cloud, lease)) == 1


def test_reservation_from_before_an_upgrade_has_no_trait(cloud: Cloud, flavor: Flavor):
    lease = world.plan(world.request(flavor, SPAN))
    with session.writer() as db:
        db.execute(tables.backings.update().values(told=sa.null()))
    backing.make_planned(lease.reservation_id)
    world.begin(lease)
    assert carriers(cloud, lease) == set()
    assert not any(key.startswith("trait") for key in specs(cloud, lease))
