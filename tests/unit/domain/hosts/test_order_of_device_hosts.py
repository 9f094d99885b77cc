"""The order in which hosts and their devices are used if several instances share a device."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.domain.choosing import booked, choice_of, choose
from tests.unit.domain.clock import minutes, span
from tests.unit.domain.hosts.selling import (
    FLAVORS,
    ONE,
    PAIR,
    ROOT,
    THREE,
    TWO,
    WITH_MEMORY,
    gpus,
)
from tests.unit.domain.placement_reference import host
from warre_blazar.domain.hosts.holdings import Holding
from warre_blazar.domain.hosts.host_devices import places_of
from warre_blazar.domain.hosts.placing import Packing
from warre_blazar.domain.hosts.pools import Taken

#: The last minute at which a reservation ends.
LAST = 12
WINDOW = span(4, 6)
#: A minute before the window, and one after it.
NEAR = span(3, 7)
FILL = Packing()


def on_devices(*held, number=1, units=4):
    """A host with a device for each sequence of amounts with the times at which they are held."""
    one = host(ROOT, *gpus(len(held), units), number=number)
    each = (
        (flavor, time, (Taken(n, "VGPU", flavor.request.amounts["VGPU"]),))
        for n, of_device in zip(one.tree.carriers["VGPU"], held, strict=True)
        for flavor, time in of_device
    )
    # Each is a reservation of its own.
    return one.holding(
        [
            Holding(f"r{owner}", time, flavor.request, places)
            for owner, (flavor, time, places) in enumerate(each)
        ]
    )


def first_of(hosts, flavor, packing=FILL):
    (chosen,), _ = choose(hosts, flavor, 1, WINDOW, packing=packing)
    return chosen


class Dice(random.Random):
    def span(self):
        start, end = sorted(self.sample(range(LAST + 1), 2))
        return span(start, end)

    def host(self, number):
        """A host on which any devices are held, even by more than they have."""
        devices = range(self.randint(2, 3))
        flavors, most = [ONE, TWO, THREE], self.randint(0, 5)
        one = on_devices(
            *([(self.choice(flavors), self.span()) for _ in range(most)] for _ in devices),
            number=number,
        )
        wholes = [Holding("whole", self.span(), None) for _ in range(self.choice([0, 0, 1]))]
        return one.holding([*one.holdings, *wholes])


dice = st.builds(Dice, st.integers(0, 2**64))


def held_at(one, node, minute):
    return sum(
        4 if held.request is None else taken.amount
        for held in one.holdings
        for taken in held.places or (Taken(node, "VGPU", 4),)
        if taken.node == node and minute in minutes(held.span)
    )


def fullest(one, amount, windows, near):
    """The mean share that is held of the fullest device that has room, minute by minute."""
    means = [
        sum(held_at(one, n, minute) for minute in minutes(near)) / (4 * len(minutes(near)))
        for n in one.tree.carriers["VGPU"]
        if all(
            4 - held_at(one, n, minute) >= amount for each in windows for minute in minutes(each)
        )
    ]
    return max(means, default=-1.0)


@given(dice)
def test_fullness_is_the_mean_of_the_fullest_device_with_room(dice):
    one, windows, near = dice.host(1), [dice.span(), dice.span()], dice.span()
    for amount, flavor in enumerate([ONE, TWO, THREE], 1):
        found = one.ever_devices.fullness(flavor.request, windows, near)
        expected = fullest(one, amount, windows, near)
        assert found == pytest.approx(expected, abs=1e-6) or max(found, expected) < 0


@given(dice)
def test_choice_takes_all_there_is_in_whatever_order_the_hosts_come(dice):
    hosts, flavor = [dice.host(n) for n in range(3)], dice.choice(FLAVORS)
    packing = Packing(dice.choice([True, False]), dice.choice([None, None, True, False]))
    count, window = dice.randint(1, 4), dice.span()
    chosen, found = choose(hosts, flavor, count, window, packing=packing)
    shuffled = dice.sample(hosts, len(hosts))
    assert choose(shuffled, flavor, count, window, packing=packing) == (chosen, found)
    rooms = {one.id: min(one.room(flavor.request, window), count) for one in hosts}
    assert all(n <= rooms[host_id] for host_id, n in chosen.items())
    if packing.affinity is None:
        assert found == min(count, sum(rooms.values()))


def test_host_whose_device_is_fullest_comes_first_even_if_the_host_is_emptier():
    emptier = on_devices([(THREE, NEAR)], [], number=2)
    fuller = on_devices([(TWO, NEAR)], [(TWO, NEAR)], number=1)
    assert first_of([emptier, fuller], ONE) == "id2"
    # The fullest device lacks room for two, so it doesn't matter.
    assert first_of([emptier, fuller], TWO) == "id1"


def test_device_without_room_at_some_time_of_the_booking_does_not_matter():
    lacking = on_devices([(THREE, NEAR), (ONE, span(5, 6))], [], number=1)
    with_room = on_devices([(ONE, NEAR)], [], number=2)
    assert first_of([lacking, with_room], ONE) == "id2"


def test_what_is_held_just_before_and_after_a_booking_counts():
    beside = on_devices([(THREE, span(0, 4)), (THREE, span(6, 9))], [], number=2)
    earlier = on_devices([(THREE, span(0, 3))], [(THREE, span(8, 9))], number=1)
    assert first_of([earlier, beside], TWO) == "id2"


def test_empty_device_of_a_host_in_use_leaves_another_host_empty():
    empty = on_devices([], [], number=1)
    in_use = on_devices([(THREE, NEAR)], [], number=2)
    assert first_of([empty, in_use], TWO) == "id2"


@pytest.mark.parametrize("flavor", [PAIR, WITH_MEMORY])
def test_flavor_that_takes_more_than_a_share_of_one_device_goes_by_the_whole_host(flavor):
    emptier = on_devices([(TWO, NEAR)], [], number=1)
    fuller = on_devices([(ONE, NEAR)], [(TWO, NEAR)], number=2)
    assert first_of([emptier, fuller], flavor) == "id2"


def test_spread_goes_by_the_whole_host():
    emptier = on_devices([(THREE, NEAR)], [], number=2)
    fuller = on_devices([(TWO, NEAR)], [(TWO, NEAR)], number=1)
    assert first_of([emptier, fuller], ONE, Packing(spread=True)) == "id2"


@pytest.mark.parametrize("is_settled_later", [False, True])
def test_instances_go_to_the_fullest_device_that_has_room_for_all(is_settled_later):
    # The second device has less left, but the first one is fuller at about the time.
    one = on_devices([(TWO, NEAR)], [(THREE, span(5, 6))], [])
    assert devices_of(one, ONE, 1, is_settled_later) == [0]
    assert devices_of(one, ONE, 2, is_settled_later) == [0, 0]
    assert devices_of(one, ONE, 4, is_settled_later) == [2, 2, 2, 2]


def devices_of(one, flavor, count, is_settled_later):
    """The devices that a reservation gets, by their numbers."""
    if is_settled_later:
        unsettled = [Holding("new", WINDOW, flavor.request)] * count
        after = one.holding([*one.holdings, *unsettled]).settled()
    else:
        choice = choice_of([one], flavor, count, WINDOW)
        after = booked(one, "new", flavor, WINDOW, choice)
    nodes = one.tree.carriers["VGPU"]
    return [nodes.index(p.node) for places in places_of(after.holdings, "new") for p in places]
