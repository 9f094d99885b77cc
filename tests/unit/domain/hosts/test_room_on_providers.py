"""Room on hosts with several providers, compared with a try of every way to place instances."""

import random
from typing import NamedTuple

from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.unit.domain.choosing import choose
from tests.unit.domain.clock import longest, span
from tests.unit.domain.placement_reference import all_fit, host, room_left, ways_left
from warre_blazar.domain.flavors.request_groups import Group, PlacementRequest
from warre_blazar.domain.hosts.holdings import Holding
from warre_blazar.domain.hosts.placing import Packing, free_spans
from warre_blazar.domain.hosts.providers import Inventory, Provider

#: The number of examples of the profile: 30 if few, 150 if many.
EXAMPLES = settings.default.max_examples

LAST = 5


# What is tried. It is drawn by a generator of random numbers, which takes large and small cases
# alike, and mostly asks for what a provider has.

CLASSES = ("VCPU", "GPU", "FPGA")
TRAITS = ("A", "B")


class Dice(random.Random):
    def some(self, values, most=9):
        values = sorted(values)
        return self.sample(values, self.randint(0, min(most, len(values))))

    def one_in(self, number):
        return self.randrange(number) == 0

    def inventory(self):
        if self.one_in(2):
            return Inventory(1)
        return Inventory(
            total=self.randint(2, 5),
            reserved=int(self.one_in(4)),
            min_unit=1 + self.one_in(5),
            max_unit=self.choice([5, 5, 5, 3, 2, 1]),
            step_size=1 + self.one_in(5),
            allocation_ratio=self.choice([1.0, 1.0, 1.5]),
        )

    def facts(self):
        classes = self.some(CLASSES) or [self.choice(CLASSES)]
        return {cls: self.inventory() for cls in classes}, frozenset(self.some(TRAITS))

    def tree(self):
        """A root and up to three children, of which some are alike."""
        kinds = [self.facts() for _ in range(self.randint(1, 3))]
        children = [self.choice(kinds) for _ in range(self.randint(0, 3))]
        return (
            Provider("compute1", "compute1", None, *self.facts()),
            *(Provider(f"dev{n}", f"dev{n}", "compute1", *kind) for n, kind in enumerate(children)),
        )

    def group(self, tree, most):
        """A group that a provider of the tree might give."""
        giver = self.choice(tree)
        amounts = {}
        for cls in self.some(giver.inventories, most) or sorted(giver.inventories)[:1]:
            taken = [n for n in (1, 1, 2, 3) if giver.inventories[cls].takes(n)]
            amounts[cls] = self.choice(taken or [1])
        picky = self.one_in(3)
        required = self.some(giver.traits) if picky else ()
        forbidden = self.some(set(TRAITS) - giver.traits) if picky else ()
        return Group.of(amounts, required, forbidden)

    def request(self, tree):
        """A request that usually fits."""
        tries = (self.any_request(tree) for _ in range(self.randint(1, 8)))
        return next((r for r in tries if all_fit(tree, [r])), None) or self.any_request(tree)

    def any_request(self, tree):
        most = self.randint(1, 2)
        suffixed = [self.group(tree, most) for _ in range(self.randint(0, 3))]
        unsuffixed = self.group(tree, 2)
        if not unsuffixed.required and self.one_in(3):
            traits = frozenset().union(*(p.traits for p in tree))
            unsuffixed = Group.of(dict(unsuffixed.resources), self.some(traits))
        if suffixed and self.one_in(2):
            unsuffixed = Group.of({})
        root = self.some(tree[0].traits) if self.one_in(4) else ()
        return PlacementRequest.of(unsuffixed, suffixed, self.one_in(2), root)

    def span(self):
        start, end = sorted(self.sample(range(LAST + 1), 2))
        return span(start, end)

    def host(self, tree, kinds, number=1):
        """A host with what it holds, at any places where there was room for it."""
        one = host(*tree, number=number)
        for reservation in range(self.randint(0, 4)):
            held = Holding(f"r{reservation}", self.span(), self.choice(kinds))
            ways = list(ways_left(one, held.request, held.span))
            if ways:
                used = self.choice(ways)
                stored = [(p, cls, n) for (p, cls), n in used.items() if n]
                places = one.stored_places(held.request, stored)
                one = one.holding([*one.holdings, held._replace(places=places)])
        return one


class Asking(NamedTuple):
    """As much of a shape as a choice of hosts needs."""

    request: PlacementRequest


dice = st.builds(Dice, st.integers(0, 2**64))


@settings(max_examples=EXAMPLES * 2)
@given(dice)
def test_room_is_what_placement_finds_on_what_is_left(dice):
    tree = dice.tree()
    kinds = [dice.request(tree) for _ in range(dice.randint(1, 3))]
    one, asked, window = dice.host(tree, kinds), dice.choice(kinds), dice.span()
    room = one.room(asked, window)
    event(f"room {room}, held {len(one.holdings)}")
    assert room == room_left(one, asked, window)
    assert one.when_empty(asked) == room_left(one.holding([]), asked, window)
    # A host on which an instance fits mustn't be left out for its traits.
    assert one.has_traits(asked) or not one.when_empty(asked)


@settings(max_examples=EXAMPLES * 2 // 3)
@given(dice)
def test_choice_of_hosts_takes_all_that_placement_allows(dice):
    tree = dice.tree()
    kinds = [dice.request(tree) for _ in range(dice.randint(1, 2))]
    hosts = [dice.host(tree if dice.one_in(2) else dice.tree(), kinds, n) for n in range(2)]
    asked, window, count = dice.choice(kinds), dice.span(), dice.randint(1, 5)
    packing = Packing(dice.one_in(2), dice.choice([None, True, False]))
    preferred = {"id0": dice.randint(0, 2), "id1": dice.randint(0, 2)}
    chosen, found = choose(
        hosts,
        Asking(asked),
        count,
        window,
        {i: n for i, n in preferred.items() if n},
        packing=packing,
    )
    rooms = {h.id: min(room_left(h, asked, window), count) for h in hosts}
    most = {
        None: sum(rooms.values()),
        True: max(rooms.values()),
        False: sum(n > 0 for n in rooms.values()),
    }[packing.affinity]
    assert found == sum(chosen.values()) == min(count, most)
    assert all(0 < n <= rooms[one] for one, n in chosen.items())
    if packing.affinity is None:
        assert all(
            chosen.get(i, 0) >= min(n, rooms[i], count - sum(preferred.values()) + n)
            for i, n in preferred.items()
        )


@settings(max_examples=EXAMPLES * 2 // 5)
@given(dice)
def test_free_spans_are_the_longest_that_placement_allows(dice):
    tree = dice.tree()
    kinds = [dice.request(tree) for _ in range(dice.randint(1, 2))]
    hosts = [dice.host(tree, kinds, n) for n in range(2)]
    asked, count, affinity = (
        dice.choice(kinds),
        dice.randint(1, 3),
        dice.choice([None, True, False]),
    )
    window = span(0, LAST)

    def fits(stretch):
        part = span(stretch[0], stretch[-1] + 1)
        throughout = [room_left(h, asked, part) for h in hosts]
        if affinity:
            return max(throughout) >= count
        return sum(min(n, 1) if affinity is False else n for n in throughout) >= count

    found = free_spans(hosts, asked, count, window, affinity)
    assert found == longest(fits, window)
