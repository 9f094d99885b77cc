"""Foresees what a booking or a change would do, and what else could be booked.

Nothing is written.
"""

import dataclasses
import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from warre_blazar import times
from warre_blazar.db import flavors, session
from warre_blazar.db.booking import reservations
from warre_blazar.db.booking.reservations import Filter
from warre_blazar.domain.booking import reservation_states, verdict
from warre_blazar.domain.booking.booking_rules import BookingConditions
from warre_blazar.domain.booking.constraints import QuotaLimit
from warre_blazar.domain.booking.quota import Amount
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.running.handles import Handle
from warre_blazar.domain.running.snapshots import effective_before_end
from warre_blazar.domain.slots import free_time
from warre_blazar.domain.slots.free_time import FreeTime
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.fields.kinds import Time
from warre_blazar.services import searches
from warre_blazar.services.booking import admission, finding_room
from warre_blazar.services.booking.admission import BookingDecision
from warre_blazar.services.booking.change_decision import ChangeDecision
from warre_blazar.services.booking.quotas import QuotaStanding
from warre_blazar.services.slots import free_slots, supply

#: A refusal names at most this many reservations of the project itself.
_MOST_OWN = 5


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
    #: Every rule that refuses the request, in the order in which they help most.
    refusals: Sequence[exceptions.WarreError]
    #: What the request needs of the project's quota beyond what the project uses already.
    cost: Amount
    #: The project's quota. None if none is enforced.
    standing: QuotaStanding | None
    #: The first start, from the wanted one on, at which the wanted length and count fit. None:
    #: there is none within a year.
    next_start: datetime.datetime | None
    #: The first start of a refused booking, from the wanted one on, that a wait could get. None: a
    #: wait is never served, or gets ``next_start`` at best.
    wait_start: datetime.datetime | None
    #: The longest time for which the wanted count can be had from the wanted start on.
    longest: datetime.timedelta
    #: The most instances that can be had for the wanted time.
    most: int
    #: If the request is refused, reservations of the flavor that the project itself has at the
    #: wanted time.
    own: Sequence[Reservation] = ()

    @property
    def refusal(self) -> exceptions.WarreError:
        """The first refusal. What could be booked instead is in its ``detail``."""
        first = self.refusals[0]
        first.detail = {
            **first.detail,
            "next_start": Time().to_json(self.next_start),
            "wait_start": Time().to_json(self.wait_start),
            "longest_hours": self.longest / times.HOUR,
            "most_instances": self.most,
            "category": self.flavor.texts.get("category"),
            "own": self.own_documents,
        }
        return first

    @property
    def own_documents(self) -> list[dict[str, Any]]:
        """The project's own reservations, in JSON."""
        return [
            {
                "id": each.id,
                "name": each.labels.name,
                "instance_count": each.instance_count,
                "start": Time().to_json(each.span.start),
                "end": Time().to_json(each.span.end),
            }
            for each in self.own
        ]


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
    #: The most instances that could be had.
    most: int
    own: free_time.ChangedReservation | None = None
    #: What was chosen to be done with the servers before the end.
    before_end: str | None = None
    handle: Handle | None = None

    @property
    def is_of_booking(self) -> bool:
        """Whether another booking or change may avoid all refusals."""
        return all(error.code in verdict.CODES for error in self.refusals)


def booking(request: admission.BookingRequest) -> Foreseen:
    """Foresee a booking.

    :raises FlavorNotFound, FlavorNotAccessible, FlavorAmbiguous, LimitsNotRegistered,
        ServiceUnavailable: no decision is possible.
    """
    # Cached limits might let this accept what the manager, which has other ones, refuses.
    conditions = dataclasses.replace(request.conditions, quotas=request.conditions.quotas.fresh)
    request = dataclasses.replace(request, conditions=conditions)
    return of(admission.decide(request, with_most=True))


def of(decision: BookingDecision) -> Foreseen:
    """What a booking would do that was decided with the most instances."""
    request = decision.request
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
        most=decision.most or 0,
        before_end=request.before_end,
        handle=request.handle,
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
        most=before.instance_count if outcome.most is None else outcome.most,
        own=free_time.ChangedReservation(before, outcome.held if outcome.stays else None),
        before_end=before_end,
        handle=before.handle,
    )
    return _foreseen(case, conditions, now)


def _foreseen(case: _Decided, conditions: BookingConditions, now: datetime.datetime) -> Foreseen:
    free = _free(case, conditions, now)
    found = free.find()
    wanted = case.span
    next_start = wait_start = None
    if case.is_of_booking and wanted.start < wanted.end:
        next_start = found.first(wanted)
        if case.refusals and case.own is None:
            wait_start = free.wait_start(wanted, supply.read_everything_empty)
    return Foreseen(
        flavor=case.flavor,
        span=case.span,
        count=case.count,
        affinity=case.affinity,
        before_end=effective_before_end(
            case.before_end, case.flavor.before_end, conditions.before_end
        ),
        hosts=_hosts(case),
        refusals=verdict.helpful(case.refusals),
        cost=case.cost,
        standing=case.standing,
        next_start=next_start,
        wait_start=None if wait_start == next_start else wait_start,
        longest=found.reach(wanted.start) - wanted.start,
        most=case.most if case.is_of_booking else 0,
        own=_own(case) if case.refusals and case.is_of_booking else (),
    )


def _own(case: _Decided) -> list[Reservation]:
    """The project's other reservations of the flavor at the wanted time. Only a few are read."""
    wanted = Filter(
        project_id=case.project_id,
        flavor_id=case.flavor.id,
        states=frozenset(reservation_states.LIVE),
        after=case.span.start,
        before=case.span.end,
    )
    with session.reader() as db:
        found, _ = reservations.listing(db, wanted, limit=_MOST_OWN)
    changed = case.own.reservation.id if case.own else None
    return [each for each in found if each.id != changed]


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
    spans = [span for span, error in refused if error.code in verdict.CODES]
    if not spans:
        return [None] * len(refused)
    conditions, length = request.conditions, min(span.end - span.start for span in spans)
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
        any_length=request.project_id in conditions.any_length,
        device_rules=conditions.device_rules,
        moves=conditions.moves,
        in_windows=conditions.in_windows,
    )
    with session.reader() as db, searches.uncollected():
        flavor = free_slots.visible_flavor(db, question)
        handle = supply.with_handle(db, request.handle, request.project_id, question.window)
        found = free_slots.read(db, flavor, question, handle=handle).find()
    return [found.first(span) if error.code in verdict.CODES else None for span, error in refused]


def _ahead(wanted: Span) -> Span:
    """The time from a wanted start on, and a year beyond the latest one."""
    ahead = min(times.LOOK_AHEAD, datetime.datetime.max - wanted.end)
    return Span(wanted.start, wanted.end + ahead)


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
        any_length=case.project_id in conditions.any_length,
        own=case.own,
        moves=conditions.moves,
        in_windows=conditions.in_windows,
    )
    standing, own = case.standing, case.own
    quota = None
    if standing:
        amount = own.reservation.amount if own else None
        quota = QuotaLimit(standing.limits, standing.used, amount)
    with session.reader() as db:
        is_accessible = flavors.is_accessible(db, case.flavor, case.project_id)
        question = dataclasses.replace(question, accessible=is_accessible)
        own_id = own.reservation.reservation_id if own else None
        handle = supply.with_handle(db, case.handle, case.project_id, question.window, own_id)
        return free_slots.read(db, case.flavor, question, quota, handle)
