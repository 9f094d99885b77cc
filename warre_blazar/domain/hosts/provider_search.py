"""Searches for the largest number of instances that a host's providers can hold together.

What an instance takes is divided into parts (``demands``). Placing parts of different sizes on
providers is a bin packing problem, so no formula says what fits. The search tries the ways to place
the parts, one after the other. It doesn't try equivalent ways twice. Providers that are equal and
equally full are interchangeable. The search also remembers each state from which the remaining
parts couldn't be placed.
"""

import collections
import contextlib
import contextvars
import dataclasses
import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from warre_blazar.domain.flavors.request_groups import PlacementRequest
from warre_blazar.domain.hosts.demands import Part
from warre_blazar.domain.hosts.providers import Tree

#: For each number of instances, the search looks at no more than this many states. Then it gives
#: up, and the number of instances counts as too large.
MOST_STATES = 5000
#: All searches for one answer to a user look together at no more than this many states.
MOST_STATES_IN_ALL = 5000


class Allowance:
    """The number of states that searches may still look at, and whether they needed more."""

    def __init__(self, states: int) -> None:
        self.states = states
        #: How many searches have given up.
        self.given_up = 0


_allowance: contextvars.ContextVar[Allowance | None] = contextvars.ContextVar(
    "allowance", default=None
)


@contextlib.contextmanager
def bounded() -> Iterator[Allowance]:
    """Limit all searches in the context together to ``MOST_STATES_IN_ALL`` states.

    When this number is used up, no further instance fits where only a search can tell. So an answer
    may have fewer instances than fit, and never more. States are counted, and not time, so that an
    answer doesn't depend on how busy the machine is. A context within another one shares its limit.
    """
    allowance = _allowance.get()
    if allowance is not None:
        yield allowance
        return
    allowance = Allowance(MOST_STATES_IN_ALL)
    token = _allowance.set(allowance)
    try:
        yield allowance
    finally:
        _allowance.reset(token)


class Exhausted(Exception):
    """The allowance is used up."""


_NO_LIMIT = 2**62
#: Each search may use this part of what is left of the allowance: one in so many states.
_SHARE = 20


