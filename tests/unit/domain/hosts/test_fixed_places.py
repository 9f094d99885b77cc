"""Bookings that stay on their devices: there is one fixed assignment, over all their times."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.domain.choosing import choose
from tests.unit.domain.clock import span
from tests.unit.domain.placement_reference import all_stay, host, provider, room_to_stay
from warre_blazar.domain.flavors.request_groups import Group, PlacementRequest
from warre_blazar.domain.hosts import provider_search
from warre_blazar.domain.hosts.demands import demand
from warre_blazar.domain.hosts.holdings import Holding
from warre_blazar.domain.hosts.placing import Wanted, free_spans
from warre_blazar.domain.hosts.placing import choose as choose_hosts
from warre_blazar.domain.hosts.provider_search import Packer, Sought

#: The number of examples of the profile: 30 if few, 150 if many.
EXAMPLES = settings.default.max_examples

ROOT = provider("compute1", VCPU=100)
ANY = PlacementRequest.of(Group.of({"VCPU": 1}), [Group.of({"GPU": 1})])
SPECIAL = PlacementRequest.of(Group.of({"VCPU": 1}), [Group.of({"GPU": 1}, ["CUSTOM_X"])])


def units(number):
    return PlacementRequest.of(Group.of({"VCPU": 1}), [Group.of({"VGPU": number})])


class Asking:
    """As much of a shape as a choice of hosts needs."""

    def __init__(self, request):
        self.request = request


def sold(one, wishes):
    """Sell wishes on a host, one after the other: the host with what was sold, and how much."""
    for number, (request, window) in enumerate(wishes):
        _, found = choose([one], Asking(request), 1, window)
        if found:
            one = one.holding([*one.holdings, Holding(f"r{number}", window, request)])
    return one, len(one.holdings)


def test_ways_come_in_the_same_order_in_each_process():
    """Hashes of times differ from process to process, and the order of a set follows them."""
    tree = host(ROOT, provider("a", VGPU=4)).tree
    (part,) = (p for p in demand(tree, units(1)).parts if p.amounts == (("VGPU", 1),))
    packer = Packer(tree, [Sought((part,), isolate=False, uncovered=frozenset())])
    ((move,),) = packer.items
    later = [((span(0, end).end, (1,)),) for end in range(1, 9)]
    boxes = tuple(packer.boxes[0]._replace(ends=ends) for ends in later)
    found = [box for box, _, _ in packer.ways(boxes, move, frozenset(), until=span(0, 9).end)]
    assert found == list(boxes)


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


def test_whole_devices_of_one_kind_need_no_assignment():
    one = host(ROOT, *(provider(f"gpu{n}", GPU=1) for n in range(4)))
    wishes = [(ANY, span(n, n + 3)) for n in range(9)]
    one, number = sold(one, wishes)
    assert number == 9
    assert not one.must_stay(ANY, [])
    assert one.must_stay(ANY, [SPECIAL]) is False  # No GPU has the trait.


def test_bookings_are_put_elsewhere_to_make_room():
    """The first booking doesn't take the only GPU with the trait, and if it did, it would move."""
    one = host(ROOT, provider("a", ["CUSTOM_X"], GPU=1), provider("b", GPU=1))
    one, number = sold(one, [(ANY, span(0, 5)), (SPECIAL, span(1, 4)), (ANY, span(5, 9))])
    assert number == 3
    assert one.lasting_room(SPECIAL, [span(5, 9)], 1) == 1


def test_instances_that_need_two_spans_stay_in_each_of_them():
    one = host(ROOT, provider("a", ["CUSTOM_X"], GPU=1), provider("b", GPU=1))
    one = one.holding([Holding("r", span(2, 6), SPECIAL)])
    assert one.lasting_room(ANY, [span(0, 2), span(5, 8)], 4) == 1
    assert one.lasting_room(ANY, [span(0, 2), span(6, 8)], 4) == 2


