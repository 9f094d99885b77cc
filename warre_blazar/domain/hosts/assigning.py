"""Assigns instances to the providers of a host.

What an instance takes is divided into parts (``demands``). Its places say which node of the tree
gives each part. Only resource classes that several nodes have need places: of any other class, it
is clear which node gives it. An instance stays at its places from its start to its end, because a
server keeps its devices. So the room for more instances is what is left of each node throughout a
time, and instances are placed there, one after the other.

If the parts of an instance are alike, sums say how many instances fit (``pools``). Placing parts of
several kinds is a bin packing problem. So the functions go back and try other ways, but they give
up after so many dead ends. Then they find less room than there is. They never find more.
"""

import collections
import dataclasses
import datetime
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from warre_blazar import times
from warre_blazar.domain.flavors.request_groups import PlacementRequest
from warre_blazar.domain.hosts import pools
from warre_blazar.domain.hosts.demands import Demand, Part, demand
from warre_blazar.domain.hosts.pools import Cell, Places, Pool, Taken
from warre_blazar.domain.hosts.providers import Tree
from warre_blazar.domain.timeline import Span

#: After so many dead ends, a search for the places of some instances gives up.
MOST_DEAD_ENDS = 200
#: Of how many instances, at most, it is found out whether they fit, if it takes a search.
_MOST_SEARCHED = 1000
_MOST_KNOWN = 10_000


class _DeadEnds:
    """Counts how often a search had to go back."""

    def __init__(self) -> None:
        self.left = MOST_DEAD_ENDS


