"""Keeps what is being done with series of reservations, one short transaction for each step.

A request books the occurrences of a series one after the other, by calls to the manager. If it dies
on the way, or if the manager doesn't answer, ``services.series.unattended`` goes on.

No transaction spans all occurrences. Instead the status of the series and the id of the request
that works on it are compared in each transaction that writes a reservation. So once somebody has
written another status, no call can book anything more, not even one that is under way.
"""

import dataclasses
import datetime
from collections.abc import Sequence

from oslo_utils import timeutils, uuidutils
from sqlalchemy.orm import Session

from warre_blazar import texts
from warre_blazar.db import flavors, session
from warre_blazar.db import series as stored
from warre_blazar.db.booking import reservations
from warre_blazar.db.tables import bookings
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.series.series import BookedSeries, PlannedOccurrence, SeriesStatus
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions


def find(series_id: str) -> BookedSeries | None:
    """The series with this id, or None."""
    with session.reader() as db:
        return stored.find(db, series_id)


def get(series_id: str) -> BookedSeries:
    """The series with this id.

    :raises SeriesNotFound:
    """
    item = find(series_id)
    if item is None:
        raise exceptions.SeriesNotFound(series_id)
    return item


def flavors_of(items: Sequence[BookedSeries]) -> dict[str, Flavor]:
    """The flavors of series, by id."""
    with session.reader() as db:
        return flavors.get_many(db, {item.booking.flavor for item in items})


def listing(
    project_id: str | None, limit: int | None, offset: int
) -> tuple[list[BookedSeries], int]:
    """A page of a project's series, the latest first, and the number on all pages."""
    with session.reader() as db:
        return stored.listing(db, project_id, limit, offset)


def occurrences(item: BookedSeries) -> list[Reservation]:
    """The reservations of a series that weren't deleted, the earliest first."""
    with session.reader() as db:
        return reservations.where(db, [bookings.c.series_id == item.id])


def plan(item: BookedSeries) -> list[PlannedOccurrence]:
    """The occurrences of a series that were asked for, the earliest first."""
    with session.reader() as db:
        return stored.planned(db, item)


def was_asked(item: BookedSeries, work_id: str) -> bool:
    """Whether a request has asked for new occurrences of a series, or has booked any."""
    with session.reader() as db:
        return stored.was_asked(db, item, work_id)


def begin(item: BookedSeries, spans: Sequence[Span]) -> BookedSeries:
    """Store a new series, whose occurrences are about to be booked."""
    session.change(_insert, item, spans)
    return item


def _insert(db: Session, item: BookedSeries, spans: Sequence[Span]) -> None:
    stored.insert(db, item)
    stored.plan(db, item, spans)


def begin_extension(item: BookedSeries, spans: Sequence[Span], work_id: str) -> BookedSeries:
    """Note that further occurrences of a series are about to be booked.

    :param spans: those that weren't asked for before.
    :param work_id: identifies the request.
    :raises InvalidState: another request is working on the series, or it was ended.
    """
    if item.status is not SeriesStatus.BOOKED:
        raise _busy(item)
    try:
        return session.change(_begin_extension, item, spans, work_id)
    except stored.SeriesChanged:
        raise _busy(get(item.id)) from None


def change(item: BookedSeries, new: BookedSeries | None = None) -> BookedSeries:
    """Write the new values of a series, or claim it for a request that changes it.

    :raises InvalidState: another request is working on the series, or it was ended.
    """
    if item.status is not SeriesStatus.BOOKED:
        raise _busy(item)
    new = new or dataclasses.replace(item, work_id=uuidutils.generate_uuid())
    values = {name: getattr(new, name) for name in ("booking", "recurrence", "work_id")}
    try:
        return session.change(stored.change, item, **values)
    except stored.SeriesChanged:
        raise _busy(get(item.id)) from None


def _begin_extension(
    db: Session, item: BookedSeries, spans: Sequence[Span], work_id: str
) -> BookedSeries:
    begun = stored.change(db, item, status=SeriesStatus.BOOKING, work_id=work_id)
    stored.plan(db, begun, spans)
    return begun


