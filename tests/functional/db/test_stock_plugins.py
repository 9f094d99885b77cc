"""Our bookings beside those of Blazar's own types on the same hosts: none oversells the others."""

import dataclasses
import json
import random

import pytest
import sqlalchemy as sa
from blazar.manager import exceptions as manager_exc
from blazar.plugins.flavor import flavor_plugin
from blazar.plugins.instances import instance_plugin

from tests.fakes.cloud import Cloud
from tests.functional.db import oversold, world
from warre_blazar.domain.flavors.devices import NO_DEVICES, Rules
from warre_blazar.domain.flavors.request_groups import Group
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import admission

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
    """The most instances that can be booked at once."""
    try:
        admission.check(world.request(flavor, span, 999))
    except exceptions.HostsExhausted as error:
        return error.detail["free"]
    raise AssertionError("there is no end to it")


@pytest.fixture
def flavor(cloud: Cloud):
    """A flavor with more slots than any host has room for."""
    return world.add_flavor(slots=10**6)


@pytest.fixture
def host_id(cloud: Cloud) -> str:
    return world.add_host(cloud, "a", vcpus=16)


def test_physical_host_reservation_takes_the_whole_host(flavor, host_id):
    world.add_stock([host_id], SPAN, "physical:host")
    assert room(flavor) == 0
    assert room(flavor, world.hours(3, 4)) == 8


STOCK = {
    "virtual:instance": {"vcpus": 2},
    "flavor:instance": {"source": json.dumps(SOURCE)},
}


@pytest.mark.parametrize("resource_type", STOCK)
@pytest.mark.parametrize("instances", [1, 3])
def test_instances_of_stock_types_take_room(flavor, host_id, resource_type, instances):
    world.add_stock([host_id] * instances, SPAN, resource_type, **STOCK[resource_type])
    assert room(flavor) == 8 - instances
    assert room(flavor, world.hours(3, 4)) == 8


def test_source_flavor_takes_the_resources_of_its_extra_specs(flavor, host_id):
    source = {**SOURCE, "extra_specs": {"resources:VCPU": "14"}}
    world.add_stock([host_id], SPAN, "flavor:instance", source=json.dumps(source))
    assert room(flavor) == 1


IN_PLACEMENT = Rules({"gpu": Group.of({"CUSTOM_GPU": 1})}, in_placement=True)


@pytest.mark.parametrize(
    ("rules", "held", "left"),
    [
        (NO_DEVICES, "gpu:3", 1),
        (NO_DEVICES, "gpu:1,gpu:1", 2),
        (NO_DEVICES, "gpu", 4),
        (IN_PLACEMENT, "gpu:3", 3),
        (IN_PLACEMENT, "nic:3", 6),
    ],
)
def test_devices_of_a_source_flavor_are_counted(cloud: Cloud, rules: Rules, held: str, left: int):
    more = {"CUSTOM_GPU": {"total": 6}}
    host_id = world.add_host(cloud, "a", vcpus=64, properties={"pci_alias_gpu": "4"}, more=more)
    gpu = world.add_flavor(rules, slots=9, extra_specs={"pci_passthrough:alias": "gpu:1"})
    source = {**SOURCE, "extra_specs": {"pci_passthrough:alias": held}}
    world.add_stock([host_id], SPAN, "flavor:instance", source=json.dumps(source))
    wanted = world.request(gpu, SPAN)
    conditions = dataclasses.replace(wanted.conditions, device_rules=rules)
    wanted = dataclasses.replace(wanted, conditions=conditions)
    with pytest.raises(exceptions.HostsExhausted) as caught:
        admission.check(dataclasses.replace(wanted, count=9))
    assert caught.value.detail["free"] == left


@pytest.mark.parametrize("source", ["", "{}", "[]", '["==", "$a", "1"]'])
def test_unreadable_source_flavor_takes_the_whole_host(flavor, host_id, source):
    world.add_stock([host_id], SPAN, "flavor:instance", source=source)
    assert room(flavor) == 0


def test_room_follows_allocation_ratio_and_reserved_amount(cloud: Cloud, flavor):
    more = {"VCPU": {"total": 8, "reserved": 2, "allocation_ratio": 4.0}}
    world.add_host(cloud, "a", vcpus=8, more=more)
    assert room(flavor) == 12


def test_host_without_inventories_has_the_room_of_its_own_columns(
    database: sa.Engine, flavor, host_id
):
    with database.begin() as connection:
        connection.execute(sa.text("DELETE FROM computehost_resource_inventory"))
    assert room(flavor) == 8


def available(span) -> list[str]:
    """The hosts that the stock instance plugin could choose: each as often as it has room."""
    plugin = instance_plugin.VirtualInstancePlugin()
    hosts = plugin.query_available_hosts(2, 2048, 20, "", span.start, span.end)
    return [host["id"] for host in hosts]


@pytest.mark.parametrize("count", [1, 3, 8])
def test_instance_plugin_counts_our_reservations(cloud: Cloud, flavor, host_id, count):
    assert len(available(SPAN)) == 8
    world.book(world.request(flavor, SPAN, count))
    assert len(available(SPAN)) == 8 - count
    assert len(available(world.hours(4, 5))) == 8


def test_instance_plugin_never_sees_more_room_than_there_is(cloud: Cloud, flavor):
    """It counts the fullest host's instances on each host: too many, and never too few."""
    for name, vcpus in (("a", 4), ("b", 16)):
        world.add_host(cloud, name, vcpus=vcpus)
    world.book(world.request(flavor, SPAN, 5))
    assert len(available(SPAN)) <= 5


def test_flavor_plugin_counts_our_reservations(cloud: Cloud, flavor, host_id):
    plugin = flavor_plugin.FlavorPlugin()
    request, _ = plugin._estimate_flavor_resources(SOURCE)
    world.book(world.request(flavor, SPAN, 3))
    hosts = plugin._query_available_hosts(SPAN.start, SPAN.end, request, {})
    assert len(hosts) == 5


@pytest.mark.parametrize("seed", range(4))
def test_alternating_bookings_of_both_plugins_do_not_oversell(
    database: sa.Engine, cloud: Cloud, seed
):
    """The stock plugin and ours book alternately at random times, until both are often refused."""
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
    # The stock plugin counts one of several instances on a host, so by itself it would oversell.
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
