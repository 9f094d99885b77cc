"""What Blazar left half done because a service was away or its manager was killed.

Blazar tries a start or an end once: with Keystone away at that moment a booking would never start,
or its servers never end, and an update would cost a running lease. A lease whose manager was killed
while it made or deleted it would hold its slots for good.
"""

import datetime

from blazar.db import api as db_api
from oslo_log import log as logging

from warre_blazar.db import events, session

LOG = logging.getLogger(__name__)

# Between two tries.
_PAUSE = datetime.timedelta(minutes=1)
# Longer than a creation, a start or an end can take: a handful of requests, servers' deletion.
_STUCK = datetime.timedelta(minutes=15)
# By then it is for a person to look at.
_GIVE_UP = datetime.timedelta(days=1)


def repeat_given_up(now: datetime.datetime) -> None:
    """Give Blazar back the starts and ends that it can safely run again.

    One that is due for long ends here: Blazar can't end what belongs to a user who is gone. What
    Nova has of it goes by its note.
    """
    with session.writer() as db:
        for event in events.given_up(db, now - _PAUSE, now - _STUCK, now - _GIVE_UP):
            if event.is_end and event.due < now - _STUCK:
                if events.finish(db, event):
                    LOG.warning("Lease %s is ended without Blazar", event.lease_id)
            elif events.give_back(db, event):
                LOG.warning("The %s of lease %s is tried again", event.event_type, event.lease_id)


def clear_abandoned(now: datetime.datetime) -> None:
    """Remove leases that nobody makes or deletes any more.

    What Nova holds for them goes by its notes.
    """
    with session.writer() as db:
        for lease_id in events.abandoned(db, now - _STUCK):
            db_api.lease_destroy(lease_id)
            LOG.warning("Lease %s was never made or deleted to the end and is removed", lease_id)


def restore_interrupted(now: datetime.datetime) -> None:
    """Let leases go on as they were before an update that came to no end."""
    with session.writer() as db:
        for lease in events.interrupted(db, now - _PAUSE, now - _STUCK):
            if events.restore(db, lease):
                LOG.warning("Lease %s goes on as it was before its update", lease.lease_id)
