"""The channels that tell people what happens to their reservations."""

import contextlib
import dataclasses
import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from oslo_log import log as logging
from sqlalchemy.orm import Session

from warre_blazar import timer, times
from warre_blazar.db import clock, session
from warre_blazar.db.messages import deliveries
from warre_blazar.db.messages import message_settings as stored
from warre_blazar.domain.messages.messages import Message, is_address
from warre_blazar.domain.messages.notices import Kind, Notice
from warre_blazar.errors import exceptions
from warre_blazar.services.messages import recipients
from warre_blazar.services.messages.composing import Composer, MessageSite
from warre_blazar.services.messages.delivery import Undeliverable
from warre_blazar.services.messages.recipients import Mailboxes, People, Recipient

LOG = logging.getLogger(__name__)


class MessageSender(Protocol):
    """A way in which messages reach people (``warre_blazar.messengers.Messenger``)."""

    @property
    def needs_address(self) -> bool:
        """Whether it can send only messages whose receiver has an email address."""

    def opened(self) -> AbstractContextManager[Callable[[Message], None]]:
        """A function that sends a message. Several messages share its connection."""


@dataclasses.dataclass(frozen=True)
class _Budget:
    """How many messages an address may get in an hour, and has got."""

    #: The beginning of the hour.
    hour: datetime.datetime
    limit: int
    sent: int

    @property
    def until(self) -> datetime.datetime:
        """The end of the hour."""
        return self.hour + times.HOUR

    @property
    def is_last(self) -> bool:
        """Whether the next message is the last one of the hour."""
        return self.sent + 1 == self.limit


class MessageChannel:
    """The channel of a messenger."""

    billing = False
    in_groups = True

    def __init__(self, name: str, messenger: MessageSender, site: MessageSite) -> None:
        """
        :param name: the messenger's name in the configuration.
        """
        self.name = f"message {name}"
        self._messenger, self._site = messenger, site
        #: The users of whom the log says that they have no address.
        self._without_address: set[str] = set()

    @contextlib.contextmanager
    def opened(self, notices: Sequence[Notice]) -> Iterator["_Batch"]:
        """A sender for a batch."""
        with self._messenger.opened() as send:
            yield _Batch(self, send, notices)

    @property
    def site(self) -> MessageSite:
        """What is the same in all messages."""
        return self._site

    @property
    def needs_address(self) -> bool:
        """Whether only messages whose receiver has an address can be sent."""
        return self._messenger.needs_address

    def no_address(self, user_id: str | None) -> Undeliverable:
        """The error for a user without an address. The log has each user once."""
        is_known = user_id in self._without_address
        self._without_address.add(user_id or "")
        return Undeliverable(f"User {user_id} has no email address", is_logged=is_known)


class _Batch:
    """Sends the messages of a batch."""

    def __init__(
        self, channel: MessageChannel, send: Callable[[Message], None], notices: Sequence[Notice]
    ) -> None:
        self._channel, self._send, self._now = channel, send, clock.utcnow()
        self._hour = self._now.replace(minute=0, second=0, microsecond=0)
        self._people = People()
        self._mailboxes = Mailboxes(channel.name, self._hour)
        self._composer = Composer(channel.site, self._people, self._now)
        told = _told(channel.site, notices, self._now)
        self._told = {notice.id for notice in told}
        self._read_mailboxes([notice.content for notice in told])

    def send(self, notices: Sequence[Notice]) -> None:
        """Send the message about notices, if people are told about them and the user wants it.

        :raises Undeliverable: there is no address, the address has got too many messages in this
            hour, or the message can't be made.
        :raises Exception: what the messenger raises, or Keystone can't be asked.
        """
        told = [notice for notice in notices if notice.id in self._told]
        if not told:
            return
        try:
            recipient = recipients.find(told[0].content, self._people, self._mailboxes)
            budget = self._budget(recipient)
            last_before = budget.until if budget.is_last else None
            message = self._composer.message(told, recipient, last_before)
        except exceptions.ServiceUnavailable as error:
            # Keystone may fail for the users of one domain only. Messages to others aren't held up.
            raise RuntimeError(error.message) from error
        self._send(message)
        if recipient.address is not None:
            self._count(recipient.address, budget)

    def _read_mailboxes(self, reservations: Sequence[Mapping[str, Any]]) -> None:
        """Read at once what is stored about the addresses of users and contacts.

        If Keystone is slow, the rest is read when it is needed.
        """
        until = timer.now() + times.PEOPLE_TIMEOUT
        addresses = {each["contact"] for each in reservations} | {
            self._people.address_if_known(user_id)
            for user_id in {each["user_id"] for each in reservations}
            if timer.now() < until
        }
        self._mailboxes.read(list(filter(is_address, addresses)))

    def note(self, db: Session) -> None:
        """Write how many messages each address has got."""
        self._mailboxes.note(db)

    def _budget(self, recipient: Recipient) -> _Budget:
        """What is left of the limit of an address.

        :raises Undeliverable: nothing, or there is no address although the messenger needs one.
        """
        limits = self._channel.site.limits
        limit = limits.own if recipient.is_own else limits.others
        if recipient.address is None:
            if self._channel.needs_address:
                raise self._channel.no_address(recipient.user_id)
            return _Budget(self._hour, limit, 0)
        sent = self._mailboxes.sent(recipient.address)
        if sent >= limit:
            # The log says so when the last message is sent.
            text = f"The address {recipient.address} has got {limit} messages in this hour"
            raise Undeliverable(text, is_logged=True)
        return _Budget(self._hour, limit, sent)

    def _count(self, address: str, budget: _Budget) -> None:
        """Count a message that is sent."""
        self._mailboxes.count(address)
        if budget.is_last:
            text = "%s gets no more messages before %s UTC, because it has got %s in an hour"
            LOG.warning(text, address, f"{budget.until:%H:%M}", budget.limit)


def _told(site: MessageSite, notices: Sequence[Notice], now: datetime.datetime) -> Sequence[Notice]:
    """The notices about which people get messages."""
    wanted = [notice for notice in notices if site.wanted.is_told(notice, now)]
    users = {notice.content["user_id"] for notice in wanted} - {None}
    # What a series has booked may have been deleted again, because all or none was asked for.
    in_series = {
        notice.subject
        for notice in wanted
        if notice.news.kind is Kind.CREATED and notice.content["series_id"]
    }
    with session.reader() as db:
        off = stored.disabled(db, users) if users else set()
        undone = deliveries.deleted(db, in_series) if in_series else set()
    return [
        notice
        for notice in wanted
        if notice.content["user_id"] not in off
        and not (notice.news.kind is Kind.CREATED and notice.subject in undone)
    ]
