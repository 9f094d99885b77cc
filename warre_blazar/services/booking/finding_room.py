"""Finds slots and hosts for a booking."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from warre_blazar.db.booking import booking_terms
from warre_blazar.db.hosts import allocations, kept_hosts
from warre_blazar.domain import timeline
from warre_blazar.domain.booking import constraints
from warre_blazar.domain.booking.booking_rules import BookingConditions
from warre_blazar.domain.booking.offered import KeptOffers
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.flavors.flavor import Flavor, Shape
from warre_blazar.domain.hosts import placing
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.host_devices import Kept, places_of
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
    #: All hosts that match the flavor.
    matching: Sequence[BookableHost]
    #: The reservations that get other hosts to make room for the booking.
    placed_again: tuple[PlacedAgain, ...] = ()
    #: The places of the instances on the providers of their hosts. None: they are settled once
    #: other reservations have been moved.
    choice: placing.Choice | None = None

    @property
    def places(self) -> placing.PlacesByHost:
        """The places of the instances on the providers of their hosts."""
        return self.choice.places if self.choice else placing.NO_NEW_PLACES

    def settle_moved(self, db: Session, conditions: BookingConditions) -> None:
        """Write the places of instances, if reservations were moved to make room.

        Call this when all instances have their hosts.
        """
        if self.placed_again:
            allocations.settle(db, self.hosts, conditions.cleaning, conditions.device_rules)

    def keep(
        self, db: Session, reservation_id: str, span: timeline.Span, conditions: BookingConditions
    ) -> None:
        """Keep the hosts of a new reservation with what it holds there (``kept_hosts.add``).

        If reservations were moved to make room, nothing is kept, and the hosts are read again.
        """
        if self.placed_again:
            return
        request = self.flavor.shape.request
        instances = {
            host.id: [host.stored_places(request, each) for each in self.places[host.id]]
            if host.id in self.places
            else [None] * self.chosen[host.id]
            for host in self.hosts
        }
        new = kept_hosts.NewReservation(reservation_id, self.flavor.id, request, span, instances)
        kept_hosts.add(db, new, self.hosts, conditions.cleaning, conditions.device_rules)


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
        *,
        offers: KeptOffers | None = None,
    ) -> None:
        """
        :param present: the reservation that is to change; None for a new booking.
        :param offers: what is kept for others who have waited.
        """
        self._offers = offers if offers and offers.concern(need.span) else None
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
        booked = allocations.matching_hosts(
            db,
            flavor.id,
            lambda host: host.id in staying or host.matches(need.shape, need.project_id),
            cleaning,
            conditions.device_rules,
            self._own.reservation_id if self._own else None,
        )
        #: The flavor's slots. Those of the reservation that is to change don't count as taken.
        self._slots = constraints.slots(flavor, booked.taken, cleaning)
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
            need, number = self._need, len(self._matching)
            refusals.append(supply.no_host_matches(self._db, shape, need.project_id, count, number))
        refusals += self._over_slots()
        if not refusals and self._offers and self.most() < count <= self._most:
            return None, [self._offers.error()]
        choice = self._choose(count)
        chosen, room = choice.chosen, choice.count
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
        elsewhere = chosen != preferred
        of_flavor, matching = self._flavor, self._matching
        return Place(of_flavor, chosen_hosts, chosen, elsewhere, matching, choice=choice), []

    def _after_placing_again(self) -> Place | None:
        """Find hosts for the booking by placing other reservations again."""
        present, wanted = self._present, self._wanted(self._need.count)
        among = None if present and present.stays else self._ids
        own = self._own.reservation_id if self._own else None
        made = making_room.find(self._db, wanted, self._conditions, among, own=own)
        if made is None:
            return None
        elsewhere = made.chosen != (present.hosts if present else {})
        of_flavor, matching = self._flavor, self._matching
        return Place(of_flavor, made.hosts, made.chosen, elsewhere, matching, made.placed_again)

    @searches.uncollected()
    def most(self) -> int:
        """The largest number of instances for which there are slots and hosts at this time.

        What is kept for others who have waited isn't counted. Of a reservation that has begun, only
        the instances on their present hosts count.
        """
        most = self._most
        if self._offers is None:
            return most
        # What is offered may be on any hosts, wherever this booking has to be.
        free = self._slots.most(self._need.span, self._flavor.slots)
        packing = placing.Packing(self._conditions.spread)
        anywhere = placing.Wanted(self._need.shape.request, free, self._window, packing=packing)
        return max(min(most, self._fitting(anywhere) - self._offers.most), 0)

    @functools.cached_property
    def _most(self) -> int:
        """The same as ``most``, with what is kept for others."""
        free = self._slots.most(self._need.span, self._flavor.slots)
        if free <= 0:
            return 0
        if self._present is None or not self._present.stays:
            return self._fitting(self._wanted(free))
        held = self._present.hosts
        chosen = self._choose(min(free, sum(held.values()))).chosen
        return sum(min(chosen.get(host_id, 0), n) for host_id, n in held.items())

    def _fitting(self, wanted: placing.Wanted) -> int:
        """The largest number of instances, at most ``wanted.count``, that fit on the hosts."""
        most = placing.Choice(self._candidates(), wanted).count if wanted.count > 0 else 0
        if most >= wanted.count or not self._conditions.moves:
            return most
        own = self._own.reservation_id if self._own else None
        return making_room.most(self._db, wanted, self._ids, self._conditions, own=own, most=most)

    @property
    def _ids(self) -> frozenset[str]:
        return frozenset(host.id for host in self._matching)

    @staticmethod
    def _fits_empty(refusals: Sequence[exceptions.WarreError]) -> bool:
        return not any(isinstance(error, exceptions.NoHostMatches) for error in refusals)

    def _candidates(self) -> list[BookableHost]:
        if self._own is None:
            return self._matching
        own = self._own.reservation_id
        held = self._present.hosts if self._present else ()
        return [host.without(own) if host.id in held else host for host in self._matching]

    def _choose(self, count: int) -> placing.Choice:
        return placing.Choice(self._candidates(), self._wanted(count))

    def _wanted(self, count: int) -> placing.Wanted:
        return placing.Wanted(
            self._need.shape.request,
            count,
            self._window,
            self._held_window,
            self._present.hosts if self._present else {},
            placing.Packing(self._conditions.spread, self._need.affinity),
            self._kept,
        )

    @functools.cached_property
    def _kept(self) -> Mapping[str, Kept]:
        """The places that the reservation that is to change has now."""
        if self._present is None or self._own is None:
            return {}
        own, request = self._own.reservation_id, self._need.shape.request
        return {
            host.id: Kept(places_of(host.holdings, own), must_stay=self._present.stays)
            for host in self._matching
            if host.id in self._present.hosts and host.is_contested(request)
        }

    def _over_slots(self) -> list[exceptions.WarreError]:
        """Why the flavor has too few free slots for the booking. Empty: it has enough."""
        count, spans = self._need.count, [self._need.span]
        if self._own and self._held_window and count > self._own.instance_count:
            spans.append(self._own.span)
        return [refusal for span in spans if (refusal := self._slots.refusal(span, count))][:1]
