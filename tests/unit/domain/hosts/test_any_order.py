"""If Nova is told which devices reservations have, their servers boot in any order.

A server takes any candidate that Placement offers for it at the moment at which it boots.
"""

import collections
import dataclasses
import functools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.domain import shapes
from tests.unit.domain.clock import longest, minutes, span
from tests.unit.domain.hosts.selling import (
    FLAVORS,
    LAST,
    ONE,
    PAIR,
    ROOT,
    THREE,
    TOGETHER,
    UNLIKE,
    book,
    carriers,
    gpus,
    requiring,
    sold_full,
    told,
)
from tests.unit.domain.placement_reference import host, placements
from warre_blazar.domain.hosts import placing
from warre_blazar.domain.hosts.host_devices import Kept, newly_settled, places_of

EXAMPLES = settings.default.max_examples


class Cloud:
    """The providers of a host, with the servers of reservations."""

    def __init__(self, one, shapes_of):
        """
        :param shapes_of: the flavors of the reservations, by name.
        """
        self._one, self._shapes = one, shapes_of
        self._taken = {}
        self._traits = {}
        for name, shape in shapes_of.items():
            self._traits[name] = carriers(one, name, shape)

    def boot(self, name, running, dice):
        """Boot a server of a reservation on any candidate. Return whether there is one."""
        taken = sum((self._taken[key] for key in self._taken), collections.Counter())
        providers = [
            dataclasses.replace(
                each, traits=each.traits | {n for n in running if each.id in self._traits[n]}
            )
            for each in self._one.providers
        ]
        has = {(p.id, c): i.capacity for p in providers for c, i in p.inventories.items()}
        request = requiring(self._one, name, self._shapes[name])
        offered = [
            way
            for way in placements(providers, request)
            if all(taken[cell] + n <= has[cell] for cell, n in way.items())
        ]
        if offered:
            self._taken[name, len(self._taken)] = dice.choice(offered)
        return bool(offered)

    def end(self, name):
        self._taken = {key: way for key, way in self._taken.items() if key[0] != name}


def boots(one, shapes_of, dice):
    """Whether all servers boot, each at any moment of its reservation, in any order."""
    cloud = Cloud(one, shapes_of)
    spans = {held.reservation_id: minutes(held.span) for held in one.holdings}
    numbers = collections.Counter(held.reservation_id for held in one.holdings)
    left = [(name, dice.choice(spans[name])) for name in numbers.elements()]
    for minute in range(LAST + 1):
        for name, of_reservation in spans.items():
            if of_reservation[-1] + 1 == minute:
                cloud.end(name)
        running = [name for name, of_reservation in spans.items() if minute in of_reservation]
        now = [name for name, at in left if at == minute]
        dice.shuffle(now)
        if not all(cloud.boot(name, running, dice) for name in now):
            return False
    return True


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.builds(random.Random, st.integers(0, 2**64)))
def test_servers_of_a_host_that_is_sold_full_boot_in_any_order(dice):
    one, shapes_of = sold_full(dice)
    for _ in range(5):
        assert boots(one, shapes_of, dice)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.builds(random.Random, st.integers(0, 2**64)))
def test_time_is_free_if_and_only_if_there_is_room_throughout_it(dice):
    one = host(ROOT, *gpus(dice.randint(2, 3), dice.choice([1, 2, 4])))
    every = [each for each in FLAVORS if told(one, each)]
    for number in range(5 if every else 0):
        start, end = sorted(dice.sample(range(LAST + 1), 2))
        shape, count = dice.choice(every), dice.choice([1, 1, 2, 3])
        one = book(one, f"r{number}", shape, count, span(start, end))
    for shape in every:
        count, affinity = dice.choice([1, 1, 2, 3, 5]), dice.choice([None, True])
        free = placing.free_spans([one], shape.request, count, ALWAYS, affinity)
        assert free == longest(functools.partial(fits, one, shape, count), ALWAYS)


def fits(one, shape, count, of_span):
    return one.room(shape.request, span(of_span[0], of_span[-1] + 1)) >= count


ALWAYS = span(0, LAST)


