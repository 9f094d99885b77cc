"""Checks a booking against its flavor's terms.

Warre's clients show the error texts to users, so the texts are the same as in Warre.
"""

import datetime
import functools
from collections.abc import Callable, Iterable

from warre_blazar.domain import timeline
from warre_blazar.domain.flavor import RESOURCE_TYPE, Flavor
from warre_blazar.errors import exceptions


def check_types(types: Iterable[str]) -> None:
    """Check the resource types of a new lease's reservations.

    Blazar starts and ends a lease as a whole, and stock resource types can't be started or ended
    twice. So a lease has flavor:slot reservations only, or none.

    :raises MixedLease:
    """
    distinct = set(types)
    if RESOURCE_TYPE in distinct and len(distinct) > 1:
        raise exceptions.MixedLease(sorted(distinct - {RESOURCE_TYPE}))


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
        raise exceptions.InvalidPeriod(
            f"Reservation start time of {_utc(span.start)} after reservation end time of "
            f"{_utc(span.end)}"
        )


def check_future(span: timeline.Span, now: datetime.datetime) -> None:
    """Refuse a span that starts in the past.

    :raises InvalidPeriod: the start is before the current minute.
    """
    if span.start < now.replace(second=0, microsecond=0):
        raise exceptions.InvalidPeriod(
            f"Reservation start time of {_utc(span.start)} is in the past"
        )


def _utc(moment: datetime.datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def terms(
    flavor: Flavor, accessible: bool, span: timeline.Span, any_length: bool = False
) -> list[exceptions.WarreError]:
    """All terms of a flavor that don't allow a booking.

    The number of slots isn't checked here; see ``check_slots``.

    :param accessible: whether the flavor is public, or the project has access to it.
    :param any_length: whether the project is exempt from the flavor's max_length_hours.
    :returns: FlavorNotBookable for each of these: the flavor is inactive or not accessible, the
        span is too long, or it is outside the flavor's own start and end.
    """
    return refusals(
        functools.partial(_check_active, flavor),
        functools.partial(_check_accessible, accessible),
        functools.partial(check_length, flavor, span, any_length),
        functools.partial(check_flavor_period, flavor, span),
    )


def _check_active(flavor: Flavor) -> None:
    if not flavor.active:
        raise exceptions.FlavorNotBookable("flavor_inactive", "Flavor is not available")


def _check_accessible(accessible: bool) -> None:
    if not accessible:
        raise exceptions.FlavorNotBookable("flavor_not_accessible", "Flavor is not accessible")


def check_length(flavor: Flavor, span: timeline.Span, any_length: bool = False) -> None:
    """Refuse a span that is longer than the flavor's max_length_hours.

    :param any_length: whether the project is exempt from this rule.
    :raises FlavorNotBookable: the span is too long. The error's code is ``too_long``.
    """
    if not any_length and span.hours() > flavor.max_length_hours:
        raise exceptions.FlavorNotBookable(
            "too_long",
            f"Reservation is too long, max allowed is {flavor.max_length_hours} hours",
            max_length_hours=flavor.max_length_hours,
        )


def check_flavor_period(flavor: Flavor, span: timeline.Span) -> None:
    """Refuse a span that isn't within the flavor's own start and end.

    :raises FlavorNotBookable: the span begins too early or ends too late. The error's code is
        ``before_flavor_start`` or ``after_flavor_end``.
    """
    if flavor.start is not None and span.start < flavor.start:
        raise exceptions.FlavorNotBookable(
            "before_flavor_start",
            f"Reservation start time before flavor start time of {_utc(flavor.start)}",
            start=f"{flavor.start.isoformat()}+00:00",
        )
    if flavor.end is not None and span.end > flavor.end:
        raise exceptions.FlavorNotBookable(
            "after_flavor_end",
            f"Reservation end time after flavor end time of {_utc(flavor.end)}",
            end=f"{flavor.end.isoformat()}+00:00",
        )


def check_before_end(flavor: Flavor, chosen: str | None) -> None:
    """Refuse a choice of what is done with servers before the end if the flavor allows none.

    :param chosen: what was chosen. None: what the flavor says.
    :raises FlavorNotBookable: the flavor allows no choice. The error's code is
        ``no_before_end_choice``.
    """
    if chosen is not None and not flavor.before_end_choice:
        raise exceptions.FlavorNotBookable(
            "no_before_end_choice",
            "before_end: Flavor doesn't let users choose what is done with servers before the end; "
            "leave the field out",
            field="before_end",
        )


def check_slots(flavor: Flavor, taken: int, count: int) -> None:
    """Refuse a booking if the flavor doesn't have enough slots left.

    :param taken: the number of slots that are already booked.
    :param count: the number of instances to book.
    :raises SlotsExhausted: ``taken`` and ``count`` together exceed the flavor's slots.
    """
    if taken + count > flavor.slots:
        raise exceptions.SlotsExhausted(count, max(flavor.slots - taken, 0), flavor.slots)
