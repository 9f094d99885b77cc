"""Admission: decides whether a request can be booked, and books it.

A decision reads the generations first, and then what is booked. With the isolation READ COMMITTED
each statement sees what was committed before it. So what is read may be newer than its generation,
but never older. A decision that is written later is written only if all generations are still the
same. Otherwise everything is done anew, in the transaction that writes.

No lock of the database is needed. So this is exact on SQLite too, and on Galera, where a lock on
one node doesn't block the others. A lock in memory makes the bookings of a process wait for each
other, so that few of them lose the race.
"""

import contextlib
import dataclasses
import datetime
import functools
from collections.abc import Sequence

from sqlalchemy.orm import Session

from warre_blazar.db import flavors, generations, session, waits
from warre_blazar.db import series as stored_series
from warre_blazar.db.booking import booking_terms, instance_reservations, reservations
from warre_blazar.db.booking.booking_terms import Terms
from warre_blazar.db.hosts import allocations
from warre_blazar.db.running import backings
from warre_blazar.domain import timeline
from warre_blazar.domain.booking import booking_rules, constraints, verdict
from warre_blazar.domain.booking import quota as quota_rules
from warre_blazar.domain.booking.booking_rules import BookingConditions
from warre_blazar.domain.booking.constraints import Case, Constraint
from warre_blazar.domain.booking.labels import NO_LABELS, Labels
from warre_blazar.domain.booking.quota import Amount
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.hosts import device_traits
from warre_blazar.domain.running import backing_names, handles
from warre_blazar.domain.running.handles import Handle
from warre_blazar.domain.series.series import SeriesWork
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import finding_room, quotas
from warre_blazar.services.booking.quotas import Quota, QuotaStanding
from warre_blazar.services.hosts import new_hosts
from warre_blazar.services.moves import relocation
from warre_blazar.services.slots import supply


@dataclasses.dataclass(frozen=True)
class BookingRequest:
    """A request to book instances of a flavor."""

    project_id: str
    #: An id or a name.
    flavor: str
    count: int
    span: timeline.Span
    now: datetime.datetime
    conditions: BookingConditions
    #: True: all instances are on one host. False: each instance is on a host of its own. None: the
    #: instances may be on any hosts.
    affinity: bool | None = None
    labels: Labels = NO_LABELS
    #: What is done with the servers before the end. None: what the flavor says.
    before_end: str | None = None
    #: The series that the reservation is an occurrence of, if it is one.
    series: SeriesWork | None = None
    #: By how many hours maintenance may move the start to a later time.
    movable_hours: int = 0
    #: The wait that the request is made for. It is booked in the same transaction.
    wait_id: str | None = None
    #: The flavor as a client of Blazar's ``flavor:instance`` has sent it. It is shown to such
    #: clients. None: another client books.
    sent_flavor: str | None = None
    handle: Handle | None = None

    def is_same(self, other: "BookingRequest") -> bool:
        """Whether another request asks for the same, at whatever moment it does."""
        return dataclasses.replace(self, now=other.now) == other

    @property
    def amount(self) -> Amount:
        """The amount of quota that the request needs."""
        return quota_rules.of_booking(self.span, self.count)


@dataclasses.dataclass(frozen=True)
class BookingDecision:
    """What a booking would do, or all rules that refuse it.

    It holds as long as the generations with which it was made.
    """

    request: BookingRequest
    flavor: Flavor
    #: The hosts of the booking. None if a rule refuses it.
    place: finding_room.Place | None
    #: Every rule that refuses the booking, in the order in which a booking checks them.
    refusals: tuple[exceptions.WarreError, ...]
    #: The project's limits, usage and generation. None if no quota is enforced.
    standing: QuotaStanding | None
    #: The most instances that could be booked for this time. None if nobody asked.
    most: int | None = None
    #: The project's generation, if what else the project has booked decides about the request.
    generation: int | None = None

    def require(self) -> finding_room.Place:
        """The hosts of the booking.

        :raises WarreError: the first rule that refuses the booking.
        """
        for refusal in self.refusals:
            raise refusal
        assert self.place is not None
        return self.place


def check(
    request: BookingRequest, until_booked: contextlib.ExitStack | None = None
) -> BookingDecision:
    """Check whether the request could be booked at this moment, without booking it.

    :param until_booked: as for ``decide``.
    :raises WarreError: the first rule that refuses it, or an error of ``decide``.
    """
    decision = decide(request, until_booked=until_booked)
    decision.require()
    return decision


