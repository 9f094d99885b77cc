"""Counts and places instances whose parts are alike.

A pool is what an instance takes of some nodes in equal units: ``parts`` units in all, of which each
comes from one node. If the pools of an instance have nothing in common, each of them limits the
number of instances for itself, and sums say exactly how many fit.
"""

import collections
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from warre_blazar.domain.hosts.demands import Part

#: A node of a tree, and a resource class of it.
Cell = tuple[int, str]


class Taken(NamedTuple):
    """What an instance takes from one node of a tree."""

    node: int
    resource_class: str
    amount: int


#: All that an instance takes of classes that several nodes have, sorted.
Places = tuple[Taken, ...]


class Pool(NamedTuple):
    """Equal parts of an instance, and the nodes that can give them."""

    #: The nodes that are used first come first, if they are equally full.
    nodes: Sequence[int]
    #: What one part takes.
    amounts: Sequence[tuple[str, int]]
    #: How many parts an instance has.
    parts: int
    #: How many of its parts an instance may take from each node.
    most: Mapping[int, int]
    #: Whether the emptiest nodes are used first. That leaves the most room if an instance can't
    #: take all of its parts from one node.
    spread: bool
    #: How many parts fit on each node when nothing is held.
    full: Mapping[int, int]

    def _units(self, left: Mapping[Cell, int]) -> dict[int, int]:
        """For how many parts each node has enough left."""
        if len(self.amounts) == 1:
            ((cls, amount),) = self.amounts
            return {n: max(left[n, cls], 0) // amount for n in self.nodes}
        return {
            n: min(max(left[n, cls], 0) // amount for cls, amount in self.amounts)
            for n in self.nodes
        }

    def room(self, left: Mapping[Cell, int]) -> int:
        """How many instances fit, as far as this pool goes."""
        return self.room_of(list(self._units(left).values()))

    def room_of(self, units: Sequence[int]) -> int:
        """How many instances fit if so many parts fit on each of the nodes.

        Instances can be placed if all nodes together have enough units, of which each node counts
        for no more than all instances may take from it. By the max-flow min-cut theorem, this is
        sufficient, because the instances are alike.
        """
        enough = sum(units) // self.parts
        if not self.spread:
            return enough
        few = 0
        while few < enough:
            number = (few + enough + 1) // 2
            usable = sum(
                min(n, number * self.most[node]) for node, n in zip(self.nodes, units, strict=True)
            )
            few, enough = (number, enough) if usable >= number * self.parts else (few, number - 1)
        return few

    @property
    def is_simple(self) -> bool:
        """Whether a single instance takes one part of each of its nodes."""
        return self.parts == 1 or max(self.most.values()) == 1

    @property
    def _at_once(self) -> int:
        """How many parts of an instance are on each of its nodes, if all places are the same."""
        return 1 if self.is_simple else self.parts

    def _alike(self, units: Mapping[int, int], count: int) -> list[int]:
        """The nodes on which instances have the same places. Empty: there are none."""
        each = self._at_once
        fit = [n for n in self.nodes if units[n] >= count * each and self.most[n] >= each]
        number, sign = self.parts // each, -1 if self.spread else 1
        return sorted(fit, key=lambda n: sign * units[n])[:number] if len(fit) >= number else []

    def _own(self, units: Sequence[int]) -> list[int]:
        """For how many parts each node has enough, if a reservation can have it for itself.

        If an instance must take its parts from several nodes, only nodes that one part fills count.
        On others, the first servers could leave too few nodes for the last one.
        """
        return [
            number if number >= self.full[n] and (number == 1 or not self.spread) else 0
            for n, number in zip(self.nodes, units, strict=True)
        ]

    def room_together(self, left: Mapping[Cell, int]) -> int:
        """How many instances of one reservation fit, whatever nodes of it their servers take.

        All of them have the same places, or the reservation has its nodes for itself.
        """
        units = list(self._units(left).values())
        if self.parts == 1:
            # The usual case, for speed.
            of_own = [n for n, full in zip(units, self.full.values(), strict=True) if n >= full]
            return max(*units, sum(of_own))
        each = self._at_once
        alike = sorted(
            number // each
            for n, number in zip(self.nodes, units, strict=True)
            if self.most[n] >= each
        )
        number = self.parts // each
        same = alike[-number] if len(alike) >= number else 0
        return max(same, self.room_of(self._own(units)))

    def assign_together(self, left: Mapping[Cell, int], count: int) -> list[Places]:
        """Places for instances of one reservation.

        :param count: at most ``room_together``.
        """
        units = self._units(left)
        if alike := self._alike(units, count):
            each = self._at_once
            taken = [Taken(n, cls, each * a) for n in alike for cls, a in self.amounts]
            return [tuple(sorted(taken))] * count
        own = dict(zip(self.nodes, self._own(list(units.values())), strict=True))
        # As few nodes as possible, so that instances are on each of them.
        order, chosen = sorted(self.nodes, key=lambda n: -own[n]), 0
        while self.room_of([own[n] if n in order[:chosen] else 0 for n in self.nodes]) < count:
            chosen += 1
        others = {(n, cls): 0 for n in order[chosen:] for cls, _ in self.amounts}
        return self.assign({**left, **others}, count)

    def assign(self, left: Mapping[Cell, int], count: int) -> list[Places]:
        """Places for instances.

        :param count: at most ``room``.
        """
        units, found = self._units(left), []
        for following in range(count - 1, -1, -1):
            sign = -1 if self.spread else 1
            order = sorted(self.nodes, key=lambda n: sign * units[n])
            taken = collections.Counter[int]()
            # The instances that follow can't use all units of an empty node, so these come first.
            for least in (following, 0) if self.spread else (0,):
                for n in order:
                    spare = units[n] - least * self.most[n]
                    more = min(self.most[n], spare) - taken[n]
                    taken[n] += max(min(more, self.parts - taken.total()), 0)
            for n, number in taken.items():
                units[n] -= number
            found.append(
                tuple(
                    Taken(n, cls, number * amount)
                    for n, number in sorted(taken.items())
                    for cls, amount in self.amounts
                    if number
                )
            )
        return found


def of_parts(
    parts: Sequence[Part],
    limits: Mapping[Cell, int],
    special: Mapping[int, int],
    capacities: Mapping[Cell, int],
    *,
    isolate: bool,
) -> list[Pool] | None:
    """The pools of an instance.

    :param limits: the most that one instance may take of each node.
    :param special: of equally full nodes, those with smaller numbers are used first.
    :param capacities: how much each node has when nothing is held.
    :param isolate: whether parts with a suffix that have a choice need a node each.
    :returns: None if the pools have anything in common.
    """
    # Whether a group has a suffix matters only if its part needs a node of its own.
    alike = collections.Counter(
        (part.amounts, part.nodes, isolate and part.suffixed and part.is_choice) for part in parts
    )
    used = [_used(*kind) for kind in alike]
    if len(set[object]().union(*used)) < sum(map(len, used)):
        return None
    pools = []
    for (amounts, of_part, alone), number in alike.items():
        nodes = sorted(of_part, key=lambda n: (special[n], n))
        most = {
            n: min(1 if alone else number, *(limits[n, cls] // a for cls, a in amounts))
            for n in nodes
        }
        spread = any(each < number for each in most.values())
        full = {n: min(capacities[n, cls] // a for cls, a in amounts) for n in nodes}
        pools.append(Pool(nodes, amounts, number, most, spread, full))
    return pools


def _used(
    amounts: Sequence[tuple[str, int]], nodes: Sequence[int], alone: bool
) -> Collection[object]:
    """What no other pool may use: cells, and nodes if parts need a node each."""
    used: set[object] = {(n, cls) for n in nodes for cls, _ in amounts}
    return used.union(nodes) if alone else used
