"""Calculates for metrics how many slots of a flavor are booked, free and closed at a moment."""

import dataclasses
import datetime
from collections.abc import Callable, Iterable, Sequence

from warre_blazar import times
from warre_blazar.domain import timeline
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.timeline import Claim, Span


@dataclasses.dataclass(frozen=True)
class SlotUse:
    """How the slots of a flavor are used at a moment.

    The three numbers may add up to less than the flavor's slots. The other slots are in the
    cleaning time after a reservation, or no host has room for them.
    """

    #: Slots that reservations claim.
    booked: int
    #: Slots that could be booked at the moment, for a minute.
    free: int
    #: Other slots, if the flavor is inactive, outside of its validity, or in a maintenance window.
    closed: int


def minute(moment: datetime.datetime) -> Span:
    """The minute in which a moment is."""
    start = moment.replace(second=0, microsecond=0)
    return Span(start, start + times.MINUTE)


def use(
    flavor: Flavor,
    claims: Sequence[Claim],
    windows: Iterable[Span],
    room: Callable[[int], int],
    at: Span,
    cleaning: datetime.timedelta,
) -> SlotUse:
    """How the slots of a flavor are used during a minute.

    :param claims: the claims on the flavor's slots, without the cleaning time.
    :param windows: the times of the maintenance windows that close the flavor.
    :param room: how many more instances the hosts hold during the minute and the cleaning time
        after it. The argument is a number above which it doesn't matter how many.
    :param at: the minute.
    """
    booked = timeline.peak(claims, at)
    most = booked
    if cleaning:
        cleaned = [Claim(claim.span.padded(cleaning), claim.amount) for claim in claims]
        most = timeline.peak(cleaned, at.padded(cleaning))
    left = max(flavor.slots - most, 0)
    if _is_closed(flavor, windows, at):
        return SlotUse(booked, free=0, closed=left)
    return SlotUse(booked, free=room(left) if left else 0, closed=0)


def _is_closed(flavor: Flavor, windows: Iterable[Span], at: Span) -> bool:
    too_early = flavor.start is not None and at.start < flavor.start
    too_late = flavor.end is not None and at.end > flavor.end
    return (
        not flavor.active or too_early or too_late or any(window.overlaps(at) for window in windows)
    )