def decide(
    request: BookingRequest,
    *,
    with_most: bool | None = False,
    until_booked: contextlib.ExitStack | None = None,
) -> BookingDecision:
    """Decide about a request at this moment, without booking it.

    :param with_most: whether to find out how many instances could be booked. None: only if a rule
        refuses the request.
    :param until_booked: until it is closed, other bookings of this process wait for this one, if
        nothing refuses it. So none of them outdates the decision. None: they don't wait.
    :raises FlavorNotFound, FlavorNotAccessible, FlavorAmbiguous, LimitsNotRegistered,
        ServiceUnavailable: no decision is possible.
    """

    def look(quota: Quota | None) -> BookingDecision:
        with contextlib.ExitStack() as turn:
            if until_booked is not None:
                turn.enter_context(session.claims_lock)
            with session.reader() as db:
                decision, unread = _decide(db, request, quota, with_most=with_most)
            if until_booked is not None and not (unread or decision.refusals):
                until_booked.push(turn.pop_all())
        if unread:
            new_hosts.wait(unread)
            with session.reader() as db:
                decision, _ = _decide(db, request, quota, with_most=with_most)
        return decision

    return quotas.decided(
        request.conditions.quotas, request.project_id, look, lambda decision: decision.refusals
    )


def flavor_and_refusals(
    request: BookingRequest,
) -> tuple[Flavor, Sequence[exceptions.WarreError]]:
    """The flavor of a request, and what refuses the request whether there is room or not.

    Slots and hosts aren't read, which cost the most. Cached limits may refuse it that no longer
    hold, so ``decide`` has the last word.

    :raises FlavorNotFound, FlavorNotAccessible, FlavorAmbiguous, LimitsNotRegistered,
        ServiceUnavailable: as for ``decide``.
    """

    def look(quota: Quota | None) -> _Rules:
        with session.reader() as db:
            return _rules(db, request, quota)

    rules = quotas.decided(request.conditions.quotas, request.project_id, look)
    return rules.flavor, rules.refusals()


class LeaseRows:
    """Writes Blazar's rows of a booking, in each transaction that tries to book.

    This class is for a lease whose rows are there already.
    """

    def __init__(self) -> None:
        #: Other bookings of this process wait until it is closed (``decide``). ``book`` closes it
        #: if the decision no longer holds: what it does then may wait for services.
        self.turn = contextlib.ExitStack()

    def begin(self, _db: Session) -> str | None:
        """Write the rows to which those of the reservation refer.

        :returns: the id for the row in ``instance_reservations``. None: any new id.
        """
        return None

    def finish(self, _db: Session) -> None:
        """Write what refers to the rows of the reservation."""


ROWS_THERE = LeaseRows()


def book(
    reservation_id: str,
    request: BookingRequest,
    decision: BookingDecision | None = None,
    rows: LeaseRows = ROWS_THERE,
) -> str:
    """Book what a request asks for, under the id of a reservation that Blazar has just created.

    Nothing is made in Nova and Placement. The reservation's backing is only planned.

    :param decision: a decision about the same request. It is written if nothing that it depends on
        has been claimed since. If something has, or without a decision, the request is decided
        in the transaction that books.
    :returns: the id of the reservation's row in Blazar's ``instance_reservations``.
    :raises FlavorNotFound, FlavorNotAccessible, FlavorAmbiguous, InvalidPeriod, FlavorNotBookable,
        InMaintenance, NoHostMatches, SlotsExhausted, HostsExhausted, QuotaExceeded,
        LimitsNotRegistered, ServiceUnavailable, TryAgain: nothing was claimed.
    """
    if decision and (resource_id := _written(reservation_id, decision, rows)):
        return resource_id
    rows.turn.close()
    new_hosts.read()

    def claim(quota: Quota | None) -> str:
        return _claim(reservation_id, request, quota, rows)

    return quotas.decided(request.conditions.quotas, request.project_id, claim)


def _written(reservation_id: str, decision: BookingDecision, rows: LeaseRows) -> str | None:
    """Write a decision that was made earlier, unless it no longer holds.

    :returns: the same as ``book``, or None if nothing was written.
    """
    try:
        with session.claiming() as db:
            return _write(db, reservation_id, decision, rows)
    except Exception as error:
        if not session.is_lost_race(error):
            raise
        return None


