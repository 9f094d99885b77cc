"""Makes maintenance windows over bookings, and clears them of the reservations that they meet.

The window is written first, in a transaction of its own, with the generations of its flavors and
hosts. From then on nobody can book what it closes, so the reservations that it meets are all those
that there will be. Each of them is then moved or ended in a transaction of its own. If that is
interrupted, the window is there, and changing it with the same choice goes on where it stopped.
"""

import dataclasses
import datetime
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from oslo_log import log as logging
from oslo_utils import timeutils
from sqlalchemy.orm import Session

from warre_blazar import times
from warre_blazar.db import flavors, foreseeing, generations, maintenance, session
from warre_blazar.db.booking import reservations
from warre_blazar.db.messages import outbox
from warre_blazar.db.records import changes
from warre_blazar.db.running import backings, lease_writes, leases
from warre_blazar.domain.booking import reservation_states
from warre_blazar.domain.booking.booking_rules import BookingConditions
from warre_blazar.domain.booking.quota import Amount
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.etags import NOT_SAID, Shown
from warre_blazar.domain.maintenance import MaintenanceWindow, Meeting, Outcome, OverBookings
from warre_blazar.domain.messages.notices import Kind, News
from warre_blazar.domain.records.changes import REASON, Change, ChangeKind, MoveReason
from warre_blazar.domain.running import execution, lease_states
from warre_blazar.domain.running.lease import Lease
from warre_blazar.domain.slots.free_time import ChangedReservation, Question
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import change_decision
from warre_blazar.services.booking.change_decision import ProposedChange
from warre_blazar.services.hosts import new_hosts
from warre_blazar.services.maintenance import maintenance_windows as windows
from warre_blazar.services.messages import notifications
from warre_blazar.services.moves import relocation
from warre_blazar.services.slots import free_slots, supply

LOG = logging.getLogger(__name__)

_ASK_OR_DELETE = "ask its project to delete it, or delete it"
_FAILURES = (exceptions.WarreError, *session.FAILURES)


@dataclasses.dataclass(frozen=True)
class OverBookingsRequest:
    """What is done with the reservations that a window meets, and under which conditions."""

    choice: OverBookings
    #: The conditions under which reservations move. They allow nothing that depends on a role.
    conditions: BookingConditions
    now: datetime.datetime
    #: The operator who makes the window.
    user_id: str | None = None

    @property
    def writes_nothing(self) -> bool:
        """Whether the operator only wants to see what would be done."""
        return self.choice is OverBookings.SHOW

    @property
    def refuses(self) -> bool:
        """Whether a window that meets a reservation is refused."""
        return self.choice is OverBookings.REFUSE


def create(
    span: Span,
    note: str | None,
    flavor_ids: Iterable[str],
    host_refs: Iterable[str],
    over: OverBookingsRequest,
    window_id: str | None = None,
    *,
    dry_run: bool = False,
) -> tuple[MaintenanceWindow, list[Meeting]]:
    """Create a maintenance window, and move or end the reservations that it meets.

    :param dry_run: whether to write nothing, and to return what would be done.
    :returns: the window and the reservations that it met, the earliest start first.
    :raises WarreError: the errors of ``maintenance_windows.create``. Nothing is written.
    """

    def make() -> MaintenanceWindow:
        return windows.create(
            span,
            note,
            flavor_ids,
            over.now,
            window_id,
            host_refs=host_refs,
            over_bookings=not over.refuses,
        )

    return _made(make, over, note, dry_run=dry_run)


def update(
    window_id: str,
    values: Mapping[str, Any],
    over: OverBookingsRequest,
    shown: Shown = NOT_SAID,
    *,
    dry_run: bool = False,
    must_close: bool = False,
) -> tuple[MaintenanceWindow, list[Meeting]]:
    """Change a maintenance window, and move or end the reservations that it meets then.

    The parameters, results and errors are those of ``create`` and ``maintenance_windows.update``.
    """

    def make() -> MaintenanceWindow:
        return windows.update(
            window_id,
            values,
            over.now,
            shown,
            over_bookings=not over.refuses,
            must_close=must_close,
        )

    return _made(make, over, values.get("note"), dry_run=dry_run)


def _made(
    make: Callable[[], MaintenanceWindow],
    over: OverBookingsRequest,
    note: str | None,
    *,
    dry_run: bool,
) -> tuple[MaintenanceWindow, list[Meeting]]:
    def cleared() -> tuple[MaintenanceWindow, list[Meeting]]:
        window = make()
        return window, clear(window, over)

    new_hosts.read()
    if dry_run or over.writes_nothing:
        with session.reader() as db:
            maintenance.compare_note(db, note)
        return foreseeing.foreseen(cleared, over.conditions.cleaning)
    return cleared()