def _busy(item: BookedSeries) -> exceptions.InvalidState:
    if item.status in (SeriesStatus.ENDING, SeriesStatus.ENDED):
        over = texts.refusals.SERIES_OVER(series=item.id, at=item.ended_at, by=item.ended_by)
        return exceptions.InvalidState(over)
    return exceptions.InvalidState(texts.refusals.SERIES_BUSY(series=item.id))


def tries(item: BookedSeries) -> BookedSeries:
    """Note that the next occurrence is about to be booked.

    :raises SeriesEnded: somebody has ended the series, or a manager has taken it from a request
        that was silent for too long.
    """
    try:
        return session.change(stored.change, item)
    except stored.SeriesChanged:
        raise exceptions.SeriesEnded(item.id) from None


def refused(item: BookedSeries, span: Span, error: exceptions.WarreError) -> None:
    """Note why an occurrence couldn't be booked."""
    session.change(stored.refuse, item, span, error)


def finish(item: BookedSeries) -> BookedSeries:
    """Note that all occurrences were tried, and that what was booked stays.

    :raises SeriesEnded: as for ``tries``.
    """
    try:
        return session.change(stored.change, item, status=SeriesStatus.BOOKED)
    except stored.SeriesChanged:
        raise exceptions.SeriesEnded(item.id) from None


def undo(item: BookedSeries) -> BookedSeries | None:
    """Note that what the request has booked is to be deleted.

    From now on the request can book nothing more, also not by a call to the manager that is still
    under way.

    :returns: the series, or None if somebody else deletes its reservations already.
    """
    try:
        return session.change(stored.change, item, status=SeriesStatus.UNDOING)
    except stored.SeriesChanged:
        return None


@session.retried
def end(series_id: str, user_id: str | None, *, running: bool) -> BookedSeries:
    """Note that a series is to be ended, also while it is being booked.

    :param user_id: the user who ends it.
    :param running: whether to delete the running reservations too.
    :returns: the series, which is ENDED if it was ended before and nothing more is asked.
    :raises SeriesNotFound:
    """
    with session.writer() as db:
        item = stored.find(db, series_id)
        if item is None:
            raise exceptions.SeriesNotFound(series_id)
        try:
            return stored.change(
                db,
                item,
                status=SeriesStatus.ENDING,
                work_id=uuidutils.generate_uuid(),
                ends_running=running or item.ends_running,
                ended_at=item.ended_at or timeutils.utcnow().replace(microsecond=0),
                ended_by=item.ended_by if item.ended_at else user_id,
            )
        except stored.SeriesChanged:
            raise session.LostRace from None


def left_to_delete(item: BookedSeries) -> list[Reservation]:
    """The reservations that an UNDOING or an ENDING of a series has to delete."""
    with session.reader() as db:
        return stored.left_to_delete(db, item)


def touch(item: BookedSeries) -> bool:
    """Say that somebody is still working on a series.

    :returns: False: somebody else does something else with it by now.
    """
    try:
        session.change(stored.change, item)
    except stored.SeriesChanged:
        return False
    return True


def close(item: BookedSeries) -> bool:
    """End an UNDOING or an ENDING of a series, if there is nothing left to delete.

    A series that was undone before it had anything is deleted.

    :returns: whether it is over, here or by somebody else.
    """
    try:
        return session.change(_close, item)
    except stored.SeriesChanged:
        return True


def _close(db: Session, item: BookedSeries) -> bool:
    if stored.left_to_delete(db, item):
        return False
    if item.status is SeriesStatus.ENDING:
        stored.change(db, item, status=SeriesStatus.ENDED)
    elif stored.unplan(db, item):
        stored.change(db, item, status=SeriesStatus.BOOKED)
    else:
        stored.delete(db, item)
    return True


def forget(now: datetime.datetime, kept: datetime.timedelta) -> int:
    """Delete old series of which nothing is left, and return their number."""
    return session.change(stored.forget_old, now - kept)