@session.retried
def _claim(
    reservation_id: str, request: BookingRequest, quota: Quota | None, rows: LeaseRows
) -> str:
    """Decide about the request and write its claims in one transaction.

    The transaction is tried again if the generation of the flavor, of a host or of the project has
    changed since it was read.
    """
    with session.claiming() as db:
        return claim(request, db, reservation_id, quota, rows)


def claim(
    request: BookingRequest,
    db: Session,
    reservation_id: str,
    quota: Quota | None,
    rows: LeaseRows = ROWS_THERE,
) -> str:
    """Decide about the request and write its claims, in the caller's transaction.

    :param quota: the project's quota. None: quotas aren't enforced.
    :returns: the same as ``book``.
    :raises session.LostRace: the caller has to begin anew.
    """
    return _write(db, reservation_id, _decide(db, request, quota)[0], rows)


def hold(db: Session, request: BookingRequest) -> bool:
    """Let the booking of a request exclude all bookings that were decided about before.

    :returns: False: the request can't be booked, and nothing was written.
    :raises session.LostRace: the caller has to begin anew.
    """
    decision, _ = _decide(db, request, None)
    if decision.place is None:
        return False
    relocation.claim(db, decision.flavor, decision.place.hosts)
    return True


def _write(db: Session, reservation_id: str, decision: BookingDecision, rows: LeaseRows) -> str:
    """Write what was decided, and the claims on the project's quota, the flavor and the hosts.

    :raises WarreError: the first rule that refuses the booking.
    :raises SeriesEnded: the booking is for a series that doesn't expect it any more.
    :raises WaitOver: the request is made for a wait that is no longer waiting.
    :raises session.LostRace: something was claimed since the decision.
    """
    request, flavor, place = decision.request, decision.flavor, decision.require()
    series = request.series
    if series and not stored_series.join(db, series, request.span.start, reservation_id):
        raise exceptions.SeriesEnded(series.series_id)
    if request.wait_id:
        waits.begin_booking(db, request.wait_id, request.project_id, reservation_id)
    if decision.generation is not None:
        generations.increase_project(db, request.project_id, decision.generation)
    relocation.claim(db, flavor, place.hosts, place.placed_again)
    row_id = rows.begin(db)
    reservations.insert(
        db,
        reservation_id,
        {
            "flavor_id": flavor.id,
            "instance_count": request.count,
            "created_at": request.now,
            "before_end": request.before_end,
            "series_id": series.series_id if series else None,
            "series_work": series.work_id if series else None,
            "movable_hours": request.movable_hours,
            "sent_flavor": request.sent_flavor,
            **dataclasses.asdict(request.labels),
            **handles.values_of(request.handle),
        },
        flavor.shape,
    )
    nova_flavor = backing_names.nova_flavor_id(
        reservation_id, in_stock_form=request.sent_flavor is not None
    )
    if request.handle:
        nova_flavor = request.handle.flavor_id(request.project_id)
    resource_id = instance_reservations.insert(
        db,
        reservation_id,
        dataclasses.replace(flavor, id=request.sent_flavor or flavor.id),
        place.chosen,
        affinity=request.affinity,
        nova_flavor=nova_flavor,
        row_id=row_id,
    )
    allocations.allocate(db, reservation_id, place.chosen, place.places)
    place.settle_moved(db, request.conditions)
    place.keep(db, reservation_id, request.span, request.conditions)
    told = device_traits.told_groups(flavor.shape.extra_specs, place.matching)
    backings.insert(db, reservation_id, request.project_id, request.now, nova_flavor, told=told)
    rows.finish(db)
    return resource_id


def _decide(
    db: Session, request: BookingRequest, quota: Quota | None, *, with_most: bool | None = False
) -> tuple[BookingDecision, Sequence[str]]:
    """Evaluate every rule about a booking. This is the only place that does.

    :returns: the decision, and the ids of reservable hosts about whose providers nothing is stored.
    :raises FlavorNotFound, FlavorNotAccessible, FlavorAmbiguous: no decision is possible.
    """
    rules = _rules(db, request, quota)
    flavor, span, standing = rules.flavor, request.span, rules.standing
    if rules.of_period:
        return BookingDecision(request, flavor, None, tuple(rules.of_period), standing), ()
    need = finding_room.Need(
        request.project_id, flavor.shape, request.count, span, request.affinity
    )
    offers = None
    if rules.is_any_offered:
        offers = waits.offered(db, [flavor.id], request.project_id, request.now).get(flavor.id)
    room = finding_room.Room(db, flavor, need, request.conditions, offers=offers)
    place, lacking = room.find()
    refusals = rules.refusals(lacking)
    most = None
    if with_most or (with_most is None and refusals):
        limit = max(room.most(), sum(place.chosen.values()) if place else 0)
        most = rules.most(limit)
    if refusals:
        place = None
    generation = rules.generation
    decision = BookingDecision(request, flavor, place, tuple(refusals), standing, most, generation)
    return decision, room.unread


