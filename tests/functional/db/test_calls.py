"""How many requests a reservation costs Nova and Placement, by the hosts that it is on."""

import pytest

from tests.fakes.cloud import Cloud
from tests.functional.db import world

pytestmark = [
    pytest.mark.usefixtures("database"),
    pytest.mark.parametrize("kind", ["sqlite"], indirect=True, scope="module"),
]

HOSTS = 6


def calls(cloud: Cloud, what) -> int:
    before = len(cloud.nova.requests) + len(cloud.placement.requests)
    what()
    return len(cloud.nova.requests) + len(cloud.placement.requests) - before


def life(cloud: Cloud, flavor, count: int) -> tuple[int, int, int]:
    """Requests to book, start and end a reservation that takes ``count`` hosts."""
    made = []
    booking = calls(
        cloud,
        lambda: made.append(world.book(world.request(flavor, world.hours(1, 3), count))),
    )
    start = calls(cloud, lambda: world.begin(made[0]))
    assert len(cloud.placement.offered()) == count
    return booking, start, calls(cloud, lambda: world.finish(made[0]))


def test_requests_grow_by_a_few_per_host(cloud: Cloud):
    for number in range(HOSTS):
        world.add_host(cloud, f"host-{number}", vcpus=2)
    flavor = world.add_flavor(slots=HOSTS)
    life(cloud, flavor, HOSTS)  # makes Blazar's providers below the hosts' own
    one, many = life(cloud, flavor, 1), life(cloud, flavor, HOSTS)
    assert one[0] == many[0] <= 6  # a booking's don't depend on the hosts
    # Beside one access: host into aggregate, provider, inventories read, inventories written.
    assert one[1] == 1 + 4
    assert many[1] == 1 + 4 * HOSTS
    # Beside the reservation's own: host out of aggregate, inventory.
    assert many[2] - one[2] == 2 * (HOSTS - 1)
    assert one[2] <= 10


def test_a_start_done_again_changes_nothing(cloud: Cloud):
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
