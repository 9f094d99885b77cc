"""Computes how long a booking can last from its start on, and what stops it."""

import dataclasses
import datetime
import enum
from collections.abc import Iterable

from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.slots.free_time import FreeTime
from warre_blazar.domain.timeline import Span


class Stop(enum.StrEnum):
    """What keeps a booking from lasting longer."""

    #: The flavor's terms.
    TERMS = "terms"
    #: A maintenance window.
    WINDOW = "window"
    #: All slots of the flavor are booked from then on.
    SLOTS = "slots"
    #: Another reservation has the hosts from then on.
    NEXT_RESERVATION = "next_reservation"
    #: The hosts can't be booked any more.
    HOSTS = "hosts"
    #: The project's limits.
    QUOTA = "quota"


@dataclasses.dataclass(frozen=True)
class LatestEnd:
    """How long a booking can last."""

    #: The latest end. It is the start if the booking isn't possible at all.
    end: datetime.datetime
    #: What stops a later end. None: nothing that is known.
    stop: Stop | None


def latest_end(
    flavor: Flavor,
    free: FreeTime,
    start: datetime.datetime,
    quota: datetime.timedelta | None,
    *,
    any_length: bool,
    with_windows: bool,
) -> LatestEnd:
    """How long a booking can last from a start on.

    :param free: when the flavor is free, from the start on.
    :param quota: the longest time that the project's quota allows. None: any time.
    :param any_length: whether the project is exempt from the flavor's max_length_hours.
    :param with_windows: whether maintenance windows count.
    """
    hosts = _until(free.of_hosts(), start)
    is_next = free.fits_empty_hosts()
    reaches = [
        LatestEnd(_until([free.bookable] if free.bookable else [], start), Stop.TERMS),
        LatestEnd(_until(free.of_project(), start), Stop.TERMS),
        LatestEnd(_until(free.of_slots(), start), Stop.SLOTS),
        LatestEnd(hosts, Stop.NEXT_RESERVATION if is_next else Stop.HOSTS),
    ]
    if not any_length:
        reaches.append(LatestEnd(_plus(start, flavor.max_length), Stop.TERMS))
    if with_windows:
        reaches.append(LatestEnd(_until(free.outside_windows, start), Stop.WINDOW))
    if quota is not None:
        reaches.append(LatestEnd(_plus(start, quota), Stop.QUOTA))
    first = min(reaches, key=lambda each: each.end)
    is_horizon = first.end == free.horizon and first.end != flavor.latest_end(free.minute)
    return LatestEnd(first.end, None) if is_horizon else first


def _until(spans: Iterable[Span], start: datetime.datetime) -> datetime.datetime:
    """The latest end of the spans that contain a moment, or else the moment."""
    return max((span.end for span in spans if span.start <= start < span.end), default=start)


def _plus(start: datetime.datetime, length: datetime.timedelta) -> datetime.datetime:
    return start + min(length, datetime.datetime.max - start)
