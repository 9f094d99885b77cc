"""Room on hosts with devices, by example."""

from typing import NamedTuple

import pytest

from benchmarks import choice_of_devices
from tests.unit.domain.choosing import choose
from tests.unit.domain.clock import span
from tests.unit.domain.placement_reference import host, provider, room_beside
from tests.unit.domain.shapes import shape
from warre_blazar.domain.flavors.request_groups import Group, PlacementRequest
from warre_blazar.domain.hosts import assigning
from warre_blazar.domain.hosts.holdings import Holding
from warre_blazar.domain.hosts.providers import Inventory
from warre_blazar.domain.timeline import Span

HOUR = span(0, 60)


def gpu_host(number, holdings=()):
    """A host with four GPUs, as Nova reports PCI devices, and the provider that Blazar makes."""
    name = f"compute{number}"
    gpus = (
        provider(f"{name}_0000:8{n}:00.0", ["COMPUTE_MANAGED_PCI_DEVICE"], CUSTOM_A100=1)
        for n in range(4)
    )
    root = provider(name, VCPU=64, MEMORY_MB=262144, DISK_GB=1000)
    return host(root, *gpus, provider(f"blazar_{name}"), number=number, holdings=holdings)


GPU = Group.of({"CUSTOM_A100": 1}, ["COMPUTE_MANAGED_PCI_DEVICE"])


def test_eight_instances_with_a_gpu_go_to_two_hosts_with_four_each_and_a_ninth_to_none():
    hosts = [gpu_host(1), gpu_host(2)]
    one_gpu = shape(device_groups=(GPU,))
    assert choose(hosts, one_gpu, 8, HOUR) == ({"id1": 4, "id2": 4}, 8)
    assert choose(hosts, one_gpu, 9, HOUR) == ({"id1": 4, "id2": 4}, 8)
    full = [h.holding([Holding("r", HOUR, one_gpu.request)] * 4) for h in hosts]
    assert choose(full, one_gpu, 1, HOUR) == ({}, 0)


@pytest.mark.parametrize(
    ("groups", "held", "room"),
    [
        pytest.param((GPU,), (), 4, id="one for each"),
        pytest.param((GPU, GPU), (), 2, id="two for each"),
        pytest.param((GPU, GPU, GPU), (), 1, id="three for each: one is left over"),
        pytest.param((GPU,) * 5, (), 0, id="five for each"),
        pytest.param((GPU,), (GPU,), 3, id="beside one that is held"),
        pytest.param((GPU, GPU), (GPU,), 1, id="two for each, beside one that is held"),
        pytest.param((), (GPU,) * 4, 12, id="none, beside all that are held"),
    ],
)
def test_room_for_devices(groups, held, room):
    holdings = [Holding("r", HOUR, shape(device_groups=(group,)).request) for group in held]
    assert gpu_host(1, holdings).room(shape(device_groups=groups).request, HOUR) == room


@pytest.mark.parametrize(("root_traits", "room"), [(["OWNER_NOVA"], 1), ([], 2)])
def test_device_of_alias_must_be_novas_as_soon_as_nova_marks_its_providers(root_traits, room):
    one = host(
        provider("compute1", root_traits, VCPU=8, MEMORY_MB=65536, DISK_GB=100),
        provider("a", ["OWNER_NOVA"], CUSTOM_A100=1),
        provider("b", CUSTOM_A100=1),
    )
    group = Group.of({"CUSTOM_A100": 1})
    of_alias = shape(device_groups=(group,), extra_specs={"pci_passthrough:alias": "a100:1"})
    of_profile = shape(device_groups=(group,))
    assert one.room(of_alias.request, HOUR) == room_beside(one, of_alias.request, []) == room
    only_cyborgs = host(one.providers[0], one.providers[2])
    assert only_cyborgs.has_traits(of_alias.request) is (not root_traits)
    assert only_cyborgs.has_traits(of_profile.request)


