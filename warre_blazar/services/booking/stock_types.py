"""Chooses and claims hosts for reservations of Blazar's own resource types.

The choice looks at the same reading of the hosts as bookings of flavors do, and claims the hosts
by the same generations.
"""

import dataclasses
from collections.abc import Collection, Mapping

from sqlalchemy.orm import Session

from warre_blazar.db import generations
from warre_blazar.db.hosts import allocations
from warre_blazar.domain import timeline
from warre_blazar.domain.booking.booking_rules import BookingConditions
from warre_blazar.domain.flavors.request_groups import PlacementRequest
from warre_blazar.domain.hosts import holdings, placing
from warre_blazar.domain.hosts.bookable_host import BookableHost


@dataclasses.dataclass(frozen=True)
class HostNeed:
    """What a reservation needs: room for instances, or whole hosts, for a span of time."""

    #: What one instance asks for. None: each instance is a whole host.
    request: PlacementRequest | None
    count: int
    span: timeline.Span
    #: The ids of the hosts that match the reservation. None: all reservable hosts.
    among: Collection[str] | None = None
    affinity: bool | None = None
    #: The id of the reservation, if it already has hosts. What it holds is left out.
    own: str | None = None


def choose(
    db: Session, need: HostNeed, conditions: BookingConditions, *, claiming: bool
) -> dict[str, int]:
    """Choose hosts for a reservation, or for fewer of its instances if there isn't room for all.

    :param claiming: whether to claim the chosen hosts. The caller then writes the allocations in
        the same transaction.
    :returns: instances by host id.
    :raises session.LostRace: a host was claimed since it was read.
    """
    candidates = _candidates(db, need, conditions)
    window = need.span.padded(conditions.cleaning)
    held = allocations.allocated(db, need.own) if need.own else {}
    if need.request is None:
        chosen = dict.fromkeys(placing.choose_whole(candidates, window, need.count, held), 1)
    else:
        packing = placing.Packing(conditions.spread, need.affinity)
        wanted = placing.Wanted(need.request, need.count, window, preferred=held, packing=packing)
        chosen, _ = placing.choose(candidates, wanted)
    if claiming:
        generations.increase_hosts(db, [host for host in candidates if host.id in chosen])
    return chosen


def fitting(
    db: Session,
    need: HostNeed,
    conditions: BookingConditions,
    present: Mapping[str, int],
) -> dict[str, int]:
    """How many of a reservation's instances have room on their present hosts, by host id.

    The hosts are claimed.

    :param present: instances by host id.
    :raises session.LostRace: a host was claimed since it was read.
    """
    candidates = [host for host in _candidates(db, need, conditions) if host.id in present]
    window = need.span.padded(conditions.cleaning)
    if need.request is None:
        free = placing.choose_whole(candidates, window, len(candidates), present)
        rooms = dict.fromkeys(free, 1)
    else:
        wanted = placing.Wanted(need.request, need.count, window, preferred=present)
        rooms, _ = placing.choose(candidates, wanted)
    generations.increase_hosts(db, candidates)
    return {host_id: min(count, rooms.get(host_id, 0)) for host_id, count in present.items()}


def _candidates(db: Session, need: HostNeed, conditions: BookingConditions) -> list[BookableHost]:
    reservable = allocations.all_reservable(
        db,
        holdings.around(need.span.padded(conditions.cleaning)),
        conditions.cleaning,
        conditions.device_rules,
    )
    matching = [
        host
        for host in reservable
        if (need.among is None or host.id in need.among)
        and (need.request is None or host.has_traits(need.request))
    ]
    return [host.without(need.own) for host in matching] if need.own else matching
