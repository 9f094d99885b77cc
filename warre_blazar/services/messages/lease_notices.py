"""Blazar's notifications about leases that this package starts, ends, deletes or repairs."""

from blazar.db import api as db_api
from blazar.notification import api as notifications
from oslo_utils import timeutils
from sqlalchemy.orm import Session

from warre_blazar.db.messages import outbox


def add(db: Session, lease_id: str, event: str) -> None:
    """Write the notification ``lease.EVENT`` into the outbox, with the lease as it is now.

    Nothing is written if the lease is gone.

    :param db: the session of the transaction in which the lease changes.
    """
    # Blazar reads the lease in the same transaction. What it has read earlier is read again.
    db.expire_all()
    lease = db_api.lease_get(lease_id)
    if lease is not None:
        payload = notifications.format_lease_payload(lease)
        outbox.add_lease(db, payload, event, timeutils.utcnow())
