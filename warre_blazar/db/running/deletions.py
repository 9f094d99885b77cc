"""Deletes a lease before its start, in one transaction."""

import datetime

from sqlalchemy.orm import Session

from warre_blazar.db.hosts import allocations
from warre_blazar.db.records import history
from warre_blazar.db.running import backings, leases
from warre_blazar.domain.running import lease_states


def delete_planned(
    db: Session,
    lease_id: str,
    reservation_id: str,
    now: datetime.datetime,
    user_id: str | None,
) -> bool:
    """Delete a lease that hasn't begun, if nothing was made of it in Nova, and release its room.

    :param reservation_id: its only reservation, which is of the type flavor:slot.
    :param now: the time of the deletion, in naive UTC.
    :param user_id: the user who deletes the lease, or None if no user deletes it.
    :returns: whether it was deleted. If not, nothing was written.
    """
    lease = leases.lock(db, lease_id)
    if lease is None or lease.status != lease_states.PENDING:
        return False
    if not backings.delete_planned(db, reservation_id):
        return False
    allocations.release(db, reservation_id)
    history.record_deletion(db.connection(), lease_id, now, user_id)
    history.delete_rows(db, [lease_id], [reservation_id])
    return True
