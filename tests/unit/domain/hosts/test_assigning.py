"""Bookings that stay on their devices: there is one fixed assignment, over all their times."""

import collections
import dataclasses
import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.domain.choosing import booked, choice_of, choose
from tests.unit.domain.clock import minutes, span
from tests.unit.domain.placement_reference import all_stay, host, provider, room_left, room_to_stay
from warre_blazar.domain import timeline
from warre_blazar.domain.flavors.request_groups import Group, PlacementRequest
from warre_blazar.domain.hosts import assigning, placing
from warre_blazar.domain.hosts.holdings import Holding
from warre_blazar.domain.hosts.host_devices import Kept, newly_settled, places_of
from warre_blazar.domain.hosts.placing import Choice, FreeSpans, Wanted, free_spans
from warre_blazar.domain.hosts.providers import Inventory, Provider
from warre_blazar.domain.hosts.shared_room import HostGroup

#: The number of examples of the profile: 30 if few, 150 if many.
EXAMPLES = settings.default.max_examples

ROOT = provider("compute1", VCPU=100)
ANY = PlacementRequest.of(Group.of({"VCPU": 1}), [Group.of({"GPU": 1})])
SPECIAL = PlacementRequest.of(Group.of({"VCPU": 1}), [Group.of({"GPU": 1}, ["CUSTOM_X"])])


def units(number):
    return PlacementRequest.of(Group.of({"VCPU": 1}), [Group.of({"VGPU": number})])


#: Two devices that may be shared, and a request for the whole of one.
PAIR = provider("a", VGPU=2), provider("b", VGPU=2)
WHOLE = units(2)


class Asking:
    """As much of a shape as a choice of hosts needs."""

    def __init__(self, request):
        self.request = request


def sold(one, wishes):
    """Sell wishes on a host, one after the other: the host with what was sold, and how much."""
    for number, (request, window) in enumerate(wishes):
        asking = Asking(request)
        choice = choice_of([one], asking, 1, window)
        one = booked(one, f"r{number}", asking, window, choice)
    return one, len(one.holdings)


def most_taken(one):
    """The most that is taken of each provider at any moment, by provider and class."""
    taken = collections.Counter()
    for held in one.holdings:
        for provider_id, cls, amount in one.to_store(held.places):
            for minute in minutes(held.span):
                taken[provider_id, cls, minute] += amount
    most = collections.Counter()
    for (provider_id, cls, _), amount in taken.items():
        most[provider_id, cls] = max(most[provider_id, cls], amount)
    return most


# What fits at each moment, but can't stay. Days are minutes here.


def test_devices_with_a_trait_and_without_it():
    """Two of any kind fill both GPUs in turn, so no GPU with the trait is free at the end."""
    one = host(ROOT, provider("a", ["CUSTOM_X"], GPU=1), provider("b", GPU=1))
    wishes = [(SPECIAL, span(0, 1)), (ANY, span(0, 2)), (ANY, span(1, 3)), (SPECIAL, span(2, 3))]
    for request, window in wishes:
        assert one.holding([]).room(request, window)
    assert sold(one, wishes)[1] == 3


def test_shares_of_devices_of_two_sizes():
    one = host(ROOT, provider("a", VGPU=2), provider("b", VGPU=2))
    wishes = [
        *((units(1), span(0, 3)), (units(1), span(0, 2)), (units(2), span(0, 1))),
        *((units(1), span(1, 2)), (units(1), span(1, 3)), (units(2), span(2, 3))),
    ]
    assert sold(one, wishes)[1] == 5


def test_whole_devices_of_one_kind_are_not_assigned():
    """Any of them will do. One that is free on the first day and one on the second are enough."""
    one = host(ROOT, provider("a", GPU=1), provider("b", GPU=1))
    wishes = [(ANY, span(0, 1)), (ANY, span(1, 2)), (ANY, span(0, 2)), (ANY, span(2, 3))]
    one, number = sold(one, wishes)
    assert number == 4
    assert not any(held.places for held in one.holdings)
    assert free_spans([one], ANY, 1, span(0, 4)) == [span(2, 4)]


def test_any_device_leaves_those_with_a_trait_to_others():
    one = host(ROOT, provider("a", ["CUSTOM_X"], GPU=1), provider("b", GPU=1))
    one, number = sold(one, [(ANY, span(0, 5)), (SPECIAL, span(1, 4)), (ANY, span(5, 9))])
    assert number == 3
    assert one.room(SPECIAL, span(5, 9)) == 1


def test_largest_number_takes_no_time():
    """It is answered by sums, even if the nodes have as much, and hosts are asked one by one."""
    most = 2**31 - 1
    huge = [provider(f"gpu{n}", VGPU=most) for n in range(3)]
    one = host(provider("compute1", VCPU=most), *huge)
    assert choose([one] * 3, Asking(units(1)), most, span(0, 9))[1] == most
    asked = pair(1, isolate=True)
    assert one.devices.room(asked, [span(0, 9)], 2 * most) == 3 * most // 2
    hard = PlacementRequest.of(Group.of({"VCPU": 1}), [Group.of({"VGPU": n}) for n in (2, 3)])
    assert choose([one], Asking(hard), most, span(0, 9))[1] == assigning._MOST_SEARCHED


