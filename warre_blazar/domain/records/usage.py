"""Usage: what became of the instances that were booked, as sums over spans of time.

Each quantity is a number of instances at each moment. What is reported for a span of time is the
integral over the span. So the values of two adjacent spans always add up to that of both.
"""

import collections
import dataclasses
import datetime
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, Self

from warre_blazar import times
from warre_blazar.domain.booking import reservation_states
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.records.changes import MISSING_INSTANCES, Change, ChangeKind
from warre_blazar.domain.timeline import Span

_EVER = datetime.datetime.max


class Amounts(NamedTuple):
    """The quantities, each in instances at a moment, or in seconds of instances over a span."""

    booked: int = 0
    held: int = 0
    used: int = 0
    given_back: int = 0
    cancelled: int = 0
    lost: int = 0

    def plus(self, other: Self, times: int = 1) -> Self:
        """The sum of these amounts and a multiple of others."""
        return type(self)(*(a + times * b for a, b in zip(self, other, strict=True)))


#: The names of the quantities, in the order in which they are shown.
QUANTITIES = Amounts._fields


@dataclasses.dataclass(frozen=True)
class BookedPlan:
    """What a reservation asked for from a moment on."""

    since: datetime.datetime
    span: Span
    count: int

    def at(self, moment: datetime.datetime) -> int:
        """The instances that the plan has at a moment."""
        return self.count if self.span.start <= moment < self.span.end else 0


@dataclasses.dataclass(frozen=True)
class Life:
    """The life of a reservation, as its row and its log tell it."""

    #: What it asked for, the earliest plan first. A plan is in force until the next one.
    plans: tuple[BookedPlan, ...]
    #: When it was running. The spans don't overlap. The last one is open if it is still running.
    held: tuple[Span, ...]
    #: From when on nobody wants it any more: it was ended or deleted.
    closed: datetime.datetime
    #: When it was running, but not open to its project.
    shut: tuple[Span, ...] = ()
    #: How many of its instances were on failed hosts, from each moment on.
    missing: tuple[tuple[datetime.datetime, int], ...] = ()

    @classmethod
    def of(cls, reservation: Reservation, log: Iterable[Change]) -> Self:
        """The life of a reservation.

        :param log: its changes, the oldest first.
        """
        changes = list(log)
        deleted = reservation.deleted_at
        deleted = _EVER if deleted is None else deleted.replace(microsecond=0)
        held = list(_between(changes, ChangeKind.STARTED, ChangeKind.ENDED, deleted))
        ended = [c.at for c in changes if c.kind is ChangeKind.ENDED]
        closed = min([deleted, *(at for at in ended[-1:] if not held or held[-1].end <= at)])
        if not held and not ended and reservation.state in _RAN:
            # It has no log, because it was imported.
            end = _EVER if reservation.state == reservation_states.ACTIVE else reservation.span.end
            held = [Span(reservation.span.start, min(end, deleted))]
        shut = _between(changes, ChangeKind.REFUSED, ChangeKind.OPENED, closed)
        missing = [
            (change.at, int((change.after or {}).get(MISSING_INSTANCES, 0)))
            for change in changes
            if change.kind is ChangeKind.MISSING
        ]
        plans = tuple(_plans(reservation, changes))
        return cls(plans, tuple(held), closed, tuple(shut), tuple(missing))

    @functools.cached_property
    def wanted(self) -> tuple[BookedPlan, ...]:
        """The plans from which the booked instances follow.

        A plan that was replaced before its start doesn't count: the reservation was moved.
        """
        until = [*(plan.since for plan in self.plans[1:]), self.closed]
        for number, (plan, end) in enumerate(zip(self.plans, until, strict=True)):
            if plan.span.start < end:
                return self.plans[number:]
        return self.plans[-1:]

    @property
    def is_cancelled(self) -> bool:
        """Whether the reservation was deleted before its start."""
        return self.closed <= self.wanted[0].span.start

    def at(self, moment: datetime.datetime, now: datetime.datetime) -> Amounts:
        """The quantities at a moment, except ``used``.

        :param now: the present. After it, nothing has been held or lost yet.
        """
        booked = max(plan.at(moment) for plan in self.wanted)
        if self.is_cancelled:
            return Amounts(booked=booked, cancelled=booked)
        present = self._plan(moment)
        planned = present.at(moment) if moment < self.closed else 0
        held = present.count if moment < now and _covers(self.held, moment) else 0
        given_back = max(0, booked - max(planned, held))
        lost = max(0, planned - held) if moment < now else 0
        unusable = held if _covers(self.shut, moment) else min(held, self._missing(moment))
        return Amounts(booked, held, 0, given_back, 0, lost + unusable)

    def _plan(self, moment: datetime.datetime) -> BookedPlan:
        """The plan in force at a moment."""
        return next((p for p in reversed(self.plans) if p.since <= moment), self.plans[0])

    def _missing(self, moment: datetime.datetime) -> int:
        return next((count for at, count in reversed(self.missing) if at <= moment), 0)

    def moments(self) -> Iterator[datetime.datetime]:
        """The moments at which a quantity can change."""
        for plan in self.plans:
            yield from (plan.since, plan.span.start, plan.span.end)
        for span in (*self.held, *self.shut):
            yield from (span.start, span.end)
        yield self.closed
        yield from (at for at, _ in self.missing)


