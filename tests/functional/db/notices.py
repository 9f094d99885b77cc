"""Reads what channels have yet to send."""

import datetime

from warre_blazar.db import session
from warre_blazar.db.messages import deliveries
from warre_blazar.domain.messages.notices import Notice


def waiting(channel: str) -> list[Notice]:
    """The notices that a channel has yet to send, in the order in which it sends them."""
    while session.change(deliveries.spread):
        pass
    with session.reader() as db:
        return deliveries.due(db, channel, datetime.datetime.max, 10**6)
