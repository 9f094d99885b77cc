"""Reads what usage is calculated from: reservations, their logs and what was sampled.

All of this is kept as long as a reservation's record.
"""

import collections
import dataclasses
import datetime
from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db.booking import reservations as stored
from warre_blazar.db.booking.reservations import ends_after, starts_at
from warre_blazar.db.records import changes
from warre_blazar.db.tables import all_bookings, bookings, leases, log_entries, reservations, usage
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

    Past reservations are included.
    """
    conditions = _conditions(wanted)
    found = stored.where(db, conditions, past=True)
    ids = sa.select(bookings.c.reservation_id).select_from(all_bookings).where(*conditions)
    logs = changes.by_reservation(db, log_entries.c.subject.in_(ids))
    used = _used(db, usage.c.reservation_id.in_(ids))
    return [Used(r, tuple(logs[r.reservation_id]), used[r.reservation_id]) for r in found]


def _used(db: Session, condition: sa.ColumnElement[bool]) -> Mapping[str, dict[datetime.date, int]]:
    columns = (usage.c.reservation_id, usage.c.day, usage.c.used_seconds)
    found: dict[str, dict[datetime.date, int]] = collections.defaultdict(dict)
    for reservation_id, day, seconds in db.execute(sa.select(*columns).where(condition)):
        found[reservation_id][day] = seconds
    return found


def _conditions(wanted: UsageFilter) -> list[sa.ColumnElement[bool]]:
    """Conditions on rows of ``all_bookings``."""
    pairs = (
        (bookings.c.project_id, wanted.project_id),
        (bookings.c.user_id, wanted.user_id),
        (bookings.c.flavor_id, wanted.flavor_id),
    )
    # Nothing is booked before the lease is completely created.
    is_booked = sa.or_(bookings.c.status.is_not(None), leases.c.status != "CREATING")
    equal = [column == value for column, value in pairs if value is not None]
    return [*equal, is_booked, _touches(wanted.window)]


#: The changes of a reservation's time.
_OF_TIME = (ChangeKind.RESCHEDULED.value, ChangeKind.IDLE_END.value)


def _touches(window: Span) -> sa.ColumnElement[bool]:
    """The condition that a reservation may have usage within a window.

    A reservation that was moved or shortened may have been booked for another time than its own.
    """
    same, kind = changes.is_change(bookings.c.reservation_id), log_entries.c.kind
    moved = sa.exists().where(same, kind.in_(_OF_TIME))
    has_ended = kind == ChangeKind.ENDED.value
    ended = sa.exists().where(same, has_ended, log_entries.c.at > window.start)
    # It may have been running after its end.
    beyond = sa.or_(reservations.c.status == "active", bookings.c.deleted_at > window.start)
    late = sa.or_(ends_after(window.start), beyond, ended)
    return sa.or_(moved, sa.and_(starts_at < window.end, late))
