"""The conditions of bookings by the site and the caller, and checks whether a request makes sense.

What can be booked when, ``constraints`` says.
"""

import dataclasses
import datetime
from collections.abc import Callable, Iterable

from warre_blazar import texts
from warre_blazar.domain import timeline
from warre_blazar.domain.booking import reservation_states
from warre_blazar.domain.booking.quota import Rule
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.flavors.devices import NO_DEVICES, Rules
from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE, Flavor
from warre_blazar.domain.running.snapshots import NOTHING
from warre_blazar.errors import exceptions


def in_state(reservation: Reservation) -> exceptions.InvalidState:
    """What is said if a reservation's state doesn't allow a request."""
    if reservation.state == reservation_states.COMPLETE:
        said = texts.refusals.RESERVATION_OVER(reservation=reservation.id, at=reservation.span.end)
    else:
        said = texts.refusals.IN_STATE(reservation=reservation.id, status=reservation.state)
    return exceptions.InvalidState(said)


@dataclasses.dataclass(frozen=True)
class BookingConditions:
    """What the configuration and the caller's roles decide about a booking.

    The conditions don't depend on the flavor, time or number of instances that the request asks
    for.
    """

    #: Blazar's ``cleaning_time``: how long slots and hosts stay empty after a reservation.
    cleaning: datetime.timedelta
    #: Which reservations count against quotas, and whether quotas are enforced.
    quotas: Rule
    #: Projects that may book any flavor for longer than its max_length_hours.
    any_length: frozenset[str] = frozenset()
    #: Whether the caller's own roles allow booking inside a maintenance window.
    in_windows: bool = False
    #: Whether instances go to the emptiest hosts first (true) or to the fullest (false).
    spread: bool = False
    #: How many reservations that haven't begun may be placed again to make room for a booking.
    moves: int = 0
    #: How devices in reservations of stock resource types are counted.
    device_rules: Rules = NO_DEVICES
    #: What is done with servers before the end, if neither the reservation nor its flavor says.
    before_end: str = NOTHING
    #: The user who asks. None: this package asks by itself.
    user_id: str | None = None
    #: How many refused requests of the project are kept of one day.
    refusals_kept: int = 1000


def check_types(types: Iterable[str], beside: Iterable[str] = ()) -> None:
    """Check the resource types of a new lease's reservations.

    Blazar starts and ends a lease as a whole, and stock resource types can't be started or ended
    twice. So a lease has flavor:slot reservations only, or none.

    :param beside: further types that this package starts and ends in this lease.
    :raises MixedLease:
    """
    distinct = set(types)
    others = distinct - {RESOURCE_TYPE, *beside}
    if RESOURCE_TYPE in distinct and others:
        raise exceptions.MixedLease(sorted(others))


def refusals(*checks: Callable[[], object]) -> list[exceptions.WarreError]:
    """The errors that checks raise, in the order of the checks."""
    found = []
    for check in checks:
        try:
            check()
        except exceptions.WarreError as error:
            found.append(error)
    return found


def check_period(span: timeline.Span) -> None:
    """Refuse a span that is empty or ends before it starts.

    :raises InvalidPeriod: the end is not later than the start.
    """
    if span.end <= span.start:
        raise exceptions.InvalidPeriod(texts.refusals.PERIOD(start=span.start, end=span.end))


def check_before_end(flavor: Flavor, chosen: str | None) -> None:
    """Refuse a choice of what is done with servers before the end if the flavor allows none.

    :param chosen: what was chosen. None: what the flavor says.
    :raises FlavorNotBookable: the flavor allows no choice. The error's code is
        ``no_before_end_choice``.
    """
    if chosen is not None and not flavor.before_end_choice:
        raise exceptions.FlavorNotBookable(
            texts.refusals.NO_BEFORE_END_CHOICE(), field="before_end"
        )
