"""Where the instances on a host are, and where further ones can be.

This is about resource classes that several providers of the host have, such as devices. The places
of booked instances are stored. An instance can be without places, for example if another package
has booked it, or if its device is gone. Such an instance counts on all providers that it may be on,
so that none of them is sold twice, until it is settled: then it gets places beside all others.
"""

import collections
import datetime
import functools
import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from warre_blazar import times
from warre_blazar.domain import timeline
from warre_blazar.domain.flavors.request_groups import PlacementRequest
from warre_blazar.domain.hosts import assigning
from warre_blazar.domain.hosts.assigning import Assigner, Ledger, Stay, Steps
from warre_blazar.domain.hosts.holdings import Change, Holding, Occupancy, around
from warre_blazar.domain.hosts.packed_cells import PackedCells
from warre_blazar.domain.hosts.pools import Cell, Places, Pool, Taken
from warre_blazar.domain.hosts.providers import Tree
from warre_blazar.domain.timeline import JointLevels, Span


class Kept(NamedTuple):
    """The places that instances have already, before their booking changes."""

    places: Sequence[Places] = ()
    #: Whether the instances must keep them, because their servers may have the devices.
    must_stay: bool = False


NOTHING_KEPT = Kept()


class PoolTimes(NamedTuple):
    """When a pool's nodes can give parts of instances."""

    pool: Pool
    #: For each of the pool's nodes: a time, and how many parts the node can give throughout it, in
    #: addition to those of the node's other times that contain this one.
    of_nodes: Sequence[Sequence[timeline.TimeOf]]
    #: How many parts all nodes can give when nothing is held.
    units: int


