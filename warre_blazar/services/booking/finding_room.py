"""Finds slots and hosts for a booking, and checks whether a project may book the flavor."""

import dataclasses
import functools
from collections.abc import Mapping

from sqlalchemy.orm import Session

from warre_blazar import exceptions
from warre_blazar.booking_conditions import BookingConditions
from warre_blazar.db import flavors, hosts, maintenance_windows
from warre_blazar.db.reservations import Reservation
from warre_blazar.domain import booking_rules, placing, timeline
from warre_blazar.domain.flavor import Flavor, Shape
from warre_blazar.domain.hosts import Host
from warre_blazar.services import garbage_collection, search_limits


@dataclasses.dataclass(frozen=True)
class Need:
    """What a booking needs: hosts for some instances of a shape, for a span of time."""

    shape: Shape
    #: The number of instances.
    count: int
    span: timeline.Span
    #: True: all instances are on one host. False: each instance is on a host of its own. None: the
    #: instances may be on any hosts.
    affinity: bool | None


@dataclasses.dataclass(frozen=True)
class Present:
    """A reservation that is to change, and the hosts that it is on."""

    reservation: Reservation
    #: Instances by host id.
    hosts: Mapping[str, int]
    #: Whether the reservation has begun. If so, its instances must stay on these hosts, even if the
    #: hosts no longer match the flavor.
    stays: bool = False


@dataclasses.dataclass(frozen=True)
class Place:
    """The hosts on which a booking fits."""

    flavor: Flavor
    #: The chosen hosts, as they were read.
    hosts: list[Host]
    #: Instances by host id.
    chosen: dict[str, int]
    #: True if any host gets more or fewer instances of the reservation than it has now.
    elsewhere: bool


def check_flavor(
    db: Session, flavor: Flavor, project_id: str, span: timeline.Span, conditions: BookingConditions
) -> None:
    """Check whether the project may book the flavor for this time. Slots and hosts aren't checked.

    :raises FlavorNotBookable, InMaintenance:
    """
    accessible = flavors.is_accessible(db, flavor, project_id)
    booking_rules.check_bookable(flavor, accessible, span, project_id in conditions.any_length)
    if not conditions.in_windows and maintenance_windows.closing(db, flavor.id, span):
        raise exceptions.InMaintenance


@garbage_collection.uncollected()
def find_place(
    db: Session,
    flavor: Flavor,
    need: Need,
    conditions: BookingConditions,
    present: Present | None = None,
) -> Place:
    """Find slots and hosts for a booking.

    :param present: the reservation that is to change; None for a new booking.
    :raises NoHostMatches, SlotsExhausted, HostsExhausted:
    """
    cleaning, count = conditions.cleaning, need.count
    window = need.span.padded(cleaning)
    # A changed reservation also needs room at its present time, because Blazar writes the new dates
    # later or never.
    held_window = present.reservation.span.padded(cleaning) if present else None
    snapshot = hosts.snapshot(
        db,
        flavor.id,
        need.shape,
        window.hull(held_window or window),
        cleaning,
        conditions.device_rules,
        also=present.hosts if present and present.stays else (),
    )
    candidates = snapshot.hosts
    if not any(host.when_empty(need.shape.request) for host in candidates):
        raise exceptions.NoHostMatches(count, len(candidates))
    own = present.reservation if present else None
    _check_slots(flavor, snapshot, own, count, window)
    if own and held_window and count > own.instance_count:
        _check_slots(flavor, snapshot, own, count, held_window)
    if own:
        candidates = [host.without(own.reservation_id) for host in candidates]
    preferred = present.hosts if present else {}
    wanted = placing.Wanted(
        need.shape.request,
        count,
        window,
        held_window,
        preferred,
        placing.Packing(conditions.spread, need.affinity),
    )
    complete = functools.partial(
        hosts.complete,
        db,
        cleaning=cleaning,
        device_rules=conditions.device_rules,
        without=own.reservation_id if own else None,
    )
    with search_limits.logged(f"{count} of flavor {flavor.name}"):
        chosen, room = placing.choose(candidates, wanted, complete)
    if room < count:
        raise exceptions.HostsExhausted(count, room, len(candidates), need.affinity)
    chosen_hosts = [host for host in candidates if host.id in chosen]
    return Place(flavor, chosen_hosts, chosen, elsewhere=chosen != preferred)


def _check_slots(
    flavor: Flavor,
    snapshot: hosts.Snapshot,
    own: Reservation | None,
    count: int,
    window: timeline.Span,
) -> None:
    """Check whether the flavor has enough free slots for a booking.

    :param own: the reservation that is to change. Its own slots don't count as taken. None for a
        new booking.
    :param window: the time during which the slots must be free.
    :raises SlotsExhausted:
    """
    others = [
        claim
        for reservation_id, claims in snapshot.claims.items()
        if own is None or reservation_id != own.reservation_id
        for claim in claims
    ]
    booking_rules.check_slots(flavor, timeline.peak(others, window), count)