def test_only_what_is_booked_at_all_times_shows_that_nothing_can_stay():
    """What makes the booking impossible begins after its end."""
    one = host(ROOT, provider("a", ["CUSTOM_X"], GPU=1), provider("b", GPU=1))
    everything = [
        Holding("r1", span(0, 1), SPECIAL),
        Holding("r2", span(1, 3), ANY),
        Holding("r3", span(2, 3), SPECIAL),
    ]
    window = span(0, 2)
    near = one.holding([h for h in everything if h.span.overlaps(window)])
    asked = []

    def complete(hosts):
        asked.extend(hosts)
        return [h.holding(everything) for h in hosts]

    assert choose_hosts([near], Wanted(ANY, 1, window)) == ({"id1": 1}, 1)
    assert choose_hosts([near], Wanted(ANY, 1, window), complete) == ({}, 0)
    assert asked == [near]


def test_other_hosts_are_tried_if_nothing_can_stay_on_the_first():
    hosts = [
        host(ROOT, provider("a", ["CUSTOM_X"], GPU=1), provider("b", GPU=1), number=n)
        for n in range(9)
    ]
    blocked = [Holding("r1", span(0, 1), SPECIAL), Holding("r2", span(1, 3), ANY)]
    blocked.append(Holding("r3", span(2, 3), SPECIAL))
    rounds = []

    def complete(some):
        rounds.append(len(some))
        return [h.holding(blocked) if h.id != "id7" else h for h in some]

    near = [h.holding([h for h in blocked if h.span.overlaps(span(0, 2))]) for h in hosts]
    assert choose_hosts(near, Wanted(ANY, 1, span(0, 2)), complete) == ({"id7": 1}, 1)
    # Each round looks at as many further hosts as were looked at before.
    assert rounds == [1, 2, 4, 2][: len(rounds)]
    assert len(rounds) <= 4


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
            kinds = [units(n) for n in self.sample([1, 2, 3, 4], 2)]
        return host(ROOT, *devices), kinds

    def span(self, last):
        start, end = sorted(self.sample(range(last + 1), 2))
        return span(start, end)

    def wishes(self, kinds, number, last):
        return [(self.choice(kinds), self.span(last)) for _ in range(number)]


dice = st.builds(Dice, st.integers(0, 2**64))


@settings(max_examples=EXAMPLES)
@given(dice)
def test_all_that_is_sold_can_stay_and_no_more_can(dice):
    one, kinds = dice.site()
    one, _ = sold(one, dice.wishes(kinds, 7, 6))
    assert all_stay(one.providers, one.holdings)
    asked, window = dice.choice(kinds), dice.span(6)
    with provider_search.bounded() as allowance:
        room = min(one.room(asked, window), one.lasting_room(asked, [window], 2))
    exact = room_to_stay(one, asked, window, 2)
    # A search that gives up may find less.
    assert room == exact or (allowance.given_up and room < exact)


@settings(max_examples=EXAMPLES)
@given(dice)
def test_every_free_span_that_is_shown_can_be_booked(dice):
    one, kinds = dice.site()
    one, _ = sold(one, dice.wishes(kinds, 12, 12))
    asked, count = dice.choice(kinds), dice.randint(1, 2)
    for window in free_spans([one], asked, count, span(0, 12)):
        with provider_search.bounded() as allowance:
            found = choose([one], Asking(asked), count, window)[1]
        # A search that gives up may find fewer. Of tens of thousands of sites, hardly one is so
        # hard.
        assert found == count or allowance.given_up


@settings(max_examples=EXAMPLES)
@given(dice, st.integers(0, 25))
def test_a_search_that_gives_up_never_sells_too_much(dice, states):
    one, kinds = dice.site()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(provider_search, "MOST_STATES_IN_ALL", states)
        patch.setattr(provider_search, "MOST_STATES", max(states, 1))
        one, _ = sold(one, dice.wishes(kinds, 7, 6))
    assert all_stay(one.providers, one.holdings)
