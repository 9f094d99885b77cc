"""Reads leases with their events and reservations, and finds those on which a manager must act.

A lease is found if its start or end is due, or if it may need a repair.
"""

import dataclasses
import datetime
from collections import defaultdict
from collections.abc import Collection

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar import times
from warre_blazar.db.running import backings, executions
from warre_blazar.db.tables import allocations, events, leases, reservations
from warre_blazar.db.tables import executions as db_executions
from warre_blazar.domain.flavors.flavor import BESIDE, RESOURCE_TYPE
from warre_blazar.domain.running import lease_states
from warre_blazar.domain.running.execution import (
    BEFORE,
    DURING,
    END,
    EVENTS,
    LONGEST_LEAD,
    RETRY_LEAD,
    START,
    lead,
)
from warre_blazar.domain.running.lease import (
    BEFORE_END_EVENT,
    END_EVENT,
    START_EVENT,
    Event,
    Lease,
    LeaseReservation,
)
from warre_blazar.domain.timeline import Span

#: The columns of ``Event``, in the order of its fields.
EVENT_COLUMNS = (events.c.id, events.c.event_type, events.c.time, events.c.status)


_OTHERS = reservations.alias()


def _is_run() -> sa.ColumnElement[bool]:
    """The SQL condition that this package starts and ends a reservation."""
    with_ours = sa.exists().where(
        _OTHERS.c.lease_id == reservations.c.lease_id, _OTHERS.c.resource_type == RESOURCE_TYPE
    )
    own_type = reservations.c.resource_type
    return sa.or_(own_type == RESOURCE_TYPE, sa.and_(own_type == BESIDE, with_ours))


#: Queries that each start and end sends are built once. The parameter has the ids of leases.
_THESE: sa.BindParameter[str] = sa.bindparam("lease_ids", expanding=True)
_EVENTS = (
    sa.select(events.c.lease_id, *EVENT_COLUMNS)
    .where(events.c.lease_id.in_(_THESE))
    .order_by(events.c.created_at, events.c.id)
)
_RESERVATIONS = (
    sa.select(
        reservations.c.lease_id,
        reservations.c.id,
        _is_run(),
        reservations.c.status,
        sa.exists().where(allocations.c.reservation_id == reservations.c.id),
        backings.is_whole(reservations.c.id),
    )
    .where(reservations.c.lease_id.in_(_THESE))
    .order_by(reservations.c.id)
)
_LEASES = sa.select(
    leases.c.id,
    leases.c.status,
    leases.c.start_date,
    leases.c.end_date,
    sa.func.coalesce(leases.c.updated_at, leases.c.created_at),
).where(leases.c.id.in_(_THESE))


def read(db: Session, lease_ids: Collection[str]) -> list[Lease]:
    """Read leases by id, in five queries. Leases that don't exist are left out."""
    if not lease_ids:
        return []
    these = {"lease_ids": list(lease_ids)}
    events_of: dict[str, list[Event]] = defaultdict(list)
    for lease_id, *values in db.execute(_EVENTS, these):
        events_of[lease_id].append(Event(*values))
    reservations_of: dict[str, list[LeaseReservation]] = defaultdict(list)
    for lease_id, *facts in db.execute(_RESERVATIONS, these):
        reservations_of[lease_id].append(LeaseReservation(*facts))
    executed = executions.of_leases(db, lease_ids)
    abandoned = executions.abandoned_works(db, lease_ids)
    rows = db.execute(_LEASES, these)
    return [
        Lease(
            id=lease_id,
            status=status,
            span=Span(start, end),
            updated_at=updated_at,
            events=tuple(events_of[lease_id]),
            reservations=tuple(reservations_of[lease_id]),
            claim=executed.get(lease_id),
            is_abandoned=lease_id in abandoned
            and lease_id not in executed
            and status in lease_states.TRANSITIONAL,
        )
        for lease_id, status, start, end, updated_at in rows
    ]


