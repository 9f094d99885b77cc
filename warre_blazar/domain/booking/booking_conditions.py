"""Booking conditions: what the configuration and the caller's roles decide about a booking."""

import dataclasses
import datetime

from warre_blazar.domain.booking.quota import Rule
from warre_blazar.domain.flavors.devices import NO_DEVICES, Rules
from warre_blazar.domain.running.before_end import NOTHING


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
