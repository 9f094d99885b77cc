"""Reading hosts' resource providers from Placement, and their zones from Nova."""

import pytest

from tests.fakes.cloud import Cloud
from tests.fakes.service import Request
from warre_blazar.domain.hosts.providers import Inventory
from warre_blazar.errors import exceptions
from warre_blazar.openstack import host_trees, nova

DEVICE = "cmp1_0000:01:00.0"
CONTENTS = r"/(inventories|traits)$"


@pytest.fixture
def host(cloud: Cloud) -> str:
    """A host with a device and Blazar's own provider, and another host."""
    root = cloud.placement.add_provider("cmp1", None, "COMPUTE_NODE", VCPU=8)
    cloud.placement.add_provider(DEVICE, root, "CUSTOM_A100", CUSTOM_GPU=1)
    blazars = cloud.placement.add_provider("blazar_cmp1", root)
    cloud.placement.providers[blazars]["inventories"]["CUSTOM_RESERVATION_X"] = {"total": 1}
    cloud.placement.add_provider("cmp2", VCPU=4)
    return "cmp1"


def names(tree) -> list[str]:
    assert not isinstance(tree, Exception), tree
    return [provider.name for provider in tree]


def test_tree_has_all_providers_but_blazars(cloud: Cloud, host):
    root, device = host_trees.trees([host])[host]
    assert (root.name, root.parent_id, root.traits) == ("cmp1", None, {"COMPUTE_NODE"})
    assert root.inventories == {"VCPU": Inventory(8)}
    assert (device.name, device.parent_id, device.traits) == (DEVICE, root.id, {"CUSTOM_A100"})
    assert device.inventories == {"CUSTOM_GPU": Inventory(1)}


def test_unchanged_providers_are_not_read_again(cloud: Cloud, host):
    before = host_trees.trees([host])
    cloud.placement.requests.clear()
    assert host_trees.trees([host]) == before
    assert cloud.placement.requests == ["GET /resource_providers"] * 2
    cloud.placement.change(DEVICE, CUSTOM_GPU=0)
    cloud.placement.requests.clear()
    assert host_trees.trees([host])[host][1].inventories == {"CUSTOM_GPU": Inventory(0)}
    assert len(cloud.placement.requests) == 4


def test_host_that_placement_does_not_have_does_not_spoil_others(cloud: Cloud, host):
    trees = host_trees.trees(["none", host, "cmp2"])
    assert names(trees[host]) == ["cmp1", DEVICE]
    assert names(trees["cmp2"]) == ["cmp2"]
    assert isinstance(trees["none"], exceptions.ServiceRefused)
    assert "none" in trees["none"].message


def test_host_whose_requests_fail_does_not_spoil_others(cloud: Cloud, host):
    (device,) = (i for i, p in cloud.placement.providers.items() if p["name"] == DEVICE)
    cloud.placement.fail(status=500, match=device)
    trees = host_trees.trees([host, "cmp2"])
    assert isinstance(trees[host], exceptions.ServiceUnavailable)
    assert names(trees["cmp2"]) == ["cmp2"]


def test_provider_that_vanishes_while_the_tree_is_read_is_left_out(cloud: Cloud, host):
    (device,) = (i for i, p in cloud.placement.providers.items() if p["name"] == DEVICE)

    def remove(_: Request) -> None:
        cloud.placement.remove_provider(DEVICE)

    cloud.placement.fail(then=remove, match=f"{device}/traits", times=1)
    assert names(host_trees.trees([host])[host]) == ["cmp1"]


def test_contents_are_of_one_generation(cloud: Cloud, host):
    """The device changes between its inventories and its traits."""
    (device,) = (i for i, p in cloud.placement.providers.items() if p["name"] == DEVICE)

    def change(_: Request) -> None:
        cloud.placement.change(DEVICE, "CUSTOM_H100", CUSTOM_GPU=2)

    cloud.placement.fail(then=change, match=f"{device}/traits", times=1)
    _, read = host_trees.trees([host])[host]
    assert (read.inventories["CUSTOM_GPU"].total, read.traits) == (2, {"CUSTOM_H100"})
    assert read.generation == 1


def test_host_that_changes_all_the_time_is_a_failure(cloud: Cloud, host):
    def change(_: Request) -> None:
        cloud.placement.change("cmp1", VCPU=8)

    cloud.placement.fail(then=change, match="/traits$")
    tree = host_trees.trees([host])[host]
    assert isinstance(tree, exceptions.ServiceUnavailable)
    assert "changes all the time" in tree.message


def test_placement_that_is_away_is_not_asked_about_every_host(cloud: Cloud, host):
    cloud.placement.fail(status=503)
    trees = host_trees.trees([f"host-{n}" for n in range(200)])
    assert all(isinstance(tree, exceptions.ServiceUnavailable) for tree in trees.values())
    assert len(cloud.placement.requests) < 20


def test_zones_are_those_that_nova_shows(cloud: Cloud):
    cloud.nova.hosts |= {"a", "b", "c", "d"}
    cloud.nova.zones = {"b": "gpu", "c": "blazar_0c0ffee0", "d": "gpu,blazar_1"}
    assert nova.zones() == {"a": "nova", "b": "gpu", "d": "gpu"}
    assert len(cloud.nova.requests) == 1


def test_zones_are_left_to_blazar_if_it_knows_none(cloud: Cloud, conf):
    conf.config(az_aware=False, group="nova")
    assert nova.zones() is None
    assert cloud.nova.requests == []
