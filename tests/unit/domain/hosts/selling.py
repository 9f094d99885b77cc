"""Hosts with devices that are sold full, over time."""

import dataclasses

from tests.unit.domain import shapes
from tests.unit.domain.choosing import booked, choice_of
from tests.unit.domain.clock import span
from tests.unit.domain.placement_reference import host, provider
from warre_blazar.domain.hosts import assigning, device_traits
from warre_blazar.domain.hosts.device_traits import told_groups

#: The last minute at which a reservation ends.
LAST = 8


def flavor(**groups):
    """A flavor whose groups take devices, with what each group takes and requires."""
    specs = {"group_policy": groups.pop("policy")} if "policy" in groups else {}
    for suffix, (amounts, *traits) in groups.items():
        specs |= {f"resources_{suffix}:{cls}": str(n) for cls, n in amounts.items()}
        specs |= {f"trait_{suffix}:{trait}": "required" for trait in traits}
    return shapes.shape(vcpu=1, memory_mb=1, disk_gb=1, extra_specs=specs)


ONE, TWO, THREE = (flavor(A=({"VGPU": n},)) for n in (1, 2, 3))
SPECIAL = flavor(A=({"VGPU": 1}, "CUSTOM_X"))
WITH_MEMORY = flavor(A=({"VGPU": 1, "CUSTOM_MEMORY": 3},))
PAIR = flavor(A=({"VGPU": 1},), B=({"VGPU": 1},), policy="isolate")
TOGETHER = flavor(A=({"VGPU": 1},), B=({"VGPU": 1},), policy="none")
UNLIKE = flavor(A=({"VGPU": 1},), B=({"VGPU": 2},), policy="none")
FLAVORS = [ONE, TWO, THREE, SPECIAL, WITH_MEMORY, PAIR, TOGETHER, UNLIKE]

ROOT = provider("compute1", VCPU=1000, MEMORY_MB=1000, DISK_GB=1000)


def gpus(number, units):
    return [provider(f"gpu{n}", VGPU=units, CUSTOM_MEMORY=2 * units) for n in range(number)]


def book(one, name, shape, count, window):
    """Book instances on a host: the host with them, or as it was if there is no room."""
    choice = choice_of([one], shape, count, window)
    return booked(one, name, shape, window, choice) if choice.count == count else one


def told(one, shape):
    """Whether Nova is told where all devices of a flavor's instances are."""
    return assigning.assigner(one.tree, shape.request).told


def carriers(one, name, shape):
    """The ids of the providers that carry a reservation's trait."""
    mine = [held for held in one.holdings if held.reservation_id == name]
    rows = [[row[:2] for row in one.to_store(held.places or ())] for held in mine]
    groups = told_groups(shape.extra_specs, [one])
    return device_traits.carriers(one.providers, rows, groups)


def requiring(one, trait, shape):
    """What a server asks for by its reservation's Nova flavor, which requires a trait."""
    if not told_groups(shape.extra_specs, [one]):
        return shape.request
    groups = (
        dataclasses.replace(g, required=g.required | {trait}) if g.by_specs else g
        for g in shape.request.suffixed
    )
    return dataclasses.replace(shape.request, suffixed=tuple(groups))


def sold_full(dice):
    """A host whose devices are sold over time, and the flavors of the reservations by name."""
    devices = [
        dataclasses.replace(gpu, traits=frozenset(["CUSTOM_X"] * dice.randint(0, 1)))
        for gpu in gpus(dice.randint(2, 4), dice.choice([1, 2, 4]))
    ]
    one = host(ROOT, *devices)
    every = [each for each in FLAVORS if told(one, each)]
    shapes_of = {}
    for number in range(12) if every else ():
        shape, name = dice.choice(every), f"CUSTOM_R{number}"
        start, end = sorted(dice.sample(range(LAST + 1), 2))
        one = book(one, name, shape, dice.choice([1, 1, 2, 3, 5]), span(start, end))
        if any(held.reservation_id == name for held in one.holdings):
            shapes_of[name] = shape
    return one, shapes_of
