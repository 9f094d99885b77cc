"""Reads and writes series of reservations.

Every write of a series compares what it depends on, and touches the row. So a booking for a series
and the end of the series exclude each other.
"""

import dataclasses
import datetime
from collections.abc import Collection
from typing import Any

import sqlalchemy as sa
from oslo_serialization import jsonutils
from sqlalchemy.orm import Session

from warre_blazar import times
from warre_blazar.db import session
from warre_blazar.db.booking import reservations
from warre_blazar.db.sql_functions import seconds_between, utc_now
from warre_blazar.db.tables import bookings, occurrences, series
from warre_blazar.domain.booking import reservation_states
from warre_blazar.domain.booking.labels import Labels
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.running import handles
from warre_blazar.domain.series.recurrence import Recurrence
from warre_blazar.domain.series.series import (
    BookedSeries,
    PlannedOccurrence,
    RepeatedBooking,
    SeriesStatus,
    SeriesWork,
)
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions


class SeriesChanged(session.RowChanged):
    """The series has another status or another request by now, or is gone."""


def insert(db: Session, item: BookedSeries) -> None:
    """Add a series."""
    db.execute(series.insert().values(**_columns(item), generation=0, touched_at=utc_now()))


def _columns(item: BookedSeries) -> dict[str, Any]:
    booking, recurrence = item.booking, item.recurrence
    return {
        "id": item.id,
        "project_id": item.project_id,
        "user_id": item.user_id,
        "flavor_id": booking.flavor,
        "instance_count": booking.count,
        "affinity": booking.affinity,
        **vars(booking.labels),
        "before_end": booking.before_end,
        **handles.values_of(booking.handle),
        "start_date": recurrence.start,
        "timezone": recurrence.timezone,
        "rrule": recurrence.rule,
        "exdates": " ".join(recurrence.exdates),
        "minutes": recurrence.length // times.MINUTE,
        "all_or_none": item.all_or_none,
        "status": item.status.value,
        "work_id": item.work_id,
        "ends_running": item.ends_running,
        "ended_at": item.ended_at,
        "ended_by": item.ended_by,
        "created_at": item.created_at,
    }


def _series(row: sa.RowMapping) -> BookedSeries:
    recurrence = Recurrence(
        row["start_date"],
        row["timezone"],
        row["rrule"],
        row["minutes"] * times.MINUTE,
        tuple(row["exdates"].split()),
    )
    return BookedSeries(
        id=row["id"],
        project_id=row["project_id"],
        user_id=row["user_id"],
        booking=RepeatedBooking(
            row["flavor_id"],
            row["instance_count"],
            row["affinity"],
            Labels.read(row),
            row["before_end"],
            handles.read(row),
        ),
        recurrence=recurrence,
        all_or_none=row["all_or_none"],
        status=SeriesStatus(row["status"]),
        work_id=row["work_id"],
        ends_running=row["ends_running"],
        ended_at=row["ended_at"],
        ended_by=row["ended_by"],
        created_at=row["created_at"],
        planned=row["planned"],
        unbooked=row["unbooked"],
    )


_planned = sa.select(sa.func.count()).where(occurrences.c.series_id == series.c.id)
_unbooked = _planned.where(
    sa.or_(occurrences.c.reservation_id.is_(None), occurrences.c.refusal.is_not(None))
)
_everything = sa.select(
    series,
    _planned.scalar_subquery().label("planned"),
    _unbooked.scalar_subquery().label("unbooked"),
)


def find(db: Session, series_id: str) -> BookedSeries | None:
    """The series with this id, or None if there is none."""
    row = db.execute(_everything.where(series.c.id == series_id)).mappings().first()
    return _series(row) if row else None


def listing(
    db: Session, project_id: str | None, limit: int | None, offset: int
) -> tuple[list[BookedSeries], int]:
    """A page of series, the latest first, and the number of series on all pages.

    :param project_id: the project whose series are listed. None: all projects.
    """
    where = sa.true() if project_id is None else series.c.project_id == project_id
    query = _everything.where(where).order_by(series.c.created_at.desc(), series.c.id)
    if limit is not None:
        query = query.limit(limit).offset(offset)
    count = sa.select(sa.func.count()).select_from(series).where(where)
    page = [_series(row) for row in db.execute(query).mappings()]
    return page, db.execute(count).scalar_one()


def silent(db: Session, status: SeriesStatus, seconds: int) -> list[BookedSeries]:
    """The series that have a status and on which nobody has worked for so many seconds."""
    query = _everything.where(
        series.c.status == status.value,
        seconds_between(series.c.touched_at, utc_now()) > seconds,
    )
    return [_series(row) for row in db.execute(query).mappings()]


def change(db: Session, item: BookedSeries, **values: Any) -> BookedSeries:
    """Change a series, provided that its status and its request are as they were read.

    :param values: the new values of fields of ``BookedSeries``.
    :raises SeriesChanged: they aren't.
    """
    changed = dataclasses.replace(item, **values)
    session.write_or_lose(
        db,
        series.update()
        .where(_same(item))
        .values(**_columns(changed), touched_at=utc_now(), generation=series.c.generation + 1),
        error=SeriesChanged,
    )
    return changed


def delete(db: Session, item: BookedSeries) -> None:
    """Delete a series.

    :raises SeriesChanged: its status or its request isn't as it was read.
    """
    session.write_or_lose(db, series.delete().where(_same(item)), error=SeriesChanged)