class HeldCells:
    """What is held of single providers of a host during a span of time."""

    def __init__(self, tree: Tree, held: Occupancy, *, for_told: bool = False) -> None:
        """
        :param for_told: whether this is for instances of which Nova is told where they are.
        """
        self._tree, self._times = tree, held.times_of_changes
        self._changes = held.of_cells(functools.partial(_counted, tree, for_told))
        self._taken: dict[Cell, tuple[list[int], list[int]]] = {}
        self._packed: dict[str, PackedCells] = {}

    def _capacity(self, cell: Cell) -> int:
        n, cls = cell
        return max(0, self._tree.nodes[n].stocks[cls].capacity)

    def _steps(self, cell: Cell) -> tuple[list[int], list[int]]:
        """The numbers of changes, and how much is held from each of them on."""
        steps = self._taken.get(cell)
        if steps is None:
            changes: Sequence[Change] = self._changes.get(cell, ())
            numbers = [0, *(number for number, _ in changes)]
            taken = list(itertools.accumulate((change for _, change in changes), initial=0))
            steps = self._taken[cell] = numbers, taken
        return steps

    def left(self, cell: Cell, part: Span) -> int:
        """How much is left of a cell throughout a part of the span. It may be negative."""
        numbers, taken = self._steps(cell)
        # Of changes at the same time, the last one counts.
        first = bisect_left(numbers, bisect_right(self._times, part.start)) - 1
        last = bisect_left(numbers, bisect_left(self._times, part.end))
        return self._capacity(cell) - max(taken[first:last])

    def held(self, cell: Cell, near: Span) -> datetime.timedelta:
        """What is held of a cell during a part of the span, as the amount times its length."""
        numbers, taken = self._steps(cell)
        ends = [min(max(self._times[n], near.start), near.end) for n in (*numbers, -1)]
        each = zip(taken, itertools.pairwise(ends), strict=True)
        return sum(((end - start) * n for n, (start, end) in each), times.NO_TIME)

    def packed(self, cls: str) -> PackedCells:
        """What is held of all nodes that have a class, in the order of ``Tree.carriers``."""
        packed = self._packed.get(cls)
        if packed is None:
            cells = [(n, cls) for n in self._tree.carriers[cls]]
            changes = [self._changes.get(cell, ()) for cell in cells]
            packed = PackedCells(list(map(self._capacity, cells)), changes, self._times)
            self._packed[cls] = packed
        return packed

    def levels(self, cells: Sequence[Cell]) -> list[tuple[datetime.datetime, tuple[int, ...]]]:
        """How much is left of each cell from each of some moments of the span on."""
        level = list(map(self._capacity, cells))
        steps = [(self._times[0], tuple(level))]
        every = (
            (number, column, change)
            for column, cell in enumerate(cells)
            for number, change in self._changes.get(cell, ())
        )
        for number, column, change in sorted(every):
            level[column] -= change
            moment = self._times[number]
            if moment == steps[-1][0]:
                steps.pop()
            steps.append((moment, tuple(level)))
        return steps

    def times(
        self, request: PlacementRequest, most: int, caps: Mapping[Cell, int]
    ) -> list[PoolTimes]:
        """When the providers can give the parts of instances.

        :param request: a contested request with pools (``Assigner.pools``).
        :param most: how many instances there are at most.
        :param caps: no more than that may be taken of some cells.
        """
        found = []
        for pool in assigning.assigner(self._tree, request).pools or ():
            ((cls, amount),) = pool.amounts
            of_nodes, units = [], 0
            for n in pool.nodes:
                capacity, numbers_and_taken = self._capacity((n, cls)), self._steps((n, cls))
                units += capacity // amount
                limit = most * (pool.most[n] if pool.spread else pool.parts)
                stock = _Stock(capacity, amount, min(limit, caps.get((n, cls), capacity) // amount))
                of_nodes.append(list(_times(stock, *numbers_and_taken, self._times)))
            found.append(PoolTimes(pool, of_nodes, units))
        return found


def _counted(
    tree: Tree, for_told: bool, request: PlacementRequest | None, places: Places | None
) -> Places:
    """Where an instance counts: where it is planned to be, or wherever its server may be.

    If Nova isn't told where its server is, the server may be in the way of one of which it is.
    What takes the whole host takes all of its nodes.
    """
    if request is None:
        return tree.kept("everything", lambda: _everything(tree))
    if places is not None and not for_told:
        return places
    if tree.contested.isdisjoint(request.amounts):
        return places or ()
    asked = assigning.assigner(tree, request)
    return places if places is not None and asked.told else asked.everywhere


def _everything(tree: Tree) -> Places:
    return tuple(
        Taken(n, cls, max(0, tree.nodes[n].stocks[cls].capacity))
        for cls in tree.contested
        for n in tree.carriers[cls]
    )


class _Stock(NamedTuple):
    """How much of a class a node has, in parts of instances."""

    capacity: int
    #: What one part takes.
    amount: int
    #: More parts than that don't matter.
    most: int


def _times(
    stock: _Stock,
    numbers: Sequence[int],
    taken: Sequence[int],
    times: Sequence[datetime.datetime],
) -> Iterator[timeline.TimeOf]:
    """The times throughout which a node can give parts.

    :param numbers: the numbers of changes, and how much is held from each of them on.
    :param times: the times of the changes (``Occupancy.times_of_changes``).
    """
    units = {(stock.capacity - n) // stock.amount for n in set(taken)}
    below = 0
    for parts in sorted(n for n in {min(n, stock.most) for n in units} if n > 0):
        limit, start = stock.capacity - parts * stock.amount, -1
        for number, n in zip(numbers, taken, strict=True):
            if n <= limit:
                if start < 0:
                    start = number
            elif start >= 0:
                # Of changes at the same time, the last one counts.
                if times[start] < times[number]:
                    yield times[start], times[number], parts - below
                start = -1
        if start >= 0:
            yield times[start], times[-1], parts - below
        below = parts


class HostDevices:
    """The room on a host for instances that take something of which several nodes have some."""

    def __init__(self, tree: Tree, during: Callable[[Span, bool], HeldCells]) -> None:
        """
        :param during: what is held during a span that contains the given one, for instances of
            which Nova is told where they are, or isn't.
        """
        self._tree, self._during = tree, during

    def _left(
        self, asked: Assigner, cells: Iterable[Cell], spans: Iterable[Span]
    ) -> dict[Cell, int]:
        """How much is left of each cell throughout all of the spans. It may be negative."""
        each = [(self._during(span, asked.told), span) for span in spans]
        return {cell: min(held.left(cell, span) for held, span in each) for cell in cells}

    def room(
        self,
        request: PlacementRequest,
        spans: Sequence[Span],
        most: int,
        kept: Kept = NOTHING_KEPT,
    ) -> int:
        """How many more instances can stay at places of their own throughout all spans.

        :param most: larger numbers don't matter.
        """
        asked = assigning.assigner(self._tree, request)
        return _room(asked, self._left(asked, _cells(asked, kept), spans), most, kept)

    def fullness(
        self, request: PlacementRequest, spans: Sequence[Span], near: Span
    ) -> float | None:
        """How full the fullest of the providers is that can take an instance throughout all spans.

        :param near: the time in which the share of a provider that is held says how full it is. All
            holdings of this time must be known (``BookableHost.ever_devices``).
        :returns: as ``PackedCells.fullest``. None: an instance isn't just a share of a single
            provider (``Assigner.share``).
        """
        asked = assigning.assigner(self._tree, request)
        share = asked.share
        if share is None:
            return None
        packed = self._during(near, asked.told).packed(share.resource_class)
        return packed.fullest(share.carriers, share.amount, spans, near)

    def times(
        self, request: PlacementRequest, window: Span, most: int, also: Sequence[Span]
    ) -> list[PoolTimes]:
        """When providers can give the parts of instances (``HeldCells.times``).

        :param also: other times throughout which the instances must have the same places.
        """
        asked = assigning.assigner(self._tree, request)
        caps = self._left(asked, asked.cells, also) if also else {}
        return self._during(window, asked.told).times(request, most, caps)

    def levels(
        self,
        request: PlacementRequest,
        window: Span,
        most: int,
        kept: Kept = NOTHING_KEPT,
        also: Sequence[Span] = (),
    ) -> JointLevels:
        """For each part of ``window``, how many instances can stay throughout it (``room``).

        :param window: it is all of the span that ``during`` has for it.
        :param most: larger numbers don't matter.
        :param also: other times throughout which they must have the same places.
        """
        asked = assigning.assigner(self._tree, request)
        cells = _cells(asked, kept)
        caps = tuple(self._left(asked, cells, also).values()) if also else ()

        def room(lowest: tuple[int, ...]) -> int:
            lefts = tuple(map(min, lowest, caps)) if caps else lowest
            if not kept.places:
                return asked.room_of(lefts, most)
            return _room(asked, dict(zip(cells, lefts, strict=True)), most, kept)

        return JointLevels(self._during(window, asked.told).levels(cells), room)

    def places(
        self,
        request: PlacementRequest,
        spans: Sequence[Span],
        count: int,
        kept: Kept = NOTHING_KEPT,
    ) -> list[Places]:
        """Places for instances throughout all spans.

        :param count: at most ``room``.
        """
        asked = assigning.assigner(self._tree, request)
        left = self._left(asked, _cells(asked, kept), spans)
        found, beside = _fitting(kept.places[:count], left)
        if not found:
            held = self._during(spans[0], asked.told).held
            beside = _of_fullest(asked, left, count, spans[0], held)
        more = asked.more(found, beside, count - len(found))
        if len(found) + len(more) < count and not kept.must_stay:
            return asked.assign(left, count)
        return [*found, *more]


def settled(tree: Tree, holdings: Sequence[Holding]) -> list[Holding]:
    """What is held of a host, with places for instances that had none.

    Instances are settled beside all others, in the order of their starts. Those for which there are
    no places stay without.

    :param holdings: all holdings of the host, however late they begin.
    """
    found = list(holdings)
    pending = [
        (held.span.start, held.reservation_id, number, Stay(held.span, held.request))
        for number, held in enumerate(holdings)
        if is_unsettled(tree, held) and held.request is not None
    ]
    if not pending:
        return found
    pending.sort(key=lambda each: each[:3])
    ledger = Ledger(tree)
    for held in [*holdings, *rests(tree, holdings)]:
        ledger.add(held.span, held.places or ())
    for number, places in _settled_together(tree, found, [n for *_, n, _ in pending], ledger):
        found[number] = found[number]._replace(places=places)
    pending = [each for each in pending if found[each[2]].places is None]
    stays = [stay for *_, stay in pending]
    together = assigning.assign_all(ledger, stays, Steps())
    for position, (*_, number, stay) in enumerate(pending):
        alone = together or assigning.assign_all(ledger, [stay], Steps())
        if alone is not None:
            places = alone[position if together else 0]
            found[number] = found[number]._replace(places=places)
            if not together:
                ledger.add(stay.span, places)
    return found


def _settled_together(
    tree: Tree, holdings: Sequence[Holding], numbers: Iterable[int], ledger: Ledger
) -> Iterator[tuple[int, Places]]:
    """Places for the instances of reservations of which Nova is told where they are.

    :param numbers: which of the holdings have no places. Those of a reservation follow each other.
    :param ledger: what is held. The places are added.
    """
    of_each = itertools.groupby(numbers, lambda n: (holdings[n].reservation_id, holdings[n].span))
    for (_, span), group in of_each:
        mine = list(group)
        request = holdings[mine[0]].request
        asked = assigning.assigner(tree, request) if request else None
        if asked is None or not asked.told:
            continue
        left = ledger.left(asked.cells, [span])
        of_fullest = _of_fullest(asked, left, len(mine), span, ledger.held)
        places = asked.assign(of_fullest, len(mine))
        if len(places) == len(mine):
            settled_ones = [
                holdings[number]._replace(places=each)
                for number, each in zip(mine, places, strict=True)
            ]
            for held in [*settled_ones, *rests(tree, settled_ones)]:
                ledger.add(span, held.places or ())
            yield from zip(mine, places, strict=True)


#: Takes nothing but places.
_NO_REQUEST = PlacementRequest.plain({})


def is_any_told(tree: Tree, requests: Iterable[PlacementRequest | None]) -> bool:
    """Whether Nova is told where the instances of any of some requests are."""
    contested = (r for r in requests if r and not tree.contested.isdisjoint(r.amounts))
    return any(assigning.assigner(tree, request).told for request in contested)


def rests(tree: Tree, holdings: Iterable[Holding]) -> list[Holding]:
    """What is left of the nodes that a reservation has for itself, as holdings of it.

    If Nova is told which nodes a reservation has, and its instances have different ones, any of its
    servers may be on any of them. So nobody else can be there.
    """
    of_each: dict[tuple[str, Span], list[Holding]] = collections.defaultdict(list)
    for held in holdings:
        if held.places is not None:
            of_each[held.reservation_id, held.span].append(held)
    found = []
    for (owner, span), mine in of_each.items():
        request, every = mine[0].request, {held.places for held in mine}
        if len(every) > 1 and request and is_any_told(tree, [request]):
            sums = collections.Counter[Cell]()
            for held in mine:
                for n, cls, amount in held.places or ():
                    sums[n, cls] += amount
            left = [
                Taken(n, cls, pool.full[n] * amount - sums[n, cls])
                for pool in assigning.assigner(tree, request).pools or ()
                for cls, amount in pool.amounts
                for n in pool.nodes
                if 0 < sums[n, cls] < pool.full[n] * amount
            ]
            found.append(Holding(owner, span, _NO_REQUEST, tuple(left)))
    return found


def is_unsettled(tree: Tree, held: Holding) -> bool:
    """Whether an instance needs places, and has none."""
    request = held.request
    return (
        held.places is None
        and request is not None
        and not tree.contested.isdisjoint(request.amounts)
    )


def places_of(holdings: Iterable[Holding], reservation_id: str) -> list[Places]:
    """The places of a reservation's instances, each once."""
    # What holds the host at several times is listed once for each of them.
    mine = [held for held in holdings if held.reservation_id == reservation_id]
    return [h.places for h in mine if h.places is not None and h.span == mine[0].span]


def newly_settled(before: Iterable[Holding], after: Iterable[Holding]) -> dict[str, list[Places]]:
    """The places of all instances of reservations of which instances have been settled.

    Reservations without places for all of their instances are left out.

    :returns: by reservation id.
    """
    of_each: dict[str, list[Places | None]] = collections.defaultdict(list)
    spans: dict[str, set[Span]] = collections.defaultdict(set)
    changed = set()
    for was, held in zip(before, after, strict=True):
        of_each[held.reservation_id].append(held.places)
        spans[held.reservation_id].add(held.span)
        if was.places != held.places:
            changed.add(held.reservation_id)
    # What holds the host at several times is listed once for each of them.
    once = [owner for owner in sorted(changed) if len(spans[owner]) == 1]
    found = {owner: [p for p in of_each[owner] if p is not None] for owner in once}
    return {owner: p for owner, p in found.items() if len(p) == len(of_each[owner])}


def _of_fullest(
    asked: Assigner,
    left: Mapping[Cell, int],
    count: int,
    span: Span,
    held: Callable[[Cell, Span], datetime.timedelta],
) -> Mapping[Cell, int]:
    """What is left of the fullest cell alone, of those that have enough left for all instances.

    So bookings follow each other closely on each device, as they do on hosts (``placing``).

    :param span: the time of the instances.
    :param held: what is held of a cell during a time, as the amount times its length.
    :returns: all that is left if no cell has enough, or an instance isn't just a share of one.
    """
    share, near = asked.share, around(span)
    enough = [c for c in share.cells if left[c] >= count * share.amount] if share else []
    if not enough:
        return left
    fullest = max(enough, key=lambda c: (held(c, near) / asked.capacities[c], -left[c]))
    return {cell: n if cell == fullest else 0 for cell, n in left.items()}


def _cells(asked: Assigner, kept: Kept) -> tuple[Cell, ...]:
    if not kept.places:
        return asked.cells
    return tuple(sorted({*asked.cells, *((n, cls) for p in kept.places for n, cls, _ in p)}))


def _room(asked: Assigner, left: Mapping[Cell, int], most: int, kept: Kept) -> int:
    """How many instances fit into what is left. Of these, some keep their places if they can."""
    found, beside = _fitting(kept.places[:most], left)
    if kept.must_stay and len(found) < min(most, len(kept.places)):
        return len(found)
    more = len(asked.more(found, beside, most - len(found))) if asked.told and found else None
    room = len(found) + (asked.room(beside, most - len(found)) if more is None else more)
    if found and room < most and not kept.must_stay:
        return max(room, asked.room(left, most))
    return room


def _fitting(
    kept: Iterable[Places], left: Mapping[Cell, int]
) -> tuple[list[Places], Mapping[Cell, int]]:
    """Those of some places for which there is enough left, and what is left beside them."""
    found = []
    for places in kept:
        after = assigning.less(left, places)
        if all(after[n, cls] >= 0 for n, cls, _ in places):
            found.append(places)
            left = after
    return found, left