def pair(number, *, isolate):
    """Two groups with a number of units each."""
    groups = [Group.of({"VGPU": number})] * 2
    return PlacementRequest.of(Group.of({"VCPU": 1}), groups, isolate=isolate)


@pytest.mark.parametrize(
    ("amounts", "largest", "isolate", "number"),
    [
        ((2, 2, 2), 9, True, 3),
        ((4, 1, 1), 9, True, 2),
        ((6, 1), 9, True, 1),
        ((6, 1), 9, False, 3),
        ((6, 1), 1, False, 1),
        ((5, 2, 2), 1, False, 4),
    ],
)
def test_two_units_that_may_not_come_from_one_device(amounts, largest, isolate, number):
    gpus = {f"gpu{n}": Inventory(amount, max_unit=largest) for n, amount in enumerate(amounts)}
    devices = [Provider(n, n, "compute1", {"VGPU": has}, frozenset()) for n, has in gpus.items()]
    one, asked = host(ROOT, *devices), pair(1, isolate=isolate)
    assert one.room(asked, span(0, 9)) == room_left(one, asked, span(0, 9)) == number
    one = booked(
        one, "r", Asking(asked), span(0, 9), choice_of([one], Asking(asked), 9, span(0, 9))
    )
    assert len(one.holdings) == number
    assert all(amount <= gpus[name].capacity for (name, _), amount in most_taken(one).items())
    for held in one.holdings:
        assert all(amount <= largest for _, _, amount in held.places)
        assert len(held.places) == 2 or not isolate


def test_extended_booking_keeps_its_device():
    """Another device is free for the whole time, but the server has its device already."""
    one = host(ROOT, *PAIR)
    one, _ = sold(one, [(WHOLE, span(0, 2))])
    mine = places_of(one.holdings, "r0")
    one = one.holding([Holding("r1", span(2, 4), WHOLE, mine[0])])
    longer = [span(0, 3)]
    assert one.devices.room(WHOLE, longer, 1, Kept(mine)) == 1
    assert one.devices.room(WHOLE, longer, 1, Kept(mine, must_stay=True)) == 0
    wanted = Wanted(WHOLE, 1, span(0, 3), kept={"id1": Kept(mine, must_stay=True)})
    assert Choice([one], wanted).count == 0
    may_move = Choice([one], Wanted(WHOLE, 1, span(0, 3), kept={"id1": Kept(mine)}))
    assert may_move.count == 1
    assert may_move.places != {"id1": [one.to_store(mine[0])]}
    shorter = Choice([one], Wanted(WHOLE, 1, span(0, 1), kept=wanted.kept))
    assert shorter.places == {"id1": [one.to_store(mine[0])]}


def test_instances_that_need_two_spans_have_one_place_for_both():
    one = host(ROOT, provider("a", ["CUSTOM_X"], GPU=1), provider("b", GPU=1))
    one = one.holding([Holding("r", span(2, 6), SPECIAL)]).settled()
    assert one.room(ANY, span(0, 2), span(5, 8)) == 1
    assert one.room(ANY, span(0, 2), span(6, 8)) == 2


def test_instances_without_places_are_settled_beside_those_that_have_places():
    one = host(ROOT, *PAIR)
    placed = Holding("r1", span(0, 4), WHOLE, ((1, "VGPU", 2),))
    unsettled = one.holding([Holding("r2", span(1, 3), WHOLE), placed])
    assert unsettled.is_unsettled
    assert [unsettled.room(WHOLE, span(n, n + 1)) for n in (0, 1, 3)] == [1, 0, 1]
    assert unsettled.room(WHOLE, span(0, 2)) == 0
    settled = unsettled.settled()
    assert not settled.is_unsettled
    assert newly_settled(unsettled.holdings, settled.holdings) == {"r2": [((2, "VGPU", 2),)]}
    assert settled.settled() is settled


def test_instance_for_which_there_is_no_place_counts_everywhere():
    """Its device is gone. The other one is sold, so nothing is free until somebody moves it."""
    one = host(ROOT, provider("a", VGPU=2), provider("b", VGPU=2))
    held = [Holding(f"r{n}", span(0, 4), units(1), ((n, "VGPU", 1),)) for n in (1, 2)]
    lost = Holding("r3", span(0, 4), units(2))
    one = one.holding([*held, lost]).settled()
    assert one.room(units(1), span(0, 4)) == 0
    assert one.is_unsettled
    assert newly_settled([*held, lost], one.holdings) == {}
    assert one.room(units(1), span(4, 5)) == 4


def test_stored_places_that_no_longer_fit_the_instance_do_not_count():
    one = host(ROOT, provider("a", VGPU=2), provider("b", VGPU=2))
    assert one.stored_places(units(2), [("a", "VGPU", 2)]) == ((1, "VGPU", 2),)
    assert one.stored_places(units(2), [("gone", "VGPU", 2)]) is None
    assert one.stored_places(units(2), [("a", "VGPU", 1)]) is None
    assert one.stored_places(units(2), []) is None
    assert one.stored_places(None, [("a", "VGPU", 2)]) is None


