"""The channels that tell people what happens to their reservations."""

import dataclasses
import datetime
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from oslo_log import log as logging

from warre_blazar import times
from warre_blazar.db import clock, session
from warre_blazar.db.hosts import allocations
from warre_blazar.db.messages import message_settings as addresses
from warre_blazar.domain.messages import messages, payloads
from warre_blazar.domain.messages.messages import Message, MessageLimits, WantedMessages, mailbox_of
from warre_blazar.domain.messages.notices import OF_WAITS, Kind, Notice
from warre_blazar.domain.running import snapshots
from warre_blazar.domain.wording import counted
from warre_blazar.errors import exceptions
from warre_blazar.openstack import keystone
from warre_blazar.services.messages import message_settings, recipients
from warre_blazar.services.messages.delivery import Undeliverable
from warre_blazar.services.messages.recipients import Recipient
from warre_blazar.services.messages.rendering import Templates
from warre_blazar.texts import commands

LOG = logging.getLogger(__name__)

#: The events that nobody has wished for.
_BAD = frozenset(
    {
        *(Kind.REFUSED, Kind.MOVED, Kind.HOST_LOST, Kind.SNAPSHOT),
        *(Kind.IDLE, Kind.IDLE_END, Kind.MAINTENANCE, Kind.WAIT_ENDED),
    }
)
#: The longest name of a reservation in a subject.
_LONGEST_NAME = 60

#: A function that returns the latest end that a reservation can have, by the reservation's id. It
#: returns None if the reservation can't be extended, and raises a ``WarreError`` if that can't be
#: found out.
LatestEnd = Callable[[str], datetime.datetime | None]


class MessageSender(Protocol):
    """A way in which messages reach people (``warre_blazar.messengers.Messenger``)."""

    @property
    def needs_address(self) -> bool:
        """Whether it can send only messages whose receiver has an email address."""

    def send(self, message: Message) -> None:
        """Send a message."""


