"""Hosts with several providers, and the room on them by a try of every way to place instances.

The reference follows Placement's rules: it makes every choice of providers for every group of an
instance, one instance after the other, and asks Placement's questions of each choice.
"""

import collections
import itertools
import operator

from tests.unit.domain.clock import minutes
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.holdings import Holding
from warre_blazar.domain.hosts.providers import Inventory, Provider


def host(*providers, number=1, holdings=()):
    root, *_ = providers
    return BookableHost(
        f"id{number}",
        f"compute{number}",
        "nova",
        {},
        root.inventories,
        root.traits,
        holdings,
        providers=providers,
    )


def provider(name="compute1", traits=(), **inventories):
    stocks = {
        cls: Inventory(value) if isinstance(value, int) else value
        for cls, value in inventories.items()
    }
    parent = None if name.startswith("compute") else "compute1"
    return Provider(name, name, parent, stocks, frozenset(traits))


# The reference.


def gives(one, amounts):
    return all(
        cls in one.inventories and one.inventories[cls].takes(amount) for cls, amount in amounts
    )


def suits(one, group, root=None):
    if group.of_nova and "OWNER_NOVA" not in one.traits and "OWNER_NOVA" in root.traits:
        return False
    return group.required <= one.traits and not group.forbidden & one.traits


def placements(providers, request):
    """Every use of providers that Placement would offer for an instance, were they empty."""
    if not request.root_required <= providers[0].traits:
        return
    free = [
        [p for p in providers if gives(p, [item]) and not request.unsuffixed.forbidden & p.traits]
        for item in request.unsuffixed.resources
    ]
    bound = [
        [p for p in providers if gives(p, g.resources) and suits(p, g, providers[0])]
        for g in request.suffixed
    ]
    for chosen in itertools.product(*free, *bound):
        of_free, of_bound = chosen[: len(free)], chosen[len(free) :]
        if not request.unsuffixed.required <= frozenset().union(*(p.traits for p in of_free)):
            continue
        if request.isolate and len({p.id for p in of_bound}) < len(of_bound):
            continue
        used = collections.Counter()
        for one, (cls, amount) in zip(of_free, request.unsuffixed.resources, strict=True):
            used[one.id, cls] += amount
        for one, group in zip(of_bound, request.suffixed, strict=True):
            for cls, amount in group.resources:
                used[one.id, cls] += amount
        by_id = {p.id: p for p in providers}
        if all(n <= by_id[p].inventories[c].max_unit for (p, c), n in used.items()):
            yield used


def all_fit(providers, requests):
    """Whether instances of all requests can be placed at once."""
    return bool(Packed(providers, requests).reached)


class Packed:
    """All that providers may have given to some instances, whatever the order of the instances."""

    def __init__(self, providers, requests):
        """
        :param requests: one for each instance.
        """
        self._providers = providers
        self._cells = [(p.id, cls) for p in providers for cls in p.inventories]
        stocks = [stock for p in providers for stock in p.inventories.values()]
        self._capacities = tuple(max(0, stock.capacity) for stock in stocks)
        self._ways = {}
        #: The sums of what was given, in the order of the cells. Empty: the instances don't fit.
        self.reached = {(0,) * len(self._cells)}
        for request in requests:
            self.add(request)

    def add(self, request):
        """Place one more instance."""
        if request not in self._ways:
            found = placements(self._providers, request)
            self._ways[request] = {tuple(way[cell] for cell in self._cells) for way in found}
        pairs = itertools.product(self.reached, self._ways[request])
        sums = {tuple(map(operator.add, before, way)) for before, way in pairs}
        self.reached = {used for used in sums if all(map(operator.le, used, self._capacities))}


def all_stay(providers, holdings):
    """Whether all instances can be placed so that each of them stays where it is."""
    capacity = {(p.id, c): i.capacity for p in providers for c, i in p.inventories.items()}
    ways = {
        request: {tuple(sorted(way.items())) for way in placements(providers, request)}
        for request in {h.request for h in holdings}
    }
    # What has been used from the present start on, by minute, whatever led there.
    reached = {frozenset()}
    for one in sorted(holdings, key=lambda h: h.span.start):
        first, *_ = span = minutes(one.span)
        following = set()
        for before in reached:
            used = collections.Counter({key: n for key, n in before if key[1] >= first})
            for way in ways[one.request]:
                more = used + collections.Counter({(cell, m): n for cell, n in way for m in span})
                if all(more[cell, m] <= capacity[cell] for cell, _ in way for m in span):
                    following.add(frozenset(more.items()))
        reached = following
    return bool(reached)


def room_to_stay(one, asked, window, most):
    """How many more instances can stay on a host throughout a window; at most ``most``."""
    new = Holding("new", window, asked)
    # From one on, because too many instances have very many ways.
    fits = (all_stay(one.providers, [*one.holdings, *[new] * n]) for n in range(1, most + 1))
    return len(list(itertools.takewhile(bool, fits))) if asked.amounts else 0


def room_beside(one, asked, held):
    packed = Packed(one.providers, held)
    for room in itertools.count():
        packed.add(asked)
        if not packed.reached:
            return room


def left_throughout(one, window):
    """How much is left of each class of each provider throughout a window."""
    left = collections.Counter(
        {(p.id, c): i.capacity for p in one.providers for c, i in p.inventories.items()}
    )
    peak = collections.Counter()
    for minute in minutes(window):
        used = collections.Counter()
        for held in one.holdings:
            if minute in minutes(held.span):
                used.update(given_by(one, held))
        peak |= used
    for (name, cls), number in peak.items():
        # Of whole devices that are alike, those that are taken at any time can be the first ones.
        cells = [(name, cls)] * number if name else [cell for cell in left if cell[1] == cls]
        left.subtract(cells[:number])
    return left


def given_by(one, held):
    """What each provider gives to an instance: where it has a choice, its places say so.

    What any of several providers gives has no provider's name.
    """
    used = collections.Counter()
    for provider_id, cls, amount in one.to_store(held.places or ()):
        used[provider_id, cls] += amount
    for cls, amount in held.request.amounts.items():
        givers = [p for p in one.providers if cls in p.inventories]
        if len(givers) == 1:
            used[givers[0].id, cls] += amount
        elif not any(taken.resource_class == cls for taken in held.places or ()):
            used[None, cls] += amount
    return used


def ways_left(one, asked, window):
    """The ways to place an instance on what is left of a host throughout a window."""
    left = left_throughout(one, window)
    ways = placements(one.providers, asked)
    return (way for way in ways if all(n <= left[cell] for cell, n in way.items() if n))


def room_left(one, asked, window):
    """How many more instances fit on what is left of a host throughout a window."""
    if not asked.amounts:
        return 0
    left = left_throughout(one, window)
    reached = {tuple(left.values())}
    ways = {tuple(way[cell] for cell in left) for way in placements(one.providers, asked)}
    for room in itertools.count():
        after = {tuple(map(operator.sub, before, way)) for before in reached for way in ways}
        reached = {
            each
            for each in after
            # What an instance takes nothing of may be oversold.
            if all(n >= 0 for n in each)
        }
        if not reached:
            return room