# Any hosts and bookings.


class Dice(random.Random):
    def site(self):
        """A host with devices of some kinds, and requests for them."""
        if self.random() < 0.5:
            devices = [
                provider(f"gpu{n}", ["CUSTOM_X"] * (n % 2), GPU=1)
                for n in range(self.randint(2, 4))
            ]
            kinds = [ANY, SPECIAL]
        else:
            amount = self.choice([3, 4, 6])
            devices = [provider(f"gpu{n}", VGPU=amount) for n in range(self.randint(2, 3))]
            pairs = [pair(n, isolate=self.random() < 0.5) for n in (1, 2)]
            mixed = PlacementRequest.of(
                Group.of({"VCPU": 1}),
                [Group.of({"VGPU": n}) for n in (1, 2)],
                isolate=self.random() < 0.5,
            )
            kinds = self.sample([*map(units, range(1, 5)), *pairs, mixed], 2)
        return host(ROOT, *devices), kinds

    def span(self, last):
        start, end = sorted(self.sample(range(last + 1), 2))
        return span(start, end)

    def wishes(self, kinds, number, last):
        return [(self.choice(kinds), self.span(last)) for _ in range(number)]


dice = st.builds(Dice, st.integers(0, 2**64))


@settings(max_examples=EXAMPLES)
@given(dice)
def test_all_that_is_sold_can_stay_and_is_all_that_is_left(dice):
    one, kinds = dice.site()
    one, _ = sold(one, dice.wishes(kinds, 7, 6))
    assert all_stay(one.providers, one.holdings)
    has = {(p.id, c): i.capacity for p in one.providers for c, i in p.inventories.items()}
    assert all(amount <= has[cell] for cell, amount in most_taken(one).items())
    asked, window = dice.choice(kinds), dice.span(6)
    assert one.room(asked, window) == room_left(one, asked, window)
    assert choose([one], Asking(asked), 99, window)[1] == one.room(asked, window)


@settings(max_examples=EXAMPLES)
@given(dice)
def test_of_whole_devices_of_one_kind_all_can_be_sold(dice):
    """As many as fit at each moment can stay, whatever devices the servers have taken."""
    one = host(ROOT, *(provider(f"gpu{n}", GPU=1) for n in range(dice.randint(2, 4))))
    pairs = [
        PlacementRequest.of(Group.of({"VCPU": 1}), [Group.of({"GPU": 1})] * 2, isolate=isolate)
        for isolate in (True, False)
    ]
    one, _ = sold(one, dice.wishes([ANY, *pairs], 7, 6))
    asked, window = dice.choice([ANY, *pairs]), dice.span(6)
    assert one.room(asked, window) == room_to_stay(one, asked, window, 9)


@settings(max_examples=EXAMPLES)
@given(dice)
def test_time_can_be_booked_if_and_only_if_it_is_free(dice):
    one, kinds = dice.site()
    one, _ = sold(one, dice.wishes(kinds, 12, 12))
    asked, count = dice.choice(kinds), dice.randint(1, 2)
    free = free_spans([one], asked, count, span(0, 12))
    for start, end in itertools.combinations(range(13), 2):
        window = span(start, end)
        is_free = any(each.contains(window) for each in free)
        assert (choose([one], Asking(asked), count, window)[1] == count) == is_free


@settings(max_examples=EXAMPLES)
@given(dice)
def test_times_of_providers_say_the_same_as_their_levels(dice):
    """On several hosts, of which some have no room for all that is asked, or are closed."""
    one, kinds = dice.site()
    hosts = []
    for number in range(dice.randint(1, 3)):
        there, _ = sold(one, dice.wishes(kinds, dice.randint(0, 9), 12))
        others = [
            Holding("o", dice.span(12), PlacementRequest.plain({"VCPU": dice.randint(90, 99)}))
            for _ in range(dice.randint(0, 2))
        ]
        closed = [Holding("w", dice.span(12), None)] if dice.random() < 0.2 else []
        hosts.append(
            dataclasses.replace(
                there, id=f"id{number}", holdings=[*there.holdings, *others], closed=closed
            )
        )
    asked, count, window = dice.choice(kinds), dice.randint(1, 5), span(1, 11)
    affinity = dice.choice([None, True, False])
    also = [dice.span(12)] if dice.random() < 0.5 else []
    free = FreeSpans(HostGroup(hosts), asked, count, window, affinity, also)
    levels = [each.levels(asked, window, count, also=also) for each in hosts]
    expected = placing._spans_of_levels(levels, count, window, affinity)
    assert timeline.widest(free.of(count)) == timeline.widest(expected)


@settings(max_examples=EXAMPLES)
@given(dice, st.integers(0, 25))
def test_a_search_that_gives_up_never_sells_too_much(dice, most):
    one, kinds = dice.site()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assigning, "MOST_DEAD_ENDS", most)
        one, _ = sold(one, dice.wishes(kinds, 7, 6))
    assert all_stay(one.providers, one.holdings)
