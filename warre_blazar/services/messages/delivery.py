"""Sends the notices of the outbox through channels.

Each channel has a thread in each manager. Of these threads, one has the turn: it sends the
channel's notices in batches, one of each project after the other. What became of a batch is written
in one transaction. So a notice is sent twice only if a manager dies or hangs, or the database
doesn't answer, and then at most the notices of one batch. A channel that fails or hangs keeps
nothing else from being done.
"""

import contextlib
import datetime
import itertools
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, Self

from oslo_log import log as logging
from sqlalchemy.orm import Session

from warre_blazar import timer, times
from warre_blazar.db import clock, session, turns
from warre_blazar.db.messages import deliveries, message_settings
from warre_blazar.db.messages.deliveries import Outcomes
from warre_blazar.domain.messages import groups
from warre_blazar.domain.messages.notices import Notice
from warre_blazar.errors import exceptions

LOG = logging.getLogger(__name__)

#: The largest number of notices in a batch, if each is told by itself.
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


class Sender(Protocol):
    """Sends the notices of a batch, with what is made or read once for all of them."""

    def send(self, notices: Sequence[Notice]) -> None:
        """Send notices that are told together, or do nothing if the channel isn't meant to.

        It returns or raises within ``times.SENT_WITHIN``.

        :raises Undeliverable: another attempt can't succeed.
        :raises ServiceUnavailable: the channel doesn't work at the moment, whatever the notices.
        :raises Exception: these notices couldn't be sent. Others may succeed.
        """

    def note(self, db: Session) -> None:
        """Write what the channel itself notes about what it has sent.

        :param db: the session of the transaction that writes what became of the notices.
        """


class Channel(Protocol):
    """A way to tell people or other systems what has happened."""

    #: Distinguishes the channel from all others.
    name: str
    #: Whether the channel gets the notices that bills are made from.
    billing: bool
    #: Whether notices that belong together are told together (``domain.messages.groups``).
    in_groups: bool

    def opened(self, notices: Sequence[Notice]) -> AbstractContextManager[Sender]:
        """A sender for a batch. At the end, its connections are closed.

        :param notices: all notices of the batch.
        """


class EachAlone:
    """A channel that sends each notice by itself, and notes nothing."""

    in_groups = False

    @contextlib.contextmanager
    def opened(self, notices: Sequence[Notice]) -> Iterator[Self]:
        yield self

    def send(self, notices: Sequence[Notice]) -> None:
        for notice in notices:
            self.send_one(notice)

    def send_one(self, notice: Notice) -> None:
        """Send a notice. Errors are those of ``Sender.send``."""
        raise NotImplementedError

    def note(self, db: Session) -> None:
        pass


class Delivery:
    """Sends the notices of one channel, for one manager."""

    def __init__(self, channel: Channel, manager_id: str) -> None:
        self._channel = channel
        self._manager_id = manager_id
        self._renewed_at = -float("inf")
        #: By project, the number of its last turn, as long as batches take too long.
        self._served: dict[str, int] = {}
        self._turns = itertools.count(1)

    def run(self) -> bool:
        """Send a batch of what is due, if this manager has the turn.

        :returns: whether more may be due at once.
        :raises ServiceUnavailable: the channel doesn't work at the moment.
        """
        if not self._take():
            return False
        _spread()
        name, in_groups = self._channel.name, self._channel.in_groups
        with session.reader() as db:
            due = deliveries.due(
                db, name, clock.utcnow(), _BATCH, in_groups=in_groups, served=self._served
            )
        if not due:
            return False
        outcomes = Outcomes()
        with self._channel.opened(due) as sender:
            try:
                is_over = self._send(sender, due, outcomes)
            finally:
                # Also if the channel has failed on the way, so that nothing is sent twice.
                self._write(sender, outcomes)
        if is_over:
            self._served.clear()
        return len(due) >= _BATCH or not is_over

    def _take(self) -> bool:
        """Take or keep the turn. A manager that was suspended finds out that it has lost it."""
        if timer.now() - self._renewed_at < times.TURN_RENEWED_AFTER:
            return True
        taken = session.change(turns.take, _turn(self._channel), self._manager_id)
        self._renewed_at = timer.now() if taken else -float("inf")
        return taken

    def _send(self, sender: Sender, due: Sequence[Notice], outcomes: Outcomes) -> bool:
        """Send notices as long as the batch may take and this manager has the turn.

        :returns: whether none is left because time was up.
        """
        until = timer.now() + times.BATCH_SENT_FOR
        failed: set[str] = set()
        for group in groups.grouped(due) if self._channel.in_groups else [[each] for each in due]:
            if timer.now() > until:
                return False
            if not self._take():
                return True
            # What is told about a subject stays in order.
            left = [notice for notice in group if notice.subject not in failed]
            if project_id := group[0].content.get("project_id"):
                self._served[project_id] = next(self._turns)
            if left and not self._send_group(sender, left, outcomes):
                failed.update(notice.subject for notice in left)
        return True

    def _send_group(self, sender: Sender, group: Sequence[Notice], outcomes: Outcomes) -> bool:
        """Send notices that are told together. Return whether the channel is done with them."""
        name, ids = self._channel.name, ", ".join(str(notice.id) for notice in group)
        try:
            sender.send(group)
        except exceptions.ServiceUnavailable:
            raise
        except Undeliverable as error:
            if not error.is_logged:
                LOG.warning("Notice %s can't be sent by %s: %s", ids, name, error)
            outcomes.given_up += [(notice, str(error)) for notice in group]
            return True
        except Exception as error:
            LOG.warning("Notice %s wasn't sent by %s yet: %r", ids, name, error)
            outcomes.postponed += [(notice, str(error)) for notice in group]
            return False
        outcomes.sent += [notice.id for notice in group]
        return True

    def _write(self, sender: Sender, outcomes: Outcomes) -> None:
        """Write what became of notices."""
        try:
            session.change(_write, sender, outcomes)
        except Exception:
            # As long as the database takes no writes, the turn can't be taken again. So the same
            # notices aren't sent again and again.
            self._renewed_at = -float("inf")
            raise


def _write(db: Session, sender: Sender, outcomes: Outcomes) -> None:
    sender.note(db)
    deliveries.write(db, outcomes, clock.utcnow())


#: Lets one thread of a process spread at a time. The others would lose the race for the entries.
_spreading = threading.Lock()


def _spread() -> None:
    """Write the notices about what has happened, for all channels."""
    with _spreading:
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