class Assigner:
    """Finds places for the instances of one request on one tree."""

    def __init__(self, tree: Tree, request: PlacementRequest) -> None:
        wanted = demand(tree, request)
        #: Whether an instance fits at all, when nothing is held.
        self.possible = wanted.possible and bool(request.amounts)
        self._parts = _contested_parts(tree, wanted)
        self._isolate, self._uncovered = wanted.isolate, wanted.uncovered
        #: What the instances may take.
        self.cells: tuple[Cell, ...] = tuple(
            sorted({(n, cls) for p in self._parts for n in p.nodes for cls, _ in p.amounts})
        )
        self._nodes = sorted({n for n, _ in self.cells})
        #: How much each of these has when nothing is held.
        self.capacities = {
            (n, cls): max(0, tree.nodes[n].stocks[cls].capacity) for n, cls in self.cells
        }
        self._limits = {(n, cls): tree.nodes[n].stocks[cls].max_unit for n, cls in self.cells}
        self._traits = {n: tree.nodes[n].traits for n in self._nodes}
        #: Nodes that have more are left to requests that need it.
        self._special = {
            n: len(tree.nodes[n].traits) + len(tree.nodes[n].stocks) for n in self._nodes
        }
        kinds: dict[object, int] = {}
        self._kinds = {
            n: kinds.setdefault(
                (tree.nodes[n].traits, tuple(sorted(tree.nodes[n].stocks.items()))), len(kinds)
            )
            for n in self._nodes
        }
        #: None: it takes a search to find out how many instances fit.
        self.pools = (
            None
            if wanted.uncovered
            else pools.of_parts(
                self._parts, self._limits, self._special, self.capacities, isolate=wanted.isolate
            )
        )
        self.share = _share(tree, self.pools or ()) if self.possible else None
        self._known: dict[tuple[tuple[int, ...], int], int] = {}
        self._choices = [part for part in self._parts if part.is_choice]
        #: Whether Nova is told which nodes the instances of a reservation have. All of them have
        #: the same places, or the reservation has its nodes for itself, because its servers can
        #: take any of its nodes.
        self.told = bool(self._choices) and all(part.told for part in self._choices)
        # If not even one instance can have such places, it isn't looked at where the others are.
        self.told = self.told and self._together(self.capacities, 1) > 0

    def when_empty(self, most: int) -> int:
        """How many instances of any reservations fit when nothing is held."""
        return self._apart(self.capacities, most)

    def room(self, left: Mapping[Cell, int], most: int = _MOST_SEARCHED) -> int:
        """How many more instances of one reservation fit into what is left of the nodes.

        :param most: larger numbers don't matter.
        """
        return self.room_of(tuple([left[cell] for cell in self.cells]), most)

    def room_of(self, lefts: tuple[int, ...], most: int) -> int:
        """The same as ``room``, by what is left of each cell."""
        key = lefts, most
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            known = self._known[key] = self._room(dict(zip(self.cells, lefts, strict=True)), most)
        return known

    def _room(self, left: Mapping[Cell, int], most: int) -> int:
        return self._together(left, most) if self.told else self._apart(left, most)

    def _together(self, left: Mapping[Cell, int], most: int) -> int:
        """How many instances of one reservation fit, whatever nodes of it their servers take."""
        if not self.possible or most <= 0:
            return 0
        if self.pools is not None:
            return min([most, *(pool.room_together(left) for pool in self.pools)])
        few, many = 0, min(most, self._most_by_sums(left))
        while few < many:
            number = (few + many + 1) // 2
            few, many = (number, many) if self._alike_way(left, number) else (few, number - 1)
        return few

    def _alike_way(self, left: Mapping[Cell, int], count: int) -> Places | None:
        """The same places for some instances, of which each part can have a single one."""
        share, ends = {cell: n // count for cell, n in left.items()}, _DeadEnds()
        for way in self.ways(share, self._alike(share), ends):
            nodes = {n for n, _, _ in way}
            if all(len(nodes.intersection(part.nodes)) == 1 for part in self._choices):
                return way
            ends.left -= 1
            if ends.left <= 0:
                break
        return None

    def _apart(self, left: Mapping[Cell, int], most: int) -> int:
        """How many instances fit, wherever each of them is."""
        if not self.possible or most <= 0:
            return 0
        if self.pools is None:
            return len(self._searched(left, min(most, _MOST_SEARCHED)))
        return min([most, *(pool.room(left) for pool in self.pools)])

    def assign(self, left: Mapping[Cell, int], count: int) -> list[Places]:
        """Places for instances, or for as many of them as there is room for (``room``).

        :param left: how much is left of each node, throughout the time of the instances.
        """
        count = self.room(left, count)
        if count <= 0:
            return []
        if self.pools is None:
            way = self._alike_way(left, count) if self.told else None
            return [way] * count if way else self._searched(left, count)
        each = [
            pool.assign_together(left, count) if self.told else pool.assign(left, count)
            for pool in self.pools
        ]
        return [
            tuple(sorted(itertools.chain.from_iterable(of_one)))
            for of_one in zip(*each, strict=True)
        ]

    def more(self, found: Sequence[Places], left: Mapping[Cell, int], count: int) -> list[Places]:
        """Places for instances of a reservation that has some already, or for some of them.

        :param found: the places that it has.
        :param left: how much is left beside these.
        """
        if not self.told or not found:
            return self.assign(left, count)
        # Its servers can take any of its nodes, so the others must have the same ones.
        if len(set(found)) > 1:
            return []
        fitting = min(max(left[n, cls], 0) // amount for n, cls, amount in found[0])
        return [found[0]] * min(fitting, count)

    def _searched(self, left: Mapping[Cell, int], count: int) -> list[Places]:
        """Places for instances, or for as many of them as the search has found places for."""
        best: list[Places] = []
        count = min(count, self._most_by_sums(left))
        ends, chosen, seen = _DeadEnds(), list[Places](), set[tuple[int, object]]()
        ways = [self.ways(left, self._alike(left), ends)] if count > 0 else []
        lefts = [left]
        while ways and ends.left > 0:
            way = next(ways[-1], None)
            if way is None:
                ways.pop()
                lefts.pop()
                if chosen:
                    chosen.pop()
                continue
            after = less(lefts[-1], way)
            alike = self._alike(after)
            state = (len(chosen) + 1, tuple(sorted(collections.Counter(alike.values()).items())))
            if state in seen:
                continue
            seen.add(state)
            chosen.append(way)
            if len(chosen) > len(best):
                best = list(chosen)
            if len(best) >= count:
                break
            lefts.append(after)
            ways.append(self.ways(after, alike, ends))
        return best

    def ways(
        self, left: Mapping[Cell, int], alike: Mapping[int, object], ends: _DeadEnds
    ) -> Iterator[Places]:
        """Yield the places that one instance can have.

        :param alike: by node, a key. Nodes with equal keys are interchangeable.
        """
        # A full node leaves emptier ones for others. But groups that need a node each fit most
        # often if each of them takes from the emptiest.
        sums = collections.Counter[int]()
        for n, cls in self.cells:
            sums[n] += left[n, cls]
        order = sorted(
            self._nodes,
            key=lambda n: (
                (-sums[n], self._special[n]) if self._isolate else (self._special[n], sums[n])
            ),
        )
        return self._further(_Way(order, left, alike, ends), self._uncovered)

    def _further(self, way: "_Way", uncovered: frozenset[str]) -> Iterator[Places]:
        """Yield the ways to place the parts that have no node yet."""
        position = len(way.ranks)
        if position == len(self._parts):
            if uncovered:
                way.ends.left -= 1
            else:
                yield way.places()
            return
        part, is_found, tried = self._parts[position], False, set()
        isolated = self._isolate and part.suffixed and part.is_choice
        # Equal parts of an instance are interchangeable.
        first = way.ranks[-1] if position and self._parts[position - 1] == part else 0
        for rank in range(first, len(way.order)):
            n = way.order[rank]
            if (
                n not in part.nodes
                or (isolated and n in way.closed)
                or not self._gives(way, n, part)
            ):
                continue
            used = tuple(way.used[n, cls] for cls, _ in part.amounts)
            key = (way.alike[n], used, n in way.closed)
            if key in tried:
                continue
            tried.add(key)
            is_found = True
            with_traits = uncovered if part.suffixed else uncovered - self._traits[n]
            way.put(n, rank, part, isolated)
            yield from self._further(way, with_traits)
            way.take_back(n, part, isolated)
            if way.ends.left <= 0:
                return
        if not is_found:
            way.ends.left -= 1

    def _gives(self, way: "_Way", n: int, part: Part) -> bool:
        return all(
            amount <= way.left[n, cls] - way.used[n, cls]
            and way.used[n, cls] + amount <= self._limits[n, cls]
            for cls, amount in part.amounts
        )

    @property
    def everywhere(self) -> Places:
        """What an instance would take if each of its parts were on all nodes that may give it."""
        return tuple(
            Taken(n, cls, amount)
            for part in self._parts
            for n in part.nodes
            for cls, amount in part.amounts
        )

    def alike_over_time(self, ledger: "Ledger") -> dict[int, object]:
        """A key for each node. Equal nodes of which nothing is held are interchangeable."""
        return {n: ("empty", self._kinds[n]) if ledger.is_empty(n) else n for n in self._nodes}

    def _alike(self, left: Mapping[Cell, int]) -> dict[int, object]:
        lefts: dict[int, list[int]] = {n: [self._kinds[n]] for n in self._nodes}
        for n, cls in self.cells:
            lefts[n].append(left[n, cls])
        return {n: tuple(each) for n, each in lefts.items()}

    def _most_by_sums(self, left: Mapping[Cell, int]) -> int:
        """A number of instances that isn't exceeded, because there is so much of each class."""
        asked = collections.Counter[str]()
        for part in self._parts:
            for cls, amount in part.amounts:
                asked[cls] += amount
        sums = collections.Counter[str]()
        for n, cls in self.cells:
            sums[cls] += max(left[n, cls], 0)
        return min((sums[cls] // amount for cls, amount in asked.items()), default=_MOST_SEARCHED)


class _Way:
    """The parts of one instance that have been placed, in order."""

    def __init__(
        self,
        order: Sequence[int],
        left: Mapping[Cell, int],
        alike: Mapping[int, object],
        ends: _DeadEnds,
    ) -> None:
        self.order, self.left, self.alike, self.ends = order, left, alike, ends
        self.used = collections.Counter[Cell]()
        #: The position of each part's node in the order.
        self.ranks: list[int] = []
        #: Nodes with a part that no other isolated part may join.
        self.closed: set[int] = set()

    def places(self) -> Places:
        return tuple(sorted(Taken(*cell, amount) for cell, amount in self.used.items() if amount))

    def put(self, n: int, rank: int, part: Part, isolated: bool) -> None:
        for cls, amount in part.amounts:
            self.used[n, cls] += amount
        self.ranks.append(rank)
        if isolated:
            self.closed.add(n)

    def take_back(self, n: int, part: Part, isolated: bool) -> None:
        for cls, amount in part.amounts:
            self.used[n, cls] -= amount
        self.ranks.pop()
        if isolated:
            self.closed.discard(n)


def _contested_parts(tree: Tree, wanted: Demand) -> list[Part]:
    """The parts that need places, and what they take of contested classes.

    Those that are hardest to place come first.
    """
    each = (
        dataclasses.replace(part, amounts=tuple(a for a in part.amounts if a[0] in tree.contested))
        for part in wanted.parts
    )
    return sorted(
        (part for part in each if part.amounts),
        key=lambda p: (len(p.nodes), [-n for _, n in p.amounts], p.amounts, p.nodes),
    )


class NodeShare(NamedTuple):
    """An amount of a class that an instance takes of any one of some nodes."""

    resource_class: str
    amount: int
    #: Of equally full ones, the first is used first.
    cells: Sequence[Cell]
    #: The positions of the nodes among all that have the class (``Tree.carriers``).
    carriers: Sequence[int]


def _share(tree: Tree, of_instance: Sequence[Pool]) -> NodeShare | None:
    """The share of a node that is all that an instance takes.

    :returns: None if it takes a whole node, something of several nodes, or several classes.
    """
    if len(of_instance) != 1 or of_instance[0].parts > 1 or len(of_instance[0].amounts) > 1:
        return None
    (pool,) = of_instance
    ((cls, amount),) = pool.amounts
    if all(tree.nodes[n].stocks[cls].capacity == 1 for n in pool.nodes):
        return None
    carriers = [tree.carriers[cls].index(n) for n in pool.nodes]
    return NodeShare(cls, amount, [(n, cls) for n in pool.nodes], carriers)


def less(left: Mapping[Cell, int], places: Places) -> dict[Cell, int]:
    """What is left once an instance has got its places. It may be negative."""
    after = dict(left)
    for n, cls, amount in places:
        after[n, cls] -= amount
    return after


def assigner(tree: Tree, request: PlacementRequest) -> Assigner:
    """The assigner for a request. It is kept with the tree, and so are its answers."""
    return tree.kept(("assigner", request), lambda: Assigner(tree, request))


class Stay(NamedTuple):
    """An instance that needs places for some time."""

    span: Span
    request: PlacementRequest


class Ledger:
    """What is held of each node of a tree over time."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._capacities = {
            (n, cls): max(0, tree.nodes[n].stocks[cls].capacity)
            for cls in tree.contested
            for n in tree.carriers[cls]
        }
        self._held: dict[Cell, list[tuple[datetime.datetime, datetime.datetime, int]]] = {
            cell: [] for cell in self._capacities
        }

    def add(self, span: Span, places: Places) -> None:
        """Let an instance hold its places for some time."""
        for n, cls, amount in places:
            self._held[n, cls].append((span.start, span.end, amount))

    def take_back(self, places: Places) -> None:
        """Undo the latest ``add``."""
        for n, cls, _ in places:
            self._held[n, cls].pop()

    def left(self, cells: Iterable[Cell], spans: Sequence[Span]) -> dict[Cell, int]:
        """How much is left of each cell throughout all of the spans. It may be negative."""
        return {cell: self._capacities[cell] - self._peak(cell, spans) for cell in cells}

    def _peak(self, cell: Cell, spans: Sequence[Span]) -> int:
        held = self._held[cell]
        if not held:
            return 0
        highest = 0
        for span in spans:
            changes = [
                change
                for start, end, amount in held
                if start < span.end and end > span.start
                for change in ((max(start, span.start), amount), (end, -amount))
            ]
            level = 0
            # Of equal moments, what ends comes first.
            for _, change in sorted(changes):
                level += change
                highest = max(highest, level)
        return highest

    def held(self, cell: Cell, near: Span) -> datetime.timedelta:
        """What is held of a cell during a time, as the amount times its length."""
        parts = (
            (min(end, near.end) - max(start, near.start)) * amount
            for start, end, amount in self._held[cell]
        )
        return sum((part for part in parts if part > times.NO_TIME), times.NO_TIME)

    def is_empty(self, n: int) -> bool:
        """Whether nothing is held of a node at any time."""
        return not any(held for cell, held in self._held.items() if cell[0] == n)


class Steps:
    """How often instances may be placed for one answer. It bounds the time of the answer."""

    def __init__(self) -> None:
        self.left = MOST_STEPS


#: So many steps, of which each dead end is one too, take a usual machine a quarter of a second.
MOST_STEPS = 2000


def assign_all(ledger: Ledger, stays: Sequence[Stay], steps: Steps) -> list[Places] | None:
    """Places for all of some instances, beside what is in the ledger. The ledger stays as it is.

    The instances are placed in the order of their starts, so that a node that is free then is free
    for good, unless the ledger has something later.

    :returns: the places in the order of the stays. None: there are none, or the search gave up.
    """
    order = sorted(range(len(stays)), key=lambda i: stays[i].span.start)
    found: dict[int, Places] = {}
    ends = _DeadEnds()
    tries = [_places_of(ledger, stays[i], ends) for i in order[:1]]
    while tries:
        steps.left -= 1
        i = order[len(tries) - 1]
        if i in found:
            ledger.take_back(found.pop(i))
        places = next(tries[-1], None) if ends.left > 0 and steps.left > 0 else None
        if places is None:
            tries.pop()
            ends.left -= 1
            continue
        found[i] = places
        ledger.add(stays[i].span, places)
        if len(tries) == len(order):
            break
        tries.append(_places_of(ledger, stays[order[len(tries)]], ends))
    steps.left -= MOST_DEAD_ENDS - ends.left
    for i in reversed(order):
        if i in found:
            ledger.take_back(found[i])
    return [found[i] for i in range(len(stays))] if len(found) == len(stays) else None


def _places_of(ledger: Ledger, stay: Stay, ends: _DeadEnds) -> Iterator[Places]:
    """Yield the places that an instance can have."""
    asked = assigner(ledger.tree, stay.request)
    left = ledger.left(asked.cells, [stay.span])
    return asked.ways(left, asked.alike_over_time(ledger), ends)
