"""Reads what usage is calculated from: reservations, their logs and what was sampled.

All of this is kept as long as a reservation's record.
"""

import collections
import dataclasses
import datetime
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db.booking import reservations as live
from warre_blazar.db.records import changes as stored_changes
from warre_blazar.db.records import history as records
from warre_blazar.db.tables import (
    bookings,
    bookings_in_leases,
    changes,
    history,
    leases,
    reservations,
    usage,
)
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.records.changes import Change, ChangeKind
from warre_blazar.domain.timeline import Span


@dataclasses.dataclass(frozen=True, kw_only=True)
class UsageFilter:
    """Whose usage is wanted, and for what time. None means no condition."""

    window: Span
    project_id: str | None = None
    user_id: str | None = None
    flavor_id: str | None = None


@dataclasses.dataclass(frozen=True)
class Used:
    """A reservation with what its usage is calculated from."""

    reservation: Reservation
    log: tuple[Change, ...]
    #: By day, the sampled seconds for which each of the instances had a server.
    used: Mapping[datetime.date, int]


def read(db: Session, wanted: UsageFilter) -> list[Used]:
    """Every reservation that may have usage within a time, in a fixed number of statements.

    Deleted reservations are included as long as they have a record.
    """
    # A reservation that is deleted between the two queries is in both results.
    both = [*live.where(db, _live(wanted)), *records.where(db, _recorded(wanted))]
    found = {reservation.id: reservation for reservation in both}
    ids = sa.union_all(
        sa.select(bookings.c.reservation_id).select_from(bookings_in_leases).where(*_live(wanted)),
        sa.select(history.c.reservation_id).where(*_recorded(wanted)),
    )
    logs = stored_changes.by_reservation(db, changes.c.reservation_id.in_(ids))
    used = _used(db, usage.c.reservation_id.in_(ids))
    return [Used(r, tuple(logs[r.reservation_id]), used[r.reservation_id]) for r in found.values()]


def _used(db: Session, condition: sa.ColumnElement[bool]) -> Mapping[str, dict[datetime.date, int]]:
    columns = (usage.c.reservation_id, usage.c.day, usage.c.used_seconds)
    found: dict[str, dict[datetime.date, int]] = collections.defaultdict(dict)
    for reservation_id, day, seconds in db.execute(sa.select(*columns).where(condition)):
        found[reservation_id][day] = seconds
    return found


def _live(wanted: UsageFilter) -> list[sa.ColumnElement[bool]]:
    """Conditions on rows of ``bookings_in_leases``."""
    running = reservations.c.status == "active"
    return [
        # Nothing is booked before the lease is completely created.
        leases.c.status != "CREATING",
        *_equal(wanted, leases.c.project_id, leases.c.user_id, bookings.c.flavor_id),
        _touches(
            wanted.window,
            leases.c.start_date,
            leases.c.end_date,
            bookings.c.reservation_id,
            running,
        ),
    ]


def _recorded(wanted: UsageFilter) -> list[sa.ColumnElement[bool]]:
    """Conditions on rows of ``history``."""
    return [
        *_equal(wanted, history.c.project_id, history.c.user_id, history.c.flavor_id),
        _touches(
            wanted.window,
            history.c.start_date,
            history.c.end_date,
            history.c.reservation_id,
            history.c.deleted_at > wanted.window.start,
        ),
    ]


def _equal(
    wanted: UsageFilter, project: sa.Column[Any], user: sa.Column[Any], flavor: sa.Column[Any]
) -> list[sa.ColumnElement[bool]]:
    pairs = ((project, wanted.project_id), (user, wanted.user_id), (flavor, wanted.flavor_id))
    return [column == value for column, value in pairs if value is not None]


#: The changes of a reservation's time.
_OF_TIME = (ChangeKind.RESCHEDULED.value, ChangeKind.IDLE_END.value)


def _touches(
    window: Span,
    start: sa.Column[Any],
    end: sa.Column[Any],
    reservation_id: sa.Column[Any],
    beyond: sa.ColumnElement[bool],
) -> sa.ColumnElement[bool]:
    """The condition that a reservation may have usage within a window.

    A reservation that was moved or shortened may have been booked for another time than its own.

    :param beyond: the condition that it may have been running after its end.
    """
    same = changes.c.reservation_id == reservation_id
    moved = sa.exists().where(same, changes.c.kind.in_(_OF_TIME))
    ended = sa.exists().where(
        same, changes.c.kind == ChangeKind.ENDED.value, changes.c.at > window.start
    )
    late = sa.or_(end > window.start, beyond, ended)
    return sa.or_(moved, sa.and_(start < window.end, late))
