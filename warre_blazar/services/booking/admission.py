"""Admission: checks whether a request can be booked, and books it."""

import dataclasses
import datetime

from sqlalchemy.orm import Session

from warre_blazar import exceptions
from warre_blazar.booking_conditions import BookingConditions
from warre_blazar.db import (
    backings,
    flavors,
    hosts,
    instance_reservations,
    reservations,
    session,
)
from warre_blazar.domain import backing_names, booking_rules, timeline
from warre_blazar.domain.flavor import Flavor
from warre_blazar.domain.labels import NO_LABELS, Labels
from warre_blazar.domain.quota import Amount
from warre_blazar.services import new_hosts
from warre_blazar.services.booking import finding_room, quotas
from warre_blazar.services.booking.quotas import Quota
from warre_blazar.services.booking.turns import NO_TURN, Turn


@dataclasses.dataclass(frozen=True)
class Request:
    """A request to book instances of a flavor."""

    project_id: str
    #: An id or a name.
    flavor: str
    count: int
    span: timeline.Span
    now: datetime.datetime
    conditions: BookingConditions
    #: True: all instances are on one host. False: each instance is on a host of its own. None: the
    #: instances may be on any hosts.
    affinity: bool | None = None
    labels: Labels = NO_LABELS

    @property
    def amount(self) -> Amount:
        """The amount of quota that the request needs."""
        return Amount(1, self.span.hours() * self.count)


def check(request: Request) -> list[str]:
    """Check whether the request could be booked at this moment, without booking it.

    :returns: the ids of the hosts that the reservation would be on.
    :raises FlavorNotFound, FlavorNotAccessible, FlavorAmbiguous, InvalidPeriod, FlavorNotBookable,
        InMaintenance, NoHostMatches, SlotsExhausted, HostsExhausted, QuotaExceeded,
        LimitsNotRegistered, ServiceUnavailable:
    """

    new_hosts.read()

    def decide(quota: Quota | None) -> list[str]:
        with session.reader() as db:
            place = _place(db, request)
            if quota:
                quota.check(db, request.amount)
            return list(place.chosen)

    return quotas.decided(request.conditions.quotas, request.project_id, decide)


def book(
    reservation_id: str,
    request: Request,
    turn: Turn = NO_TURN,
) -> str:
    """Book what a request asks for, under the id of a reservation that Blazar has just created.

    Nothing is made in Nova and Placement. The reservation's backing is only planned.

    :param turn: bookings and changes that share a turn wait for each other.
    :returns: the id of the reservation's row in Blazar's ``instance_reservations``.
    :raises FlavorNotFound, FlavorNotAccessible, FlavorAmbiguous, InvalidPeriod, FlavorNotBookable,
        InMaintenance, NoHostMatches, SlotsExhausted, HostsExhausted, QuotaExceeded,
        LimitsNotRegistered, ServiceUnavailable, TryAgain: nothing was claimed.
    """

    new_hosts.read()

    def decide(quota: Quota | None) -> str:
        return _claim(reservation_id, request, quota, turn)

    return quotas.decided(request.conditions.quotas, request.project_id, decide)


@session.retried
def _claim(
    reservation_id: str,
    request: Request,
    quota: Quota | None,
    turn: Turn = NO_TURN,
) -> str:
    """Check the request and write its claims in one transaction.

    The transaction is tried again if the generation of the flavor, of a host or of the project has
    changed since it was read.
    """
    with turn, session.writer() as db:
        place = _place(db, request)
        if quota:
            quota.claim(db, request.amount)
        flavors.update(db, place.flavor, {})
        hosts.claim(db, place.hosts)
        reservations.insert(
            db,
            {
                "id": reservation_id,
                "reservation_id": reservation_id,
                "flavor_id": place.flavor.id,
                "instance_count": request.count,
                "created_at": request.now,
                **dataclasses.asdict(request.labels),
            },
            place.flavor.shape,
        )
        resource_id = instance_reservations.insert(
            db,
            reservation_id,
            place.flavor,
            place.chosen,
            affinity=request.affinity,
            nova_flavor=backing_names.nova_flavor(reservation_id),
        )
        hosts.allocate(db, reservation_id, place.chosen)
        backings.insert(db, reservation_id, request.project_id, request.now)
    return resource_id


def _place(db: Session, request: Request) -> finding_room.Place:
    flavor = _flavor(db, request.flavor, request.project_id)
    booking_rules.check_period(request.span)
    booking_rules.check_future(request.span, request.now)
    finding_room.check_flavor(db, flavor, request.project_id, request.span, request.conditions)
    need = finding_room.Need(flavor.shape, request.count, request.span, request.affinity)
    return finding_room.find_place(db, flavor, need, request.conditions)


def _flavor(db: Session, ref: str, project_id: str) -> Flavor:
    """The flavor with this id or name that a project can book.

    :raises FlavorNotAccessible: flavors with this id or name exist, but all of them are private,
        and the project has access to none of them.
    :raises FlavorNotFound, FlavorAmbiguous:
    """
    accessible = flavors.find(db, ref, project_id=project_id, everything=False)
    # Only Warre's API path tells users that a flavor isn't accessible. For FlavorNotAccessible, all
    # other paths answer that there is no such flavor.
    if not accessible and flavors.find(db, ref):
        raise exceptions.FlavorNotAccessible(ref)
    if not accessible:
        raise exceptions.FlavorNotFound(ref)
    return flavors.only(ref, accessible)
