"""Checks a booking against its flavor's terms, under the conditions of the site and of the caller.

Warre's clients show the error texts to users, so the texts are the same as in Warre.
"""

import dataclasses
import datetime
import functools
from collections.abc import Callable, Iterable, Sequence

from warre_blazar import texts, times
from warre_blazar.domain import timeline
from warre_blazar.domain.booking.quota import Rule
from warre_blazar.domain.flavors.devices import NO_DEVICES, Rules
from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE, Flavor
from warre_blazar.domain.running.snapshots import NOTHING
from warre_blazar.errors import exceptions


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
        raise exceptions.InvalidPeriod(texts.refusals.PERIOD(start=span.start, end=span.end))


def check_future(span: timeline.Span, now: datetime.datetime) -> None:
    """Refuse a span that starts in the past.

    :raises InvalidPeriod: the start is before the current minute.
    """
    if span.start < _minute(now):
        raise exceptions.InvalidPeriod(texts.refusals.PAST(start=span.start))


def _utc(moment: datetime.datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def terms(
    flavor: Flavor,
    accessible: bool,
    span: timeline.Span,
    now: datetime.datetime,
    any_length: bool = False,
) -> list[exceptions.WarreError]:
    """All terms of a flavor that don't allow a booking.

    The number of slots isn't checked here; see ``check_slots``.

    :param accessible: whether the flavor is public, or the project has access to it.
    :param any_length: whether the project is exempt from the flavor's max_length_hours.
    :returns: FlavorNotBookable for each of these: the flavor is inactive or not accessible, the
        span is too long, it is outside the flavor's own start and end, or it ends too far ahead.
    """
    return refusals(
        functools.partial(_check_active, flavor),
        functools.partial(_check_accessible, accessible),
        functools.partial(check_length, flavor, span, any_length),
        functools.partial(check_flavor_period, flavor, span),
        functools.partial(check_ahead, flavor, span, now),
    )


def _check_active(flavor: Flavor) -> None:
    if not flavor.active:
        raise exceptions.FlavorNotBookable(texts.refusals.FLAVOR_INACTIVE())


def _check_accessible(accessible: bool) -> None:
    if not accessible:
        raise exceptions.FlavorNotBookable(texts.refusals.FLAVOR_NOT_ACCESSIBLE())


def check_length(flavor: Flavor, span: timeline.Span, any_length: bool = False) -> None:
    """Refuse a span that is longer than the flavor's max_length_hours.

    :param any_length: whether the project is exempt from this rule.
    :raises FlavorNotBookable: the span is too long. The error's code is ``too_long``.
    """
    if not any_length and span.hours() > flavor.max_length_hours:
        raise exceptions.FlavorNotBookable(
            texts.refusals.TOO_LONG(max_length_hours=flavor.max_length_hours)
        )


def check_flavor_period(flavor: Flavor, span: timeline.Span) -> None:
    """Refuse a span that isn't within the flavor's own start and end.

    :raises FlavorNotBookable: the span begins too early or ends too late. The error's code is
        ``before_flavor_start`` or ``after_flavor_end``.
    """
    if flavor.start is not None and span.start < flavor.start:
        raise exceptions.FlavorNotBookable(texts.refusals.BEFORE_FLAVOR_START(start=flavor.start))
    if flavor.end is not None and span.end > flavor.end:
        raise exceptions.FlavorNotBookable(texts.refusals.AFTER_FLAVOR_END(end=flavor.end))


def check_ahead(flavor: Flavor, span: timeline.Span, now: datetime.datetime) -> None:
    """Refuse a span that ends later than the flavor's max_days_ahead allows.

    :raises FlavorNotBookable: the error's code is ``too_far_ahead``.
    """
    if flavor.max_days_ahead is None:
        return
    latest = _minute(now) + flavor.max_days_ahead * times.DAY
    if span.end > latest:
        raise exceptions.FlavorNotBookable(
            texts.refusals.TOO_FAR_AHEAD(max_days_ahead=flavor.max_days_ahead, latest_end=latest)
        )


def check_extension(
    flavor: Flavor, before: timeline.Span, after: timeline.Span, now: datetime.datetime
) -> None:
    """Refuse an extension that comes earlier than the flavor's extend_within_hours allows.

    A change is an extension if it makes a reservation end later and last longer.

    :raises FlavorNotBookable: the error's code is ``too_early_to_extend``.
    """
    longer = after.end - after.start > before.end - before.start
    earliest = extendable_from(flavor, before)
    if earliest is None or not longer or after.end <= before.end:
        return
    if now < earliest:
        raise exceptions.FlavorNotBookable(
            texts.refusals.TOO_EARLY_TO_EXTEND(
                extend_within_hours=flavor.extend_within_hours, extend_from=earliest
            )
        )


def extendable_from(flavor: Flavor, span: timeline.Span) -> datetime.datetime | None:
    """From when on a reservation with this span can be extended. None: at any time."""
    if flavor.extend_within_hours is None:
        return None
    return span.end - flavor.extend_within_hours * times.HOUR


def project_terms(
    flavor: Flavor, own: Sequence[timeline.Claim], span: timeline.Span, count: int
) -> list[exceptions.WarreError]:
    """The terms by which other reservations of the project don't allow a booking.

    :param own: the other reservations of the flavor that the project has or had.
    :returns: FlavorNotBookable with the codes ``too_many_instances`` and ``gap_too_short``.
    """
    return refusals(
        functools.partial(_check_instances, flavor, own, span, count),
        functools.partial(_check_gap, flavor, own, span),
    )


def _check_instances(
    flavor: Flavor, own: Sequence[timeline.Claim], span: timeline.Span, count: int
) -> None:
    most = flavor.max_instances_per_project
    if most is None:
        return
    held = timeline.peak(own, span)
    if held + count > most:
        entry = texts.refusals.TOO_MANY_INSTANCES
        if count <= most:
            entry = texts.refusals.TOO_MANY_INSTANCES_THEN
        raise exceptions.FlavorNotBookable(
            entry(max_instances_per_project=most, held=held, asked=count)
        )


def _check_gap(flavor: Flavor, own: Sequence[timeline.Claim], span: timeline.Span) -> None:
    if flavor.gap_hours is None:
        return
    near = [claim.span for claim in own if with_gap(claim.span, flavor.gap).overlaps(span)]
    if near:
        until = max(with_gap(other, flavor.gap).end for other in near)
        entry = texts.refusals.GAP_TOO_SHORT if flavor.gap_hours else texts.refusals.OVERLAP
        raise exceptions.FlavorNotBookable(entry(gap_hours=flavor.gap_hours, start_from=until))


def with_gap(span: timeline.Span, gap: datetime.timedelta) -> timeline.Span:
    """The time in which a project can have no other reservation, because of one with this span."""
    start = span.start - min(gap, span.start - datetime.datetime.min)
    return timeline.Span(start, span.end).padded(gap)


def project_times(
    flavor: Flavor, own: Sequence[timeline.Claim], count: int, window: timeline.Span
) -> list[timeline.Span]:
    """The spans within which ``project_terms`` refuses no booking, each as long as possible."""
    spans = [window]
    if flavor.max_instances_per_project is not None:
        spans = timeline.free_runs(own, flavor.max_instances_per_project, count, window)
    if flavor.gap_hours is not None:
        taken = [with_gap(claim.span, flavor.gap) for claim in own]
        spans = timeline.intersect(spans, timeline.outside(taken, window))
    return spans


def project_room(flavor: Flavor, own: Sequence[timeline.Claim], span: timeline.Span) -> int | None:
    """The most instances that ``project_terms`` allows for a span. None: any number."""
    gap = flavor.gap
    if flavor.gap_hours is not None and any(with_gap(c.span, gap).overlaps(span) for c in own):
        return 0
    if flavor.max_instances_per_project is None:
        return None
    return max(flavor.max_instances_per_project - timeline.peak(own, span), 0)


def _minute(now: datetime.datetime) -> datetime.datetime:
    return now.replace(second=0, microsecond=0)


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


def check_slots(flavor: Flavor, taken: int, count: int) -> None:
    """Refuse a booking if the flavor doesn't have enough slots left.

    :param taken: the number of slots that are already booked.
    :param count: the number of instances to book.
    :raises SlotsExhausted: ``taken`` and ``count`` together exceed the flavor's slots.
    """
    if taken + count > flavor.slots:
        raise exceptions.SlotsExhausted(count, max(flavor.slots - taken, 0), flavor.slots)
