"""Beside Blazar's own resource types on the same hosts: neither sells what the other holds."""

import json
import random

import pytest
import sqlalchemy as sa
from blazar.manager import exceptions as manager_exc
from blazar.plugins.flavor import flavor_plugin
from blazar.plugins.instances import instance_plugin

from tests.fakes.cloud import Cloud
from tests.functional.db import oversold, world
from warre_blazar import exceptions
from warre_blazar.services import reservations

pytestmark = pytest.mark.usefixtures("database")

SPAN = world.hours(1, 3)
SOURCE = {
    "id": "source",
    "vcpus": 2,
    "ram": 2048,
    "disk": 20,
    "OS-FLV-EXT-DATA:ephemeral": 0,
    "extra_specs": {},
}


def room(flavor, span=SPAN) -> int:
    """How many can be booked at once."""
    try:
        reservations.check(world.request(flavor, span, 999))
    except exceptions.HostsExhausted as error:
        return error.detail["free"]
    raise AssertionError("there is no end to it")


@pytest.fixture
def flavor(cloud: Cloud):
    """Slots without end, on one host with room for eight."""
    return world.add_flavor(slots=10**6)


@pytest.fixture
def host_id(cloud: Cloud) -> str:
    return world.add_host(cloud, "a", vcpus=16)


def test_a_physical_host_is_taken_whole(flavor, host_id):
    world.add_stock([host_id], SPAN, "physical:host")
    assert room(flavor) == 0
    assert room(flavor, world.hours(3, 4)) == 8


STOCK = {
    "virtual:instance": {"vcpus": 2},
    "flavor:instance": {"source": json.dumps(SOURCE)},
}


@pytest.mark.parametrize("resource_type", STOCK)
@pytest.mark.parametrize("instances", [1, 3])
def test_stock_instances_count(flavor, host_id, resource_type, instances):
    world.add_stock([host_id] * instances, SPAN, resource_type, **STOCK[resource_type])
    assert room(flavor) == 8 - instances
    assert room(flavor, world.hours(3, 4)) == 8


def test_a_source_flavor_with_more_than_the_usual(flavor, host_id):
    source = {**SOURCE, "extra_specs": {"resources:VCPU": "14"}}
    world.add_stock([host_id], SPAN, "flavor:instance", source=json.dumps(source))
    assert room(flavor) == 1


@pytest.mark.parametrize("source", ["", "{}", "[]", '["==", "$a", "1"]'])
def test_what_cannot_be_read_takes_the_whole_host(flavor, host_id, source):
    world.add_stock([host_id], SPAN, "flavor:instance", source=source)
    assert room(flavor) == 0


def test_inventories_with_ratio_and_reserved(cloud: Cloud, flavor):
    more = {"VCPU": {"total": 8, "reserved": 2, "allocation_ratio": 4.0}}
    world.add_host(cloud, "a", vcpus=8, more=more)
    assert room(flavor) == 12


def test_a_host_without_inventories(database: sa.Engine, flavor, host_id):
    with database.begin() as connection:
        connection.execute(sa.text("DELETE FROM computehost_resource_inventory"))
    assert room(flavor) == 8


def available(span) -> list[str]:
    """What the stock instance plugin would choose from: a host as often as it has room."""
    plugin = instance_plugin.VirtualInstancePlugin()
    found = plugin.query_available_hosts(2, 2048, 20, "", span.start, span.end)
    return [host["id"] for host in found]


@pytest.mark.parametrize("count", [1, 3, 8])
def test_the_instance_plugin_sees_ours(cloud: Cloud, flavor, host_id, count):
    assert len(available(SPAN)) == 8
    world.book(world.request(flavor, SPAN, count))
    assert len(available(SPAN)) == 8 - count
    assert len(available(world.hours(4, 5))) == 8


def test_the_instance_plugin_sees_the_fullest_host(cloud: Cloud, flavor):
    """On the others it sees more than we hold, never less."""
    for name, vcpus in (("a", 4), ("b", 16)):
        world.add_host(cloud, name, vcpus=vcpus)
    world.book(world.request(flavor, SPAN, 5))
    assert len(available(SPAN)) <= 5


def test_the_flavor_plugin_sees_ours(cloud: Cloud, flavor, host_id):
    plugin = flavor_plugin.FlavorPlugin()
    request, _ = plugin._estimate_flavor_resources(SOURCE)
    world.book(world.request(flavor, SPAN, 3))
    found = plugin._query_available_hosts(SPAN.start, SPAN.end, request, {})
    assert len(found) == 5


@pytest.mark.parametrize("seed", range(4))
def test_in_turns_nothing_is_oversold(database: sa.Engine, cloud: Cloud, seed):
    """The stock plugin and ours book in turns at random times until both are refused a lot."""
    dice = random.Random(seed)
    for name, vcpus in (("a", 4), ("b", 7), ("c", 10)):
        world.add_host(cloud, name, vcpus=vcpus)
    flavor = world.add_flavor(slots=10**6)
    refused = 0
    for _ in range(24):
        start = dice.randrange(1, 6)
        span = world.hours(start, start + dice.randrange(1, 4))
        if dice.random() < 0.5:
            refused += not stock_books(span)
        else:
            refused += not we_book(flavor, span, dice.randrange(1, 4))
        assert oversold.find(database) == []
    assert refused


def stock_books(span) -> bool:
    # Of several instances on one host the plugin counts one: by itself it would oversell.
    values = {
        "amount": 1,
        "affinity": None,
        "vcpus": 2,
        "memory_mb": 2048,
        "disk_gb": 20,
        "resource_properties": "",
        "start_date": span.start,
        "end_date": span.end,
    }
    try:
        chosen = instance_plugin.VirtualInstancePlugin().pickup_hosts(None, values)["added"]
    except manager_exc.NotEnoughHostsAvailable:
        return False
    world.add_stock(chosen, span, "virtual:instance")
    return True


def we_book(flavor, span, count: int) -> bool:
    try:
        world.book(world.request(flavor, span, count))
    except exceptions.HostsExhausted:
        return False
    return True
