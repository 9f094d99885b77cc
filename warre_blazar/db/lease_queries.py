"""Finds leases and reminders (before-end events) that managers must act on.

A lease is found if its start or end is due, if it may need a repair, or if its statuses contradict
each other.
"""

import datetime
from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import backings
from warre_blazar.db.leases import (
    BEFORE_END_EVENT,
    END_EVENT,
    EVENT_COLUMNS,
    START_EVENT,
    Event,
    ours,
)
from warre_blazar.db.tables import (
    allocations,
    events,
    executions,
    leases,
    reservations,
)
from warre_blazar.domain import lease_states
from warre_blazar.domain.execution_timing import BEFORE, EVENTS, LEAD, RETRY_LEAD, START
from warre_blazar.domain.flavor import RESOURCE_TYPE


def in_question(db: Session) -> list[str]:
    """The ids of the leases that may need a repair and that the database can find by an index.

    These are:

    * Leases with flavor:slot reservations, if the lease is in a transitional status or in ERROR.
    * Leases with flavor:slot reservations, if the start or end event is in progress or in ERROR.
    * Leases without any reservation, if the lease is in a transitional status or in ERROR. Such a
      lease may have had flavor:slot reservations.
    * All leases with an execution.
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
    by_claim = sa.select(executions.c.lease_id)
    return list(db.scalars(sa.union(by_status, by_event, by_claim)))


def contradictory(db: Session, since: datetime.datetime) -> list[str]:
    """The ids of leases whose events, reservations or hosts contradict the lease's status.

    Only leases with flavor:slot reservations are included. The query reads all such leases that
    haven't ended, so it should run rarely.

    :param since: a lease that ended before this time is included only if it was written at or after
        this time.
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
    backed = backings.is_whole(reservations.c.id)
    alive = reservations.c.status != "deleted"
    torn = sa.exists().where(
        of_lease,
        reservations.c.resource_type == RESOURCE_TYPE,
        sa.or_(sa.and_(alive, sa.or_(~held, ~backed)), sa.and_(~alive, held)),
    )
    other = sa.exists().where(of_lease, reservations.c.status != _expected(_OF_RESERVATIONS))
    by_reservations = sa.select(leases.c.id).where(judged, sa.or_(torn, other))
    return list(db.scalars(sa.union(_with_odd_events(judged), by_reservations)))


#: The status that reservations should have, by the status of their lease.
_OF_RESERVATIONS = {"PENDING": "pending", "ACTIVE": "active", "TERMINATED": "deleted"}


#: The status that a start event should have, by the status of its lease.
_OF_STARTS = {"PENDING": "UNDONE", "ACTIVE": "DONE", "TERMINATED": "DONE"}


#: The status that an end event should have, by the status of its lease.
_OF_ENDS = {"PENDING": "UNDONE", "ACTIVE": "UNDONE", "TERMINATED": "DONE"}


def _expected(by_status: Mapping[str, str]) -> sa.Case[str]:
    return sa.case(dict(by_status), value=leases.c.status)


def _with_odd_events(judged: sa.ColumnElement[bool]) -> sa.Select[tuple[str]]:
    """A query of leases whose events aren't as they should be.

    A lease should have exactly one start event and one end event. Each of them should have the time
    and the status that follow from the lease's dates and status. The only other events should be
    reminders.
    """

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


def due(db: Session, action: str, now: datetime.datetime) -> list[str]:
    """The ids of leases that a manager should claim now, the earliest first.

    The start or the end of these leases is due, or will be due within the time ``LEAD``.

    Only leases with flavor:slot reservations are included. A lease is left out while a manager or
    Blazar works on it.

    :param action: ``execution_timing.START`` or ``END``.
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
            ours(),
        )
        .order_by(when)
    )
    if action == START:
        query = query.where(leases.c.end_date > now)
    return list(db.scalars(query))


def due_reminders(db: Session, now: datetime.datetime) -> list[tuple[str, Event]]:
    """The ``before_end_lease`` events that are due, with the ids of their leases.

    Only running leases with flavor:slot reservations are included.
    """
    query = (
        sa.select(leases.c.id, *EVENT_COLUMNS)
        .select_from(events.join(leases, leases.c.id == events.c.lease_id))
        .where(
            events.c.status == lease_states.UNDONE,
            events.c.time <= now,
            events.c.event_type == BEFORE_END_EVENT,
            leases.c.status == lease_states.ACTIVE,
            ours(),
        )
    )
    return [(lease_id, Event(*values)) for lease_id, *values in db.execute(query)]
