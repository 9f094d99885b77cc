"""Constraints: each rule about when how much of a flavor can be booked, once.

The page ``decisions/verdict`` of the documentation says how all views of bookings follow from them.
"""

import abc
import dataclasses
import datetime
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from warre_blazar import times
from warre_blazar.domain import timeline
from warre_blazar.domain.booking import quota
from warre_blazar.domain.booking.quota import Amount
from warre_blazar.domain.booking.weekly_hours import WeeklyHours
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.taken import TakenOverTime
from warre_blazar.domain.timeline import Claim, Span
from warre_blazar.errors import exceptions
from warre_blazar.texts import Entry, refusals

FOREVER = Span(datetime.datetime.min, datetime.datetime.max)
#: The spans of rules that limit only the length.
ALL = (FOREVER,)


class Times(NamedTuple):
    """Spans within which any booking is allowed that isn't longer than ``longest``."""

    spans: Sequence[Span]
    longest: datetime.timedelta = datetime.timedelta.max

    def allow(self, span: Span) -> bool:
        """Whether a booking for a span is allowed."""
        return span.end - span.start <= self.longest and any(s.contains(span) for s in self.spans)

    def reach(self, start: datetime.datetime) -> datetime.datetime:
        """The latest end of a booking that begins at a moment. The moment itself: there is none."""
        ends = [span.end for span in self.spans if span.start <= start < span.end]
        latest = max(ends, default=start)
        return start + min(latest - start, self.longest)


#: The times of rules that allow everything or nothing.
ALWAYS, NEVER = (Times(ALL),), ()


@dataclasses.dataclass(frozen=True)
class Search:
    """A search for times at which something can be booked."""

    #: The number of instances.
    count: int
    #: The shortest length of a booking.
    least: datetime.timedelta
    window: Span


class Constraint(abc.ABC):
    """A rule about when how much of a flavor can be booked."""

    @abc.abstractmethod
    def times(self, search: Search) -> Sequence[Times]:
        """The times that are allowed. Those outside the search's window are of no matter."""

    @abc.abstractmethod
    def most(self, span: Span, limit: int) -> int:
        """The most instances, up to a limit, that are allowed for a span."""

    @abc.abstractmethod
    def error(self, span: Span, count: int) -> exceptions.WarreError:
        """What is said if so many instances aren't allowed for a span.

        :param span: if nothing is allowed in a time that was searched, this time.
        """

    def refusal(self, span: Span, count: int) -> exceptions.WarreError | None:
        """Why a booking isn't allowed, or None."""
        return None if self.most(span, count) >= count else self.error(span, count)


@dataclasses.dataclass(frozen=True)
class TimeRule(Constraint):
    """A rule about time alone, whatever the number of instances."""

    allowed: Sequence[Times]
    #: Returns what is said about a span that isn't allowed.
    said: Callable[[Span], exceptions.WarreError]

    def times(self, search: Search) -> Sequence[Times]:
        return self.allowed

    def most(self, span: Span, limit: int) -> int:
        return limit if any(each.allow(span) for each in self.allowed) else 0

    def error(self, span: Span, count: int) -> exceptions.WarreError:
        return self.said(span)


def _term(allowed: Sequence[Times], entry: Entry, **data: Any) -> TimeRule:
    """A term of a flavor. Its sentence is made only if it refuses something."""
    return TimeRule(allowed, lambda _: exceptions.FlavorNotBookable(entry(**data)))


def _from(start: datetime.datetime) -> Sequence[Times]:
    return (Times((Span(start, FOREVER.end),)),)


def _until(end: datetime.datetime) -> Sequence[Times]:
    return (Times((Span(FOREVER.start, end),)),)


class Limit(Constraint):
    """So many instances at a time, together with those that others hold."""

    def __init__(
        self,
        most: int,
        held: TakenOverTime,
        said: Callable[[int, int], exceptions.WarreError],
        tail: datetime.timedelta = times.NO_TIME,
    ) -> None:
        """
        :param said: returns what is said if more is asked for, from the most that others hold at a
            time, and the number that is asked for.
        :param tail: how long instances also count after the end of a booking.
        """
        self._most, self._held, self._said, self._tail = most, held, said, tail

    @functools.cached_property
    def _levels(self) -> timeline.Levels:
        return self._held.left_of(self._most)

    def times(self, search: Search) -> Sequence[Times]:
        spans = self._levels.runs(search.count, FOREVER.end)
        if not self._tail:
            return (Times(spans),)
        room = [each for each in spans if each.end - each.start > self._tail]
        return (Times([Span(each.start, each.end - self._tail) for each in room]),)

    def most(self, span: Span, limit: int) -> int:
        left = self._most - self._held.peak(span.padded(self._tail))
        return min(limit, max(left, 0))

    def error(self, span: Span, count: int) -> exceptions.WarreError:
        return self._said(self._held.peak(span.padded(self._tail)), count)


