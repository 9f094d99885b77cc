"""What Blazar left half done: lease events that it gave up, leases it never finished."""

import dataclasses
import datetime

import sqlalchemy as sa
from blazar.db.sqlalchemy import models as blazar
from sqlalchemy.orm import Session

from warre_blazar.db import models

_E = blazar.Event.__table__
_L = blazar.Lease.__table__
_R = blazar.Reservation.__table__
_W = models.reservations

#: By event, the lease's status while it runs, the one before it, and that of reservations not done.
_START = ("start_lease", "STARTING", "PENDING", ("pending",))
_END = ("end_lease", "TERMINATING", "ACTIVE", ("active", "error"))


@dataclasses.dataclass(frozen=True)
class GivenUp:
    """An event of a lease, with the states they are in and the lease's before the event."""

    event_id: str
    event_type: str
    event_status: str
    lease_id: str
    lease_status: str
    lease_before: str


def given_up(
    db: Session,
    failed_before: datetime.datetime,
    stuck_before: datetime.datetime,
    due_after: datetime.datetime,
) -> list[GivenUp]:
    """Starts and ends that did nothing yet, of leases that hold only reservations of ours.

    :param failed_before: those that failed before that time,
    :param stuck_before: or began before that time and never came to an end;
    :param due_after: but not those that were due before that time.
    """
    found = []
    for event_type, during, before, undone in (_START, _END):
        failed = sa.and_(
            _L.c.status == "ERROR", _E.c.status == "ERROR", _E.c.updated_at < failed_before
        )
        stuck = sa.and_(
            _L.c.status == during, _E.c.status == "IN_PROGRESS", _E.c.updated_at < stuck_before
        )
        ours = sa.exists().where(_R.c.lease_id == _L.c.id, _W.c.reservation_id == _R.c.id)
        others = sa.exists().where(
            _R.c.lease_id == _L.c.id,
            sa.or_(_R.c.resource_type != "flavor:slot", _R.c.status.not_in(undone)),
        )
        query = (
            sa.select(_E.c.id, _E.c.status, _L.c.id, _L.c.status)
            .select_from(_E.join(_L, _L.c.id == _E.c.lease_id))
            .where(
                _E.c.event_type == event_type,
                _E.c.time > due_after,
                sa.or_(failed, stuck),
                ours,
                sa.not_(others),
            )
        )
        for event_id, event_status, lease_id, lease_status in db.execute(query):
            found.append(
                GivenUp(event_id, event_type, event_status, lease_id, lease_status, before)
            )
    return found


def give_back(db: Session, event: GivenUp) -> bool:
    """Let Blazar run the event again; whether it was still given up."""
    lease = db.execute(
        _L.update()
        .where(_L.c.id == event.lease_id, _L.c.status == event.lease_status)
        .values(status=event.lease_before)
    )
    if lease.rowcount != 1:  # type: ignore[attr-defined]
        return False
    db.execute(
        _E.update()
        .where(_E.c.id == event.event_id, _E.c.status == event.event_status)
        .values(status="UNDONE")
    )
    return True


def abandoned(db: Session, since_before: datetime.datetime) -> list[str]:
    """Leases of reservations of ours alone whose creation began before a time and never ended."""
    ours = sa.exists().where(_R.c.lease_id == _L.c.id, _R.c.resource_type == "flavor:slot")
    others = sa.exists().where(_R.c.lease_id == _L.c.id, _R.c.resource_type != "flavor:slot")
    query = sa.select(_L.c.id).where(
        _L.c.status == "CREATING", _L.c.created_at < since_before, ours, sa.not_(others)
    )
    return list(db.execute(query).scalars())
