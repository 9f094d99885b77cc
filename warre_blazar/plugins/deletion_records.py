"""Adds a record to the history when a flavor:slot reservation is deleted with its lease.

This works for all code that deletes a lease, Blazar's own included.
"""

from typing import Any

from blazar.db.sqlalchemy import models
from oslo_utils import timeutils
from sqlalchemy import event
from sqlalchemy.orm import Session

from warre_blazar.db.records import history
from warre_blazar.site_rules import conditions


def register() -> None:
    """Record the reservations of every lease that Blazar deletes in this process.

    The records are written in the transaction that deletes the lease.
    """
    if not event.contains(Session, "before_flush", _record):
        event.listen(Session, "before_flush", _record)


def _record(db: Session, _context: Any, _instances: Any) -> None:
    """Record the reservations of leases that a flush is about to delete.

    The rows of these reservations still exist.
    """
    for item in db.deleted:
        if isinstance(item, models.Lease):
            history.record_deletion(
                db.connection(), item.id, timeutils.utcnow(), conditions.caller_id()
            )