def _same(item: BookedSeries) -> sa.ColumnElement[bool]:
    return sa.and_(
        series.c.id == item.id,
        series.c.status == item.status.value,
        series.c.work_id == item.work_id,
    )


def plan(db: Session, item: BookedSeries, spans: Collection[Span]) -> None:
    """Note which occurrences the present request to a series asks for."""
    if spans:
        rows = [
            {
                "series_id": item.id,
                "start_date": span.start,
                "end_date": span.end,
                "work_id": item.work_id,
            }
            for span in spans
        ]
        db.execute(occurrences.insert(), rows)


def unplan(db: Session, item: BookedSeries) -> int:
    """Forget what the present request has asked for, and return how many occurrences are left."""
    of_series = occurrences.c.series_id == item.id
    db.execute(occurrences.delete().where(of_series, occurrences.c.work_id == item.work_id))
    query = sa.select(sa.func.count()).select_from(occurrences).where(of_series)
    return db.execute(query).scalar_one()


def was_asked(db: Session, item: BookedSeries, work_id: str) -> bool:
    """Whether a request has asked for new occurrences of a series, or has booked any."""
    its = (occurrences.c.series_id == item.id, occurrences.c.work_id == work_id)
    asked = sa.select(sa.literal(1)).where(*its)
    booked = sa.select(sa.literal(1)).where(_booked_by(work_id))
    return db.execute(sa.union_all(asked, booked).limit(1)).first() is not None


def planned(db: Session, item: BookedSeries) -> list[PlannedOccurrence]:
    """The occurrences of a series that were asked for, the earliest first."""
    its = bookings.c.reservation_id == occurrences.c.reservation_id
    query = (
        sa.select(occurrences, bookings.c.deleted_at, bookings.c.deleted_by)
        .add_columns(bookings.c.reservation_id.label("booked"))
        .select_from(occurrences.outerjoin(bookings, its))
        .where(occurrences.c.series_id == item.id)
        .order_by(occurrences.c.start_date)
    )
    return [_occurrence(row) for row in db.execute(query)]


def _occurrence(row: sa.Row[Any]) -> PlannedOccurrence:
    # A past reservation may be forgotten by now.
    is_gone = row.deleted_at or (row.refusal and row.booked is None)
    return PlannedOccurrence(
        Span(row.start_date, row.end_date),
        None if is_gone else row.reservation_id,
        jsonutils.loads(row.refusal) if row.refusal else None,
        None if row.refusal else row.deleted_at,
        row.deleted_by,
        row.work_id,
    )


def refuse(db: Session, item: BookedSeries, span: Span, error: exceptions.WarreError) -> None:
    """Note why an occurrence couldn't be booked."""
    db.execute(
        occurrences.update()
        .where(occurrences.c.series_id == item.id, occurrences.c.start_date == span.start)
        .values(refusal=jsonutils.dumps(error.document))
    )


def join(db: Session, work: SeriesWork, start: datetime.datetime, reservation_id: str) -> bool:
    """Let a reservation that is being written belong to a series.

    Until the caller's transaction is over, nobody can end the series.

    :param start: the start of the occurrence for which the reservation is written.
    :returns: whether this request still books that occurrence of the series.
    """
    booking = (
        series.c.id == work.series_id,
        series.c.work_id == work.work_id,
        series.c.status == SeriesStatus.BOOKING.value,
    )
    taken = series.update().where(*booking).values(generation=series.c.generation + 1)
    its = (occurrences.c.series_id == work.series_id, occurrences.c.start_date == start)
    values = {"reservation_id": reservation_id, "refusal": None}
    booked = occurrences.update().where(*its).values(values)
    return session.changed(db, taken) == 1 and session.changed(db, booked) == 1


#: The states of reservations that haven't begun.
WAITING = (reservation_states.PENDING_CREATE, reservation_states.ALLOCATED)


def left_to_delete(db: Session, item: BookedSeries) -> list[Reservation]:
    """The reservations that an UNDOING or an ENDING of a series has to delete.

    It deletes what hasn't begun. An UNDOING deletes all that the present request has booked, and an
    ENDING that was asked to deletes what is running too.
    """
    undoes = item.status is SeriesStatus.UNDOING
    of = bookings.c.series_work == item.work_id if undoes else bookings.c.series_id == item.id
    found = reservations.where(db, [of])
    states: tuple[str, ...] = reservation_states.ALL if undoes else WAITING
    if item.ends_running:
        states = reservation_states.LIVE
    return [each for each in found if each.state in states]


def count(db: Session, item: BookedSeries) -> int:
    """How many reservations the present request to a series has booked, without deleted ones."""
    query = sa.select(sa.func.count()).select_from(bookings).where(_booked_by(item.work_id))
    return db.execute(query).scalar_one()


def _booked_by(work_id: str) -> sa.ColumnElement[bool]:
    """The condition for the reservations that a request has booked, without deleted ones."""
    return sa.and_(bookings.c.series_work == work_id, bookings.c.live_id.is_not(None))


def forget_old(db: Session, before: datetime.datetime) -> int:
    """Delete series of which no reservation is stored any more, and return their number."""
    kept = sa.select(bookings.c.series_id).where(bookings.c.series_id.is_not(None))
    resting = (SeriesStatus.BOOKED.value, SeriesStatus.ENDED.value)
    return session.changed(
        db,
        series.delete().where(
            series.c.created_at < before,
            series.c.status.in_(resting),
            series.c.id.not_in(kept),
        ),
    )
