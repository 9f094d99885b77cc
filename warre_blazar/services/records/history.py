"""The history: writes records of deleted reservations, and removes old leases and records."""

import dataclasses
import datetime

from oslo_log import log as logging
from oslo_utils import timeutils

from warre_blazar import times
from warre_blazar.db import session
from warre_blazar.db.records import changes, history, refusals, server_samples
from warre_blazar.db.running import snapshots
from warre_blazar.domain.booking.reservation import Reservation

LOG = logging.getLogger(__name__)

#: The number of leases or records that are removed in one transaction.
_BATCH = 200


@dataclasses.dataclass(frozen=True)
class Purged:
    """How much a purge has removed, or would remove."""

    #: The number of leases. Their reservations are removed with them.
    leases: int = 0
    #: The number of records.
    records: int = 0


def delete(reservation: Reservation, user_id: str | None) -> None:
    """Delete a reservation that exists only as a record. The record stays, and tells who did it."""
    session.change(history.delete, reservation.id, timeutils.utcnow(), user_id)


def old(now: datetime.datetime, days: int) -> Purged:
    """Count what ``purge`` would remove."""
    with session.reader() as db:
        return Purged(*history.count_old(db, now - days * times.DAY))


def purge(now: datetime.datetime, days: int) -> Purged:
    """Remove leases of ours that ended more than ``days`` days ago, and records of that age.

    The changes of reservations, what was sampled of them and what is known of their snapshots are
    removed with them. Requests that were refused before are removed too.

    The age of a record counts from the reservation's deletion, or from its end if nobody has
    deleted it. A lease stays if it has reservations of other types. A lease isn't removed while it
    has allocations or a backing. Any number of managers may purge at the same time.
    """
    before = now - days * times.DAY
    removed = Purged(_remove_leases(before), _remove_records(before))
    session.change(changes.delete_orphans, before)
    session.change(server_samples.delete_orphans, before)
    session.change(snapshots.delete_orphans, before)
    while session.change(refusals.delete_old, before, _BATCH):
        pass
    if removed != Purged():
        LOG.info(
            "Removed %s leases and %s records older than %s days",
            removed.leases,
            removed.records,
            days,
        )
    return removed


def _remove_leases(before: datetime.datetime) -> int:
    removed = 0
    while True:
        with session.reader() as db:
            ids = history.old_leases(db, before, _BATCH)
        gone = session.change(history.delete_leases, ids) if ids else 0
        removed += gone
        if not gone:
            return removed


def _remove_records(before: datetime.datetime) -> int:
    removed = 0
    while gone := session.change(history.delete_old, before, _BATCH):
        removed += gone
    return removed
