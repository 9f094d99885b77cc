"""Finds leases and reminders (before-end events) that managers must act on.

A lease is found if its start or end is due, or if it may need a repair.
"""

import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar import times
from warre_blazar.db.running.leases import EVENT_COLUMNS, ours
from warre_blazar.db.tables import (
    allocations,
    events,
    executions,
    leases,
    reservations,
)
from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE
from warre_blazar.domain.running import lease_states
from warre_blazar.domain.running.execution_timing import BEFORE, EVENTS, LEAD, RETRY_LEAD, START
from warre_blazar.domain.running.lease import BEFORE_END_EVENT, END_EVENT, START_EVENT, Event


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


def unsettled(db: Session, now: datetime.datetime) -> set[str]:
    """The ids of all leases that may contradict themselves.

    These are:

    * Leases with a flavor:slot reservation, if the lease or the reservation hasn't ended.
    * Leases with a flavor:slot reservation, if the lease was written within the last day, or ended
      within the last day and still holds hosts.
    * Leases that may need a repair (``in_question``).

    The query reads all these leases, so it should run rarely.
    """
    since = now - times.ENDED_LEASES_READ_FOR
    held = sa.exists().where(allocations.c.reservation_id == reservations.c.id)
    query = (
        sa.select(leases.c.id)
        .distinct()
        .select_from(leases.join(reservations, reservations.c.lease_id == leases.c.id))
        .where(
            reservations.c.resource_type == RESOURCE_TYPE,
            sa.or_(
                leases.c.status != lease_states.TERMINATED,
                reservations.c.status != "deleted",
                sa.and_(leases.c.end_date >= since, held),
                leases.c.updated_at >= since,
            ),
        )
    )
    return {*db.scalars(query), *in_question(db)}


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
