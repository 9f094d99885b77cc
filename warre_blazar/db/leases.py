"""Leases with what their state is made of, and every write of ours to Blazar's leases and events.

A write compares the lease with what was read and changes nothing when that is no longer so. It
always writes the lease's row, for Galera certifies only rows that are written.
"""

import dataclasses
import datetime
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

import sqlalchemy as sa
from oslo_utils import timeutils
from sqlalchemy.orm import Session

from warre_blazar.db import executions, functions, session
from warre_blazar.db.tables import allocations, backings, bookings, events, leases, reservations
from warre_blazar.db.tables import executions as claims
from warre_blazar.domain import lease_states
from warre_blazar.domain.executions import (
    BEFORE,
    DURING,
    END,
    EVENTS,
    LEAD,
    RETRY_LEAD,
    START,
)
from warre_blazar.domain.lease_states import Phase, State, Statuses
from warre_blazar.domain.timeline import Span

RESOURCE_TYPE = "flavor:slot"
START_EVENT, END_EVENT, BEFORE_END_EVENT = "start_lease", "end_lease", "before_end_lease"
_BLAZARS_EVENTS = (START_EVENT, END_EVENT, BEFORE_END_EVENT)

#: Seconds after a promise in which the update that it was made for is taken to be on its way.
UPDATE_TAKES = 120

#: A failed start's next attempt is never further from now than this.
LONGEST_PAUSE = datetime.timedelta(minutes=2)


@dataclasses.dataclass(frozen=True)
class Event:
    """An event of Blazar's."""

    id: str
    type: str
    time: datetime.datetime | None
    status: str


@dataclasses.dataclass(frozen=True)
class LeaseReservation:
    """A reservation of a lease, with what it has."""

    id: str
    is_ours: bool
    status: str
    #: Whether it holds hosts.
    held: bool
    #: Whether there is a note of what Nova holds for it.
    backed: bool


@dataclasses.dataclass(frozen=True)
class Lease:
    """A lease as it was read. Times are naive UTC."""

    id: str
    status: str
    span: Span
    updated_at: datetime.datetime | None
    events: tuple[Event, ...]
    reservations: tuple[LeaseReservation, ...]
    claim: executions.Execution | None

    def is_mixed(self) -> bool:
        """Whether the lease holds reservations of other types."""
        return any(not r.is_ours for r in self.reservations)

    def is_ours(self) -> bool:
        """Whether the lease holds a reservation of ours."""
        return any(r.is_ours for r in self.reservations)

    def of_type(self, event_type: str) -> list[Event]:
        """The lease's events of a type, of which there should be one."""
        return [event for event in self.events if event.type == event_type]

    def state(self, now: datetime.datetime, age: lease_states.Age) -> State:
        """The lease's state in the terms of the table of states."""
        ours = [r for r in self.reservations if r.is_ours]
        return State(
            statuses=Statuses(self.status, self._status(START_EVENT), self._status(END_EVENT)),
            reservations=lease_states.summary(r.status for r in self.reservations),
            phase=_phase(self.span, now),
            events_exact=self._events_are_exact(now),
            holds=all(r.held == (r.status != "deleted") for r in ours),
            backed=all(r.backed for r in ours if r.status != "deleted"),
            mixed=self.is_mixed(),
            claim=executions.state_of(self.claim),
            age=age,
        )

    def _status(self, event_type: str) -> str:
        found = self.of_type(event_type)
        return found[0].status if found else lease_states.MISSING

    def _events_are_exact(self, now: datetime.datetime) -> bool:
        for event_type, due in ((START_EVENT, self.span.start), (END_EVENT, self.span.end)):
            found = self.of_type(event_type)
            if len(found) != 1 or not _is_on_time(found[0], due, now):
                return False
        return all(event.type in _BLAZARS_EVENTS for event in self.events)


#: In the order of ``Event``.
_EVENT = (events.c.id, events.c.event_type, events.c.time, events.c.status)


def _is_on_time(event: Event, due: datetime.datetime, now: datetime.datetime) -> bool:
    """Whether an event is at its lease's time, or after it and soon: another attempt."""
    if event.time == due or event.status == lease_states.DONE:
        return True
    return event.time is not None and due <= event.time <= now + LONGEST_PAUSE


def _phase(span: Span, now: datetime.datetime) -> Phase:
    if now < span.start:
        return Phase.BEFORE
    return Phase.DURING if now < span.end else Phase.AFTER


