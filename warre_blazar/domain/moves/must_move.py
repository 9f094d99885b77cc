"""Says which reservations that haven't begun must leave a host so that instances fit."""

import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from warre_blazar import times
from warre_blazar.domain import timeline
from warre_blazar.domain.flavors.request_groups import PlacementRequest
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.holdings import Remainder
from warre_blazar.domain.timeline import Span


class Movable(NamedTuple):
    """A reservation that hasn't begun, so that it can be moved."""

    reservation_id: str
    request: PlacementRequest
    #: Its time, with the cleaning time.
    span: Span
    #: Instances by host id.
    hosts: Mapping[str, int]
    #: The ids of the hosts that match the shape with which it was booked.
    among: Collection[str]
    affinity: bool | None = None

    def closed_when_leaving(self, host_id: str) -> frozenset[str]:
        """The ids of the hosts that can't get the instances that leave a host."""
        return frozenset(self.hosts if self.affinity is False else [host_id])


def without(host: BookableHost, movables: Iterable[Movable]) -> BookableHost:
    """A host without some reservations."""
    ids = {movable.reservation_id for movable in movables}
    return host.holding([held for held in host.holdings if held.reservation_id not in ids])


def fits(host: BookableHost, request: PlacementRequest, spans: Sequence[Span], count: int) -> bool:
    """Whether instances fit on a host, with everything booked on it, throughout some spans."""
    return host.room(request, *spans) >= count


class _Taker(NamedTuple):
    """What a reservation takes of a host."""

    #: Its time.
    during: slice
    #: The parts of its time at which instances need the room.
    parts: Sequence[slice]
    #: The numbers of the columns, and how much it takes of each.
    amounts: Sequence[tuple[int, int]]