def ours() -> sa.ColumnElement[bool]:
    """The SQL condition that a lease has a flavor:slot reservation."""
    return sa.exists().where(
        reservations.c.lease_id == leases.c.id, reservations.c.resource_type == RESOURCE_TYPE
    )


def is_busy(db: Session, lease_id: str) -> bool:
    """Whether somebody is starting, changing, ending or deleting a lease.

    This is so if the lease's status says that it is being started, changed or ended, or if a living
    manager has the lease claim.
    """
    status = db.scalar(sa.select(leases.c.status).where(leases.c.id == lease_id))
    during = (DURING[START], lease_states.UPDATING, DURING[END])
    return status in during or executions.is_claimed(db, lease_id)


@dataclasses.dataclass(frozen=True)
class LockedLease:
    """A lease's status and dates at this moment, whatever the transaction has read before."""

    status: str
    span: Span


def lock(db: Session, lease_id: str) -> LockedLease | None:
    """Read a lease's status and dates, and keep others from changing them.

    Until the caller's transaction is over, other transactions that write the lease's row wait. On
    SQLite they fail.

    :returns: None if there is no such lease.
    """
    row = db.execute(
        sa.select(leases.c.status, leases.c.start_date, leases.c.end_date)
        .where(leases.c.id == lease_id)
        # PostgreSQL locks a row in a weaker way too when a row that refers to it is written. These
        # writes needn't wait.
        .with_for_update(key_share=True)
    ).first()
    return LockedLease(row[0], Span(row[1], row[2])) if row else None


def lock_all(db: Session, lease_ids: Collection[str]) -> None:
    """Keep others from changing leases, as ``lock`` does.

    What the transaction reads afterwards is as it was when the leases were locked, provided that
    this is the transaction's first statement.
    """
    query = sa.select(leases.c.id).where(leases.c.id.in_(lease_ids)).order_by(leases.c.id)
    db.execute(query.with_for_update(key_share=True)).all()


@dataclasses.dataclass(frozen=True)
class Timing:
    """A reservation that Blazar asks a plugin to start or end, and that this package runs."""

    reservation_id: str
    lease_status: str
    #: The lease's start and end.
    span: Span


def find_by_resource(db: Session, resource_id: str) -> Timing | None:
    """The reservation whose row in ``instance_reservations`` has this id.

    :returns: None if there is no such reservation in a lease of this package.
    """
    row = db.execute(
        sa.select(reservations.c.id, leases.c.status, leases.c.start_date, leases.c.end_date)
        .select_from(reservations.join(leases, leases.c.id == reservations.c.lease_id))
        .where(reservations.c.resource_id == resource_id, _is_run())
    ).first()
    return Timing(row[0], row[1], Span(row[2], row[3])) if row else None


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
    by_claim = sa.select(db_executions.c.lease_id)
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

    The start or the end of these leases is due, or will be due within the time ``lead``.

    Only leases with flavor:slot reservations are included. A lease is left out while a manager or
    Blazar works on it.

    :param action: ``START`` or ``END``.
    """
    when = leases.c.start_date if action == START else leases.c.end_date
    latest = now + LONGEST_LEAD[action]
    query = (
        sa.select(leases.c.id, when, events.c.time)
        .select_from(events.join(leases, leases.c.id == events.c.lease_id))
        .where(
            events.c.status == lease_states.UNDONE,
            sa.or_(events.c.time == when, events.c.time <= now + RETRY_LEAD),
            events.c.time <= latest,
            events.c.event_type == EVENTS[action],
            leases.c.status.in_(BEFORE[action]),
            when <= latest,
            ours(),
        )
        .order_by(when)
    )
    if action == START:
        query = query.where(leases.c.end_date > now)
    found = db.execute(query).all()
    until = now + lead(action, len(found))
    return [lease_id for lease_id, *moments in found if max(moments) <= until]


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