#: The changes of a reservation's start or end.
_OF_TIME = (ChangeKind.RESCHEDULED, ChangeKind.IDLE_END)

#: The states in which a reservation without a log has been running.
_RAN = (reservation_states.ACTIVE, reservation_states.COMPLETE)


def _covers(spans: Iterable[Span], moment: datetime.datetime) -> bool:
    return any(span.start <= moment < span.end for span in spans)


def _between(
    log: Iterable[Change], opening: ChangeKind, closing: ChangeKind, last: datetime.datetime
) -> Iterator[Span]:
    """The spans from changes of one kind to the next change of another kind.

    :param last: the end of the last span, if no change has closed it.
    """
    since = None
    for change in log:
        if change.kind is opening and since is None:
            since = change.at
        elif change.kind is closing and since is not None:
            yield Span(since, change.at)
            since = None
    if since is not None and since < last:
        yield Span(since, last)


def _plans(reservation: Reservation, log: list[Change]) -> Iterator[BookedPlan]:
    """The plans of a reservation. The first one is from before all changes."""
    span, count = reservation.span, reservation.instance_count
    for change in reversed(log):
        span, count = _asked(change.before, change.kind, span, count)
    yield BookedPlan(datetime.datetime.min, span, count)
    for change in log:
        if change.kind in (*_OF_TIME, ChangeKind.RESIZED):
            span, count = _asked(change.after, change.kind, span, count)
            yield BookedPlan(change.at, span, count)


def _asked(
    values: Mapping[str, object] | None, kind: ChangeKind, span: Span, count: int
) -> tuple[Span, int]:
    """A time and a count, with the values that a change tells of them."""
    if values and kind in _OF_TIME:
        return Span(_time(values["start"]), _time(values["end"])), count
    if values and kind is ChangeKind.RESIZED:
        return span, int(str(values["instance_count"]))
    return span, count


def _time(text: object) -> datetime.datetime:
    return datetime.datetime.fromisoformat(str(text)).replace(tzinfo=None)