class MovablesOnHost:
    """The reservations on a host that may leave it, so that instances fit.

    For each column that limits the instances (``Swept``), it is worked out once what is left of it
    when all of the reservations have left. A reservation can stay if it fits into what is left.
    """

    def __init__(
        self,
        host: BookableHost,
        near: Sequence[Movable],
        request: PlacementRequest,
        spans: Sequence[Span],
        count: int,
    ) -> None:
        """
        :param near: the reservations that may leave.
        :param spans: the times of the instances. They don't overlap.
        """
        self._host, self._near = host, near
        self._request, self._spans, self._count = request, spans, count
        self._swept = host.swept(request, functools.reduce(Span.hull, spans))
        #: Whether the columns say exactly what fits. If not, they say what doesn't.
        self._is_exact = not host.is_contested(request)
        # By ``id(request)``. Many reservations share a few request objects.
        self._taken_by: dict[int, Sequence[tuple[int, int]]] = {}

    def can_make_room(self, staying: Iterable[Movable] = ()) -> bool:
        """Whether the instances fit once the reservations have left, except for some.

        :param staying: those that stay. They are only read until one of them takes too much.
        """
        if not self._may_fit:
            return False
        columns, leaving = [column.copy() for column in self._columns], list(self._near)
        for movable in staying:
            if not self._can_stay(movable, columns):
                return False
            self._stay(movable, columns)
            leaving.remove(movable)
        if len(leaving) == len(self._near):
            return self._is_exact or self._fits_when_all_leave
        return self.is_enough(leaving)

    def in_the_way(self, order: Sequence[Movable]) -> list[Movable] | None:
        """Those reservations that must leave. The rest can stay.

        :param order: the reservations. The first ones stay if they can.
        :returns: None if the instances don't fit whatever leaves.
        """
        needed = self.by_columns(order)
        if needed is None or self.is_enough(needed):
            return needed
        return self._needed(order, self._fits_without) if self._fits_when_all_leave else None

    def by_columns(self, order: Sequence[Movable]) -> list[Movable] | None:
        """Those reservations that must leave as far as the columns say, which are mostly right.

        The parameter and the result are those of ``in_the_way``.
        """
        return self._needed(order, lambda _: True) if self._may_fit else None

    def is_enough(self, leaving: Iterable[Movable]) -> bool:
        """Whether the instances fit once some reservations have left, as the columns say they do.

        To confirm it can take long, unless the columns say exactly what fits.
        """
        return self._is_exact or self._fits_without(leaving)

    def _needed(
        self, order: Iterable[Movable], fits_without: Callable[[list[Movable]], bool]
    ) -> list[Movable]:
        """The reservations that must leave because of the columns or of ``fits_without``.

        :param fits_without: says whether the instances fit once some reservations have left.
        """
        columns = [column.copy() for column in self._columns]
        leaving = list(order)
        for movable in list(leaving):
            if self._can_stay(movable, columns):
                rest = [other for other in leaving if other is not movable]
                if fits_without(rest):
                    leaving = rest
                    self._stay(movable, columns)
        return leaving

    def _can_stay(self, movable: Movable, columns: Sequence[Remainder]) -> bool:
        """Whether a reservation fits into what is left of the columns beside the instances."""
        taker = self._takers[movable.reservation_id]
        return not any(
            columns[number].lowest(part) < amount
            for number, amount in taker.amounts
            for part in taker.parts
        )

    def _stay(self, movable: Movable, columns: Sequence[Remainder]) -> None:
        """Take what a reservation needs from what is left of the columns."""
        taker = self._takers[movable.reservation_id]
        for number, amount in taker.amounts:
            columns[number].add(taker.during, -amount)

    @functools.cached_property
    def _may_fit(self) -> bool:
        """Whether the columns have enough once all of the reservations have left."""
        if not self._swept.possible:
            return False
        parts = [self._swept.during(span) for span in self._spans]
        return not any(column.lowest(part) < 0 for column in self._columns for part in parts)

    @functools.cached_property
    def _fits_when_all_leave(self) -> bool:
        return self._fits_without(self._near)

    @functools.cached_property
    def _columns(self) -> list[Remainder]:
        """What is left of each column beside the instances, when all reservations have left."""
        columns = [column.copy() for column in self._left]
        for taker in self._takers.values():
            for number, amount in taker.amounts:
                columns[number].add(taker.during, amount)
        return columns

    @functools.cached_property
    def _left(self) -> list[Remainder]:
        """What is left of each column beside the instances, when no reservation has left."""
        return self._swept.left(self._count)

    @functools.cached_property
    def _takers(self) -> dict[str, _Taker]:
        """What each of the reservations takes, by reservation id."""
        return {movable.reservation_id: self._taker(movable) for movable in self._near}

    def _taker(self, movable: Movable) -> _Taker:
        instances, during = movable.hosts[self._host.id], self._swept.during
        return _Taker(
            during(movable.span),
            [during(part) for part in timeline.intersect([movable.span], self._spans)],
            [(number, instances * amount) for number, amount in self._taken(movable.request)],
        )

    def _taken(self, request: PlacementRequest) -> Sequence[tuple[int, int]]:
        """The numbers of the columns from which an instance takes anything, and how much."""
        taken = self._taken_by.get(id(request))
        if taken is None:
            each = ((number, column.taken(request)) for number, column in enumerate(self._left))
            taken = self._taken_by[id(request)] = [
                (number, amount) for number, amount in each if amount
            ]
        return taken

    def _fits_without(self, leaving: Iterable[Movable]) -> bool:
        return fits(without(self._host, leaving), self._request, self._spans, self._count)


class WayIn:
    """A host on which instances may fit once some reservations have left it."""

    def __init__(self, host_id: str, crowd: MovablesOnHost, needed: Sequence[Movable]) -> None:
        """
        :param needed: the result of ``MovablesOnHost.by_columns``.
        """
        self.host_id, self._crowd = host_id, crowd
        #: The reservations that must leave.
        self.leaving = needed

    @functools.cached_property
    def is_enough(self) -> bool:
        """Whether the instances really fit then (``MovablesOnHost.is_enough``)."""
        return self._crowd.is_enough(self.leaving)


def share(host: BookableHost, movable: Movable) -> float:
    """Which share of a host a reservation takes, of the resource class of which it is largest."""
    tree = host.tree
    shares = (
        amount / capacity
        for cls, amount in movable.request.amounts.items()
        if (capacity := tree.capacity(cls))
    )
    return max(shares, default=0.0) * movable.hosts[host.id]


def work(host: BookableHost, movable: Movable) -> float:
    """What a reservation takes of a host, as a share of the host, times its hours."""
    return share(host, movable) * ((movable.span.end - movable.span.start) / times.HOUR)
