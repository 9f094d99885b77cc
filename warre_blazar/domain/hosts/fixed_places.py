"""Finds places for instances that stay on their providers from the start to the end of a booking.

A server keeps its devices as long as it exists. So it isn't enough that what is held at each moment
would fit if the servers could move: there must be one fixed assignment of devices for all bookings
of a host, over their whole times. Where all parts of a cluster have one size and may use the same
nodes, the two are the same. There, the nodes are so many equal units, and each part is an interval
of time that needs a unit. Interval graphs are perfect: as many units suffice as intervals overlap
at any moment (Golumbic, "Algorithmic Graph Theory and Perfect Graphs", chapter 8). In all other
clusters, a search assigns the bookings to nodes in the order of their starts.

Nothing of this is stored. Placement chooses a server's devices when the server boots.
"""

import dataclasses
import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from warre_blazar.domain import timeline
from warre_blazar.domain.flavors.request_groups import PlacementRequest
from warre_blazar.domain.hosts import provider_search
from warre_blazar.domain.hosts.provider_search import Box, Move, Packer, Sought
from warre_blazar.domain.hosts.providers import Tree


class Stay(NamedTuple):
    """An instance that stays on its providers. ``kind`` is the position of its request."""

    start: datetime.datetime
    end: datetime.datetime
    kind: int


class _Put(NamedTuple):
    """A part that is put into a box: the box before, and the nodes' state after it."""

    box: Box
    boxes: tuple[Box, ...]
    uncovered: frozenset[str]


#: For each stay, the nodes that its parts take, in the order of the moves of its kind.
_Assignment = list[list[int]]


class Places:
    """The places of instances on the nodes of one cluster (``counting``)."""

    def __init__(
        self, tree: Tree, asked: PlacementRequest, sought: Mapping[PlacementRequest, Sought]
    ) -> None:
        #: The requests whose instances are placed. The request that is asked about comes first.
        self.kinds = [asked, *(request for request in sought if request != asked)]
        self._number = {request: number for number, request in enumerate(self.kinds)}
        self._packer = Packer(tree, [sought[request] for request in self.kinds])
        self._known: dict[tuple[Stay, ...], _Assignment | None] = {}
        self._rooms: dict[tuple[int, ...], int] = {}

    def stays(self, held: Iterable[tuple[timeline.Span, PlacementRequest | None]]) -> list[Stay]:
        """The instances of the cluster, sorted by their start."""
        numbers = self._number
        return sorted(
            Stay(span.start, span.end, numbers[request])
            for span, request in held
            if request is not None and request in numbers
        )

    def room(self, held: Sequence[Stay], spans: Sequence[timeline.Span], most: int) -> int:
        """How many more instances of the first kind can stay throughout all of the spans.

        :param held: the instances that are booked, sorted by their start.
        :param spans: spans that don't overlap. During each of them, an instance stays where it is.
        :param most: larger numbers don't matter.
        :returns: never too many, and at most ``_MOST_NEW``. Too few if the search has given up. 0
            if what is booked can't stay itself, for example because a device has gone.
        """

        def fits(number: int) -> bool:
            new = [Stay(span.start, span.end, 0) for span in spans for _ in range(number)]
            return all(
                self.assignment(component) is not None
                for component in components([*held, *new])
                if any(stay in component for stay in new)
            )

        most = min(most, _MOST_NEW)
        if most <= 0 or fits(most):
            return max(most, 0)
        low, high = 0, most
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        return low

    def assignment(self, stays: tuple[Stay, ...]) -> _Assignment | None:
        """A fixed assignment of these stays; None if there is none, or the search has given up."""
        if stays in self._known:
            return self._known[stays]
        try:
            found = _PlaceSearch(self._packer, stays).run()
        except provider_search.Exhausted:
            # The next answer goes on with an allowance of its own.
            return None
        if len(self._known) >= _MOST_ASSIGNMENTS:
            self._known.clear()
        self._known[stays] = found
        return found

    def levels(self, held: Sequence[Stay], window: timeline.Span) -> timeline.JointLevels:
        """What is left of each node over time, if the booked instances stay where they are put.

        This is for questions about many spans at once. It may find less room than ``room``, which
        puts instances elsewhere to make room.

        :param held: the instances that are booked, sorted by their start.
        """
        empty = tuple(n for box in self._packer.boxes for n in box.left)
        changes: dict[datetime.datetime, list[int]] = {}
        for component in components(held):
            span = timeline.Span(component[0].start, max(stay.end for stay in component))
            if span.overlaps(window):
                for taken_during, taken in self._taken(component, span, empty):
                    _add(changes, taken_during, taken, window)
        level = list(empty)
        steps = []
        for moment in sorted({window.start, *changes}):
            more = changes.get(moment)
            if more:
                level = [n + m for n, m in zip(level, more, strict=True)]
            steps.append((moment, tuple(level)))
        return timeline.JointLevels(steps, self._in_boxes)

    def _taken(
        self, component: tuple[Stay, ...], span: timeline.Span, empty: Sequence[int]
    ) -> Iterator[tuple[timeline.Span, list[int]]]:
        """Yield what the stays of a component take of each node, as negative numbers, and when."""
        assigned = self.assignment(component)
        if assigned is None:
            # Nothing is promised while it isn't known how the bookings fit.
            yield span, [-n for n in empty]
            return
        for stay, nodes in zip(component, assigned, strict=True):
            taken = [0] * len(empty)
            for move, node in zip(self._packer.items[stay.kind], nodes, strict=True):
                at = node * len(move.amounts)
                for column, amount in enumerate(move.amounts):
                    taken[at + column] -= amount
            yield timeline.Span(stay.start, stay.end), taken

    def _in_boxes(self, left: tuple[int, ...]) -> int:
        """How many instances of the first kind fit into what is left of the nodes."""
        room = self._rooms.get(left)
        if room is None:
            room = self._packer.most(left)
            if len(self._rooms) >= _MOST_ROOMS:
                self._rooms.clear()
            self._rooms[left] = room
        return room


