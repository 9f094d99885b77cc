"""The number of requests to Nova and Placement for a reservation, by its number of hosts."""

import pytest

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from warre_blazar.services.running import backing

pytestmark = [
    pytest.mark.usefixtures("database"),
    pytest.mark.parametrize("kind", ["sqlite"], indirect=True, scope="session"),
]

HOSTS = 6


def calls(cloud: Cloud, what) -> int:
    before = len(cloud.nova.requests) + len(cloud.placement.requests)
    what()
    return len(cloud.nova.requests) + len(cloud.placement.requests) - before


def life(cloud: Cloud, flavor, count: int) -> tuple[int, int, int]:
    """The numbers of requests to make, start and end a reservation that takes ``count`` hosts."""
    lease = world.plan(world.request(flavor, world.hours(1, 3), count))
    making = calls(cloud, lambda: backing.make_planned(lease.reservation_id))
    start = calls(cloud, lambda: world.begin(lease))
    assert len(cloud.placement.offered()) == count
    return making, start, calls(cloud, lambda: world.finish(lease))


def test_number_of_requests_grows_by_a_constant_per_host(cloud: Cloud):
    for number in range(HOSTS):
        world.add_host(cloud, f"host-{number}", vcpus=2)
    flavor = world.add_flavor(slots=HOSTS)
    # The first life makes Blazar's providers below the hosts' own providers.
    life(cloud, flavor, HOSTS)
    one, many = life(cloud, flavor, 1), life(cloud, flavor, HOSTS)
    assert one[0] == many[0] <= 6  # The requests don't depend on the hosts.
    # One request gives access. For each host: host into aggregate, provider, inventory.
    assert one[1] == 1 + 3
    assert many[1] == 1 + 3 * HOSTS
    # For each host beyond those of the reservation: host out of aggregate, inventory.
    assert many[2] - one[2] == 2 * (HOSTS - 1)
    assert one[2] <= 10


def test_repeated_start_changes_nothing(cloud: Cloud):
    for number in range(HOSTS):
        world.add_host(cloud, f"host-{number}", vcpus=2)
    lease = world.book(world.request(world.add_flavor(slots=HOSTS), world.hours(1, 3), HOSTS))
    world.begin(lease)
    before = cloud.placement.offered()
    generations = [p["generation"] for p in cloud.placement.providers.values()]
    world.begin(lease)
    assert cloud.placement.offered() == before
    assert [p["generation"] for p in cloud.placement.providers.values()] == generations
    assert sorted(len(a["hosts"]) for a in cloud.nova.aggregates.values()) == [HOSTS]
