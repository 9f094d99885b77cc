"""Foresees what a booking or a change would do, and what else could be booked.

Nothing is written.
"""

import dataclasses
import datetime
from collections.abc import Mapping, Sequence

from warre_blazar import times
from warre_blazar.db import session
from warre_blazar.domain.booking import quota
from warre_blazar.domain.booking.booking_rules import BookingConditions
from warre_blazar.domain.booking.quota import Amount
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.running.snapshots import effective_before_end
from warre_blazar.domain.slots import extensions, free_time
from warre_blazar.domain.slots.free_time import FreeTime
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.services import searches
from warre_blazar.services.booking import admission, finding_room
from warre_blazar.services.booking.change_decision import ChangeDecision
from warre_blazar.services.booking.quotas import QuotaStanding
from warre_blazar.services.slots import free_slots

#: The codes of the refusals that another time may avoid.
_OF_TIME = {
    *("before_flavor_start", "gap_too_short", "hosts_exhausted", "invalid_period", "maintenance"),
    *("slots_exhausted", "too_many_instances"),
}
#: The refusals that fewer instances may avoid.
_OF_COUNT = (exceptions.SlotsExhausted, exceptions.HostsExhausted, exceptions.QuotaExceeded)


@dataclasses.dataclass(frozen=True)
class Foreseen:
    """What a booking or a change would do, and what could be booked instead."""

    flavor: Flavor
    span: Span
    count: int
    affinity: bool | None
    #: What would be done with the servers before the end.
    before_end: str
    #: The number of instances on each host, by the host's name. Empty if a rule refuses the
    #: request, or if a change leaves the hosts as they are.
    hosts: Mapping[str, int]
    #: Every rule that refuses the request. The request itself is refused with the first one.
    refusals: Sequence[exceptions.WarreError]
    #: What the request needs of the project's quota beyond what the project uses already.
    cost: Amount
    #: The project's quota. None if none is enforced.
    standing: QuotaStanding | None
    #: The first start, from the wanted one on, at which the wanted length and count fit. None:
    #: there is none within a year.
    next_start: datetime.datetime | None
    #: The longest time for which the wanted count can be had from the wanted start on.
    longest: datetime.timedelta
    #: The most instances that can be had for the wanted time.
    most: int


@dataclasses.dataclass(frozen=True)
class _Decided:
    """A request that was decided: what decides about other times for it."""

    flavor: Flavor
    project_id: str
    span: Span
    count: int
    affinity: bool | None
    cost: Amount
    refusals: Sequence[exceptions.WarreError]
    place: finding_room.Place | None
    standing: QuotaStanding | None
    #: The most instances for which there are slots and hosts.
    room: int
    own: free_time.ChangedReservation | None = None
    #: What was chosen to be done with the servers before the end.
    before_end: str | None = None

    def hours_left(self) -> int | None:
        """The hours that the reservation may have in all. None: without limit."""
        if self.standing is None or self.standing.limits.hours == quota.UNLIMITED:
            return None
        held = self.own.reservation.amount.hours if self.own else 0
        return max(self.standing.limits.hours - self.standing.used.hours, 0) + held

    def quota_time(self) -> datetime.timedelta | None:
        """For how long the quota allows the wanted count. None: without limit."""
        hours = self.hours_left()
        return None if hours is None else hours // self.count * times.HOUR


def booking(request: admission.BookingRequest) -> Foreseen:
    """Foresee a booking.

    :raises FlavorNotFound, FlavorNotAccessible, FlavorAmbiguous, LimitsNotRegistered,
        ServiceUnavailable: no decision is possible.
    """
    # Cached limits might let this accept what the manager, which has other ones, refuses.
    conditions = dataclasses.replace(request.conditions, quotas=request.conditions.quotas.fresh)
    request = dataclasses.replace(request, conditions=conditions)
    decision = admission.decide(request, with_most=True)
    case = _Decided(
        flavor=decision.flavor,
        project_id=request.project_id,
        span=request.span,
        count=request.count,
        affinity=request.affinity,
        cost=request.amount,
        refusals=decision.refusals,
        place=decision.place,
        standing=decision.standing,
        room=decision.most or 0,
        before_end=request.before_end,
    )
    return _foreseen(case, request.conditions, request.now)


def change(
    outcome: ChangeDecision,
    flavor: Flavor,
    conditions: BookingConditions,
    now: datetime.datetime,
    before_end: str | None = None,
) -> Foreseen:
    """Foresee a change of a reservation's time or count.

    :param before_end: what is chosen to be done with the servers before the end.
    """
    before = outcome.before
    case = _Decided(
        flavor=flavor,
        project_id=before.project_id,
        span=outcome.span,
        count=outcome.count,
        affinity=before.affinity,
        cost=outcome.growth,
        refusals=outcome.refusals,
        place=outcome.place,
        standing=outcome.standing,
        room=before.instance_count if outcome.most is None else outcome.most,
        own=free_time.ChangedReservation(before, outcome.held if outcome.stays else None),
        before_end=before_end,
    )
    return _foreseen(case, conditions, now)


