"""Finds slots and hosts for a booking."""

import dataclasses
import functools
import itertools
from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from warre_blazar.db.booking import booking_terms
from warre_blazar.db.hosts import allocations
from warre_blazar.domain import timeline
from warre_blazar.domain.booking import constraints
from warre_blazar.domain.booking.booking_rules import BookingConditions
from warre_blazar.domain.booking.constraints import Limit
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.flavors.flavor import Flavor, Shape
from warre_blazar.domain.hosts import placing
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.errors import exceptions
from warre_blazar.services import searches
from warre_blazar.services.moves import making_room
from warre_blazar.services.moves.making_room import PlacedAgain
from warre_blazar.services.slots import supply


@dataclasses.dataclass(frozen=True)
class Need:
    """What a booking needs: hosts for some instances of a shape, for a span of time."""

    project_id: str
    shape: Shape
    #: The number of instances.
    count: int
    span: timeline.Span
    #: True: all instances are on one host. False: each instance is on a host of its own. None: the
    #: instances may be on any hosts.
    affinity: bool | None


@dataclasses.dataclass(frozen=True)
class PresentPlace:
    """A reservation that is to change, and the hosts that it is on."""

    reservation: Reservation
    #: Instances by host id.
    hosts: Mapping[str, int]
    #: Whether the reservation has begun. If so, its instances must stay on these hosts, even if the
    #: hosts no longer match the flavor.
    stays: bool = False
    #: Whether the change is written at once, so that the present time needs no room any more.
    at_once: bool = False


@dataclasses.dataclass(frozen=True)
class Place:
    """The hosts on which a booking fits."""

    flavor: Flavor
    #: The chosen hosts, as they were read.
    hosts: list[BookableHost]
    #: Instances by host id.
    chosen: dict[str, int]
    #: True if any host gets more or fewer instances of the reservation than it has now.
    elsewhere: bool
    #: The reservations that get other hosts to make room for the booking.
    placed_again: tuple[PlacedAgain, ...] = ()


def booked_by(
    db: Session, flavor: Flavor, project_id: str, span: timeline.Span, without: str | None = None
) -> list[timeline.Claim]:
    """The other reservations of a project that decide about a booking of a flavor.

    If none do, nothing is read.

    :param without: the id of a reservation that isn't among them.
    """
    if not flavor.has_project_terms:
        return []
    near = constraints.with_gap(span, flavor.gap)
    booked = booking_terms.of_project(db, project_id, [flavor.id], near)[flavor.id]
    return [claim for key, claims in booked.items() if key != without for claim in claims]


