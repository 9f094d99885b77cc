"""Records what Blazar's own code does to reservations, such as bookings and deletions.

What this package itself changes is recorded where it is written. Deletions are recorded here for
all code that deletes a lease.

Blazar tells no plugin that it deletes a lease that has ended. So this module listens to the
sessions, and writes the records of a lease's reservations in the transaction that deletes the
lease. The record names the user who sent the request, or the one for whom an executor deletes the
lease. Rows that this package purges by SQL statements aren't seen here, and need no record.
"""

from typing import Any

import sqlalchemy as sa
from blazar.db.sqlalchemy import models
from oslo_utils import timeutils
from sqlalchemy import event
from sqlalchemy.orm import Session

from warre_blazar.db.messages import outbox
from warre_blazar.db.records import changes, history
from warre_blazar.domain.messages import notices
from warre_blazar.domain.records.changes import Change, ChangeKind
from warre_blazar.domain.running import lease_states
from warre_blazar.domain.timeline import Span
from warre_blazar.site_rules import conditions


def register() -> None:
    """Record the changes in this process, each in the transaction that writes it."""
    if not event.contains(Session, "before_flush", _record):
        event.listen(Session, "before_flush", _record)


def _record(db: Session, _context: Any, _instances: Any) -> None:
    for item in db.dirty:
        if isinstance(item, models.Lease):
            _lease(db.connection(), item)
        elif isinstance(item, models.Reservation):
            _reservation(db.connection(), item)


def _lease(db: sa.Connection, lease: models.Lease) -> None:
    attributes = sa.inspect(lease).attrs
    before, after = (
        Span(*(_value(attributes[name], old=old) for name in ("start_date", "end_date")))
        for old in (True, False)
    )
    if before != after:
        written = Change(
            timeutils.utcnow(),
            ChangeKind.RESCHEDULED,
            conditions.caller_id(),
            changes.span(before),
            changes.span(after),
        )
        changes.add_of_lease(db, lease.id, written)
    status = attributes.status
    if (_value(status, old=True), lease.status) == (lease_states.CREATING, lease_states.PENDING):
        booked(db, lease.id)


def booked(db: Session | sa.Connection, lease_id: str) -> None:
    """Write that a lease was booked, for its reservations."""
    news = notices.News(notices.Kind.CREATED, timeutils.utcnow(), conditions.caller_id())
    outbox.add(db, outbox.of_lease(lease_id), news)


def _reservation(db: sa.Connection, reservation: models.Reservation) -> None:
    if sa.inspect(reservation).attrs.status.history.has_changes():
        changes.add_status(db, [reservation.id], reservation.status, timeutils.utcnow())


def _value(attribute: Any, *, old: bool) -> Any:
    """The value of a column before or after the change."""
    history = attribute.load_history()
    return history.deleted[0] if old and history.deleted else attribute.value


def register_deletions() -> None:
    """Record the reservations of every lease that Blazar deletes in this process.

    The records are written in the transaction that deletes the lease.
    """
    if not event.contains(Session, "before_flush", _record_deletions):
        event.listen(Session, "before_flush", _record_deletions)


def _record_deletions(db: Session, _context: Any, _instances: Any) -> None:
    """Record the reservations of leases that a flush is about to delete.

    The rows of these reservations still exist.
    """
    for item in db.deleted:
        if isinstance(item, models.Lease):
            history.record_deletion(
                db.connection(), item.id, timeutils.utcnow(), conditions.caller_id()
            )
