"""Makes room for a booking by placing again reservations that haven't begun."""

import collections
import dataclasses
import datetime
from collections.abc import Collection, Mapping, Sequence

from oslo_log import log as logging
from oslo_utils import timeutils
from sqlalchemy.orm import Session

from warre_blazar.db import changes, clock, flavors, hosts, instance_reservations, movables
from warre_blazar.db.movables import Unbegun
from warre_blazar.domain import timeline
from warre_blazar.domain.booking_conditions import BookingConditions
from warre_blazar.domain.changes import MoveReason, moved
from warre_blazar.domain.devices import Rules
from warre_blazar.domain.flavor import Flavor, Shape
from warre_blazar.domain.hosts import Host
from warre_blazar.domain.leaving import Movable
from warre_blazar.domain.placing import Wanted
from warre_blazar.domain.placing_again import MoveLimits, Rearrangement
from warre_blazar.domain.vacating import Vacating

LOG = logging.getLogger(__name__)

_END_OF_TIME = datetime.datetime(9000, 1, 1)


@dataclasses.dataclass(frozen=True)
class PlacedAgain:
    """A reservation that gets other hosts to make room for a booking."""

    unbegun: Unbegun
    #: The flavor, as it was read.
    flavor: Flavor
    #: Instances by host id.
    chosen: Mapping[str, int]


@dataclasses.dataclass(frozen=True)
class MadeRoom:
    """Where a booking fits once other reservations are placed again."""

    #: All hosts that the booking or one of the reservations gets or leaves, as they were read.
    hosts: list[Host]
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
    return _made(db, site, site.vacating.place(wanted, among))


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
    return _made(db, site, site.vacating.keep(wanted))


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
    reservable: Sequence[Host],
    moves: int,
    cleaning: datetime.timedelta,
    own: str | None = None,
) -> Vacating:
    """What hosts have room for if reservations are placed again.

    :param reservable: all reservable hosts, with everything that is booked on them from now on.
    :param moves: how many reservations may be placed again for one booking.
    :param own: the id of a reservation. What it holds is left out.
    """
    return _site(db, reservable, moves, cleaning, own).vacating


def everything(
    db: Session, cleaning: datetime.timedelta, device_rules: Rules
) -> tuple[list[Host], Mapping[str, Mapping[str, list[timeline.Claim]]]]:
    """All reservable hosts and the claims on all flavors, from now on, as ``vacating`` needs them.

    The results are those of ``hosts.everything_reservable``.
    """
    always = timeline.Span(clock.utcnow(), _END_OF_TIME)
    return hosts.everything_reservable(db, always, cleaning, device_rules)


@dataclasses.dataclass(frozen=True)
class _Site:
    """All reservable hosts, and the reservations that can be placed again, as they were read."""

    hosts: Sequence[Host]
    #: Instances by host id, by reservation id.
    held: Mapping[str, Mapping[str, int]]
    unbegun: Mapping[str, Unbegun]
    matching: "_Matching"
    vacating: Vacating


def _read(
    db: Session,
    moves: int,
    cleaning: datetime.timedelta,
    device_rules: Rules,
    own: str | None,
    stays: str | None = None,
) -> _Site:
    reservable, _ = everything(db, cleaning, device_rules)
    return _site(db, reservable, moves, cleaning, own, stays)


def _site(
    db: Session,
    reservable: Sequence[Host],
    moves: int,
    cleaning: datetime.timedelta,
    own: str | None,
    stays: str | None = None,
) -> _Site:
    held = _instances(reservable)
    if own:
        reservable = [host.without(own) for host in reservable]
    unbegun = {
        each.reservation_id: each
        for each in movables.read(db, clock.utcnow())
        if each.reservation_id not in (own, stays)
    }
    matching = _Matching(reservable)
    found = Vacating(reservable, _movables(unbegun, held, matching, cleaning), MoveLimits(moves))
    return _Site(reservable, held, unbegun, matching, found)


def _made(db: Session, site: _Site, found: Rearrangement | None) -> MadeRoom | None:
    if found is None:
        return None
    held, unbegun = site.held, site.unbegun
    known = flavors.get_many(db, {unbegun[i].flavor_id for i in found.moved})
    touched = found.chosen.keys() | {
        host_id
        for reservation_id, chosen in found.moved.items()
        for host_id in held[reservation_id].keys() | chosen.keys()
    }
    return MadeRoom(
        [host for host in site.hosts if host.id in touched],
        found.chosen,
        tuple(
            PlacedAgain(unbegun[i], known[unbegun[i].flavor_id], chosen)
            for i, chosen in found.moved.items()
        ),
    )


def _movables(
    unbegun: Mapping[str, Unbegun],
    held: Mapping[str, Mapping[str, int]],
    matching: "_Matching",
    cleaning: datetime.timedelta,
) -> list[Movable]:
    """The reservations that can be placed again.

    :param held: instances by host id, by reservation id.
    """
    return [
        Movable(
            reservation_id,
            each.shape.request,
            each.span.padded(cleaning),
            held[reservation_id],
            matching.ids(each.shape),
            each.affinity,
        )
        for reservation_id, each in unbegun.items()
        # Instances on failed hosts are left to healing.
        if sum(held[reservation_id].values()) == each.instance_count
    ]


def _instances(reservable: Sequence[Host]) -> Mapping[str, Mapping[str, int]]:
    """The instances by host id, by reservation id."""
    held: dict[str, dict[str, int]] = collections.defaultdict(dict)
    for host in reservable:
        for holding in host.holdings:
            of_reservation = held[holding.reservation_id]
            of_reservation[host.id] = of_reservation.get(host.id, 0) + 1
    return held


class _Matching:
    """The ids of the hosts that match shapes. Thousands of reservations share a few shapes."""

    def __init__(self, reservable: Sequence[Host]) -> None:
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
        flavors.update(db, flavor, {})
    for each in sorted(placed_again, key=lambda one: one.unbegun.lease_id):
        unbegun = each.unbegun
        movables.claim(db, unbegun)
        hosts.reallocate(db, unbegun.reservation_id, each.chosen)
        instance_reservations.set_amounts(db, unbegun.reservation_id, unbegun.shape, each.chosen)
        changes.add(db, unbegun.reservation_id, moved(timeutils.utcnow(), MoveReason.MADE_ROOM))
    if placed_again:
        LOG.info("%s reservations were placed again to make room for another", len(placed_again))
