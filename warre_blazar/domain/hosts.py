"""Which hosts hold a booking: arithmetic over a snapshot of hosts and what they hold already."""

import dataclasses
import datetime
import itertools
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from warre_blazar.domain import requirements, timeline
from warre_blazar.domain.flavor import Shape


@dataclasses.dataclass(frozen=True)
class Inventory:
    """What a host has of one resource class, as Placement told Blazar."""

    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = 2**31 - 1
    step_size: int = 1
    allocation_ratio: float = 1.0

    @property
    def capacity(self) -> int:
        """How much can be taken at one time."""
        return int((self.total - self.reserved) * self.allocation_ratio)

    def takes(self, amount: int) -> bool:
        """Whether one instance may ask for this much, whatever else is there."""
        return self.min_unit <= amount <= self.max_unit and amount % self.step_size == 0


class Holding(NamedTuple):
    """One instance's share of a host, of any resource type; ``resources`` None: the whole host."""

    reservation_id: str
    span: timeline.Span
    resources: Mapping[str, int] | None


@dataclasses.dataclass(frozen=True)
class Host:
    """A reservable host. ``properties`` are Blazar's columns and extra capabilities by name."""

    id: str
    name: str
    availability_zone: str | None
    properties: Mapping[str, Any]
    inventories: Mapping[str, Inventory]
    traits: frozenset[str]
    holdings: Sequence[Holding]
    generation: int = 0
    _known: dict[Any, "_Swept"] = dataclasses.field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def matches(self, shape: Shape) -> bool:
        """Whether an instance of the shape may ever be on this host."""
        if shape.availability_zone and shape.availability_zone != self.availability_zone:
            return False
        required, forbidden = shape.traits()
        if required - self.traits or forbidden & self.traits:
            return False
        return requirements.satisfied(requirements.parse(shape.properties), self.properties)

    def room(self, asked: Mapping[str, int], window: timeline.Span) -> int:
        """How many more instances that take ``asked`` fit throughout ``window``."""
        return self._swept(asked, window).room(asked)

    def levels(self, asked: Mapping[str, int], window: timeline.Span) -> timeline.Levels:
        """How many more instances that take ``asked`` fit at each moment of ``window``."""
        swept = self._swept(asked, window)
        return timeline.Levels(list(zip(swept.moments, swept.fitting(asked), strict=True)))

    def fullness(self, asked: Iterable[str], window: timeline.Span) -> float:
        """The largest share of any of the classes that is held at some moment, 0.0 to 1.0."""
        return self._swept(asked, window).fullness()

    def _swept(self, asked: Iterable[str], window: timeline.Span) -> "_Swept":
        """What of the classes is held over the window.

        Kept for the same question asked again: both the room and the fullness come of it.
        """
        classes = tuple(asked)
        key = (classes, window)
        if key not in self._known:
            self._known[key] = _Swept(self, classes, window)
        return self._known[key]

    def holding(self, holdings: Sequence[Holding]) -> "Host":
        """The host, with these holdings instead."""
        return dataclasses.replace(self, holdings=holdings)

    def without(self, reservation_id: str) -> "Host":
        """The host as if one reservation weren't on it."""
        return self.holding([h for h in self.holdings if h.reservation_id != reservation_id])