def read(db: Session, lease_ids: Collection[str]) -> list[Lease]:
    """Leases by id, in four queries; those that are gone are left out."""
    if not lease_ids:
        return []
    found_events: dict[str, list[Event]] = defaultdict(list)
    for lease_id, *values in db.execute(
        sa.select(
            events.c.lease_id, events.c.id, events.c.event_type, events.c.time, events.c.status
        )
        .where(events.c.lease_id.in_(lease_ids))
        .order_by(events.c.created_at, events.c.id)
    ):
        found_events[lease_id].append(Event(*values))
    found_reservations: dict[str, list[LeaseReservation]] = defaultdict(list)
    held = sa.exists().where(allocations.c.reservation_id == reservations.c.id)
    backed = sa.exists().where(backings.c.reservation_id == reservations.c.id)
    for lease_id, *facts in db.execute(
        sa.select(
            reservations.c.lease_id,
            reservations.c.id,
            reservations.c.resource_type == RESOURCE_TYPE,
            reservations.c.status,
            held,
            backed,
        )
        .where(reservations.c.lease_id.in_(lease_ids))
        .order_by(reservations.c.id)
    ):
        found_reservations[lease_id].append(LeaseReservation(*facts))
    executed = executions.of_leases(db, lease_ids)
    rows = db.execute(
        sa.select(
            leases.c.id,
            leases.c.status,
            leases.c.start_date,
            leases.c.end_date,
            sa.func.coalesce(leases.c.updated_at, leases.c.created_at),
        ).where(leases.c.id.in_(lease_ids))
    )
    return [
        Lease(
            id=lease_id,
            status=status,
            span=Span(start, end),
            updated_at=updated_at,
            events=tuple(found_events[lease_id]),
            reservations=tuple(found_reservations[lease_id]),
            claim=executed.get(lease_id),
        )
        for lease_id, status, start, end, updated_at in rows
    ]


def ours() -> sa.ColumnElement[bool]:
    """Whether a lease holds a reservation of ours."""
    return sa.exists().where(
        reservations.c.lease_id == leases.c.id, reservations.c.resource_type == RESOURCE_TYPE
    )


def mixed() -> sa.ColumnElement[bool]:
    """Whether a lease holds reservations of other types."""
    return sa.exists().where(
        reservations.c.lease_id == leases.c.id, reservations.c.resource_type != RESOURCE_TYPE
    )


def ours_alone() -> sa.ColumnElement[bool]:
    """Whether a lease holds reservations of ours and no others."""
    return sa.and_(ours(), sa.not_(mixed()))


def in_question(db: Session) -> list[str]:
    """Leases that may not be at rest, by what an index finds.

    These are leases in transitional statuses and in ERROR, those of which an event failed or is in
    progress, and those that a manager has claimed. A lease without reservations may have been ours.
    """
    empty = sa.not_(sa.exists().where(reservations.c.lease_id == leases.c.id))
    odd = (*lease_states.TRANSITIONAL, lease_states.ERROR)
    by_status = sa.select(leases.c.id).where(leases.c.status.in_(odd), sa.or_(ours(), empty))
    by_event = (
        sa.select(leases.c.id)
        .select_from(events.join(leases, leases.c.id == events.c.lease_id))
        .where(
            events.c.status.in_((lease_states.IN_PROGRESS, "ERROR")),
            events.c.event_type.in_((START_EVENT, END_EVENT)),
            ours(),
        )
    )
    by_claim = sa.select(claims.c.lease_id)
    return list(db.scalars(sa.union(by_status, by_event, by_claim)))


def contradictory(db: Session, since: datetime.datetime) -> list[str]:
    """Leases of ours whose events, reservations or hosts aren't what their status says.

    It reads every lease of ours that isn't over, so it is for rare looks.

    :param since: of those that are over, only those that ended or were written after that time.
    """
    recent = sa.or_(leases.c.end_date >= since, leases.c.updated_at >= since)
    judged = sa.and_(
        sa.or_(
            leases.c.status.in_((lease_states.PENDING, lease_states.ACTIVE)),
            sa.and_(leases.c.status == lease_states.TERMINATED, recent),
        ),
        ours(),
    )
    of_lease = reservations.c.lease_id == leases.c.id
    held = sa.exists().where(allocations.c.reservation_id == reservations.c.id)
    backed = sa.exists().where(backings.c.reservation_id == reservations.c.id)
    alive = reservations.c.status != "deleted"
    torn = sa.exists().where(
        of_lease,
        reservations.c.resource_type == RESOURCE_TYPE,
        sa.or_(sa.and_(alive, sa.or_(~held, ~backed)), sa.and_(~alive, held)),
    )
    other = sa.exists().where(of_lease, reservations.c.status != _expected(_OF_RESERVATIONS))
    by_reservations = sa.select(leases.c.id).where(judged, sa.or_(torn, other))
    return list(db.scalars(sa.union(_with_odd_events(judged), by_reservations)))