#: Of how many new instances a search finds out whether they can stay on a host. The time of a
#: search grows with the square of this number.
_MOST_NEW = 1000
#: How many answers are remembered for each cluster. An assignment can have hundreds of stays.
_MOST_ASSIGNMENTS = 1000
_MOST_ROOMS = 10_000


def _add(
    changes: dict[datetime.datetime, list[int]],
    span: timeline.Span,
    amounts: Sequence[int],
    window: timeline.Span,
) -> None:
    """Add amounts to the levels during the part of a span that is within the window."""
    if not span.overlaps(window):
        return
    start = max(span.start, window.start)
    before = changes.setdefault(start, [0] * len(amounts))
    changes[start] = [n + m for n, m in zip(before, amounts, strict=True)]
    if span.end < window.end:
        before = changes.setdefault(span.end, [0] * len(amounts))
        changes[span.end] = [n - m for n, m in zip(before, amounts, strict=True)]


def components(stays: Iterable[Stay]) -> Iterator[tuple[Stay, ...]]:
    """Divide stays into groups. Stays of different groups never overlap."""
    component: list[Stay] = []
    end = datetime.datetime.min
    for stay in sorted(stays):
        if component and stay.start >= end:
            yield tuple(component)
            component = []
        component.append(stay)
        end = max(end, stay.end)
    if component:
        yield tuple(component)


@dataclasses.dataclass
class _Frame:
    """A part that is being placed: the ways that haven't been tried yet, and the present one."""

    ways: Iterator[_Put]
    present: _Put | None = None


class _PlaceSearch:
    """Assigns stays to boxes, in the order of their starts."""

    def __init__(self, packer: Packer, stays: Sequence[Stay]) -> None:
        self._packer = packer
        #: Each part of each stay, in order.
        self._parts: list[tuple[Stay, Move, bool]] = [
            (stay, move, first)
            for stay in stays
            for move, first in _with_first(packer.items[stay.kind])
        ]

    def run(self) -> _Assignment | None:
        """Find an assignment.

        :returns: None if there is none, or after ``provider_search.MOST_STATES``.
        :raises provider_search.Exhausted: the allowance is used up.
        """
        budget = provider_search.Budget(at_least=2 * len(self._parts))
        seen = set()
        frames = [_Frame(self._ways(0, self._packer.empty, frozenset()))]
        while frames:
            frame = frames[-1]
            frame.present = next(frame.ways, None)
            if frame.present is None:
                frames.pop()
                continue
            if len(frames) == len(self._parts):
                return self._nodes([f.present for f in frames if f.present])
            state = (len(frames), frame.present.boxes, frame.present.uncovered)
            if state in seen:
                continue
            if not budget.spend():
                return None
            seen.add(state)
            frames.append(
                _Frame(self._ways(len(frames), frame.present.boxes, frame.present.uncovered))
            )
        return None

    def _ways(
        self, number: int, boxes: tuple[Box, ...], uncovered: frozenset[str]
    ) -> Iterator[_Put]:
        """Yield the ways to put a part into a box."""
        stay, move, is_first = self._parts[number]
        if is_first:
            boxes = tuple(sorted(_at(box, stay.start) for box in boxes))
            uncovered = move.uncovered
        for box, after, left in self._packer.ways(boxes, move, uncovered, until=stay.end):
            yield _Put(box, after, left)

    def _nodes(self, path: Sequence[_Put]) -> _Assignment:
        """The nodes of the boxes on the path of an assignment. Equal boxes are interchangeable."""
        present = list(self._packer.boxes)
        assignment: _Assignment = []
        for (stay, move, is_first), put in zip(self._parts, path, strict=True):
            if is_first:
                present = [_at(box, stay.start) for box in present]
                assignment.append([])
            node = present.index(put.box)
            assignment[-1].append(node)
            present[node] = self._packer.after(put.box, move, stay.end)
            if move.is_last:
                present = [self._packer.at_rest(box) for box in present]
        return assignment


def _with_first(moves: Sequence[Move]) -> Iterator[tuple[Move, bool]]:
    for number, move in enumerate(moves):
        yield move, number == 0


def _at(box: Box, moment: datetime.datetime) -> Box:
    """A box at a moment, without what has ended by then."""
    if not box.ends or box.ends[0][0] > moment:
        return box
    left, ends = box.left, list(box.ends)
    while ends and ends[0][0] <= moment:
        left = tuple(n + m for n, m in zip(left, ends.pop(0)[1], strict=True))
    return box._replace(left=left, ends=tuple(ends))