@dataclasses.dataclass(frozen=True)
class QuotaLimit(Constraint):
    """A project's limits."""

    limits: Amount
    used: Amount
    #: What the reservation that is to change takes of ``used``. None: it is a new booking.
    own: Amount | None = None

    def _hours(self) -> int | None:
        """The instance-hours that the reservation may have in all. None: any number."""
        if self.own is None and quota.exceeded(self.limits, self.used, Amount(reservations=1)):
            return 0
        if self.limits.hours == quota.UNLIMITED:
            return None
        return max(self.limits.hours - self.used.hours, 0) + (self.own.hours if self.own else 0)

    def times(self, search: Search) -> Sequence[Times]:
        hours = self._hours()
        if hours is None:
            return ALWAYS
        return (Times(ALL, hours // search.count * times.HOUR),)

    def most(self, span: Span, limit: int) -> int:
        hours = self._hours()
        return limit if hours is None else min(limit, hours // span.hours())

    def error(self, span: Span, count: int) -> exceptions.WarreError:
        asked = quota.of_booking(span, count)
        if self.own is not None:
            asked = quota.growth(self.own, asked)
        return exceptions.QuotaExceeded(quota.exceeded(self.limits, self.used, asked))


class WeeklyRule(Constraint):
    """Reservations that are longer than some hours lie within the weekly hours of a flavor."""

    def __init__(self, text: str, now: datetime.datetime) -> None:
        self._text, self._hours = text, WeeklyHours.parse(text)
        #: What is later isn't computed, however long a search is. Long reservations end before.
        self._until = now + min(times.WEEKLY_HOURS_KNOWN_FOR, FOREVER.end - now)

    def times(self, search: Search) -> Sequence[Times]:
        return (Times(ALL, self._hours.longest), Times(self._spans(search.window)))

    def _spans(self, window: Span) -> list[Span]:
        known = Span(FOREVER.start, self._until)
        return timeline.intersect(self._hours.spans(window, self._until), [known])

    def most(self, span: Span, limit: int) -> int:
        if span.end - span.start <= self._hours.longest:
            return limit
        return limit if any(each.contains(span) for each in self._spans(span)) else 0

    def error(self, span: Span, count: int) -> exceptions.WarreError:
        hours = self._hours.longest // times.HOUR
        return exceptions.FlavorNotBookable(
            refusals.OUTSIDE_WEEKLY_HOURS(weekly_hours=self._text, longest_hours=hours)
        )


@dataclasses.dataclass(frozen=True)
class Case:
    """Whose booking or change of which flavor constraints are about, and when it is asked for."""

    flavor: Flavor
    now: datetime.datetime
    #: Whether the flavor is public, or the project has access to it.
    accessible: bool = True
    #: Whether the project is exempt from the flavor's max_length_hours.
    any_length: bool = False
    #: The present time of the reservation that is to change. None: it is a new booking.
    before: Span | None = None
    #: The last moment at which it may be asked for. None: it is asked for now.
    until: datetime.datetime | None = None


def past(now: datetime.datetime) -> TimeRule:
    """Bookings begin in the current minute or later."""
    return TimeRule(
        _from(now.replace(second=0, microsecond=0)),
        lambda span: exceptions.InvalidPeriod(refusals.PAST(start=span.start)),
    )


def access(case: Case) -> list[Constraint]:
    """Why a project can book nothing of a flavor. Empty: it can."""
    rules: list[Constraint] = []
    if not case.flavor.active:
        rules.append(_term(NEVER, refusals.FLAVOR_INACTIVE))
    if not case.accessible:
        rules.append(_term(NEVER, refusals.FLAVOR_NOT_ACCESSIBLE))
    return rules


def terms(case: Case) -> list[Constraint]:
    """The terms of a flavor that don't depend on what is booked."""
    flavor = case.flavor
    rules: list[Constraint] = []
    if not case.any_length:
        rules.append(length(flavor))
        if flavor.weekly_hours is not None:
            rules.append(WeeklyRule(flavor.weekly_hours, case.now))
    if flavor.start is not None:
        rules.append(_term(_from(flavor.start), refusals.BEFORE_FLAVOR_START, start=flavor.start))
    if flavor.end is not None:
        rules.append(_term(_until(flavor.end), refusals.AFTER_FLAVOR_END, end=flavor.end))
    if (days := flavor.max_days_ahead) is not None:
        rules.append(_ahead(case, days))
    if flavor.notice_hours:
        rules.append(_notice(case))
    if case.before and (hours := flavor.extend_within_hours) is not None:
        rules += _extension(case.before, hours, case.now)
    return rules


def _ahead(case: Case, days: int) -> Constraint:
    """Reservations end within so many days. So a new one isn't longer than that."""
    minute, longest = (case.until or case.now).replace(second=0, microsecond=0), days * times.DAY
    latest = minute + min(longest, FOREVER.end - minute)
    allowed = Times((Span(FOREVER.start, latest),), datetime.timedelta.max)
    if case.before is None:
        allowed = allowed._replace(longest=longest)
    data = {"max_days_ahead": days, "latest_end": latest}
    return _term((allowed,), refusals.TOO_FAR_AHEAD, **data)


def _notice(case: Case) -> Constraint:
    """Reservations are booked some hours ahead. A change may keep the start, or make it later."""
    hours, minute = case.flavor.notice_hours, case.now.replace(second=0, microsecond=0)
    first = minute + min(hours * times.HOUR, FOREVER.end - minute)
    allowed = _from(first if case.before is None else min(first, case.before.start))
    return _term(allowed, refusals.TOO_SHORT_NOTICE, notice_hours=hours, start_from=first)


def length(flavor: Flavor) -> Constraint:
    """A flavor's max_length_hours."""
    hours, allowed = flavor.max_length_hours, (Times(ALL, flavor.max_length),)
    return _term(allowed, refusals.TOO_LONG, max_length_hours=hours)


def _extension(before: Span, hours: int, now: datetime.datetime) -> list[Constraint]:
    """A reservation gets a later end only in its last hours, unless it doesn't get longer."""
    earliest = before.end - hours * times.HOUR
    if now >= earliest:
        return []
    allowed = (*_until(before.end), Times(ALL, before.end - before.start))
    data = {"extend_within_hours": hours, "extend_from": earliest}
    return [_term(allowed, refusals.TOO_EARLY_TO_EXTEND, **data)]


def windows(closed: Iterable[Span]) -> list[Constraint]:
    """Maintenance windows close a flavor."""
    spans = list(closed)
    if not spans:
        return []
    open_times = (Times(timeline.outside(spans, FOREVER)),)
    return [TimeRule(open_times, lambda _: exceptions.InMaintenance())]


def of_project(flavor: Flavor, booked: Sequence[Claim]) -> list[Constraint]:
    """The terms of a flavor that depend on what else its project has booked of it.

    :param booked: the other reservations of the flavor that the project has or had.
    """
    rules: list[Constraint] = []
    if (most := flavor.max_instances_per_project) is not None:
        rules.append(Limit(most, TakenOverTime(booked), functools.partial(_too_many, most)))
    if flavor.gap_hours is not None:
        near = [with_gap(claim.span, flavor.gap) for claim in booked]
        allowed = (Times(timeline.outside(near, FOREVER)),)
        rules.append(TimeRule(allowed, functools.partial(_gap_too_short, flavor.gap_hours, near)))
    return rules


def _too_many(most: int, held: int, asked: int) -> exceptions.WarreError:
    entry = refusals.TOO_MANY_INSTANCES_THEN if asked <= most else refusals.TOO_MANY_INSTANCES
    return exceptions.FlavorNotBookable(
        entry(max_instances_per_project=most, held=held, asked=asked)
    )


def _gap_too_short(hours: int, near: Iterable[Span], span: Span) -> exceptions.WarreError:
    until = max(each.end for each in near if each.overlaps(span))
    entry = refusals.GAP_TOO_SHORT if hours else refusals.OVERLAP
    return exceptions.FlavorNotBookable(entry(gap_hours=hours, start_from=until))


def handle(name: str, taken: Sequence[Span]) -> list[Constraint]:
    """Reservations of a project with the same handle have the same Nova flavor.

    :param taken: the times of the project's other reservations with this handle.
    """
    if not taken:
        return []
    allowed = (Times(timeline.outside(taken, FOREVER)),)

    def said(span: Span) -> exceptions.WarreError:
        until = max(each.end for each in taken if each.overlaps(span))
        return exceptions.FlavorNotBookable(refusals.HANDLE_TAKEN(handle=name, start_from=until))

    return [TimeRule(allowed, said)]


def with_gap(span: Span, gap: datetime.timedelta) -> Span:
    """The time in which a project can have no other reservation, because of one with this span."""
    start = span.start - min(gap, span.start - datetime.datetime.min)
    return Span(start, span.end).padded(gap)


def slots(flavor: Flavor, held: TakenOverTime, cleaning: datetime.timedelta) -> Limit:
    """The slots of a flavor.

    :param held: the claims of others, with their cleaning time.
    """

    def said(taken: int, asked: int) -> exceptions.WarreError:
        return exceptions.SlotsExhausted(asked, max(flavor.slots - taken, 0), flavor.slots)

    return Limit(flavor.slots, held, said, cleaning)


def alone(case: Case, *hosts: Constraint) -> list[Constraint]:
    """What decides about a flavor if nothing is booked and no window closes it."""
    flavor = case.flavor
    return [
        *access(case),
        *hosts,
        past(case.now),
        *terms(case),
        *of_project(flavor, ()),
        slots(flavor, TakenOverTime(), times.NO_TIME),
    ]


def empty_hosts(rooms: Sequence[int], affinity: bool | None) -> Constraint:
    """The hosts of a flavor if nothing is booked.

    :param rooms: how many instances each host that matches the flavor holds when it is empty.
    """
    if affinity is None:
        most = sum(rooms)
    else:
        most = max(rooms, default=0) if affinity else sum(1 for room in rooms if room)

    def said(_taken: int, asked: int) -> exceptions.WarreError:
        if not most:
            return exceptions.NoHostMatches(asked, len(rooms))
        return exceptions.HostsExhausted(asked, most, len(rooms), affinity)

    return Limit(most, TakenOverTime(), said)