class Record:
    """A reservation's quantities, which can be summed up over any span of time."""

    def __init__(
        self, life: Life, used: Mapping[datetime.date, int], now: datetime.datetime
    ) -> None:
        """
        :param used: by day, the seconds for which each of the instances had a server.
        """
        now = now.replace(microsecond=0)
        moments = sorted({*life.moments(), now})
        levels = ((Span(a, b), life.at(a, now)) for a, b in itertools.pairwise(moments))
        self._levels = [(span, level) for span, level in levels if any(level)]
        self._used = used

    @property
    def extent(self) -> Span | None:
        """A span outside of which all quantities are 0; None if they are 0 everywhere."""
        spans = [span for span, _ in self._levels] + [_day(day) for day in self._used]
        return functools.reduce(Span.hull, spans) if spans else None

    def over(self, window: Span) -> Amounts:
        """The seconds of instances during a span of time."""
        total = Amounts()
        for span, level in self._levels:
            if seconds := _common_seconds(span, window):
                total = total.plus(level, seconds)
        used = sum(self._used_on(day, seconds, window) for day, seconds in self._used.items())
        return total._replace(used=used)

    def _used_on(self, day: datetime.date, seconds: int, window: Span) -> int:
        """The part of a day's used time that is within a span.

        Only the sum of the day is known. So each part of the day gets as much of it as the
        reservation has been running then.
        """
        whole = _day(day)
        if not whole.overlaps(window):
            return 0
        held = self._held(whole)

        def before(moment: datetime.datetime) -> int:
            if moment <= whole.start or moment >= whole.end or not held:
                return 0 if moment <= whole.start else seconds
            return seconds * self._held(Span(whole.start, moment)) // held

        return before(window.end) - before(window.start)

    def _held(self, window: Span) -> int:
        return sum(level.held * _common_seconds(span, window) for span, level in self._levels)


def _day(day: datetime.date) -> Span:
    midnight = datetime.datetime.combine(day, datetime.time())
    return Span(midnight, midnight + times.DAY)


def _common_seconds(one: Span, other: Span) -> int:
    length = min(one.end, other.end) - max(one.start, other.start)
    return max(0, length // times.SECOND)


#: What a time can be divided into, by name: each function returns the first day of the part that a
#: day is in. Weeks begin on Mondays.
_FIRST_DAY: Mapping[str, Callable[[datetime.date], datetime.date]] = {
    "day": lambda day: day,
    "week": lambda day: day - day.weekday() * times.DAY,
    "month": lambda day: day.replace(day=1),
}
#: Longer than each part, and shorter than two.
_INTO_NEXT = {"day": times.DAY, "week": 7 * times.DAY, "month": 31 * times.DAY}
#: The names of these parts.
PARTS = tuple(_FIRST_DAY)


def first_day(
    moment: datetime.datetime, part: str = "day", zone: datetime.tzinfo = datetime.UTC
) -> datetime.date:
    """The first day of the day, week or month that a moment is in.

    :param part: one of ``PARTS``.
    :param zone: the time zone in which the parts begin at midnight.
    """
    local = moment.replace(tzinfo=datetime.UTC).astimezone(zone)
    return _FIRST_DAY[part](local.date())


def parts(
    window: Span, part: str = "day", zone: datetime.tzinfo = datetime.UTC
) -> Iterator[tuple[datetime.date, Span]]:
    """The parts of a span that are in one day, week or month each, with the first days of these.

    :param part: one of ``PARTS``.
    :param zone: the time zone in which the parts begin at midnight.
    """
    first, start = first_day(window.start, part, zone), window.start
    while start < window.end:
        following = _FIRST_DAY[part](first + _INTO_NEXT[part])
        end = min(midnight(following, zone), window.end)
        if start < end:  # Some zones have left out a day.
            yield first, Span(start, end)
        first, start = following, end


@functools.lru_cache(maxsize=10_000)
def midnight(day: datetime.date, zone: datetime.tzinfo) -> datetime.datetime:
    """When a day begins in a time zone."""
    begins = datetime.datetime.combine(day, datetime.time(), zone)
    return begins.astimezone(datetime.UTC).replace(tzinfo=None)


_NOTHING = Amounts()


@dataclasses.dataclass
class Sum:
    """The usage of several reservations."""

    #: The number of reservations that were booked for a part of the time.
    reservations: int = 0
    #: Seconds of instances.
    instances: Amounts = _NOTHING
    #: By resource class, the same multiplied by what each instance takes.
    resources: dict[str, Amounts] = dataclasses.field(
        default_factory=lambda: collections.defaultdict(Amounts)
    )
    #: By code, the number of requests that were refused.
    refusals: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)

    def add(self, amounts: Amounts, per_instance: Mapping[str, int]) -> None:
        """Add the usage of one reservation.

        :param per_instance: what each instance takes, by resource class.
        """
        self.reservations += amounts.booked > 0
        self.instances = self.instances.plus(amounts)
        for name, amount in per_instance.items():
            self.resources[name] = self.resources[name].plus(amounts, amount)
