"""Finds room for instances by moving reservations that haven't begun to other hosts."""

import dataclasses
import datetime
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy.orm import Session

from warre_blazar.db import clock, flavors
from warre_blazar.db.hosts import allocations
from warre_blazar.db.moves import movables
from warre_blazar.db.moves.movables import Unbegun
from warre_blazar.domain.booking.booking_rules import BookingConditions
from warre_blazar.domain.flavors.flavor import Flavor, Shape
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.placing import Wanted
from warre_blazar.domain.moves.move_plans import MoveLimits, Rearrangement
from warre_blazar.domain.moves.must_move import Movable
from warre_blazar.domain.moves.room_by_moves import RoomByMoves
from warre_blazar.domain.running import lease_states
from warre_blazar.domain.running.lease import LeaseRow
from warre_blazar.domain.timeline import Span

_END_OF_TIME = datetime.datetime(9000, 1, 1)


@dataclasses.dataclass(frozen=True)
class PlacedAgain:
    """A reservation that gets other hosts to make room for instances."""

    unbegun: Unbegun
    #: The time of the lease, as it was read.
    span: Span
    #: The flavor, as it was read.
    flavor: Flavor
    #: Instances by host id.
    chosen: Mapping[str, int]

    @property
    def lease(self) -> LeaseRow:
        """The lease, as it was read."""
        return LeaseRow(self.unbegun.lease_id, lease_states.PENDING, self.span)


@dataclasses.dataclass(frozen=True)
class MadeRoom:
    """Where instances fit once other reservations are moved."""

    #: All hosts that instances or one of the reservations get or leave, as they were read.
    hosts: list[BookableHost]
    #: The instances by host id.
    chosen: dict[str, int]
    placed_again: tuple[PlacedAgain, ...]


def find(
    db: Session,
    wanted: Wanted,
    conditions: BookingConditions,
    among: frozenset[str] | None,
    *,
    own: str | None = None,
    stays: str | None = None,
) -> MadeRoom | None:
    """Find out which reservations to move so that instances fit.

    :param among: the ids of the hosts that the instances may have. None: they must stay on the
        hosts where they are (``wanted.preferred``).
    :param own: the id of the reservation that gets the instances. What it holds is left out.
    :param stays: the id of a reservation that isn't moved, although it hasn't begun.
    :returns: None if nothing was found within the limits.
    """
    if conditions.moves < 1:
        return None
    site = _read(db, conditions, own, stays)
    found = site.room.keep(wanted) if among is None else site.room.place(wanted, among)
    return None if found is None else _made(db, site, found, conditions.cleaning)


def most(
    db: Session,
    wanted: Wanted,
    among: frozenset[str],
    conditions: BookingConditions,
    *,
    own: str | None,
    most: int,
) -> int:
    """The largest number of instances, at most ``wanted.count``, that fit at a time.

    :param among, own: as in ``find``.
    :param most: how many fit without moves.
    """
    if len(wanted.spans) > 1:
        return most
    (span,) = wanted.spans
    site = _read(db, conditions, own)
    request, affinity = wanted.request, wanted.packing.affinity
    return site.room.most(request, among, span, span, affinity, most, wanted.count)


def room(
    db: Session, reservable: Sequence[BookableHost], moves: int, own: str | None = None
) -> RoomByMoves:
    """What hosts have room for if reservations are moved.

    :param reservable: all reservable hosts, with everything that is booked on them from now on.
    :param moves: how many reservations may be moved for one booking.
    :param own: as in ``find``.
    """
    return _site(db, reservable, moves, own).room


def _from_now_on() -> Span:
    return Span(clock.utcnow(), _END_OF_TIME)


class _Site(NamedTuple):
    """All reservable hosts, and the reservations that can be moved, as they were read."""

    hosts: Sequence[BookableHost]
    #: By reservation id.
    held: Mapping[str, "_Held"]
    unbegun: Mapping[str, Unbegun]
    room: RoomByMoves


def _read(
    db: Session, conditions: BookingConditions, own: str | None, stays: str | None = None
) -> _Site:
    reservable = allocations.all_reservable(
        db, _from_now_on(), conditions.cleaning, conditions.device_rules
    )
    return _site(db, reservable, conditions.moves, own, stays)


def _site(
    db: Session,
    reservable: Sequence[BookableHost],
    moves: int,
    own: str | None,
    stays: str | None = None,
) -> _Site:
    held = _held(reservable)
    if own:
        reservable = [host.without(own) for host in reservable]
    unbegun = {
        each.reservation_id: each
        for each in movables.read(db, clock.utcnow())
        if each.reservation_id not in (own, stays)
    }
    matching = _Matching(reservable)
    found = [
        Movable(
            reservation_id,
            each.shape.request,
            there.span,
            there.hosts,
            matching.ids(each.shape, each.project_id),
            each.affinity,
        )
        for reservation_id, each in unbegun.items()
        # Instances on failed hosts are left to healing.
        if (there := held.get(reservation_id)) and sum(there.hosts.values()) == each.instance_count
    ]
    return _Site(reservable, held, unbegun, RoomByMoves(reservable, found, MoveLimits(moves)))


def _made(db: Session, site: _Site, found: Rearrangement, cleaning: datetime.timedelta) -> MadeRoom:
    known = flavors.get_many(db, {site.unbegun[i].flavor_id for i in found.moved})
    touched = set(found.chosen)
    placed_again = []
    for reservation_id, chosen in found.moved.items():
        unbegun, held = site.unbegun[reservation_id], site.held[reservation_id]
        touched |= held.hosts.keys() | chosen.keys()
        span = Span(held.span.start, held.span.end - cleaning)
        placed_again.append(PlacedAgain(unbegun, span, known[unbegun.flavor_id], chosen))
    hosts_touched = [host for host in site.hosts if host.id in touched]
    return MadeRoom(hosts_touched, found.chosen, tuple(placed_again))


class _Held(NamedTuple):
    """What hosts hold of a reservation."""

    #: The time, with the cleaning time. A reservation that hasn't begun has a single one, because
    #: ``movables`` leaves out those to which an update was promised another time.
    span: Span
    #: Instances by host id.
    hosts: dict[str, int]


def _held(reservable: Sequence[BookableHost]) -> Mapping[str, _Held]:
    """What the hosts hold, by reservation id."""
    held: dict[str, _Held] = {}
    for host in reservable:
        host_id = host.id
        for reservation_id, span, *_ in host.holdings:
            there = held.get(reservation_id)
            if there is None:
                held[reservation_id] = _Held(span, {host_id: 1})
            else:
                there.hosts[host_id] = there.hosts.get(host_id, 0) + 1
    return held


class _Matching:
    """The ids of the hosts that match shapes. Thousands of reservations share a few shapes."""

    def __init__(self, reservable: Sequence[BookableHost]) -> None:
        self._reservable = reservable
        self._known: dict[tuple[int, str | None], frozenset[str]] = {}
        #: Where no host is for some projects only, all projects share what matches a shape.
        self._by_project = any(host.aggregates.tells_projects_apart for host in reservable)

    def ids(self, shape: Shape, project_id: str) -> frozenset[str]:
        project = project_id if self._by_project else None
        ids = self._known.get((id(shape), project))
        if ids is None:
            matching = (host.id for host in self._reservable if host.matches(shape, project))
            ids = self._known[id(shape), project] = frozenset(matching)
        return ids
