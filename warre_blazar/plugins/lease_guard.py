"""Checks what Blazar's manager writes to leases of flavor:slot, and of the exact plugins if on.

Blazar reads a lease's status in one transaction and writes the next status in another. So several
requests, or a manager that has been suspended for a while, could work on a lease at the same time,
and the last write would win. The checks here run in the transaction that writes:

- Blazar begins work on a lease only if the lease's present status allows it.
- When the work ends, Blazar's status is written only if the lease still has the status of the work.
- New dates are written only during an update, and only if the room for them was promised.
- When an update ends, the events have the lease's dates again, even if the update was refused.
"""

import dataclasses
import datetime
import threading
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from blazar import exceptions as blazar_exc
from blazar import status
from blazar.db.sqlalchemy import models
from blazar.manager import exceptions as manager_exc
from sqlalchemy import event
from sqlalchemy.orm import Session

from warre_blazar import texts
from warre_blazar.db.booking import promises
from warre_blazar.db.running import lease_writes, leases
from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE
from warre_blazar.domain.running import lease_states
from warre_blazar.domain.running.lease import BEFORE_END_EVENT
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions


@dataclasses.dataclass
class _GuardedWork:
    """What Blazar is doing to a lease in a thread. All of it happens in the same thread."""

    lease_id: str
    #: The status that the lease has during the work.
    status: str
    #: The reminders that the work has moved: their ids, former times and new times.
    reminders: list[tuple[str, datetime.datetime, datetime.datetime]] = dataclasses.field(
        default_factory=list
    )
    #: Whether the work's new dates were refused.
    refused: bool = False


_thread = threading.local()

#: Says whether a lease may get new dates: from the transaction, the lease's id, and the dates.
Admits = Callable[[Session, str, Span], bool]

#: By resource type, who says whether a lease may get new dates.
_guarded: dict[str, Admits] = {RESOURCE_TYPE: promises.cover}


def guard(resource_type: str, admits: Admits) -> None:
    """Check what Blazar writes to leases of another resource type too."""
    _guarded[resource_type] = admits


def register() -> None:
    """Check what Blazar writes to leases in this process."""
    if not event.contains(Session, "before_flush", _check):
        event.listen(Session, "before_flush", _check)


def _check(db: Session, _context: Any, _instances: Any) -> None:
    for item in list(db.dirty):
        if isinstance(item, models.Event):
            _remember_reminder(item)
        elif isinstance(item, models.Lease) and _types(item):
            present = leases.lock(db, item.id)
            if present is not None:
                _check_dates(db, item, present)
                _check_status(db, item, present)


def _types(lease: models.Lease) -> set[str]:
    """The resource types of a lease that are checked."""
    return {r.resource_type for r in lease.reservations} & set(_guarded)


def _check_status(db: Session, lease: models.Lease, present: leases.LockedLease) -> None:
    """Check a status that Blazar is about to write.

    :param present: what the lease has at this moment. The objects that Blazar has read may be
        older, and another request may have written the same status.
    :raises blazar_exc.InvalidStatus: the lease's present status doesn't allow the change.
    """
    if "status" not in sa.inspect(lease).committed_state:
        return
    if lease.status in lease_states.TRANSITIONAL:
        if lease.status not in status.LeaseStatus.NEXT_STATUSES[present.status]:
            raise blazar_exc.InvalidStatus
        _thread.work = _GuardedWork(lease.id, lease.status)
        return
    work = _work_on(lease.id)
    if work is None and present.status == lease_states.DELETING:
        # This is the end of a creation that took so long that a manager is deleting the lease.
        raise blazar_exc.InvalidStatus
    if work is not None:
        # Until then, the write may be repeated.
        event.listen(db, "after_commit", _forget_work, once=True)
        if work.status == lease_states.UPDATING:
            _restore_events(db, present, work)
        if present.status != work.status:
            # Somebody else has taken over the lease, so this work no longer decides its status.
            lease.status = present.status


def _check_dates(db: Session, lease: models.Lease, present: leases.LockedLease) -> None:
    """Check the dates that Blazar is about to write.

    :raises manager_exc.CantUpdateParameter: the dates were promised to nobody. Blazar then leaves
        the lease as it was.
    """
    facts = sa.inspect(lease).attrs
    changed = {n for n in ("start_date", "end_date") if facts[n].history.has_changes()}
    if not changed:
        return
    start = lease.start_date if "start_date" in changed else present.span.start
    end = lease.end_date if "end_date" in changed else present.span.end
    span = Span(start, end)
    if present.status == lease_states.UPDATING and all(
        _guarded[kind](db, lease.id, span) for kind in _types(lease)
    ):
        return
    work = _work_on(lease.id)
    if work is not None:
        work.refused = True
    error = exceptions.InvalidState(texts.refusals.LEASE_CHANGED(lease=lease.id))
    raise manager_exc.CantUpdateParameter(
        error.message, warre={"code": error.code, "detail": error.detail}
    )


def _work_on(lease_id: str) -> _GuardedWork | None:
    """This thread's work on a lease, or None if the thread doesn't work on the lease."""
    work: _GuardedWork | None = getattr(_thread, "work", None)
    return work if work is not None and work.lease_id == lease_id else None


def _forget_work(_: Session) -> None:
    _thread.work = None


def _remember_reminder(reminder: models.Event) -> None:
    """Remember the time of a reminder that an update is about to move."""
    before = sa.inspect(reminder).attrs.time.history.deleted
    work = _work_on(reminder.lease_id)
    if work and before and reminder.event_type == BEFORE_END_EVENT:
        work.reminders.append((reminder.id, before[0], reminder.time))


def _restore_events(db: Session, present: leases.LockedLease, work: _GuardedWork) -> None:
    """Write the lease's dates to its events. Blazar writes the events before the lease."""
    lease_writes.move_events(db, work.lease_id, present.span)
    if work.refused:
        for event_id, before, after in work.reminders:
            lease_writes.move_reminder(db, event_id, after, before)
