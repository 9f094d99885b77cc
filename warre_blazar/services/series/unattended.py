"""Goes on with series that nobody works on any more, because a request has died on its way."""

import datetime

from oslo_log import log as logging
from sqlalchemy.orm import Session

from warre_blazar import times
from warre_blazar.db import series as stored
from warre_blazar.db import session
from warre_blazar.db.running import executions, lease_writes, leases
from warre_blazar.domain.running import lease_states
from warre_blazar.domain.running.execution import DELETE
from warre_blazar.domain.series.series import BookedSeries, SeriesStatus
from warre_blazar.services.series import progress

LOG = logging.getLogger(__name__)

_BEGUN = (lease_states.ACTIVE, lease_states.TERMINATED, lease_states.ERROR)


def look() -> None:
    """Lead each series that is between two states, and on which nobody works, out of there.

    Several managers may do so at the same time.
    """
    with session.reader() as db:
        booking = stored.silent(db, SeriesStatus.BOOKING, times.BOOKING_SERIES_DEAD_AFTER)
        deleting = [
            *stored.silent(db, SeriesStatus.UNDOING, times.DELETING_SERIES_DEAD_AFTER),
            *stored.silent(db, SeriesStatus.ENDING, times.DELETING_SERIES_DEAD_AFTER),
        ]
    for item in booking:
        LOG.warning("The request that was booking series %s has died", item.id)
        settled = session.change(_settle, item)
        if settled and settled.status is SeriesStatus.UNDOING:
            deleting.append(settled)
    for item in deleting:
        _clear(item)


def _settle(db: Session, item: BookedSeries) -> BookedSeries | None:
    """Keep what a dead request has booked, or note that it is to be deleted."""
    undoes = item.all_or_none or not stored.count(db, item)
    try:
        if undoes:
            return stored.change(db, item, status=SeriesStatus.UNDOING)
        return stored.change(db, item, status=SeriesStatus.BOOKED)
    except stored.SeriesChanged:
        return None


def _clear(item: BookedSeries) -> None:
    """Request the deletion of what is left to delete. Once nothing is left, close the series."""
    if not progress.touch(item):
        return
    for reservation in progress.left_to_delete(item):
        session.change(_request, item, reservation.lease_id)
    progress.close(item)


def _request(db: Session, item: BookedSeries, lease_id: str) -> None:
    """Request the deletion of a lease, unless somebody works on it at this moment.

    An ENDING that leaves running reservations alone also leaves one alone that has begun since.
    """
    begun = _BEGUN if item.status is SeriesStatus.UNDOING or item.ends_running else ()
    for lease in leases.read(db, [lease_id]):
        if lease.claim is None and lease.status in (lease_states.PENDING, *begun):
            lease_writes.compare_and_set(db, lease, lease_states.DELETING)
            executions.request(db, lease.id, DELETE)


def forget(now: datetime.datetime, days: int) -> int:
    """Delete series that are older than so many days and have no reservation any more."""
    return progress.forget(now, days * times.DAY)