def test_the_gpu_that_a_request_without_traits_can_spare_is_left_to_the_picky_one():
    """Two kinds of GPU of one class: whatever was held first, both fit."""
    one = host(
        provider("compute1", VCPU=8), provider("old", GPU=1), provider("new", ["FAST"], GPU=1)
    )
    any_gpu = PlacementRequest.of(Group.of({"VCPU": 1}), [Group.of({"GPU": 1})])
    fast = PlacementRequest.of(Group.of({"VCPU": 1}), [Group.of({"GPU": 1}, ["FAST"])])
    beside = one.holding([Holding("r", HOUR, any_gpu)]).settled()
    assert beside.room(fast, HOUR) == beside.room(any_gpu, HOUR) == 1
    beside = one.holding([Holding("r", HOUR, fast)]).settled()
    assert (beside.room(fast, HOUR), beside.room(any_gpu, HOUR)) == (0, 1)


def test_traits_of_the_unsuffixed_group_may_be_on_any_provider_that_it_uses():
    one = host(provider("compute1", ["VMX"], VCPU=8), provider("gpu", ["FAST"], GPU=2))
    both = ["VMX", "FAST"]
    assert one.when_empty(PlacementRequest.of(Group.of({"VCPU": 1, "GPU": 1}, both))) == 2
    assert one.when_empty(PlacementRequest.of(Group.of({"VCPU": 1}, both))) == 0
    assert (
        one.when_empty(PlacementRequest.of(Group.of({"VCPU": 1, "GPU": 1}, ["VMX"], ["FAST"]))) == 0
    )


def test_isolated_groups_need_a_provider_each():
    one = host(provider("compute1", VCPU=8), provider("a", VGPU=4), provider("b", VGPU=4))
    pair = [Group.of({"VGPU": 1})] * 2
    assert one.when_empty(PlacementRequest.of(Group.of({"VCPU": 1}), pair, isolate=True)) == 4
    three = [Group.of({"VGPU": 1})] * 3
    assert one.when_empty(PlacementRequest.of(Group.of({"VCPU": 1}), three, isolate=True)) == 0
    assert one.when_empty(PlacementRequest.of(Group.of({"VCPU": 1}), three)) == 2


def test_an_isolated_group_of_several_classes_takes_them_from_one_provider():
    one = host(
        provider("compute1", VCPU=8),
        provider("a", ["FAST"], VGPU=3, FPGA=3),
        provider("b", VGPU=3, FPGA=3),
    )
    both = {"VGPU": 1, "FPGA": 1}
    plain = PlacementRequest.of(Group.of({"VCPU": 1}), [Group.of(both)])
    wanted = PlacementRequest.of(
        Group.of({"VCPU": 1}), [Group.of(both, ["FAST"]), Group.of({"VGPU": 1})], isolate=True
    )
    beside = one.holding([Holding("r", HOUR, plain)])
    assert beside.room(wanted, HOUR) == room_beside(one, wanted, [plain]) == 2


def test_groups_of_one_instance_do_not_exceed_max_unit_of_a_provider_together():
    one = host(
        provider("compute1", VCPU=8),
        provider("a", VGPU=Inventory(8, max_unit=2)),
        provider("b", VGPU=Inventory(8, max_unit=2)),
    )
    of_two = [Group.of({"VGPU": 2})]
    assert one.when_empty(PlacementRequest.of(Group.of({"VCPU": 1}), of_two * 2)) == 4
    assert one.when_empty(PlacementRequest.of(Group.of({"VCPU": 1}), of_two * 3)) == 0


def test_reserved_device_is_not_counted():
    wanted = PlacementRequest.of(Group.of({"VCPU": 1}), [Group.of({"GPU": 1})])
    kept = provider("gpu", GPU=Inventory(1, reserved=1))
    assert host(provider("compute1", VCPU=8), kept).when_empty(wanted) == 0


def test_the_provider_that_blazar_makes_is_not_counted():
    root = provider("compute1", VCPU=4)
    blazars = provider("blazar_compute1", VCPU=4)
    assert host(root, blazars).when_empty(PlacementRequest.plain({"VCPU": 1})) == 4
    other = provider("blazar_compute2", VCPU=4)
    assert host(root, other).when_empty(PlacementRequest.plain({"VCPU": 1})) == 8


