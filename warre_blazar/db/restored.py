"""What is read and written in an older database before managers go on with it."""

import datetime
import uuid
from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import generations
from warre_blazar.db.booking import instance_reservations
from warre_blazar.db.booking import reservations as bookings_of
from warre_blazar.db.hosts import allocations
from warre_blazar.db.messages.outbox import Telling
from warre_blazar.db.running import backings as notes
from warre_blazar.db.running import executions, lease_writes
from warre_blazar.db.running import leases as lease_rows
from warre_blazar.db.tables import (
    backings,
    bookings,
    deliveries,
    events,
    leases,
    log_entries,
    reservations,
    turns,
    waits,
)
from warre_blazar.domain.audit.restored import DumpedLease, Unknown
from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE, Flavor
from warre_blazar.domain.running import lease_states
from warre_blazar.domain.running.backing import Phase
from warre_blazar.domain.running.lease import BEFORE_END_EVENT, END_EVENT, START_EVENT, Lease
from warre_blazar.domain.running.lease_states import TARGETS, Summary
from warre_blazar.domain.timeline import Span
from warre_blazar.domain.waits import OPEN

#: The user of rebuilt reservations. Nova and Placement don't say who has booked them.
NOBODY = "restored"


def read_leases(db: Session) -> list[DumpedLease]:
    """The leases of all types that haven't ended."""
    given = sa.select(sa.func.min(bookings.c.name)).where(bookings.c.lease_id == leases.c.id)
    name = sa.func.coalesce(given.scalar_subquery(), leases.c.name)
    rows = db.execute(
        sa.select(leases.c.id, name, leases.c.project_id).where(
            leases.c.status != lease_states.TERMINATED
        )
    ).all()
    made = set(
        db.scalars(
            sa.select(backings.c.reservation_id).where(
                backings.c.phase.in_((Phase.MADE, Phase.OPENING, Phase.OPEN))
            )
        )
    )
    read = {lease.id: lease for lease in lease_rows.read(db, [row[0] for row in rows])}
    return [
        DumpedLease(
            read[lease_id],
            name,
            project_id or "",
            frozenset(r.id for r in read[lease_id].reservations if r.id in made),
        )
        for lease_id, name, project_id in rows
        if lease_id in read
    ]


def known(db: Session) -> set[str]:
    """The ids of all reservations, of which some may be past, and of all notes."""
    columns = (reservations.c.id, bookings.c.reservation_id, backings.c.reservation_id)
    return {each for column in columns for each in db.scalars(sa.select(column)) if each}


def waiting(db: Session) -> dict[str, int]:
    """How many messages and notifications are to be sent, by channel.

    Those of what has happened last aren't spread to the channels yet.
    """
    open_ = deliveries.c.given_up_at.is_(None)
    number = sa.func.count()
    query = sa.select(deliveries.c.channel, number).where(open_).group_by(deliveries.c.channel)
    found: dict[str, int] = {channel: int(count) for channel, count in db.execute(query)}
    new = db.scalar(sa.select(number).where(log_entries.c.telling == Telling.NEW.value))
    return found | ({"all channels": new} if new else {})


def open_waits(db: Session) -> int:
    """The number of waits that are still to be served."""
    query = sa.select(sa.func.count()).select_from(waits).where(waits.c.state.in_(OPEN))
    return db.scalar(query) or 0


def drop_what_was_told(db: Session, until: datetime.datetime) -> None:
    """Let nothing be sent that may have been sent already, and nothing be told twice.

    :param until: reminders that were due until then, and the running time, count as told.
    """
    db.execute(deliveries.delete())
    untold = log_entries.c.telling.in_((Telling.NEW.value, Telling.SPREAD.value))
    db.execute(log_entries.delete().where(untold, log_entries.c.is_logged.is_(sa.false())))
    db.execute(log_entries.update().where(untold).values(telling=None, content=None))
    db.execute(turns.update().where(turns.c.done_until < until).values(done_until=until))
    hour = until.replace(minute=0, second=0, microsecond=0)
    db.execute(bookings.update().where(bookings.c.counted_until < hour).values(counted_until=hour))
    due = (
        events.c.event_type == BEFORE_END_EVENT,
        events.c.status == lease_states.UNDONE,
        events.c.time <= until,
    )
    db.execute(events.update().where(*due).values(status=lease_states.DONE))


