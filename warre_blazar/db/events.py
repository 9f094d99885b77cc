"""What Blazar left half done: events that it gave up, leases it never finished."""

import dataclasses
import datetime
from collections.abc import Sequence

import sqlalchemy as sa
from blazar.db.sqlalchemy import models as blazar
from sqlalchemy.orm import Session

_E = blazar.Event.__table__
_L = blazar.Lease.__table__
_R = blazar.Reservation.__table__
_A = blazar.ComputeHostAllocation.__table__

#: By event, the lease's status while it runs, the one before it, and that of reservations not done.
_START = ("start_lease", "STARTING", "PENDING", ("pending",))
_END = ("end_lease", "TERMINATING", "ACTIVE", ("active", "error"))


@dataclasses.dataclass(frozen=True)
class GivenUp:
    """An event of a lease, with the states they are in and the lease's before the event."""

    event_id: str
    event_type: str
    event_status: str
    due: datetime.datetime
    lease_id: str
    lease_status: str
    lease_before: str

    @property
    def is_end(self) -> bool:
        return self.event_type == _END[0]

    @property
    def is_queued(self) -> bool:
        """Whether a manager has taken it, and not come to it."""
        return self.event_status == "IN_PROGRESS" and self.lease_status == self.lease_before


def given_up(
    db: Session,
    failed_before: datetime.datetime,
    stuck_before: datetime.datetime,
    due_after: datetime.datetime,
) -> list[GivenUp]:
    """Starts and ends that did nothing yet, of leases that hold only reservations of ours.

    :param failed_before: those that failed before that time,
    :param stuck_before: or were taken before that time and never came to an end;
    :param due_after: but not those that were due before that time.
    """
    found = []
    for event_type, during, before, undone in (_START, _END):
        failed = sa.and_(
            _L.c.status.in_(("ERROR", before)),
            _E.c.status == "ERROR",
            _E.c.updated_at < failed_before,
        )
        stuck = sa.and_(
            _L.c.status.in_((during, before)),
            _E.c.status == "IN_PROGRESS",
            _E.c.updated_at < stuck_before,
        )
        query = (
            sa.select(_E.c.id, _E.c.status, _E.c.time, _L.c.id, _L.c.status)
            .select_from(_E.join(_L, _L.c.id == _E.c.lease_id))
            .where(
                _E.c.event_type == event_type,
                _E.c.time > due_after,
                sa.or_(failed, stuck),
                _ours_alone(),
                _all_are(undone),
            )
        )
        for event_id, event_status, due, lease_id, lease_status in db.execute(query):
            found.append(
                GivenUp(event_id, event_type, event_status, due, lease_id, lease_status, before)
            )
    # A manager takes all that is due at once, and does one after the other: those behind wait for
    # long, but not while nothing happens to any event.
    if any(event.is_queued for event in found) and _any_changed(db, stuck_before):
        return [event for event in found if not event.is_queued]
    return found


def _any_changed(db: Session, since: datetime.datetime) -> bool:
    return bool(db.scalar(sa.select(sa.exists().where(_E.c.updated_at >= since))))


def give_back(db: Session, event: GivenUp) -> bool:
    """Let Blazar run the event again; whether it was still given up."""
    return _settle(db, event, event.lease_before, "UNDONE")


def finish(db: Session, event: GivenUp) -> bool:
    """Let a lease be over that Blazar couldn't end; whether it was still given up."""
    if not _settle(db, event, "TERMINATED", "DONE"):
        return False
    mine = sa.select(_R.c.id).where(_R.c.lease_id == event.lease_id)
    db.execute(_A.delete().where(_A.c.reservation_id.in_(mine)))
    db.execute(_R.update().where(_R.c.lease_id == event.lease_id).values(status="deleted"))
    return True


def _settle(db: Session, event: GivenUp, lease_status: str, event_status: str) -> bool:
    lease = db.execute(
        _L.update()
        .where(_L.c.id == event.lease_id, _L.c.status == event.lease_status)
        .values(status=lease_status)
    )
    if lease.rowcount != 1:  # type: ignore[attr-defined]
        return False
    db.execute(
        _E.update()
        .where(_E.c.id == event.event_id, _E.c.status == event.event_status)
        .values(status=event_status)
    )
    return True


