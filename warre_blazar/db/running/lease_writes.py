"""Writes the statuses of Blazar's leases, events and reservations.

A function that raises ``session.LostRace`` writes only if the row hasn't changed since it was read.
A transaction that changes the start event, the end event or the reservations of a lease also writes
the lease's own row, because Galera detects conflicts only in rows that are written.
"""

import datetime
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from blazar.status import LeaseStatus
from oslo_utils import timeutils
from sqlalchemy.orm import Session

from warre_blazar.db import generations, session
from warre_blazar.db.records import changes
from warre_blazar.db.tables import events, leases, reservations
from warre_blazar.domain.running import lease_states
from warre_blazar.domain.running.lease import (
    BEFORE_END_EVENT,
    BLAZARS_EVENTS,
    END_EVENT,
    START_EVENT,
    Event,
    Lease,
    LeaseRow,
)
from warre_blazar.domain.running.lease_states import Statuses
from warre_blazar.domain.timeline import Span


def write(
    db: Session,
    unchanged: Sequence[Lease],
    statuses: Statuses,
    times: Mapping[str, datetime.datetime] | None = None,
) -> None:
    """Write the statuses of leases, of their start events and of their end events.

    Afterwards each lease has exactly one start event and one end event. A missing event is added,
    and surplus ones are deleted. Events of types that Blazar doesn't have are deleted too.

    The number of SQL statements doesn't depend on the number of usual leases of the same time.

    :param times: the times of events, by event type. An event whose type is missing here gets the
        start or end of its lease as its time.
    :raises session.LostRace: a lease or one of its events has changed since it was read.
    """
    compare_and_set_all(db, unchanged, statuses.lease)
    alike: dict[tuple[str, datetime.datetime], list[Event]] = defaultdict(list)
    for lease in unchanged:
        due = {START_EVENT: lease.span.start, END_EVENT: lease.span.end, **(times or {})}
        for event_type, status in ((START_EVENT, statuses.start), (END_EVENT, statuses.end)):
            matching = lease.of_type(event_type)
            if matching:
                alike[status, due[event_type]].append(matching[0])
            else:
                _add_event(db, lease.id, event_type, due[event_type], status)
            _delete_events(db, matching[1:])
        _delete_events(db, [e for e in lease.events if e.type not in BLAZARS_EVENTS])
    for (status, time), same in alike.items():
        set_events(db, same, status=status, time=time)


def compare_and_set(db: Session, lease: Lease, status: str) -> None:
    """Change a lease's status, provided that the lease hasn't changed since it was read.

    :raises session.LostRace: the lease has changed.
    """
    compare_and_set_all(db, [lease], status)


def compare_and_set_all(db: Session, unchanged: Sequence[Lease], status: str) -> None:
    """Change the status of leases, provided that none of them has changed since it was read.

    :raises session.LostRace: one of the leases has changed.
    """
    write_unchanged(db, unchanged, status=status)


def write_unchanged(db: Session, unchanged: Sequence[Lease | LeaseRow], **values: Any) -> None:
    """Write columns of leases, provided that none of the leases has changed since it was read.

    A manager that claims a lease for its start, and a request that changes or deletes a lease,
    write the lease's row too. So none of them can commit at the same time as this transaction, even
    if no columns are given.

    :raises session.LostRace: one of the leases has changed.
    """
    row = sa.tuple_(leases.c.id, leases.c.status, leases.c.start_date, leases.c.end_date)
    as_read = [(lease.id, lease.status, lease.span.start, lease.span.end) for lease in unchanged]
    session.write_or_lose(
        db,
        leases.update()
        # The condition on the id alone is for MariaDB, which uses no index for several columns that
        # are compared at once.
        .where(leases.c.id.in_([lease.id for lease in unchanged]), row.in_(as_read))
        .values(**values, updated_at=timeutils.utcnow()),
        len(unchanged),
    )


def end_early(db: Session, lease: Lease, end: datetime.datetime) -> None:
    """Give a lease an earlier end, provided that it hasn't changed since it was read.

    :raises session.LostRace: the lease has changed.
    """
    write_unchanged(db, [lease], end_date=end)
    _outdate_hosts(db, lease.id)
    move_events(db, lease.id, Span(lease.span.start, end))


def set_dates(db: Session, lease_id: str, span: Span) -> None:
    """Write the dates of a lease, whatever they were."""
    dates = {"start_date": span.start, "end_date": span.end}
    db.execute(leases.update().where(leases.c.id == lease_id).values(dates))
    _outdate_hosts(db, lease_id)