def _foreseen(case: _Decided, conditions: BookingConditions, now: datetime.datetime) -> Foreseen:
    any_length = case.project_id in conditions.any_length
    with_windows = not conditions.in_windows
    free = _free(case, conditions, now)
    with searches.logged(f"free slots for {case.count} of flavor {case.flavor.name}"):
        spans = free.spans(with_windows=with_windows)
        reach = extensions.latest_end(
            case.flavor,
            free,
            case.span.start,
            case.quota_time(),
            any_length=any_length,
            with_windows=with_windows,
        )
    return Foreseen(
        flavor=case.flavor,
        span=case.span,
        count=case.count,
        affinity=case.affinity,
        before_end=effective_before_end(
            case.before_end, case.flavor.before_end, conditions.before_end
        ),
        hosts=_hosts(case),
        refusals=case.refusals,
        cost=case.cost,
        standing=case.standing,
        next_start=_next_start(case, spans, any_length),
        longest=reach.end - case.span.start,
        most=_most(case),
    )


def _hosts(case: _Decided) -> dict[str, int]:
    if case.place is None or case.refusals:
        return {}
    chosen = case.place.chosen
    return {host.name: chosen[host.id] for host in case.place.hosts if host.id in chosen}


def next_starts(
    request: admission.BookingRequest, refused: Sequence[tuple[Span, exceptions.WarreError]]
) -> list[datetime.datetime | None]:
    """The first start of each refused booking, from its own on, at which it could be made.

    All of them are found by one search, which ends a year after the last of them.

    :param request: any of the bookings. They differ only by their times.
    :param refused: the time of each, and the error that refused it. The earliest comes first.
    :returns: None where there is none, and where another time doesn't avoid the error.
    :raises FlavorNotFound, FlavorNotAccessible, FlavorAmbiguous:
    """
    spans = [span for span, error in refused if error.code in _OF_TIME]
    if not spans:
        return [None] * len(refused)
    conditions, length = request.conditions, min(span.end - span.start for span in spans)
    any_length = request.project_id in conditions.any_length
    question = free_time.Question(
        flavor=request.flavor,
        project_id=request.project_id,
        everything=False,
        count=request.count,
        window=_ahead(Span(spans[0].start, spans[-1].start)),
        now=request.now,
        cleaning=conditions.cleaning,
        affinity=request.affinity,
        least=length,
        any_length=any_length,
        device_rules=conditions.device_rules,
        moves=conditions.moves,
    )
    with session.reader() as db:
        flavor = free_slots.visible_flavor(db, question)
        too_long = question.is_too_long(flavor)
        with_windows = not conditions.in_windows
        free = [] if too_long else free_slots.spans(db, flavor, question, with_windows=with_windows)
    return [_first(free, span) if error.code in _OF_TIME else None for span, error in refused]


def _ahead(wanted: Span) -> Span:
    """The time from a wanted start on, and a year beyond the latest one."""
    ahead = min(times.LOOK_AHEAD, datetime.datetime.max - wanted.end)
    return Span(wanted.start, wanted.end + ahead)


def _first(free: Sequence[Span], wanted: Span) -> datetime.datetime | None:
    """The first start from a wanted time's own on, at which its length is free."""
    length = wanted.end - wanted.start
    starts = ((max(span.start, wanted.start), span.end) for span in free)
    return min((start for start, end in starts if end - start >= length), default=None)


def _free(case: _Decided, conditions: BookingConditions, now: datetime.datetime) -> FreeTime:
    """When the wanted count is free, in the year from the wanted start on."""
    question = free_time.Question(
        flavor=case.flavor.id,
        project_id=case.project_id,
        everything=True,
        count=case.count,
        window=_ahead(Span(case.span.start, case.span.start)),
        now=now,
        cleaning=conditions.cleaning,
        affinity=case.affinity,
        device_rules=conditions.device_rules,
        own=case.own,
        moves=conditions.moves,
    )
    with session.reader() as db:
        return free_slots.read(db, case.flavor, question)


def _next_start(
    case: _Decided, spans: Sequence[Span], any_length: bool
) -> datetime.datetime | None:
    length = case.span.end - case.span.start
    longest = case.flavor.max_length_hours * times.HOUR
    is_of_time = all(error.code in _OF_TIME for error in case.refusals)
    if length <= times.NO_TIME or not is_of_time or (length > longest and not any_length):
        return None
    return _first(spans, case.span)


def _is_of_count(error: exceptions.WarreError) -> bool:
    """Whether fewer instances may avoid a refusal."""
    return isinstance(error, _OF_COUNT) or error.code == "too_many_instances"


def _most(case: _Decided) -> int:
    if any(not _is_of_count(error) for error in case.refusals):
        return 0
    hours = case.hours_left()
    if hours is None:
        return case.room
    return min(case.room, hours // case.span.hours())
