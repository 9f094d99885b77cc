"""Sends the notices of the outbox through channels.

Each channel has a thread in each manager. Of these threads, one has the turn: it sends the
channel's notices, one of each project after the other. A notice is deleted once it is sent. So a
notice is sent twice only if, between the two, a manager dies or hangs, or the database doesn't
answer. A channel that fails or hangs keeps nothing else from being done.
"""

import datetime
from typing import Protocol

from oslo_log import log as logging

from warre_blazar import timer, times
from warre_blazar.db import clock, session, turns
from warre_blazar.db.messages import deliveries, message_settings
from warre_blazar.domain.messages.notices import Notice
from warre_blazar.errors import exceptions

LOG = logging.getLogger(__name__)

#: The largest number of notices that are read at a time.
_BATCH = 100

#: More notices of one project don't wait for one channel. The oldest ones are given up.
_MOST_OF_PROJECT = 10_000


class Undeliverable(Exception):
    """A notice can never be sent, for example because its receiver has no address.

    :param is_logged: whether the log says so already.
    """

    def __init__(self, text: str, *, is_logged: bool = False) -> None:
        super().__init__(text)
        self.is_logged = is_logged


class Channel(Protocol):
    """A way to tell people or other systems what has happened."""

    #: Distinguishes the channel from all others.
    name: str
    #: Whether the channel gets the notices that bills are made from.
    billing: bool

    def send(self, notice: Notice) -> None:
        """Send a notice, or do nothing if the channel isn't meant to tell it.

        It returns or raises within ``times.SENT_WITHIN``.

        :raises Undeliverable: another attempt can't succeed.
        :raises ServiceUnavailable: the channel doesn't work at the moment, whatever the notice.
        :raises Exception: this notice couldn't be sent. Others may succeed.
        """


class Delivery:
    """Sends the notices of one channel, for one manager."""

    def __init__(self, channel: Channel, manager_id: str) -> None:
        self._channel = channel
        self._manager_id = manager_id
        self._renewed_at = -float("inf")

    def run(self) -> bool:
        """Send what is due, if this manager has the turn.

        :returns: whether more may be due at once.
        :raises ServiceUnavailable: the channel doesn't work at the moment.
        """
        if not self._take():
            return False
        _spread()
        with session.reader() as db:
            due = deliveries.due(db, self._channel.name, clock.utcnow(), _BATCH)
        failed: set[str] = set()
        for notice in due:
            # What is told about a subject stays in order.
            if notice.subject in failed:
                continue
            if not self._take():
                return False
            if not self._send(notice):
                failed.add(notice.subject)
        return len(due) == _BATCH

    def _take(self) -> bool:
        """Take or keep the turn. A manager that was suspended finds out that it has lost it."""
        if timer.now() - self._renewed_at < times.TURN_RENEWED_AFTER:
            return True
        taken = session.change(turns.take, _turn(self._channel), self._manager_id)
        self._renewed_at = timer.now() if taken else -float("inf")
        return taken

    def _send(self, notice: Notice) -> bool:
        """Send a notice, and write what became of it. Return whether it is done with."""
        name = self._channel.name
        try:
            self._channel.send(notice)
        except exceptions.ServiceUnavailable:
            raise
        except Undeliverable as error:
            if not error.is_logged:
                LOG.warning("Notice %s can't be sent by %s: %s", notice.id, name, error)
            session.change(deliveries.give_up, notice.id, str(error), clock.utcnow())
            return True
        except Exception as error:
            LOG.warning("Notice %s wasn't sent by %s yet: %r", notice.id, name, error)
            first, longest = times.NOTICE_FIRST_PAUSE, times.NOTICE_LONGEST_PAUSE
            next_at = clock.utcnow() + times.doubled(first, notice.attempts, longest)
            session.change(deliveries.postpone, notice, str(error), next_at)
            return False
        session.change(deliveries.delete, notice.id)
        return True


def _spread() -> None:
    """Write the notices about what has happened, for all channels."""
    while session.change(deliveries.spread):
        pass


def _turn(channel: Channel) -> str:
    return f"channel {channel.name}"


def tidy(now: datetime.datetime) -> None:
    """Give up notices that wait for too long, or of which a project has too many.

    What isn't needed any more is deleted: notices that were given up, entries of the log that are
    told and that are only told, and numbers of messages.
    """
    _spread()
    lost = session.change(deliveries.give_up_old, now - times.NOTICE_GIVEN_UP_AFTER, now)
    lost += session.change(deliveries.give_up_surplus, _MOST_OF_PROJECT, now)
    if lost:
        LOG.warning("%s notices were given up; an audit shows them", lost)
    session.change(deliveries.delete_given_up, now - times.LOST_NOTICES_SHOWN_FOR)
    while session.change(deliveries.forget_told):
        pass
    session.change(message_settings.forget_counts, now - times.MESSAGE_COUNTS_KEPT)
