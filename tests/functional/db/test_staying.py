"""Bookings of devices that must stay where they are, on a host with other bookings at all times."""

import datetime

import pytest

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.hosts.providers import Inventory, Provider
from warre_blazar.domain.slots import free_time
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.services.slots import free_slots

pytestmark = pytest.mark.usefixtures("database")


def gpu(name: str, *traits: str) -> Provider:
    return Provider(name, name, "a", {"CUSTOM_GPU": Inventory(1)}, frozenset(traits))


@pytest.fixture
def offers(cloud: Cloud) -> tuple[Flavor, Flavor]:
    """Flavors of any GPU and of a GPU with a trait. The host has two GPUs, one with the trait."""
    world.add_host(cloud, "a", children=(gpu("plain"), gpu("special", "CUSTOM_X")))
    specs = {"resources1:CUSTOM_GPU": "1"}
    return (
        world.add_flavor(name="any", slots=9, extra_specs=specs),
        world.add_flavor(
            name="special", slots=9, extra_specs={**specs, "trait1:CUSTOM_X": "required"}
        ),
    )


def free(flavor: Flavor, window: Span) -> list[Span]:
    return free_slots.find(
        free_time.Question(flavor.id, None, True, 1, window, world.NOW, datetime.timedelta(0))
    )


def test_booking_that_could_not_stay_is_refused(offers: tuple[Flavor, Flavor]):
    """A later booking, which doesn't overlap the refused one, needs the GPU with the trait."""
    any_gpu, special = offers
    world.book(world.request(special, world.hours(1, 2)))
    world.book(world.request(any_gpu, world.hours(2, 4)))
    world.book(world.request(special, world.hours(3, 4)))
    with pytest.raises(exceptions.HostsExhausted):
        world.book(world.request(any_gpu, world.hours(1, 3)))
    assert free(any_gpu, world.hours(1, 3)) == [world.hours(1, 2), world.hours(2, 3)]
    for span in free(any_gpu, world.hours(1, 3)):
        world.book(world.request(any_gpu, span))


def test_booking_is_moved_only_to_where_it_can_stay(offers: tuple[Flavor, Flavor]):
    any_gpu, special = offers
    world.book(world.request(special, world.hours(1, 2)))
    world.book(world.request(any_gpu, world.hours(2, 4)))
    world.book(world.request(special, world.hours(3, 4)))
    mine = world.book(world.request(any_gpu, world.hours(1, 2)))
    with pytest.raises(exceptions.HostsExhausted):
        world.move(mine, world.hours(1, 3))
    world.move(mine, world.hours(6, 9))