def _outdate_hosts(db: Session, lease_id: str) -> None:
    generations.outdate_hosts_of(db, reservations.c.lease_id == lease_id)


def forget_trusts(db: Session, trust_ids: Collection[str]) -> None:
    """Remove trusts from the leases that have them."""
    has_one = leases.c.trust_id.in_(trust_ids)
    db.execute(leases.update().where(has_one).values(trust_id=None))


def reschedule(db: Session, lease: Lease, span: Span) -> None:
    """Write the new time of a lease and of its events, as Blazar does at the end of an update.

    A reminder of the end that hasn't been sent keeps its distance from the end.

    :raises session.LostRace: the lease has changed since it was read.
    """
    write_unchanged(db, [lease], start_date=span.start, end_date=span.end)
    _outdate_hosts(db, lease.id)
    move_events(db, lease.id, span)
    for reminder in lease.of_type(BEFORE_END_EVENT):
        if reminder.status == lease_states.UNDONE and reminder.time is not None:
            after = reminder.time + (span.end - lease.span.end)
            move_reminder(db, reminder.id, reminder.time, after)


def move_events(db: Session, lease_id: str, span: Span) -> None:
    """Move a lease's start event and end event to its start and its end."""
    for event_type, due in ((START_EVENT, span.start), (END_EVENT, span.end)):
        db.execute(
            events.update()
            .where(
                events.c.lease_id == lease_id,
                events.c.event_type == event_type,
                events.c.time != due,
            )
            .values(time=due, updated_at=timeutils.utcnow())
        )


def move_reminder(
    db: Session, event_id: str, before: datetime.datetime, after: datetime.datetime
) -> None:
    """Move a reminder from one time to another, unless somebody else has moved it."""
    db.execute(
        events.update()
        .where(events.c.id == event_id, events.c.time == before)
        .values(time=after, updated_at=timeutils.utcnow())
    )


def set_events(db: Session, unchanged: Sequence[Event], **values: Any) -> None:
    """Write columns of events, provided that their statuses are still those that were read.

    :raises session.LostRace: the status of one of the events has changed, or an event is gone.
    """
    row = sa.tuple_(events.c.id, events.c.status)
    ids = [event.id for event in unchanged]
    session.write_or_lose(
        db,
        events.update()
        .where(events.c.id.in_(ids), row.in_([(event.id, event.status) for event in unchanged]))
        .values(**values, updated_at=timeutils.utcnow()),
        len(unchanged),
    )


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


def set_reservations(db: Session, reservation_ids: Sequence[str], status: str) -> None:
    """Write the status of reservations in Blazar's table, and record it as a change."""
    changes.add_status(db, reservation_ids, status, timeutils.utcnow())
    db.execute(
        reservations.update().where(reservations.c.id.in_(reservation_ids)).values(status=status)
    )


def give_up(db: Session, lease_id: str, status: str) -> None:
    """Take a lease of a stock resource type out of work with which nobody goes on.

    After a change, it gets the status that its events show. After other work it gets the status
    ERROR. Blazar's manager can delete it then.

    :param status: the status that the lease has during the work.
    """
    failed = {"status": lease_states.ERROR, "updated_at": timeutils.utcnow()}
    in_progress = (events.c.lease_id == lease_id, events.c.status == lease_states.IN_PROGRESS)
    db.execute(events.update().where(*in_progress).values(failed))
    if status == lease_states.STARTING:
        # At its end, Blazar ends only reservations that have begun or failed.
        waiting = (reservations.c.lease_id == lease_id, reservations.c.status == "pending")
        db.execute(reservations.update().where(*waiting).values(status="error"))
    if status == lease_states.UPDATING:
        present = db.execute(sa.select(leases).where(leases.c.id == lease_id)).one()
        move_events(db, lease_id, Span(present.start_date, present.end_date))
        failed["status"] = LeaseStatus.derive_stable_status(lease_id)
    db.execute(leases.update().where(leases.c.id == lease_id).values(failed))


def delete_orphan_events(db: Session) -> int:
    """Delete all events that belong to no lease, and return their number.

    Blazar's own executor stops when such an event is due, because it can't find out whether the
    event's lease is stable.
    """
    orphan = sa.or_(
        events.c.lease_id.is_(None),
        sa.not_(sa.exists().where(leases.c.id == events.c.lease_id)),
    )
    orphan_ids = list(db.scalars(sa.select(events.c.id).where(orphan)))
    if orphan_ids:
        db.execute(events.delete().where(events.c.id.in_(orphan_ids)))
    return len(orphan_ids)
