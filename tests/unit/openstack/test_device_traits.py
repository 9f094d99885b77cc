"""Traits of reservations on resource providers."""

import pytest

from tests.fakes.cloud import Cloud
from tests.fakes.service import Request
from warre_blazar.openstack import device_traits, host_trees, placement

TRAIT = "CUSTOM_RESERVATION_5A2F1C0E_8F4E_4A1C_9A55_3B6D0C2B7E19"


@pytest.fixture
def gpus(cloud: Cloud) -> list[str]:
    """The ids of a host's providers of GPUs, of which one has a trait."""
    root = cloud.placement.add_provider("cmp1", None, VCPU=8)
    traits = (["CUSTOM_FAST"], [])
    return [
        cloud.placement.add_provider(f"gpu{n}", root, *each, VGPU=4)
        for n, each in enumerate(traits)
    ]


def traits(cloud: Cloud, provider_id: str) -> list[str]:
    return list(cloud.placement.providers[provider_id]["traits"])


def test_trait_comes_and_goes_and_others_stay(cloud: Cloud, gpus: list[str]):
    for _ in range(2):
        device_traits.give(TRAIT, gpus)
        assert device_traits.carriers(TRAIT) == gpus
        assert [traits(cloud, i) for i in gpus] == [["CUSTOM_FAST", TRAIT], [TRAIT]]
    device_traits.take(TRAIT, keep=gpus[1:])
    assert device_traits.carriers(TRAIT) == gpus[1:]
    for _ in range(2):
        device_traits.remove(TRAIT)
        assert [traits(cloud, i) for i in gpus] == [["CUSTOM_FAST"], []]
        assert TRAIT not in cloud.placement.traits
        assert device_traits.carriers(TRAIT) == []


def test_what_others_change_at_the_same_time_stays(cloud: Cloud, gpus: list[str]):
    def change(_: Request) -> None:
        cloud.placement.change("gpu0", "CUSTOM_SLOW", VGPU=2)

    cloud.placement.fail(then=change, match=f"PUT /resource_providers/{gpus[0]}", times=1)
    device_traits.give(TRAIT, gpus)
    assert traits(cloud, gpus[0]) == sorted(["CUSTOM_SLOW", TRAIT])


def test_provider_that_is_gone_is_left_out(cloud: Cloud, gpus: list[str]):
    device_traits.give(TRAIT, ["gone", *gpus])
    assert device_traits.carriers(TRAIT) == gpus


def test_provider_that_never_rests_is_an_error(cloud: Cloud, gpus: list[str]):
    def change(_: Request) -> None:
        cloud.placement.providers[gpus[0]]["generation"] += 1

    cloud.placement.fail(then=change, match=f"PUT /resource_providers/{gpus[0]}")
    with pytest.raises(placement.Restless):
        device_traits.give(TRAIT, gpus)


def test_host_is_read_without_the_traits_of_reservations(cloud: Cloud, gpus: list[str]):
    before = host_trees.trees(["cmp1"])
    device_traits.give(TRAIT, gpus)
    assert host_trees.trees(["cmp1"]) == before
