"""Makes room for a booking by placing again reservations that haven't begun."""

import dataclasses
import datetime
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from oslo_log import log as logging
from oslo_utils import timeutils
from sqlalchemy.orm import Session

from warre_blazar.db import clock, flavors, generations
from warre_blazar.db.booking import instance_reservations
from warre_blazar.db.hosts import allocations
from warre_blazar.db.moves import movables
from warre_blazar.db.moves.movables import Unbegun
from warre_blazar.db.records import changes
from warre_blazar.domain.booking.booking_rules import BookingConditions
from warre_blazar.domain.flavors.devices import Rules
from warre_blazar.domain.flavors.flavor import Flavor, Shape
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.placing import Wanted
from warre_blazar.domain.moves.move_plans import MoveLimits, Rearrangement
from warre_blazar.domain.moves.must_move import Movable
from warre_blazar.domain.moves.room_by_moves import RoomByMoves
from warre_blazar.domain.records.changes import MoveReason, moved
from warre_blazar.domain.timeline import Claim, Span

LOG = logging.getLogger(__name__)

_END_OF_TIME = datetime.datetime(9000, 1, 1)


@dataclasses.dataclass(frozen=True)
class PlacedAgain:
    """A reservation that gets other hosts to make room for a booking."""

    unbegun: Unbegun
    #: The time of the lease, as it was read.
    span: Span
    #: The flavor, as it was read.
    flavor: Flavor
    #: Instances by host id.
    chosen: Mapping[str, int]


@dataclasses.dataclass(frozen=True)
class MadeRoom:
    """Where a booking fits once other reservations are moved."""

    #: All hosts that the booking or one of the reservations gets or leaves, as they were read.
    hosts: list[BookableHost]
    #: The instances of the booking by host id.
    chosen: dict[str, int]
    placed_again: tuple[PlacedAgain, ...]


def search(
    db: Session,
    wanted: Wanted,
    shape: Shape,
    conditions: BookingConditions,
    *,
    own: str | None = None,
    stays: str | None = None,
    only: Collection[str] | None = None,
) -> MadeRoom | None:
    """Find out which reservations to place again so that a booking fits.

    :param shape: the shape of the booking.
    :param own: the id of the booked reservation, if it exists. What it holds is left out.
    :param stays: the id of a reservation that stays where it is, although it hasn't begun.
    :param only: the ids of the only hosts that the booking may have. None: all that match.
    :returns: None if nothing was found within the limits.
    """
    if conditions.moves < 1:
        return None
    site = _read(db, conditions.moves, conditions.cleaning, conditions.device_rules, own, stays)
    among = site.matching.ids(shape) if only is None else only
    return _made(db, site, site.vacating.place(wanted, among), conditions.cleaning)


def keep(
    db: Session, wanted: Wanted, conditions: BookingConditions, *, own: str
) -> MadeRoom | None:
    """Find out which reservations to place again so that one that has begun fits where it is.

    :param wanted: ``preferred`` says where the reservation is.
    :param own: the id of the reservation.
    :returns: None if nothing was found within the limits.
    """
    if conditions.moves < 1:
        return None
    site = _read(db, conditions.moves, conditions.cleaning, conditions.device_rules, own)
    return _made(db, site, site.vacating.keep(wanted), conditions.cleaning)


def most(
    db: Session,
    wanted: Wanted,
    shape: Shape,
    conditions: BookingConditions,
    *,
    own: str | None,
    most: int,
) -> int:
    """The largest number of instances, at most ``wanted.count``, that fit at a time.

    :param own: as in ``search``.
    :param most: how many fit without placing others again.
    """
    if len(wanted.spans) > 1:
        return most
    (span,) = wanted.spans
    site = _read(db, conditions.moves, conditions.cleaning, conditions.device_rules, own)
    among, affinity = site.matching.ids(shape), wanted.packing.affinity
    return site.vacating.most(shape.request, among, span, span, affinity, most, wanted.count)