def sold(one, shape, *counts):
    """Which of some reservations, by their numbers of instances, fit one after the other."""
    found = []
    for number, count in enumerate(counts):
        after = book(one, f"r{number}", shape, count, ALWAYS)
        found.append(len(after.holdings) > len(one.holdings))
        one = after
    return found


@pytest.mark.parametrize(
    ("devices", "shape", "most"),
    [
        pytest.param(gpus(3, 2), PAIR, 2, id="three would take a unit on each of two of three"),
        pytest.param(gpus(4, 1), PAIR, 2, id="pairs of whole devices"),
        pytest.param(gpus(3, 4), ONE, 12, id="all of all devices"),
        pytest.param(gpus(3, 4), THREE, 3, id="one on each device"),
        pytest.param(gpus(2, 4), TOGETHER, 4, id="two units of one device, or of any"),
        pytest.param(gpus(2, 6), UNLIKE, 2, id="unlike groups on one device"),
    ],
)
def test_so_many_instances_of_one_reservation_fit(devices, shape, most):
    one = host(ROOT, *devices)
    assert told(one, shape)
    assert one.room(shape.request, ALWAYS) == most
    free = [len(placing.free_spans([one], shape.request, n, ALWAYS)) for n in (most, most + 1)]
    assert free == [1, 0]


def test_separate_reservations_of_pairs_fill_the_devices():
    assert sold(host(ROOT, *gpus(3, 2)), PAIR, 1, 1, 1) == [True] * 3
    assert sold(host(ROOT, *gpus(3, 2)), PAIR, 3) == [False]


def test_nobody_shares_the_devices_among_which_a_reservation_has_a_choice():
    """Five instances need two devices with four units each. The three units that are left stay."""
    assert sold(host(ROOT, *gpus(3, 4)), ONE, 5, 4, 1) == [True, True, False]
    assert sold(host(ROOT, *gpus(3, 4)), ONE, 3, 5, 3, 1) == [True, True, False, True]


def test_flavor_without_groups_may_have_places_on_several_devices():
    plain = shapes.shape(vcpu=1, memory_mb=1, disk_gb=1, extra_specs={"resources:VGPU": "1"})
    assert sold(host(ROOT, *gpus(3, 4)), plain, 5, 5, 2, 1) == [True, True, True, False]


def test_server_of_which_nova_is_not_told_counts_wherever_it_may_be():
    """It may be on any device, so three units of each are left for others."""
    plain = shapes.shape(vcpu=1, memory_mb=1, disk_gb=1, extra_specs={"resources:VGPU": "1"})
    one = book(host(ROOT, *gpus(2, 4)), "plain", plain, 1, ALWAYS)
    assert one.room(ONE.request, ALWAYS) == 3
    assert one.room(plain.request, ALWAYS) == 7
    free = [len(placing.free_spans([one], ONE.request, n, ALWAYS)) for n in (1, 3, 4)]
    assert free == [1, 1, 0]


def test_grown_reservation_has_one_device_or_is_placed_anew():
    one = book(host(ROOT, *gpus(3, 4)), "own", ONE, 2, ALWAYS)
    one = book(one, "other", ONE, 1, ALWAYS)
    kept = Kept(places_of(one.holdings, "own"))
    devices = one.without("own").devices
    assert devices.room(ONE.request, [ALWAYS], 99, kept) == 8
    assert len({*devices.places(ONE.request, [ALWAYS], 3, kept), *kept.places}) == 1
    assert len(set(devices.places(ONE.request, [ALWAYS], 6, kept))) == 2
    must = kept._replace(must_stay=True)
    assert devices.room(ONE.request, [ALWAYS], 99, must) == 3


def test_unsettled_instances_of_a_reservation_get_the_same_device():
    one = host(ROOT, *gpus(3, 4))
    one = book(one, "other", ONE, 2, ALWAYS)
    one = book(one, "own", ONE, 3, ALWAYS)
    unsettled = [
        held._replace(places=None) if held.reservation_id == "own" else held
        for held in one.holdings
    ]
    after = one.holding(unsettled).settled()
    assert len(set(places_of(after.holdings, "own"))) == 1
    assert newly_settled(unsettled, after.holdings).keys() == {"own"}
