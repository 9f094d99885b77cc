"""Whether a flavor's terms allow a booking. Texts are those that Warre's clients show."""

import datetime

from warre_blazar import exceptions
from warre_blazar.domain import timeline
from warre_blazar.domain.flavor import Flavor


def check_period(span: timeline.Span) -> None:
    """:raises InvalidPeriod: for one that ends before or when it starts."""
    if span.end <= span.start:
        raise exceptions.InvalidPeriod(
            f"Reservation start time of {span.start} after reservation end time of {span.end}"
        )


def check_future(span: timeline.Span, now: datetime.datetime) -> None:
    """:raises InvalidPeriod: for a start before the present minute."""
    if span.start < now.replace(second=0, microsecond=0):
        raise exceptions.InvalidPeriod(f"Reservation start time of {span.start} is in the past")


def check_bookable(
    flavor: Flavor, accessible: bool, span: timeline.Span, any_length: bool = False
) -> None:
    """Refuse what the flavor's terms don't allow.

    :param accessible: whether the flavor is public or the project was given access.
    :param any_length: whether max_length_hours doesn't hold for the project.
    :raises FlavorNotBookable: inactive, not accessible, too long, before its start, after its end.
    """
    if not flavor.active:
        raise exceptions.FlavorNotBookable("flavor_inactive", "Flavor is not available")
    if not accessible:
        raise exceptions.FlavorNotBookable("flavor_not_accessible", "Flavor is not accessible")
    if not any_length:
        check_length(flavor, span)
    check_flavor_period(flavor, span)


def check_length(flavor: Flavor, span: timeline.Span) -> None:
    """:raises FlavorNotBookable: for a span longer than the flavor's max_length_hours."""
    if span.hours() > flavor.max_length_hours:
        raise exceptions.FlavorNotBookable(
            "too_long",
            f"Reservation is too long, max allowed is {flavor.max_length_hours} hours",
            max_length_hours=flavor.max_length_hours,
        )


def check_flavor_period(flavor: Flavor, span: timeline.Span) -> None:
    """:raises FlavorNotBookable: for a span not within the flavor's own start and end."""
    if flavor.start is not None and span.start < flavor.start:
        raise exceptions.FlavorNotBookable(
            "before_flavor_start",
            f"Reservation start time before flavor start time of {flavor.start}",
            start=f"{flavor.start.isoformat()}+00:00",
        )
    if flavor.end is not None and span.end > flavor.end:
        raise exceptions.FlavorNotBookable(
            "after_flavor_end",
            f"Reservation end time after flavor end time of {flavor.end}",
            end=f"{flavor.end.isoformat()}+00:00",
        )


def check_slots(flavor: Flavor, taken: int, count: int) -> None:
    """:raises SlotsExhausted: when ``count`` more don't fit beside ``taken``."""
    if taken + count > flavor.slots:
        raise exceptions.SlotsExhausted(count, max(flavor.slots - taken, 0), flavor.slots)
