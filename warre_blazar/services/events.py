"""Starts and ends of leases that Blazar gave up because a service was away.

Blazar tries an event once: with Keystone away at that moment, or its manager killed, a booking
would never start, or its servers never end.
"""

import datetime

from oslo_log import log as logging

from warre_blazar.db import events, session

LOG = logging.getLogger(__name__)

# Between two tries.
_PAUSE = datetime.timedelta(minutes=1)
# Longer than an event can take: its servers' deletion and a handful of requests.
_STUCK = datetime.timedelta(minutes=15)
# By then it is for a person to look at.
_GIVE_UP = datetime.timedelta(days=1)


def repeat_given_up(now: datetime.datetime) -> None:
    """Give Blazar back the events that it can safely run again."""
    with session.writer() as db:
        for event in events.given_up(db, now - _PAUSE, now - _STUCK, now - _GIVE_UP):
            if events.give_back(db, event):
                LOG.warning("The %s of lease %s is tried again", event.event_type, event.lease_id)