class MessageSite:
    """What is the same in all messages of a site."""

    def __init__(
        self,
        name: str,
        support: str,
        wanted: WantedMessages,
        limits: MessageLimits,
        templates: Templates,
        latest_end: LatestEnd,
        before_end: str = snapshots.NOTHING,
    ) -> None:
        """
        :param support: where people can ask for help.
        :param before_end: what is done with servers before the end of a reservation if neither the
            reservation nor its flavor says anything.
        """
        self.name, self.support, self.wanted, self.limits = name, support, wanted, limits
        self.templates, self.latest_end = templates, latest_end
        self.before_end = before_end


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

    def __init__(self, name: str, messenger: MessageSender, site: MessageSite) -> None:
        """
        :param name: the messenger's name in the configuration.
        """
        self.name = f"message {name}"
        self._messenger, self._site = messenger, site
        #: The users of whom the log says that they have no address.
        self._without_address: set[str] = set()

    def send(self, notice: Notice) -> None:
        """Send a message about a notice, if people are told about it and the user wants messages.

        :raises Undeliverable: there is no address, the address has got too many messages in this
            hour, or the message can't be made.
        :raises Exception: what the messenger raises, or Keystone can't be asked.
        """
        now = clock.utcnow()
        user_id = notice.content["user_id"]
        if not self._site.wanted.is_told(notice, now):
            return
        if user_id and not message_settings.is_enabled(user_id):
            return
        try:
            recipient = recipients.of(notice.content)
            budget = self._budget(recipient, now)
            message = self._message(notice, recipient, budget, now)
        except exceptions.ServiceUnavailable as error:
            # Keystone may fail for the users of one domain only. Messages to others aren't held up.
            raise RuntimeError(error.message) from error
        self._messenger.send(message)
        if recipient.address is not None:
            self._count(recipient.address, budget)

    def _budget(self, recipient: Recipient, now: datetime.datetime) -> _Budget:
        """What is left of the limit of an address.

        :raises Undeliverable: nothing, or there is no address although the messenger needs one.
        """
        hour = now.replace(minute=0, second=0, microsecond=0)
        limit = self._site.limits.own if recipient.is_own else self._site.limits.others
        if recipient.address is None:
            if self._messenger.needs_address:
                raise self._no_address(recipient.user_id)
            return _Budget(hour, limit, 0)
        with session.reader() as db:
            sent = addresses.messages_sent(db, self.name, mailbox_of(recipient.address), hour)
        if sent >= limit:
            # The log says so when the last message is sent.
            text = f"The address {recipient.address} has got {limit} messages in this hour"
            raise Undeliverable(text, is_logged=True)
        return _Budget(hour, limit, sent)

    def _count(self, address: str, budget: _Budget) -> None:
        """Note that a message was sent."""
        session.change(addresses.count_message, self.name, mailbox_of(address), budget.hour)
        if budget.is_last:
            text = "%s gets no more messages before %s UTC, because it has got %s in an hour"
            LOG.warning(text, address, f"{budget.until:%H:%M}", budget.limit)

    def _no_address(self, user_id: str | None) -> Undeliverable:
        """The error for a user without an address. The log has each user once."""
        is_known = user_id in self._without_address
        self._without_address.add(user_id or "")
        return Undeliverable(f"User {user_id} has no email address", is_logged=is_known)

    def _message(
        self, notice: Notice, recipient: Recipient, budget: _Budget, now: datetime.datetime
    ) -> Message:
        stop_url = None
        if recipient.address is not None and not recipient.is_own:
            token = message_settings.token_for(recipient.address)
            stop_url = f"{keystone.public_url()}{message_settings.PATH}{token}"
        values = self._values(notice, recipient, now) | {
            "stop_url": stop_url,
            "last_before": budget.until if budget.is_last else None,
        }
        try:
            rendered = self._site.templates.render(notice.news.kind.value, values)
        except Exception as error:  # It would fail in the same way at each further attempt.
            raise Undeliverable(f"The message can't be made: {error!r}") from error
        return Message(
            id=_id(notice),
            event=notice.news.kind.value,
            to=recipient.address,
            subject=rendered.subject,
            text=rendered.text,
            html=rendered.html,
            data=payloads.payload(notice),
            stop_url=stop_url,
        )

    def _values(
        self, notice: Notice, recipient: Recipient, now: datetime.datetime
    ) -> dict[str, Any]:
        """The variables of templates. The documentation describes them."""
        news, content = notice.news, notice.content
        zone, count = content["timezone"], content["instance_count"]
        by = news.user_id
        is_own = by is not None and by == content["user_id"]
        chosen = snapshots.effective_before_end(None, content["before_end"], self._site.before_end)
        return {
            "event": news.kind.value,
            "site": self._site.name,
            "support": self._site.support,
            "reservation": _seen(content),
            "title": _title(content),
            "project": messages.one_line(recipient.project),
            "instances": counted(count, "instance"),
            "servers": counted(count, "server"),
            "when": lambda value: messages.shown_time(value, zone),
            "left": messages.shown_length(messages.span_of(notice).end - now),
            "begun": messages.has_begun(notice),
            "before": news.before,
            "after": news.after,
            "is_own": is_own,
            "by": None if by is None or is_own else messages.one_line(recipients.name_of(by)),
            "is_bad": news.kind in _BAD,
            "is_saved": chosen == snapshots.SNAPSHOT,
            "unsaved": messages.unsaved(notice),
            "to_contact": recipient.is_contact,
            "extension": self._extension(notice),
            "boot": self._boot(notice),
            "booking": messages.booking(content) if news.kind is Kind.WAIT_TOLD else None,
            "is_wait": news.kind in OF_WAITS,
        }

    def _boot(self, notice: Notice) -> str | None:
        """The command that boots a server. None: the message needn't say that."""
        if notice.news.kind is not Kind.STARTED:
            return None
        with session.reader() as db:
            zones = allocations.zones_of(db, notice.subject)
        return commands.boot(notice.content["compute_flavor"], ",".join(zones))

    def _extension(self, notice: Notice) -> Mapping[str, Any] | None:
        """How the reservation can be extended. None: the message needn't say that."""
        if notice.news.kind not in messages.EXTENDABLE:
            return None
        reservation_id, end = notice.content["id"], messages.span_of(notice).end
        zone = notice.content["timezone"]
        try:
            latest = self._site.latest_end(reservation_id)
        except (exceptions.ReservationNotFound, exceptions.InvalidState):
            return None  # It has ended since.
        except exceptions.WarreError as error:
            LOG.info("How far %s can be extended isn't known: %s", reservation_id, error)
            return {
                "is_possible": True,
                "until": None,
                "command": messages.extension(reservation_id, None),
                "example": f"{end + times.HOUR:%Y-%m-%dT%H:%M}Z",
            }
        if latest is None:
            return {"is_possible": False}
        return {
            "is_possible": True,
            "until": messages.shown_time(latest, zone),
            "command": messages.extension(reservation_id, latest),
        }


def _id(notice: Notice) -> str:
    # A database may give the id of a notice that was deleted to another one.
    at = f"{notice.news.at:%Y%m%d%H%M%S}"
    return f"warre-{notice.subject}-{notice.news.kind.value}-{at}-{notice.id}"


def _seen(content: Mapping[str, Any]) -> dict[str, Any]:
    """The reservation with its name in one line."""
    name = content["name"]
    return {**content, "name": name and messages.one_line(name)}


def _title(content: Mapping[str, Any]) -> str:
    """The words after "your reservation" in subjects."""
    name = messages.one_line(content["name"] or "")
    if not name:
        return f"of {messages.one_line(content['flavor']['name'])}"
    return f'"{name}"' if len(name) <= _LONGEST_NAME else f'"{name[:_LONGEST_NAME]}..."'