def test_what_blazars_other_types_hold_is_counted_beside_devices():
    plain = Holding(
        "other", HOUR, PlacementRequest.plain({"VCPU": 60, "MEMORY_MB": 1, "DISK_GB": 1})
    )
    one_gpu = shape(device_groups=(GPU,)).request
    assert gpu_host(1, [plain]).room(one_gpu, HOUR) == 1
    assert gpu_host(1, [Holding("other", HOUR, None)]).room(one_gpu, HOUR) == 0


def test_held_devices_that_have_gone_leave_no_room():
    """Four are held, and the host has only two left: nothing fits, not even on those."""
    one_gpu = shape(device_groups=(GPU,)).request
    whole = gpu_host(1, [Holding("r", HOUR, one_gpu)] * 4)
    less = host(*whole.providers[:3], holdings=whole.holdings)
    assert less.room(one_gpu, HOUR) == 0
    assert less.room(shape().request, HOUR) == 12


def test_traits_that_a_held_instance_covers_elsewhere_leave_the_room_for_devices():
    """Its vCPU or its FPGA comes from a provider with the trait. Its GPUs have no part in this."""
    one = host(
        provider("compute1", VCPU=1, FPGA=1),
        *(provider("a", ["CUSTOM_X"], VCPU=1), provider("b", FPGA=1)),
        *(provider("c", ["CUSTOM_Y"], GPU=4), provider("d", GPU=1)),
    )
    both = Group.of({"VCPU": 1, "FPGA": 1}, ["CUSTOM_X"])
    held = PlacementRequest.of(both, [Group.of({"GPU": 2}, ["CUSTOM_Y"])])
    asked = PlacementRequest.of(Group.of({"GPU": 1}))
    assert room_beside(one, asked, [held]) == 3
    assert one.holding([Holding("r", HOUR, held)]).room(asked, HOUR) == 3


def test_many_alike_devices_of_several_sizes():
    """The largest first, so that each of the others fits wherever there is room."""
    gpus = [provider(f"gpu{n}", VGPU=16) for n in range(64)]
    one = host(provider("compute1", VCPU=10**6), *gpus)
    sizes = [
        PlacementRequest.of(Group.of({"VCPU": 1}), [Group.of({"VGPU": n})]) for n in (8, 4, 2, 1)
    ]
    held = [Holding("r", HOUR, size) for size in sizes for _ in range(60)]
    assert one.holding(held).settled().room(sizes[0], HOUR) == (64 * 16 - 60 * 15) // 8


def test_a_search_that_is_given_up_never_counts_too_much(monkeypatch):
    groups = [Group.of({"VGPU": n, "FPGA": 1}) for n in (2, 3)]
    asked = PlacementRequest.of(Group.of({"VCPU": 1}), groups, isolate=True)
    devices = [provider(f"gpu{n}", VGPU=3 + n % 3, FPGA=1 + n % 2) for n in range(6)]
    # Not quite equal, because answers are remembered for equal hosts.
    one, other = (host(provider("compute1", VCPU=cpus), *devices) for cpus in (1000, 1001))
    exact = one.room(asked, HOUR)
    assert exact == room_beside(one, asked, [])
    monkeypatch.setattr(assigning, "MOST_DEAD_ENDS", 1)
    assert 0 <= other.room(asked, HOUR) <= exact


def test_one_choice_takes_a_bounded_number_of_steps(monkeypatch):
    """Two groups that differ take a search. A choice took 31 seconds on 200 hosts."""
    start, day = choice_of_devices.START, choice_of_devices.DAY
    hosts, window = choice_of_devices.site(hosts=5, bookings=60), Span(start, start + 30 * day)
    wanted = PlacementRequest.of(
        Group.of({"VCPU": 1}),
        [Group.of({"VGPU": n, "CUSTOM_GMEM": 5 * n}) for n in (1, 2)],
        isolate=True,
    )
    looked_at = 0
    further = assigning.Assigner._further

    def counted(*args):
        nonlocal looked_at
        looked_at += 1
        return further(*args)

    monkeypatch.setattr(assigning.Assigner, "_further", counted)
    _, found = choose(hosts, Shape(wanted), 10**6, window)
    assert 0 < found < looked_at < 2000 * len(hosts)


class Shape(NamedTuple):
    request: PlacementRequest