def clear(window: MaintenanceWindow, over: OverBookingsRequest) -> list[Meeting]:
    """Move or end the reservations that a window meets, each in a transaction of its own.

    :returns: the reservations as they were before, and what became of them. With the choice
        ``REFUSE`` nothing is done, and they aren't listed.
    """
    if over.refuses:
        return []
    with session.reader() as db:
        flavor_ids = [flavor_id for flavor_id, _ in window.flavors]
        host_ids = [host_id for host_id, _ in window.hosts]
        found = maintenance.met(db, flavor_ids, host_ids, window.span)
        by_id = flavors.get_many(db, {item.flavor_id for item in found})
    meetings = []
    for item in found:
        outcome, span, reason = _cleared(item, window, over)
        meetings.append(Meeting(item, by_id[item.flavor_id], outcome, span, reason))
    return meetings


_Result = tuple[Outcome, Span, str | None]


def _cleared(item: Reservation, window: MaintenanceWindow, over: OverBookingsRequest) -> _Result:
    """Clear a window of one reservation, as far as the operator's choice allows."""
    is_unbegun = item.state == reservation_states.ALLOCATED
    try:
        if is_unbegun:
            why_stays = _moved(item, window, over)
            if why_stays is None:
                return Outcome.MOVED, item.span, None
            span, reason = _postponed(item, why_stays, over)
            if span is not None:
                return Outcome.POSTPONED, span, None
        else:
            reason = (
                "it has begun; with bookings=end it ends at the start of the window"
                if item.state == reservation_states.ACTIVE
                else f"its status is {item.state}; run 'warre-blazar-manage audit'"
            )
        if over.choice is OverBookings.END and (span := _ended(item, window.span.start, over)):
            return Outcome.ENDED, span, None
        begins_inside = item.span.start >= window.span.start
        if over.choice is OverBookings.END and is_unbegun and begins_inside:
            reason = f"{reason}; it begins inside the window, so it isn't ended: {_ASK_OR_DELETE}"
    except _FAILURES as error:
        LOG.warning("Reservation %s stays in a maintenance window: %s", item.id, error)
        reason = "it is being started or changed; change the window with the same choice again"
    return Outcome.LEFT, item.span, reason


def _moved(item: Reservation, window: MaintenanceWindow, over: OverBookingsRequest) -> str | None:
    """Move a reservation to hosts that the window doesn't close.

    :returns: why some or all of it stays, as a clause. None: all of it moved.
    """
    closed = {host_id for host_id, _ in window.hosts}
    if not closed or _closes_flavor(window, item):
        return "the window closes its flavor"
    why = relocation.Why(MoveReason.MAINTENANCE, over.user_id)
    what, conditions = item.reservation_id, over.conditions
    return relocation.relocate(what, closed, why, conditions, over.now).why_stays


def _closes_flavor(window: MaintenanceWindow, item: Reservation) -> bool:
    """Whether a window closes the reservation's flavor, so that other hosts are of no use."""
    return any(flavor_id == item.flavor_id for flavor_id, _ in window.flavors)


@session.retried
def _postponed(
    item: Reservation, why_stays: str, over: OverBookingsRequest
) -> tuple[Span | None, str | None]:
    """Move a reservation to the earliest later time that its owner has allowed.

    Its length and its number of instances stay, and so does what it takes of its project's quota.
    All terms of the flavor hold, as for a change by its owner.

    :param why_stays: why it doesn't move to other hosts at its time.
    :returns: the new time, or None and the reason why there is none.
    """
    with session.claiming() as db:
        reservation, lease = _read(db, item)
        if reservation is None or lease is None or reservation.span != item.span:
            return None, "it was changed at the same moment; change the window again"
        if reason := _why_fixed(db, reservation, lease, over.now):
            return None, reason
        span = _next_time(db, reservation, over)
        if span is None:
            return None, _why_no_time(reservation, why_stays)
        change = ProposedChange(
            reservation, span, reservation.instance_count, over.conditions, over.now, at_once=True
        )
        decision = change_decision.decide(db, reservation, change, None)
        for refusal in decision.refusals:
            return None, f"at {span.start:%Y-%m-%d %H:%M} UTC: {refusal.message}"
        place = decision.place
        if place is None or decision.growth != Amount():
            return None, "its new time would need more quota"
        if decision.generation is not None:
            generations.increase_project(db, reservation.project_id, decision.generation)
        relocation.claim(db, place.flavor, place.hosts, place.placed_again)
        reservation_id, shape = reservation.reservation_id, reservation.shape
        relocation.write_hosts(db, reservation_id, shape, place.chosen, place.places)
        place.settle_moved(db, over.conditions)
        backings.half_close(db, reservation.reservation_id)
        _reschedule(db, reservation, lease, span, over)
        return span, None