#: What belongs to a lease's status, of reservations and of its start and end event.
_OF_RESERVATIONS = {"PENDING": "pending", "ACTIVE": "active", "TERMINATED": "deleted"}
_OF_STARTS = {"PENDING": "UNDONE", "ACTIVE": "DONE", "TERMINATED": "DONE"}
_OF_ENDS = {"PENDING": "UNDONE", "ACTIVE": "UNDONE", "TERMINATED": "DONE"}


def _expected(by_status: Mapping[str, str]) -> sa.Case[str]:
    return sa.case(dict(by_status), value=leases.c.status)


def _with_odd_events(judged: sa.ColumnElement[bool]) -> sa.Select[tuple[str]]:
    """Leases without exactly one start and one end event, each in time and as expected."""

    def count(condition: sa.ColumnElement[bool]) -> sa.ColumnElement[int]:
        return sa.func.sum(sa.case((condition, 1), else_=0))

    start, end = (events.c.event_type == kind for kind in (START_EVENT, END_EVENT))
    fine = sa.or_(
        sa.and_(
            start,
            events.c.time == leases.c.start_date,
            events.c.status == _expected(_OF_STARTS),
        ),
        sa.and_(end, events.c.time == leases.c.end_date, events.c.status == _expected(_OF_ENDS)),
        events.c.event_type == BEFORE_END_EVENT,
    )
    return (
        sa.select(leases.c.id)
        .select_from(leases.outerjoin(events, events.c.lease_id == leases.c.id))
        .where(judged)
        .group_by(leases.c.id)
        .having(
            sa.or_(count(start) != 1, count(end) != 1, count(fine) != sa.func.count(events.c.id))
        )
    )


def write(
    db: Session,
    lease: Lease,
    statuses: Statuses,
    times: Mapping[str, datetime.datetime] | None = None,
) -> None:
    """Write a lease's statuses, one start and one end event at the lease's times.

    Events of other types than Blazar's, and second ones of a type, are deleted.

    :param times: by an event's type, when it is to be tried, if not at the lease's own time.
    :raises session.LostRace: when the lease or one of its events isn't as it was read.
    """
    compare_and_set(db, lease, statuses.lease)
    due = {START_EVENT: lease.span.start, END_EVENT: lease.span.end, **(times or {})}
    for event_type, status in ((START_EVENT, statuses.start), (END_EVENT, statuses.end)):
        found = lease.of_type(event_type)
        if found:
            set_event(db, found[0], status, due[event_type])
        else:
            _add_event(db, lease.id, event_type, due[event_type], status)
        _delete_events(db, found[1:])
    _delete_events(db, [e for e in lease.events if e.type not in _BLAZARS_EVENTS])


def compare_and_set(db: Session, lease: Lease, status: str) -> None:
    """Give a lease another status, provided that it is as it was read.

    :raises session.LostRace:
    """
    written = db.execute(
        leases.update()
        .where(
            leases.c.id == lease.id,
            leases.c.status == lease.status,
            leases.c.start_date == lease.span.start,
            leases.c.end_date == lease.span.end,
        )
        .values(status=status, updated_at=timeutils.utcnow())
    )
    session.require(written)


def replace_trust(db: Session, lease_id: str, dead: str, trust_id: str) -> None:
    """Give a lease another trust, provided that it still has the dead one.

    :raises session.LostRace:
    """
    written = db.execute(
        leases.update()
        .where(leases.c.id == lease_id, leases.c.trust_id == dead)
        .values(trust_id=trust_id, updated_at=timeutils.utcnow())
    )
    session.require(written)


def is_executed(db: Session, lease_id: str) -> bool:
    """Whether a lease is started or ended at this moment, or a manager has claimed it for that."""
    status = db.scalar(sa.select(leases.c.status).where(leases.c.id == lease_id))
    during = (DURING[START], DURING[END])
    return status in during or executions.is_claimed(db, lease_id)