def end(db: Session, dumped: DumpedLease, at: datetime.datetime) -> None:
    """Write that a lease has ended, without a request to any service.

    :param at: the time of the end, if it is within the lease.
    """
    lease = dumped.lease
    _forget_work(db, lease)
    if lease.span.start < at < lease.span.end:
        lease_writes.end_early(db, lease, at)
        (lease,) = lease_rows.read(db, [lease.id])
    ids = [r.id for r in lease.reservations]
    for reservation_id in ids:
        allocations.release(db, reservation_id)
        notes.delete(db, reservation_id)
    lease_writes.set_reservations(db, ids, "deleted")
    lease_writes.write(db, [lease], TARGETS[Summary.DELETED])


def prolong(db: Session, dumped: DumpedLease, until: datetime.datetime) -> None:
    """Write a later end of a lease, so that it doesn't end now."""
    lease = dumped.lease
    _forget_work(db, lease)
    summary = lease_states.summary(r.status for r in lease.reservations)
    if summary in (Summary.PENDING, Summary.ACTIVE):
        lease_writes.write(db, [lease], TARGETS[summary])
        (lease,) = lease_rows.read(db, [lease.id])
    lease_writes.reschedule(db, lease, Span(lease.span.start, until))


def _forget_work(db: Session, lease: Lease) -> None:
    """Forget who worked on a lease when the dump was made."""
    if lease.claim is not None:
        executions.forget(db, lease.claim)
    executions.forget_worker(db, lease.id)


def rebuild(
    db: Session, unknown: Unknown, flavor: Flavor, chosen: Mapping[str, int], span: Span
) -> None:
    """Write a running reservation that the database doesn't know, with the id that it has in Nova.

    :param flavor: has the shape of its instances.
    :param chosen: the number of instances on each host, by host id.
    """
    nova = unknown.backing.flavor
    assert nova is not None
    reservation_id, lease_id = unknown.reservation_id, str(uuid.uuid4())
    made = {"created_at": span.start, "updated_at": span.start}
    values = {
        "name": f"restored {reservation_id}",
        "project_id": unknown.project_id,
        "user_id": NOBODY,
        "start_date": span.start,
        "end_date": span.end,
        "status": lease_states.ACTIVE,
    }
    db.execute(leases.insert().values(id=lease_id, degraded=False, **made, **values))
    for event_type, status, time in (
        (START_EVENT, lease_states.DONE, span.start),
        (END_EVENT, lease_states.UNDONE, span.end),
    ):
        event = {"event_type": event_type, "status": status, "time": time}
        db.execute(events.insert().values(id=str(uuid.uuid4()), lease_id=lease_id, **made, **event))
    row_id = str(uuid.uuid4())
    db.execute(
        reservations.insert().values(
            id=reservation_id,
            lease_id=lease_id,
            resource_id=row_id,
            resource_type=RESOURCE_TYPE,
            status="active",
            missing_resources=False,
            resources_changed=False,
            **made,
        )
    )
    instance_reservations.insert(
        db, reservation_id, flavor, chosen, affinity=None, nova_flavor=nova.id, row_id=row_id
    )
    booked = {
        "flavor_id": flavor.id,
        "instance_count": sum(chosen.values()),
        "created_at": span.start,
        "name": values["name"],
        "counted_until": span.start,
    }
    bookings_of.insert(db, reservation_id, booked, flavor.shape)
    allocations.allocate(db, reservation_id, chosen)
    project = str(unknown.project_id)
    notes.insert(db, reservation_id, project, span.start, nova.id, Phase.OPEN)
    aggregate = unknown.backing.aggregate
    if aggregate is not None and aggregate.id is not None:
        notes.update(db, reservation_id, aggregate_id=aggregate.id)
        instance_reservations.set_aggregate(db, reservation_id, aggregate.id)
    generations.outdate(db, set(chosen))
