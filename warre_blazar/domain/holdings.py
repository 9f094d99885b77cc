"""Adds up what reservations take of a host during a span, and computes the room that is left."""

import datetime
import itertools
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from warre_blazar.domain import counting, timeline
from warre_blazar.domain.request_groups import PlacementRequest


class Holding(NamedTuple):
    """What one instance of a reservation takes of a host.

    The reservation may be of any resource type. ``request`` is what the instance asks for. None
    means the whole host.
    """

    reservation_id: str
    span: timeline.Span
    request: PlacementRequest | None


class RoomQuestion(NamedTuple):
    """A request to a host, the capacities of the empty host, and the plan for counting the room."""

    request: PlacementRequest
    #: How much the whole host has of each resource class of the request, in the request's order.
    capacities: Sequence[int]
    plan: counting.Plan

    def alone(self) -> int:
        """How many instances fit on the host when nothing else is on it."""
        return Swept(self, (), _NO_TIME).room()


class Swept:
    """What is held of a host during a span of time, and the room that is left for a request.

    ``moments`` are the moments at which a held amount changes. The first moment is the span's
    start. The held amounts are kept in columns. A column has an amount for each moment. The columns
    are, in this order:

    - a column for each resource class of the request;
    - a column for each further column of the plan;
    - a column for each kind of request that a search of the plan counts;
    - a column with the number of holdings that take the whole host.

    Columns are used for speed, because the interpreter's built-in loops work fast through long
    lists.
    """

    def __init__(
        self, asked: RoomQuestion, holdings: Iterable[Holding], window: timeline.Span
    ) -> None:
        self._asked = asked
        self.plan = asked.plan
        changes = _changes(holdings, asked, window)
        self.moments = sorted(changes)
        rows = [changes[moment] for moment in self.moments]
        self._held = [list(itertools.accumulate(column)) for column in zip(*rows, strict=True)]
        self._peaks = [max(column) for column in self._held]

    def fitting(self) -> list[int]:
        """How many more instances fit at each of the moments."""
        return self._fitting(self._held)

    def room(self) -> int:
        """How many more instances fit throughout the span.

        An instance stays on its host for the whole span. So each class must suffice even at the
        moment at which the held amount of the class is largest. If the plan has no searches, it is
        therefore enough to look at the peak of each column.
        """
        if self.plan.searches:
            return self._searched()
        return self._fitting([[peak] for peak in self._peaks])[0]

    def _searched(self) -> int:
        """The room, by looking at one moment after the other until there is none."""
        least = _NO_LIMIT
        # Where more is held, a search is more likely to find no room, which ends the loop.
        for moment in sorted(set(zip(*self._held, strict=True)), reverse=True):
            least = min(least, *self._fitting([[n] for n in moment]))
            if not least:
                break
        return least

    def _fitting(self, held: Sequence[Sequence[int]]) -> list[int]:
        asked, plan, wholes = self._asked, self.plan, held[-1]
        if not plan.possible:
            return [0] * len(wholes)
        fits = [
            [(capacity - n) // amount for n in taken]
            for capacity, amount, taken in zip(
                asked.capacities, asked.request.amounts.values(), held, strict=False
            )
        ]
        if plan is not counting.POSSIBLE:
            fits += self._further(held[len(fits) : -1])
        least = map(min, *fits) if len(fits) > 1 else fits[0]
        return [0 if whole or n < 0 else n for n, whole in zip(least, wholes, strict=True)]

    def _further(self, held: Sequence[Sequence[int]]) -> Iterator[list[int]]:
        """How many more instances the plan's columns and searches allow, at each moment."""
        columns = iter(held)
        for column in self.plan.columns:
            amount, taken = column.taken.get(self._asked.request, 0), next(columns)
            if amount:
                yield [(column.capacity - n) // amount for n in taken]
            else:
                # An instance takes nothing from this column. But if what is held already exceeds
                # the capacity, no further instance fits.
                yield [0 if n > column.capacity else _NO_LIMIT for n in taken]
        for search in self.plan.searches:
            kinds = [next(columns) for _ in search.kinds]
            yield [search.room(counts) for counts in zip(*kinds, strict=True)]

    def fullness(self) -> float:
        """The largest share of any resource class that is held at any moment, from 0.0 to 1.0."""
        return max(
            (
                peak / capacity
                for capacity, peak in zip(self._asked.capacities, self._peaks, strict=False)
                if capacity > 0
            ),
            default=0.0,
        )


_NO_LIMIT = 2**31
_NO_TIME = timeline.Span(datetime.datetime.min, datetime.datetime.max)


def _changes(
    holdings: Iterable[Holding], asked: RoomQuestion, window: timeline.Span
) -> dict[datetime.datetime, Sequence[int]]:
    """By how much the columns of ``Swept`` change at each moment within ``window``.

    ``timeline.Levels.left`` does the same for a single number. If both functions shared a loop,
    this function would be a quarter slower. The speed matters, because a booking spends most of its
    time here.
    """
    first, last = window.start, window.end
    changes: dict[datetime.datetime, Sequence[int]] = {first: [0] * _width(asked)}
    # By ``id(request)``: what an instance adds to the columns at its start, and what it adds at its
    # end. Thousands of holdings share a few request objects. So these amounts are computed only a
    # few times.
    known: dict[int, tuple[list[int], list[int]]] = {}
    for _, span, request in holdings:
        start, end = span.start, span.end
        if start >= last or end <= first:
            continue
        amounts = known.get(id(request))
        if amounts is None:
            more = _amounts(request, asked)
            amounts = known[id(request)] = (more, [-n for n in more])
        more, less = amounts
        start = max(start, first)
        before = changes.get(start)
        changes[start] = more if before is None else list(map(operator.add, before, more))
        if end < last:
            before = changes.get(end)
            changes[end] = less if before is None else list(map(operator.add, before, less))
    return changes


def _amounts(request: PlacementRequest | None, asked: RoomQuestion) -> list[int]:
    """What an instance of a request adds to each column."""
    if request is None:
        return [0] * (_width(asked) - 1) + [1]
    taken = request.amounts
    amounts = [taken.get(cls, 0) for cls in asked.request.amounts]
    plan = asked.plan
    if plan is not counting.POSSIBLE:
        amounts += [column.taken.get(request, 0) for column in plan.columns]
        amounts += [int(request == kind) for search in plan.searches for kind in search.kinds]
    return [*amounts, 0]


def _width(asked: RoomQuestion) -> int:
    """The number of columns."""
    plan = asked.plan
    further = len(plan.columns) + sum(len(search.kinds) for search in plan.searches)
    return len(asked.capacities) + further + 1