class _Swept:
    """What of some classes is held at each of the ``moments`` of a window from which on it changes.

    By class and, last, how many hold the whole host, a list with an amount for each moment. By
    columns, for these are long and the work on one is done by the interpreter's own loops.
    """

    def __init__(self, host: Host, classes: Sequence[str], window: timeline.Span) -> None:
        self._inventories = [host.inventories.get(cls) for cls in classes]
        changes = _changes(host.holdings, classes, window)
        self.moments = sorted(changes)
        rows = [changes[moment] for moment in self.moments]
        self._held = [list(itertools.accumulate(column)) for column in zip(*rows, strict=True)]
        self._peaks = [max(column) for column in self._held]

    def fitting(self, asked: Mapping[str, int]) -> list[int]:
        """How many instances fit beside what is held, at each moment."""
        return self._fitting(asked, self._held)

    def room(self, asked: Mapping[str, int]) -> int:
        """How many fit throughout: as many as where each class is at its fullest."""
        return self._fitting(asked, [[peak] for peak in self._peaks])[0]

    def _fitting(self, asked: Mapping[str, int], held: Sequence[Sequence[int]]) -> list[int]:
        *columns, wholes = held
        fits = []
        for inventory, amount, taken in zip(
            self._inventories, asked.values(), columns, strict=True
        ):
            if inventory is None or not inventory.takes(amount):
                return [0] * len(wholes)
            capacity = inventory.capacity
            fits.append([(capacity - n) // amount for n in taken])
        # What takes nothing fits nowhere: Placement refuses to be asked for nothing.
        least = map(min, *fits) if len(fits) > 1 else fits[0] if fits else [0] * len(wholes)
        return [0 if whole or n < 0 else n for n, whole in zip(least, wholes, strict=True)]

    def fullness(self) -> float:
        """The largest share of a class that is held at some moment."""
        return max(
            (
                peak / inventory.capacity
                for inventory, peak in zip(self._inventories, self._peaks[:-1], strict=True)
                if inventory is not None and inventory.capacity > 0
            ),
            default=0.0,
        )


def _changes(
    holdings: Iterable[Holding], classes: Sequence[str], window: timeline.Span
) -> dict[datetime.datetime, Sequence[int]]:
    """At each moment of the window, by how much more is held of each class, and of whole hosts."""
    first, last = window.start, window.end
    nothing = (0,) * (len(classes) + 1)
    changes: dict[datetime.datetime, Sequence[int]] = {first: nothing}
    # Thousands of holdings share a few mappings.
    known: dict[int, tuple[list[int], list[int]]] = {}
    for _, span, resources in holdings:
        start, end = span.start, span.end
        if start >= last or end <= first:
            continue
        amounts = known.get(id(resources))
        if amounts is None:
            more = _amounts(resources, classes)
            amounts = known[id(resources)] = (more, [-n for n in more])
        more, less = amounts
        start = max(start, first)
        before = changes.get(start)
        changes[start] = more if before is None else list(map(operator.add, before, more))
        if end < last:
            before = changes.get(end)
            changes[end] = less if before is None else list(map(operator.add, before, less))
    return changes


def _amounts(resources: Mapping[str, int] | None, classes: Sequence[str]) -> list[int]:
    if resources is None:
        return [0] * len(classes) + [1]
    return [resources.get(cls, 0) for cls in classes] + [0]


@dataclasses.dataclass(frozen=True)
class Packing:
    """How instances are put on hosts."""

    #: The emptiest host first, not the fullest, and one instance on each in turn.
    spread: bool = False
    #: True: all on one host; False: each on a host of its own; None: wherever.
    affinity: bool | None = None


def choose(
    hosts: Sequence[Host],
    shape: Shape,
    count: int,
    window: timeline.Span,
    preferred: Mapping[str, int] | None = None,
    also: timeline.Span | None = None,
    packing: Packing = Packing(),
) -> tuple[dict[str, int], int]:
    """Instances per host id, as many as were asked for or as there is room for.

    Hosts that already hold the booking (``preferred``: instances by host id) keep theirs where
    there is room; then the fullest host comes first, to leave whole hosts to others; a tie goes
    by name, so that the choice is repeatable.

    :param also: another span throughout which they have to fit.
    :returns: instances by host id; and how many there is room for in all, at most ``count``.
    """
    asked = shape.resources
    preferred = preferred or {}
    windows = [window, also] if also else [window]
    rooms = {h.id: min(h.room(asked, w) for w in windows) for h in hosts}
    first = 1 if packing.spread else -1
    order = sorted(hosts, key=lambda h: (first * h.fullness(asked, window), h.name, h.id))
    if packing.affinity is False:
        rooms = {host_id: min(room, 1) for host_id, room in rooms.items()}
    elif packing.affinity and order:
        # Of those that hold as much the booking's own host, then the first in order.
        sole = max(order, key=lambda h: (min(rooms[h.id], count), h.id in preferred))
        order = [sole]
    ids = [host.id for host in order]
    kept = {i: min(preferred[i], rooms[i]) for i in ids if i in preferred}
    chosen: dict[str, int] = {}
    _fill(chosen, kept, count, at_once=count)
    # As many as fit on each host in turn, or one on each, round after round.
    _fill(chosen, {i: rooms[i] for i in ids}, count, at_once=1 if packing.spread else count)
    return chosen, sum(chosen.values())


def _fill(chosen: dict[str, int], rooms: Mapping[str, int], count: int, at_once: int) -> None:
    """Add instances, host by host as in ``rooms``, until there are so many or no room is left."""
    left = count - sum(chosen.values())
    before = None
    while left and left != before:
        before = left
        for host_id, room in rooms.items():
            held = chosen.get(host_id, 0)
            more = min(room - held, left, at_once)
            if more > 0:
                chosen[host_id] = held + more
                left -= more


def free_spans(
    hosts: Sequence[Host],
    asked: Mapping[str, int],
    count: int,
    window: timeline.Span,
    affinity: bool | None = None,
) -> list[timeline.Span]:
    """The longest spans of the window throughout which so many instances fit; they may overlap.

    :param affinity: as in ``Packing``.
    """
    levels = [host.levels(asked, window) for host in hosts]
    if affinity:
        alone = [timeline.maximal_spans([level], count, window) for level in levels]
        return timeline.widest(span for spans in alone for span in spans)
    if affinity is False:
        levels = [level.at_most(1) for level in levels]
    return timeline.maximal_spans(levels, count, window)
