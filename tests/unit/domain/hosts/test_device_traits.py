"""Which providers carry a reservation's trait, and which groups require it."""

import pytest

from tests.unit.domain.placement_reference import host, provider
from warre_blazar.domain.hosts import device_traits

ROOT = provider("compute1", VCPU=64)
GPUS = (provider("a", VGPU=4), provider("b", VGPU=4))
TWO_GPUS = host(ROOT, *GPUS)
ONE_GPU = host(ROOT, GPUS[0], number=2)


@pytest.mark.parametrize(
    ("specs", "hosts", "told"),
    [
        pytest.param({"resources1:VGPU": "1"}, [TWO_GPUS], {"1": ["VGPU"]}, id="a choice"),
        pytest.param({"resources1:VGPU": "1"}, [ONE_GPU], {}, id="no choice"),
        pytest.param({"resources1:VGPU": "1"}, [ONE_GPU, TWO_GPUS], {"1": ["VGPU"]}, id="on one"),
        pytest.param({"resources:VGPU": "1"}, [TWO_GPUS], {}, id="a group without a suffix"),
        pytest.param({"resources1:VGPU": "0"}, [TWO_GPUS], {}, id="nothing"),
        pytest.param(
            {"resources_A:VGPU": "1", "resources_B:VGPU": "2", "resources_C:VCPU": "2"},
            [TWO_GPUS],
            {"_A": ["VGPU"], "_B": ["VGPU"]},
            id="two groups",
        ),
        pytest.param(
            {"resources1:CUSTOM_A100": "1"},
            [
                host(
                    ROOT,
                    *(provider(n, ["COMPUTE_MANAGED_PCI_DEVICE"], CUSTOM_A100=1) for n in "ab"),
                )
            ],
            {},
            id="PCI devices, of which Nova overwrites the traits",
        ),
    ],
)
def test_groups_of_which_nova_is_told(specs, hosts, told):
    assert device_traits.told_groups(specs, hosts) == told


GROUPS = {"1": ["VGPU"]}
ON_A, ON_B = [("a", "VGPU")], [("b", "VGPU")]


@pytest.mark.parametrize(
    ("tree", "instances", "groups", "carriers"),
    [
        pytest.param(TWO_GPUS, [ON_A, ON_A], GROUPS, {"a"}, id="on one"),
        pytest.param(TWO_GPUS, [ON_A, ON_B], GROUPS, {"a", "b"}, id="on two"),
        pytest.param(TWO_GPUS, [ON_A, []], GROUPS, {"a", "b"}, id="one has no assignment"),
        pytest.param(TWO_GPUS, [ON_A, [("gone", "VGPU")]], GROUPS, {"a", "b"}, id="one is gone"),
        # The Nova flavor is the same on all hosts of the reservation.
        pytest.param(ONE_GPU, [[]], GROUPS, {"a"}, id="no choice"),
        pytest.param(TWO_GPUS, [ON_A], {}, set(), id="Nova isn't told"),
    ],
)
def test_assigned_providers_carry_the_trait(tree, instances, groups, carriers):
    assert device_traits.carriers(tree.providers, instances, groups) == carriers