class Room:
    """The hosts of a flavor and the claims on its slots, as they were read for a booking."""

    def __init__(
        self,
        db: Session,
        flavor: Flavor,
        need: Need,
        conditions: BookingConditions,
        present: PresentPlace | None = None,
    ) -> None:
        """
        :param present: the reservation that is to change; None for a new booking.
        """
        self._db, self._flavor, self._need, self._conditions = db, flavor, need, conditions
        self._present = present
        self._own = present.reservation if present else None
        cleaning = conditions.cleaning
        self._window = need.span.padded(cleaning)
        # A changed reservation also needs room at its present time, because Blazar writes the new
        # dates later or never.
        is_held = self._own is not None and not (present and present.at_once)
        self._held_window = self._own.span.padded(cleaning) if self._own and is_held else None
        staying = present.hosts if present and present.stays else ()
        booked = allocations.booked_hosts(
            db,
            flavor.id,
            lambda host: host.id in staying or host.matches(need.shape, need.project_id),
            placing.around(self._window).hull(self._held_window or self._window),
            cleaning,
            conditions.device_rules,
        )
        self._claims = booked.claims
        self._matching = booked.hosts
        #: The ids of the reservable hosts about whose providers nothing is stored.
        self.unread = booked.unread

    @searches.uncollected()
    def find(self) -> tuple[Place | None, list[exceptions.WarreError]]:
        """Find slots and hosts for the booking.

        :returns: the place, or None and the reasons why there is none: NoHostMatches,
            SlotsExhausted and HostsExhausted, in this order.
        """
        count, shape = self._need.count, self._need.shape
        refusals: list[exceptions.WarreError] = []
        if not any(host.when_empty(shape.request) for host in self._matching):
            need, matching = self._need, len(self._matching)
            refusals.append(
                supply.no_host_matches(self._db, shape, need.project_id, count, matching)
            )
        refusals += self._over_slots()
        chosen, room = self._choose(count)
        # Instances of a reservation that has begun can't go to other hosts, even if they have room.
        leaves = bool(self._present and self._present.stays and chosen != self._present.hosts)
        if (room < count or leaves) and not refusals and (place := self._after_placing_again()):
            return place, []
        if room < count and self._fits_empty(refusals):
            refusals.append(
                exceptions.HostsExhausted(count, room, len(self._matching), self._need.affinity)
            )
        if refusals:
            return None, refusals
        preferred = self._present.hosts if self._present else {}
        chosen_hosts = [host for host in self._candidates() if host.id in chosen]
        return Place(self._flavor, chosen_hosts, chosen, elsewhere=chosen != preferred), []

    def _after_placing_again(self) -> Place | None:
        """Find hosts for the booking by placing other reservations again."""
        present, wanted = self._present, self._wanted(self._need.count)
        among = None if present and present.stays else self._ids
        own = self._own.reservation_id if self._own else None
        made = making_room.find(self._db, wanted, self._conditions, among, own=own)
        if made is None:
            return None
        elsewhere = made.chosen != (present.hosts if present else {})
        return Place(self._flavor, made.hosts, made.chosen, elsewhere, made.placed_again)

    @searches.uncollected()
    def most(self) -> int:
        """The largest number of instances for which there are slots and hosts at this time.

        Of a reservation that has begun, only the instances on their present hosts count.
        """
        free = self._slots.most(self._need.span, self._flavor.slots)
        if free <= 0:
            return 0
        if self._present is None or not self._present.stays:
            most = self._choose(free)[1]
            if most >= free or not self._conditions.moves:
                return most
            own = self._own.reservation_id if self._own else None
            wanted, among = self._wanted(free), self._ids
            return making_room.most(self._db, wanted, among, self._conditions, own=own, most=most)
        held = self._present.hosts
        chosen, _ = self._choose(min(free, sum(held.values())))
        return sum(min(chosen.get(host_id, 0), n) for host_id, n in held.items())

    @property
    def _ids(self) -> frozenset[str]:
        return frozenset(host.id for host in self._matching)

    @staticmethod
    def _fits_empty(refusals: Sequence[exceptions.WarreError]) -> bool:
        return not any(isinstance(error, exceptions.NoHostMatches) for error in refusals)

    def _candidates(self) -> list[BookableHost]:
        if self._own is None:
            return self._matching
        return [host.without(self._own.reservation_id) for host in self._matching]

    def _choose(self, count: int) -> tuple[dict[str, int], int]:
        """Choose hosts for instances, as ``placing.choose`` does."""
        conditions, wanted = self._conditions, self._wanted(count)
        complete = functools.partial(
            allocations.complete,
            self._db,
            cleaning=conditions.cleaning,
            device_rules=conditions.device_rules,
            without=self._own.reservation_id if self._own else None,
        )
        with searches.logged(f"{count} of flavor {self._flavor.name}"):
            return placing.choose(self._candidates(), wanted, complete)

    def _wanted(self, count: int) -> placing.Wanted:
        return placing.Wanted(
            self._need.shape.request,
            count,
            self._window,
            self._held_window,
            self._present.hosts if self._present else {},
            placing.Packing(self._conditions.spread, self._need.affinity),
        )

    def _over_slots(self) -> list[exceptions.WarreError]:
        """Why the flavor has too few free slots for the booking. Empty: it has enough."""
        count, spans = self._need.count, [self._need.span]
        if self._own and self._held_window and count > self._own.instance_count:
            spans.append(self._own.span)
        return [refusal for span in spans if (refusal := self._slots.refusal(span, count))][:1]

    @functools.cached_property
    def _slots(self) -> Limit:
        """The flavor's slots. Those of the reservation that is to change don't count as taken."""
        own_id = self._own.reservation_id if self._own else None
        others = (held for owner, held in self._claims.items() if owner != own_id)
        claims = itertools.chain.from_iterable(others)
        return constraints.slots(self._flavor, claims, self._conditions.cleaning)
