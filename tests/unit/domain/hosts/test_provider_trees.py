"""Provider trees: their stored form, devices that capabilities name, and what has changed."""

import dataclasses

import pytest

from warre_blazar.domain.hosts import provider_trees
from warre_blazar.domain.hosts.providers import Inventory, Provider

ROOT = Provider("r", "cmp1", None, {"VCPU": Inventory(8, 1, 1, 8, 2, 1.5)}, frozenset({"A", "B"}))
GPU = {"CUSTOM_GPU": Inventory(1)}
CHILDREN = (
    Provider("d2", "cmp1_0000:02:00.0", "r", GPU, frozenset({"CUSTOM_A100"}), generation=7),
    Provider("d1", "cmp1_0000:01:00.0", "r", GPU, frozenset()),
)


def test_stored_tree_is_the_tree_that_was_read():
    tree = provider_trees.ordered([*CHILDREN, ROOT])
    read = provider_trees.from_text(provider_trees.to_text(tree))
    assert read == tree
    assert [p.generation for p in read] == [0, 0, 7]


def test_root_comes_first_and_the_others_by_name():
    names = [p.name for p in provider_trees.ordered([*CHILDREN, ROOT])]
    assert names == ["cmp1", "cmp1_0000:01:00.0", "cmp1_0000:02:00.0"]


@pytest.mark.parametrize("providers", [[], CHILDREN, [ROOT, ROOT]])
def test_providers_without_one_root_are_no_tree(providers):
    with pytest.raises(ValueError, match="tree"):
        provider_trees.ordered(providers)


@pytest.mark.parametrize(
    "change",
    [
        {"id": "other"},
        {"name": "other"},
        {"inventories": {"VCPU": Inventory(8, 2, 1, 8, 2, 1.5)}},
        {"traits": frozenset({"A"})},
    ],
    ids=lambda change: next(iter(change)),
)
def test_digest_tells_different_trees_apart(change):
    assert provider_trees.digest((dataclasses.replace(ROOT, **change),)) != provider_trees.digest(
        (ROOT,)
    )


def test_digest_is_the_same_for_another_generation_and_order():
    tree = provider_trees.ordered([ROOT, *CHILDREN])
    moved = [dataclasses.replace(p, generation=99) for p in reversed(tree)]
    assert provider_trees.digest(provider_trees.ordered(moved)) == provider_trees.digest(tree)


def test_capability_becomes_a_provider_with_that_many_devices():
    properties = {"pci_alias_a100": "4", "pci_alias_t4": 2, "gpu_model": "A100", "vcpus": 8}
    (a100, t4), unclear = provider_trees.devices(properties, ROOT)
    assert a100.inventories == {"pci_alias_a100": Inventory(4)}
    assert t4.inventories == {"pci_alias_t4": Inventory(2)}
    assert {p.parent_id for p in (a100, t4)} == {ROOT.id}
    assert (len({a100.id, t4.id, ROOT.id}), unclear) == (3, [])


@pytest.mark.parametrize("value", ["", "four", "-1", "1.5", "\u0664", None])
def test_capability_that_is_no_whole_number_counts_nothing(value):
    (device,), unclear = provider_trees.devices({"pci_alias_a100": value}, ROOT)
    assert device.inventories["pci_alias_a100"].capacity == 0
    assert unclear == ["pci_alias_a100"]


def test_one_time_use_device_that_is_reserved_now_can_be_booked():
    burned = {"CUSTOM_GPU": Inventory(1, reserved=1)}
    device = dataclasses.replace(
        CHILDREN[0], inventories=burned, traits=frozenset({"HW_PCI_ONE_TIME_USE"})
    )
    assert provider_trees.totals([provider_trees.bookable(device)]) == {"CUSTOM_GPU": 1}


def test_other_device_that_is_reserved_can_not_be_booked():
    device = dataclasses.replace(CHILDREN[0], inventories={"CUSTOM_GPU": Inventory(1, reserved=1)})
    assert provider_trees.bookable(device) == device


def test_difference_of_equal_trees_is_empty():
    same = provider_trees.difference((ROOT, *CHILDREN), (ROOT, *CHILDREN), ("nova", "nova"))
    assert same == provider_trees.TreeDifference({}, frozenset(), frozenset(), None, (), ())


def test_difference_names_everything_that_has_changed():
    root = dataclasses.replace(
        ROOT, inventories={"VCPU": Inventory(4), "DISK_GB": Inventory(9)}, traits=frozenset({"B"})
    )
    new = Provider("d3", "cmp1_0000:03:00.0", "r", {}, frozenset({"C"}))
    found = provider_trees.difference((ROOT, *CHILDREN), (root, CHILDREN[0], new), ("a", "b"))
    assert found.totals == {"CUSTOM_GPU": (2, 1), "DISK_GB": (0, 9), "VCPU": (10, 4)}
    assert (found.traits_gained, found.traits_lost) == ({"C"}, {"A"})
    assert found.zone == ("a", "b")
    assert found.providers_new == ("cmp1_0000:03:00.0",)
    assert found.providers_gone == ("cmp1_0000:01:00.0",)