@dataclasses.dataclass(frozen=True)
class _Rules:
    """The rules about a booking, apart from those about slots and hosts, as they were read."""

    request: BookingRequest
    flavor: Flavor
    #: As in the decision.
    standing: QuotaStanding | None
    generation: int | None
    #: Whether anybody was told a few minutes ago that something of any flavor is free.
    is_any_offered: bool
    #: Why the time isn't valid. If it isn't, the other rules can't be evaluated, and aren't there.
    of_period: Sequence[exceptions.WarreError]
    of_flavor: Sequence[Constraint] = ()
    of_use: Sequence[Constraint] = ()
    of_quota: Sequence[Constraint] = ()

    def refusals(
        self, lacking: Sequence[exceptions.WarreError] = ()
    ) -> list[exceptions.WarreError]:
        """What refuses the booking, in the order in which a booking checks it.

        :param lacking: why there are no slots or hosts.
        """
        request, flavor = self.request, self.flavor
        return [
            *self.of_period,
            *verdict.refusals(self.of_flavor, request.span, request.count),
            *booking_rules.refusals(
                functools.partial(booking_rules.check_before_end, flavor, request.before_end)
            ),
            *verdict.refusals(self.of_use, request.span, request.count),
            *lacking,
            *verdict.refusals(self.of_quota, request.span, request.count),
        ]

    def most(self, limit: int) -> int:
        """The most instances, up to a limit, that the rules allow."""
        return verdict.most(
            [*self.of_flavor, *self.of_use, *self.of_quota], self.request.span, limit
        )


def _rules(db: Session, request: BookingRequest, quota: Quota | None) -> _Rules:
    """
    :raises FlavorNotFound, FlavorNotAccessible, FlavorAmbiguous: no decision is possible.
    """
    span, conditions = request.span, request.conditions
    generation = generations.of_project(db, request.project_id) if request.handle else None
    terms = _terms(db, request, quota)
    flavor = terms.flavor
    standing = _standing(quota, terms)
    if generation is None and standing:
        generation = standing.generation
    of_period = booking_rules.refusals(functools.partial(booking_rules.check_period, span))
    rules = _Rules(request, flavor, standing, generation, terms.is_any_offered, of_period)
    if of_period:
        return rules
    case = Case(flavor, request.now, any_length=request.project_id in conditions.any_length)
    closed = [span] if terms.is_closed and not conditions.in_windows else []
    booked = finding_room.booked_by(db, flavor, request.project_id, span)
    with_handle = supply.with_handle(db, request.handle, request.project_id, span)
    return dataclasses.replace(
        rules,
        of_flavor=[
            constraints.past(request.now),
            *constraints.access(case),
            *constraints.terms(case),
        ],
        of_use=[
            *constraints.windows(closed),
            *constraints.of_project(flavor, booked),
            *with_handle,
        ],
        of_quota=[constraints.QuotaLimit(standing.limits, standing.used)] if standing else [],
    )


def _standing(quota: Quota | None, terms: Terms) -> QuotaStanding | None:
    if quota is None or terms.usage is None:
        return None
    return QuotaStanding(quota.project_id, quota.limits, terms.usage.used, terms.usage.generation)


def _terms(db: Session, request: BookingRequest, quota: Quota | None) -> Terms:
    """The flavor with this id or name that a project can book, and what else decides about it.

    :raises FlavorNotAccessible: flavors with this id or name exist, but all of them are private,
        and the project has access to none of them.
    :raises FlavorNotFound, FlavorAmbiguous:
    """
    ref, project_id = request.flavor, request.project_id
    counted = quota.types if quota else None
    found = booking_terms.read(db, ref, project_id, request.span, counted, request.now)
    # Only Warre's API path tells users that a flavor isn't accessible. For FlavorNotAccessible, all
    # other paths answer that there is no such flavor.
    if not found and flavors.find(db, ref):
        raise exceptions.FlavorNotAccessible(ref)
    if not found:
        raise exceptions.FlavorNotFound(ref)
    flavors.only(ref, [terms.flavor for terms in found])
    return found[0]