def set_event(db: Session, event: Event, status: str, time: datetime.datetime | None) -> None:
    """Give an event another status and time, provided that it is as it was read.

    :raises session.LostRace:
    """
    written = db.execute(
        events.update()
        .where(events.c.id == event.id, events.c.status == event.status)
        .values(status=status, time=time, updated_at=timeutils.utcnow())
    )
    session.require(written)


def _add_event(
    db: Session, lease_id: str, event_type: str, time: datetime.datetime, status: str
) -> None:
    db.execute(
        events.insert().values(
            id=str(uuid.uuid4()),
            lease_id=lease_id,
            event_type=event_type,
            time=time,
            status=status,
            created_at=timeutils.utcnow(),
        )
    )


def _delete_events(db: Session, unwanted: Iterable[Event]) -> None:
    ids = [event.id for event in unwanted]
    if ids:
        db.execute(events.delete().where(events.c.id.in_(ids)))


def due(db: Session, action: str, now: datetime.datetime) -> list[str]:
    """Leases of ours alone whose start or end is due by then, and that nobody works on.

    Not those whose update may still be on its way: see ``UPDATE_TAKES``.
    """
    when = leases.c.start_date if action == START else leases.c.end_date
    query = (
        sa.select(leases.c.id)
        .select_from(events.join(leases, leases.c.id == events.c.lease_id))
        .where(
            events.c.status == lease_states.UNDONE,
            sa.or_(events.c.time == when, events.c.time <= now + RETRY_LEAD),
            events.c.time <= now + LEAD[action],
            events.c.event_type == EVENTS[action],
            leases.c.status.in_(BEFORE[action]),
            when <= now + LEAD[action],
            ours_alone(),
            sa.not_(_is_promised()),
        )
        .order_by(when)
    )
    if action == START:
        query = query.where(leases.c.end_date > now)
    return list(db.scalars(query))


def _is_promised() -> sa.ColumnElement[bool]:
    """Whether a lease may be getting other dates at this moment."""
    age = functions.seconds_between(bookings.c.promised_at, functions.utc_now())
    return sa.exists().where(
        reservations.c.lease_id == leases.c.id,
        bookings.c.reservation_id == reservations.c.id,
        sa.or_(
            bookings.c.claim_start != leases.c.start_date,
            bookings.c.claim_end != leases.c.end_date,
        ),
        age < UPDATE_TAKES,
    )


def due_reminders(db: Session, now: datetime.datetime) -> list[tuple[str, Event]]:
    """The ``before_end_lease`` events of running leases of ours alone that are due."""
    query = (
        sa.select(leases.c.id, *_EVENT)
        .select_from(events.join(leases, leases.c.id == events.c.lease_id))
        .where(
            events.c.status == lease_states.UNDONE,
            events.c.time <= now,
            events.c.event_type == BEFORE_END_EVENT,
            leases.c.status == lease_states.ACTIVE,
            ours_alone(),
        )
    )
    return [(lease_id, Event(*values)) for lease_id, *values in db.execute(query)]


def set_reservations(db: Session, reservation_ids: Sequence[str], status: str) -> None:
    """Give Blazar's reservations a status."""
    db.execute(
        reservations.update().where(reservations.c.id.in_(reservation_ids)).values(status=status)
    )


def delete_orphan_events(db: Session) -> int:
    """Delete events that belong to no lease, of whatever type; how many there were.

    One that is due stops Blazar's executor: it can't find out whether the lease is stable.
    """
    orphan = sa.or_(
        events.c.lease_id.is_(None),
        sa.not_(sa.exists().where(leases.c.id == events.c.lease_id)),
    )
    found = list(db.scalars(sa.select(events.c.id).where(orphan)))
    if found:
        db.execute(events.delete().where(events.c.id.in_(found)))
    return len(found)


@dataclasses.dataclass(frozen=True)
class Asked:
    """A reservation of ours that the plugin is asked to start or end, and its lease's time."""

    reservation_id: str
    lease_status: str
    span: Span


def find_by_resource(db: Session, resource_id: str) -> Asked | None:
    """The reservation whose row in ``instance_reservations`` has an id."""
    row = db.execute(
        sa.select(reservations.c.id, leases.c.status, leases.c.start_date, leases.c.end_date)
        .select_from(reservations.join(leases, leases.c.id == reservations.c.lease_id))
        .where(
            reservations.c.resource_id == resource_id,
            reservations.c.resource_type == RESOURCE_TYPE,
        )
    ).first()
    return Asked(row[0], row[1], Span(row[2], row[3])) if row else None