def _read(db: Session, item: Reservation) -> tuple[Reservation | None, Lease | None]:
    reservation = reservations.find(db, item.reservation_id)
    found = leases.read(db, [item.lease_id])
    return reservation, found[0] if found else None


def _why_fixed(
    db: Session, reservation: Reservation, lease: Lease, now: datetime.datetime
) -> str | None:
    """Why a reservation can't get a later time, whatever room there is."""
    if lease.status != lease_states.PENDING or _is_claimed(lease) or reservation.promised:
        return "it is being started or changed; change the window with the same choice again"
    if reservation.span.start <= now:
        return "it is about to begin; change the window with the same choice again"
    if reservations.lease_size(db, reservation.lease_id) > 1:
        return "its lease has other reservations; ask its project to move it"
    return None


def _why_no_time(reservation: Reservation, why_stays: str) -> str:
    """Why a reservation that stays at its hosts gets no later time."""
    if reservation.movable_hours:
        allowed = f"the {reservation.movable_hours} hours that its owner allows (movable_hours)"
        return f"{why_stays}, and no other time is free within {allowed}"
    return f"{why_stays}, and its owner allows no other time (movable_hours is 0)"


def _is_claimed(lease: Lease) -> bool:
    return execution.claim_state(lease.claim) is not lease_states.ClaimState.NONE


def _next_time(db: Session, reservation: Reservation, over: OverBookingsRequest) -> Span | None:
    """The earliest time after a reservation's own to which its owner allows to move it."""
    if not reservation.movable_hours:
        return None
    span, flavor = reservation.span, change_decision.flavor_of(db, reservation)
    length = span.end - span.start
    most = min(reservation.movable_hours * times.HOUR, datetime.datetime.max - span.end)
    question = Question(
        flavor=flavor.id,
        project_id=reservation.project_id,
        everything=True,
        count=reservation.instance_count,
        window=Span(span.start + times.MINUTE, span.end + most),
        now=over.now,
        cleaning=over.conditions.cleaning,
        affinity=reservation.affinity,
        least=length,
        any_length=reservation.project_id in over.conditions.any_length,
        device_rules=over.conditions.device_rules,
        own=ChangedReservation(reservation),
        moves=over.conditions.moves,
    )
    handle = supply.with_handle(
        db, reservation.handle, reservation.project_id, question.window, reservation.reservation_id
    )
    free = free_slots.read(db, flavor, question, handle=handle)
    start = free.find().first(Span(span.start, span.end))
    return None if start is None else Span(start, start + length)


@session.retried
def _ended(item: Reservation, at: datetime.datetime, over: OverBookingsRequest) -> Span | None:
    """Let a reservation end at the start of a window, or now if the window has begun.

    :returns: the reservation's new time. None: it doesn't begin before the window, its lease has
        other reservations, or it is being changed.
    """
    with session.claiming() as db:
        reservation, lease = _read(db, item)
        if reservation is None or lease is None or reservation.promised or _is_claimed(lease):
            return None
        span = reservation.span
        end = max(at, over.now.replace(second=0, microsecond=0))
        is_stable = lease.status in (lease_states.PENDING, lease_states.ACTIVE)
        is_alone = reservations.lease_size(db, reservation.lease_id) == 1
        if not (is_stable and is_alone and span.start < end < span.end):
            return None
        after = Span(span.start, end)
        _reschedule(db, reservation, lease, after, over)
        return after


def _reschedule(
    db: Session, reservation: Reservation, lease: Lease, span: Span, over: OverBookingsRequest
) -> None:
    """Write a reservation's new time, and tell it to its owner.

    :raises session.LostRace: the lease has changed since it was read.
    """
    lease_writes.reschedule(db, lease, span)
    before, after = changes.span(reservation.span), changes.span(span)
    now, reservation_id = timeutils.utcnow(), reservation.reservation_id
    noted = {**after, REASON: MoveReason.MAINTENANCE.value}
    written = Change(now, ChangeKind.RESCHEDULED, over.user_id, before, noted)
    changes.note(db, reservation_id, written)
    told = News(Kind.MAINTENANCE, now, over.user_id, before, after)
    outbox.add(db, outbox.of_reservations([reservation_id]), told)
    notifications.add_of_leases(db, [lease.id], "update")