def vacating(
    db: Session,
    reservable: Sequence[BookableHost],
    moves: int,
    own: str | None = None,
) -> RoomByMoves:
    """What hosts have room for if reservations are moved.

    :param reservable: all reservable hosts, with everything that is booked on them from now on.
    :param moves: how many reservations may be moved for one booking.
    :param own: the id of a reservation. What it holds is left out.
    """
    return _site(db, reservable, moves, own).vacating


def everything(
    db: Session, cleaning: datetime.timedelta, device_rules: Rules
) -> tuple[list[BookableHost], Mapping[str, Mapping[str, list[Claim]]]]:
    """All reservable hosts and the claims on all flavors, from now on, as ``vacating`` needs them.

    The results are those of ``hosts.all_reservable_with_claims``.
    """
    return allocations.all_reservable_with_claims(db, _from_now_on(), cleaning, device_rules)


def _from_now_on() -> Span:
    return Span(clock.utcnow(), _END_OF_TIME)


@dataclasses.dataclass(frozen=True)
class _Site:
    """All reservable hosts, and the reservations that can be moved, as they were read."""

    hosts: Sequence[BookableHost]
    #: By reservation id.
    held: Mapping[str, "_Held"]
    unbegun: Mapping[str, Unbegun]
    matching: "_Matching"
    vacating: RoomByMoves


def _read(
    db: Session,
    moves: int,
    cleaning: datetime.timedelta,
    device_rules: Rules,
    own: str | None,
    stays: str | None = None,
) -> _Site:
    reservable = allocations.all_reservable(db, _from_now_on(), cleaning, device_rules)
    return _site(db, reservable, moves, own, stays)


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
    found = RoomByMoves(reservable, _movables(unbegun, held, matching), MoveLimits(moves))
    return _Site(reservable, held, unbegun, matching, found)


def _made(
    db: Session, site: _Site, found: Rearrangement | None, cleaning: datetime.timedelta
) -> MadeRoom | None:
    if found is None:
        return None
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


def _movables(
    unbegun: Mapping[str, Unbegun], held: Mapping[str, "_Held"], matching: "_Matching"
) -> list[Movable]:
    """The reservations that can be moved."""
    return [
        Movable(
            reservation_id,
            each.shape.request,
            there.span,
            there.hosts,
            matching.ids(each.shape),
            each.affinity,
        )
        for reservation_id, each in unbegun.items()
        # Instances on failed hosts are left to healing.
        if (there := held.get(reservation_id)) and sum(there.hosts.values()) == each.instance_count
    ]


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
        for reservation_id, span, _ in host.holdings:
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
        self._known: dict[int, frozenset[str]] = {}

    def ids(self, shape: Shape) -> frozenset[str]:
        ids = self._known.get(id(shape))
        if ids is None:
            matching = (host.id for host in self._reservable if host.matches(shape))
            ids = self._known[id(shape)] = frozenset(matching)
        return ids


def write(db: Session, placed_again: Sequence[PlacedAgain], claimed: str) -> None:
    """Give reservations their other hosts, which the caller has claimed.

    :param claimed: the id of the flavor that the caller claims. The others are claimed here.
    :raises session.LostRace: a reservation or its flavor has changed since it was read.
    """
    others = {each.flavor.id: each.flavor for each in placed_again if each.flavor.id != claimed}
    for _, flavor in sorted(others.items()):
        generations.increase_flavor(db, flavor)
    for each in sorted(placed_again, key=lambda one: one.unbegun.lease_id):
        reservation_id = each.unbegun.reservation_id
        movables.write_unbegun(db, each.unbegun.lease_id, each.span)
        allocations.reallocate(db, reservation_id, each.chosen)
        instance_reservations.set_amounts(db, reservation_id, each.unbegun.shape, each.chosen)
        changes.add(db, reservation_id, moved(timeutils.utcnow(), MoveReason.MADE_ROOM))
    if placed_again:
        LOG.info("%s reservations were moved to make room for another", len(placed_again))