class Budget:
    """The number of states that a single search may look at.

    One hard search must leave something of the allowance for other hosts.

    :param at_least: the number of states that the search needs if it never has to go back. As long
        as anything is left of the allowance, the search may look at this number of states.
    """

    def __init__(self, at_least: int = 0) -> None:
        self._allowance = _allowance.get() or Allowance(_NO_LIMIT)
        states = self._allowance.states
        at_least = at_least if states > 0 else 0
        self._most = max(MOST_STATES, at_least)
        self._share = max(min(MOST_STATES, states // _SHARE), at_least)
        self._used = 0

    def may_reach(self, states: int) -> bool:
        """Whether so many states may be looked at, however often the search is repeated."""
        if states > self._most:
            self._allowance.given_up += 1
        return states <= self._most

    def spend(self) -> bool:
        """Count a state.

        :returns: False if the search has to give up, however often it is repeated.
        :raises Exhausted: the search may go on with another allowance.
        """
        if self._used >= min(self._most, self._share):
            self._allowance.given_up += 1
            if self._used >= self._most:
                return False
            raise Exhausted
        self._used += 1
        self._allowance.states -= 1
        return True


@dataclasses.dataclass(frozen=True)
class Sought:
    """What an instance takes: its parts, and the conditions that they must meet together."""

    parts: tuple[Part, ...]
    isolate: bool
    uncovered: frozenset[str]


class Search:
    """Finds the room for a request if it matters which provider gives what to each instance.

    An object of this class remembers its answers.
    """

    def __init__(
        self, tree: Tree, asked: PlacementRequest, sought: Mapping[PlacementRequest, Sought]
    ) -> None:
        #: The requests whose instances are counted. The request that is asked about comes first.
        self.kinds = [asked, *(request for request in sought if request != asked)]
        self._of_kinds = [sought[request] for request in self.kinds]
        self._packer = Packer(tree, self._of_kinds)
        self._answers: dict[tuple[int, ...], int] = {}
        #: By what is held and a number of instances, whether so many more fit.
        self._verdicts: dict[tuple[tuple[int, ...], int], bool] = {}

    def room(self, held: tuple[int, ...]) -> int:
        """How many more instances of the first kind fit beside the held instances.

        The answer is never too high. It may be too low if the search has given up.

        :param held: how many instances of each kind are held.
        """
        answer = self._answers.get(held)
        if answer is None:
            answer, is_final = self._most(held)
            if is_final:
                self._answers[held] = answer
        return answer

    def _most(self, held: tuple[int, ...]) -> tuple[int, bool]:
        """The room that the search finds, and whether more states couldn't change the answer.

        If the allowance is used up, the answer isn't remembered: the next choice goes on with an
        allowance of its own, and finds what this one has remembered.
        """

        def fits(more: int) -> bool:
            found = self._verdicts.get((held, more))
            if found is None:
                found = self._packer.fits((held[0] + more, *held[1:]))
                self._verdicts[held, more] = found
            return found

        return largest(fits)


def largest(fits: Callable[[int], bool], least: int = 0) -> tuple[int, bool]:
    """The largest number that fits, and whether more states couldn't change the answer.

    If a number doesn't fit, no larger number fits. So the distance of ``high`` is doubled until it
    doesn't fit. After that, the interval from ``low`` to ``high`` is halved again and again.

    :param least: a number that fits.
    """
    low, high = least, least + 1
    try:
        while fits(high):
            low, high = high, 2 * high - least
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(middle) else (low, middle)
    except Exhausted:
        return low, False
    return low, True


class Box(NamedTuple):
    """A provider, and what is left of it in one state of the search.

    Equal boxes are interchangeable.
    """

    kind: int
    #: How much is left of each resource class.
    left: tuple[int, ...]
    #: By class, the amount that has been taken from the box for the instance that is being placed.
    #: The amounts are counted only if the instance's parts could take more from a box than one
    #: instance may take.
    taken: tuple[int, ...]
    #: Whether the box has an isolated part of the instance that is being placed.
    closed: bool
    #: For searches over time (``fixed_places``): when amounts are given back, by time.
    ends: tuple[tuple[datetime.datetime, tuple[int, ...]], ...] = ()


class Move(NamedTuple):
    """A part to place: its amounts by class, and the kinds of boxes that it may be put in."""

    amounts: tuple[int, ...]
    kinds: frozenset[int]
    suffixed: bool
    #: Whether the part is isolated: no other isolated part of its instance may be in the same box.
    isolate: bool
    #: ``limited``: whether the part's instance could take more from a box than one instance may
    #: take. ``is_last``: whether the part is the last one of its instance.
    limited: bool
    is_last: bool
    #: Each of these traits must be on at least one of the boxes that get the instance's parts
    #: without a suffix.
    uncovered: frozenset[str]


class _PackingState(NamedTuple):
    """A state of the search: how many parts have been placed, and what is left in the boxes."""

    placed: int
    boxes: tuple[Box, ...]
    #: Traits that are still missing for the instance that is being placed.
    uncovered: frozenset[str]


class Packer:
    """Places instances on providers."""

    def __init__(self, tree: Tree, sought: Sequence[Sought]) -> None:
        parts = [part for one in sought for part in one.parts]
        traits = frozenset[str]().union(*(one.uncovered for one in sought))
        self._classes = sorted({cls for part in parts for cls, _ in part.amounts})
        self._nothing = (0,) * len(self._classes)
        kinds: dict[object, int] = {}
        self._kind_of: dict[int, int] = {}
        #: ``_limits``: by kind of box, how much of each class one instance may take. ``_traits``:
        #: by kind of box, those traits of the box that requests need.
        self._limits: dict[int, tuple[int, ...]] = {}
        self._traits: dict[int, frozenset[str]] = {}
        #: ``nodes``: the nodes of the tree that parts may use. ``boxes``: the empty box of each of
        #: them, in the same order.
        self.nodes = sorted({n for part in parts for n in part.nodes})
        self.boxes: list[Box] = []
        for n in self.nodes:
            stocks = [tree.nodes[n].stocks.get(cls) for cls in self._classes]
            limits = tuple(stock.max_unit if stock else 0 for stock in stocks)
            covers = tree.nodes[n].traits & traits
            choosers = tuple(n in part.nodes for part in parts)
            kind = kinds.setdefault((limits, covers, choosers), len(kinds))
            self._kind_of[n], self._limits[kind], self._traits[kind] = kind, limits, covers
            left = tuple(max(0, stock.capacity) if stock else 0 for stock in stocks)
            self.boxes.append(Box(kind, left, self._nothing, closed=False))
        self.empty = tuple(sorted(self.boxes))
        #: For each request, the moves that place one instance.
        self.items = [self._moves(one) for one in sought]
        # The instances that take the most are placed first, because they are the hardest to place
        # when boxes are partly full.
        self._order = sorted(range(len(sought)), key=self._size, reverse=True)
        #: By kind of box, how many moves may use it.
        self._wanted = collections.Counter(
            kind for moves in self.items for move in moves for kind in move.kinds
        )

    def _moves(self, sought: Sought) -> list[Move]:
        vectors = [
            tuple(dict(part.amounts).get(cls, 0) for cls in self._classes) for part in sought.parts
        ]
        kinds = [frozenset(self._kind_of[n] for n in part.nodes) for part in sought.parts]
        limited = any(
            total > limit
            for limits in self._limits.values()
            for total, limit in zip(map(sum, zip(*vectors, strict=True)), limits, strict=True)
        )
        moves = [
            Move(
                vector,
                kind,
                part.suffixed,
                # A part without a choice needn't be isolated here. ``demands`` makes sure that no
                # other part with a suffix chooses its node.
                sought.isolate and part.suffixed and part.is_choice,
                limited,
                is_last=False,
                uncovered=sought.uncovered,
            )
            for part, vector, kind in zip(sought.parts, vectors, kinds, strict=True)
        ]
        moves.sort(key=lambda m: (len(m.kinds), [-n for n in m.amounts], sorted(m.kinds)))
        return [*moves[:-1], moves[-1]._replace(is_last=True)]

    def _size(self, number: int) -> tuple[int, int]:
        return max((max(m.amounts), -len(m.kinds)) for m in self.items[number])

    def fits(self, counts: Sequence[int], boxes: tuple[Box, ...] | None = None) -> bool:
        """Whether these numbers of instances fit at the same time.

        :param boxes: what is left of the providers. Default: the empty providers.
        :returns: False too if the search gives up after ``MOST_STATES``.
        :raises Exhausted: the allowance is used up, or this search has used its share of it.
        """
        if not any(counts):
            return True
        budget = Budget()
        # Each move is a state at least. So more moves than states need no list.
        if not budget.may_reach(sum(counts[i] * len(self.items[i]) for i in self._order)):
            return False
        moves = [m for i in self._order for _ in range(counts[i]) for m in self.items[i]]
        sizes = self._sizes(moves)
        seen: set[_PackingState] = set()
        # For each placed part, an iterator over the ways to place it that haven't been tried yet.
        ways = [
            iter([_PackingState(0, self.empty if boxes is None else boxes, moves[0].uncovered)])
        ]
        while ways:
            state = next(ways[-1], None)
            if state is None:
                ways.pop()
            elif state.placed == len(moves):
                return True
            elif state not in seen:
                if not budget.spend():
                    return False
                seen.add(state)
                if _may_fit(state.boxes, sizes[state.placed]):
                    ways.append(self._next_states(state, moves))
        return False

    def most(self, left: tuple[int, ...]) -> int:
        """How many instances of the first request fit into what is left of the providers.

        :param left: the amounts that are left, of each class and each box in turn.
        :returns: never too many. Too few if the search has given up.
        """
        width = len(self._classes)
        boxes = tuple(
            sorted(
                box._replace(left=left[at : at + width])
                for at, box in zip(range(0, len(left), width), self.boxes, strict=True)
            )
        )
        none = [0] * (len(self.items) - 1)
        return largest(lambda number: self.fits([number, *none], boxes))[0]

    def _sizes(self, moves: Sequence[Move]) -> list[list[tuple[int, int, int]]]:
        """Describe, for each number of placed parts, the parts that are left to place.

        :returns: a list for each number of placed parts. Each entry has a class, an amount, and
            the number of remaining parts that take this amount. The entries are sorted by class.
            Within a class, the largest amount comes first.
        """
        sizes: collections.Counter[tuple[int, int]] = collections.Counter()
        left = []
        for move in reversed(moves):
            sizes.update((c, -amount) for c, amount in enumerate(move.amounts) if amount)
            left.append([(c, -size, number) for (c, size), number in sorted(sizes.items())])
        return left[::-1]

    def _next_states(self, state: _PackingState, moves: Sequence[Move]) -> Iterator[_PackingState]:
        """Yield the states that are possible after the next part has been put into a box."""
        move = moves[state.placed]
        following = moves[state.placed + 1] if state.placed + 1 < len(moves) else None
        for _, boxes, uncovered in self.ways(state.boxes, move, state.uncovered):
            missing = following.uncovered if move.is_last and following else uncovered
            yield _PackingState(state.placed + 1, boxes, missing)

    def ways(
        self,
        boxes: tuple[Box, ...],
        move: Move,
        uncovered: frozenset[str],
        until: datetime.datetime | None = None,
    ) -> Iterator[tuple[Box, tuple[Box, ...], frozenset[str]]]:
        """Yield the ways to put a part into a box.

        :param uncovered: the traits that are still missing for the part's instance.
        :param until: when the part gives back what it takes. None: never.
        :returns: the box, all boxes after it, and the traits that are missing after it.
        """
        # The fullest box is tried first, because this leaves emptier boxes for other parts. Over
        # time, boxes that few other parts can use come before that. The order of a set would differ
        # from process to process, and with it what a search has found when it gives up.
        key = self._over_time if until else _fullest
        for box in sorted(dict.fromkeys(boxes), key=key):
            if not self._takes(box, move):
                continue
            left = uncovered
            if not move.suffixed:
                left -= self._traits[box.kind]
            if move.is_last and left:
                continue
            after = list(boxes)
            after[after.index(box)] = self.after(box, move, until)
            if move.is_last:
                after = [self.at_rest(b) for b in after]
            yield box, tuple(sorted(after)), left

    def _over_time(self, box: Box) -> tuple[int, tuple[int, ...]]:
        return self._wanted[box.kind], box.left

    def at_rest(self, box: Box) -> Box:
        """A box after all parts of an instance have been placed."""
        return box._replace(taken=self._nothing, closed=False)

    def after(self, box: Box, move: Move, until: datetime.datetime | None = None) -> Box:
        """The box after a part has been put into it, until a time."""
        left = tuple(n - m for n, m in zip(box.left, move.amounts, strict=True))
        taken, ends = box.taken, box.ends
        if move.limited:
            taken = tuple(n + m for n, m in zip(taken, move.amounts, strict=True))
        if until is not None:
            ends = tuple(sorted((*ends, (until, move.amounts))))
        return Box(box.kind, left, taken, box.closed or move.isolate, ends)

    def _takes(self, box: Box, move: Move) -> bool:
        if box.kind not in move.kinds or (move.isolate and box.closed):
            return False
        return all(
            not amount or (amount <= left and amount + taken <= limit)
            for amount, left, taken, limit in zip(
                move.amounts, box.left, box.taken, self._limits[box.kind], strict=True
            )
        )


def _fullest(box: Box) -> tuple[int, ...]:
    return box.left


def _may_fit(boxes: Sequence[Box], sizes: Sequence[tuple[int, int, int]]) -> bool:
    """Whether the parts of these sizes might fit. Each class is checked only by itself."""
    current, parts, total = -1, 0, 0
    for column, size, number in sizes:
        if column != current:
            current, parts, total = column, 0, 0
            left = [box.left[column] for box in boxes]
        parts += number
        total += number * size
        # Parts of this size and larger parts are counted together: a box can't hold more of them
        # than it could hold if all of them had this size.
        if total > sum(left) or parts > sum(n // size for n in left):
            return False
    return True