def abandoned(db: Session, since_before: datetime.datetime) -> list[str]:
    """Leases whose creation or deletion began before a time and never ended.

    Not those with others' reservations. One that has none yet can be anybody's, and is nothing.
    """
    query = sa.select(_L.c.id).where(
        _L.c.status.in_(("CREATING", "DELETING")), _changed() < since_before, sa.not_(_others())
    )
    return list(db.execute(query).scalars())


@dataclasses.dataclass(frozen=True)
class Interrupted:
    """A lease whose update came to no end, and the status it had before."""

    lease_id: str
    lease_status: str
    lease_before: str


def interrupted(
    db: Session, failed_before: datetime.datetime, stuck_before: datetime.datetime
) -> list[Interrupted]:
    """Leases of ours alone that an update left, though none of their events has failed.

    :param failed_before: those in ERROR since before that time,
    :param stuck_before: or UPDATING since before that time.
    """
    left = sa.or_(
        sa.and_(_L.c.status == "ERROR", _changed() < failed_before),
        sa.and_(_L.c.status == "UPDATING", _changed() < stuck_before),
    )
    found = []
    for started, undone, before in (
        ("UNDONE", "pending", "PENDING"),
        ("DONE", "active", "ACTIVE"),
    ):
        query = sa.select(_L.c.id, _L.c.status).where(
            left,
            _ours_alone(),
            has_event("start_lease", started),
            has_event("end_lease", "UNDONE"),
            _all_are((undone,)),
            # A deletion may have given up what a reservation held.
            sa.not_(
                sa.exists().where(
                    _R.c.lease_id == _L.c.id,
                    sa.not_(sa.exists().where(_A.c.reservation_id == _R.c.id)),
                )
            ),
        )
        found += [Interrupted(lease, status, before) for lease, status in db.execute(query)]
    return found


def restore(db: Session, lease: Interrupted) -> bool:
    """Let a lease be as its row says, events and all; whether it was still as it was read."""
    restored = db.execute(
        _L.update()
        .where(_L.c.id == lease.lease_id, _L.c.status == lease.lease_status)
        .values(status=lease.lease_before)
    )
    if restored.rowcount != 1:  # type: ignore[attr-defined]
        return False
    for event_type, column in (("start_lease", _L.c.start_date), ("end_lease", _L.c.end_date)):
        time = sa.select(column).where(_L.c.id == lease.lease_id).scalar_subquery()
        db.execute(
            _E.update()
            .where(_E.c.lease_id == lease.lease_id, _E.c.event_type == event_type)
            .values(time=time)
        )
    return True


def has_event(event_type: str, status: str) -> sa.ColumnElement[bool]:
    """Whether a lease has such an event."""
    return sa.exists().where(
        _E.c.lease_id == _L.c.id, _E.c.event_type == event_type, _E.c.status == status
    )


def _changed() -> sa.ColumnElement[datetime.datetime]:
    """When a lease was changed last."""
    return sa.func.coalesce(_L.c.updated_at, _L.c.created_at)


def _ours_alone() -> sa.ColumnElement[bool]:
    """Whether a lease holds reservations of ours and no others."""
    ours = sa.exists().where(_R.c.lease_id == _L.c.id, _R.c.resource_type == "flavor:slot")
    return sa.and_(ours, sa.not_(_others()))


def _others() -> sa.ColumnElement[bool]:
    """Whether a lease holds reservations of other types."""
    return sa.exists().where(_R.c.lease_id == _L.c.id, _R.c.resource_type != "flavor:slot")


def _all_are(statuses: Sequence[str]) -> sa.ColumnElement[bool]:
    """Whether each of a lease's reservations has one of the statuses."""
    return sa.not_(sa.exists().where(_R.c.lease_id == _L.c.id, _R.c.status.not_in(statuses)))
