"""Which hosts hold a booking: arithmetic over a snapshot of hosts and what they hold already."""

import collections
import dataclasses
import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

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


@dataclasses.dataclass(frozen=True)
class Holding:
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
        return min(level for _, level in self.levels(asked, window).steps)

    def levels(self, asked: Mapping[str, int], window: timeline.Span) -> timeline.Levels:
        """How many more instances that take ``asked`` fit at each moment of ``window``."""
        fits = {cls: self.inventories.get(cls) for cls in asked}
        # What takes nothing fits nowhere: Placement refuses to be asked for nothing.
        if not asked or any(inv is None or not inv.takes(asked[c]) for c, inv in fits.items()):
            return timeline.Levels([(window.start, 0)])
        free = {cls: inv.capacity for cls, inv in fits.items() if inv is not None}
        changes = self._changes(window)
        steps = []
        wholes = 0
        for moment in sorted(changes):
            for sign, resources in changes[moment]:
                wholes += sign * (resources is None)
                for cls in free:
                    free[cls] -= sign * (resources or {}).get(cls, 0)
            level = min(free[cls] // amount for cls, amount in asked.items())
            steps.append((moment, 0 if wholes else max(level, 0)))
        return timeline.Levels(steps)

    def _changes(
        self, window: timeline.Span
    ) -> dict[datetime.datetime, list[tuple[int, Mapping[str, int] | None]]]:
        """At each moment of the window, what begins (1) or ends (-1) to be held."""
        changes: dict[datetime.datetime, list[tuple[int, Mapping[str, int] | None]]]
        changes = collections.defaultdict(list, {window.start: []})
        for held in self.holdings:
            if held.span.overlaps(window):
                changes[max(held.span.start, window.start)].append((1, held.resources))
                if held.span.end < window.end:
                    changes[held.span.end].append((-1, held.resources))
        return changes

    def fullness(self, asked: Iterable[str], window: timeline.Span) -> float:
        """The largest share of any of the classes that is held at some moment, 0.0 to 1.0."""
        return max(
            (
                self._peak(self.holdings, cls, window) / self.inventories[cls].capacity
                for cls in asked
                if cls in self.inventories and self.inventories[cls].capacity > 0
            ),
            default=0.0,
        )

    @staticmethod
    def _peak(holdings: Iterable[Holding], cls: str, window: timeline.Span) -> int:
        return timeline.peak(
            (timeline.Claim(h.span, (h.resources or {}).get(cls, 0)) for h in holdings), window
        )

    def without(self, reservation_id: str) -> "Host":
        """The host as if one reservation weren't on it."""
        kept = [h for h in self.holdings if h.reservation_id != reservation_id]
        return dataclasses.replace(self, holdings=kept)


def choose(
    hosts: Sequence[Host],
    shape: Shape,
    count: int,
    window: timeline.Span,
    preferred: Mapping[str, int] | None = None,
    also: timeline.Span | None = None,
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
    order = sorted(hosts, key=lambda h: (-h.fullness(asked, window), h.name, h.id))
    chosen: dict[str, int] = {}
    left = count
    for host in order:
        kept = min(preferred.get(host.id, 0), rooms[host.id], left)
        if kept:
            chosen[host.id] = kept
            left -= kept
    for host in order:
        more = min(rooms[host.id] - chosen.get(host.id, 0), left)
        if more > 0:
            chosen[host.id] = chosen.get(host.id, 0) + more
            left -= more
    return chosen, count - left
