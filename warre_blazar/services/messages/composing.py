"""Composes messages about reservations."""

import datetime
import functools
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from oslo_log import log as logging

from warre_blazar import times
from warre_blazar.db import session
from warre_blazar.db.hosts import allocations
from warre_blazar.domain.messages import groups, messages, payloads
from warre_blazar.domain.messages.messages import Message, MessageLimits, WantedMessages
from warre_blazar.domain.messages.notices import OF_WAITS, Kind, Notice
from warre_blazar.domain.running import snapshots
from warre_blazar.domain.wording import counted
from warre_blazar.errors import exceptions
from warre_blazar.openstack import keystone
from warre_blazar.services.messages import message_settings
from warre_blazar.services.messages.delivery import Undeliverable
from warre_blazar.services.messages.recipients import People, Recipient
from warre_blazar.services.messages.rendering import Templates
from warre_blazar.texts import commands

LOG = logging.getLogger(__name__)

#: The events that nobody has wished for.
_BAD = frozenset(
    {
        *(Kind.REFUSED, Kind.MOVED, Kind.HOST_LOST, Kind.SNAPSHOT),
        *(Kind.IDLE, Kind.IDLE_END, Kind.MAINTENANCE, Kind.NOVA_QUOTA, Kind.WAIT_ENDED),
    }
)
#: The longest name of a reservation in a subject.
_LONGEST_NAME = 60

#: A function that returns the latest end that a reservation can have, by the reservation's id. It
#: returns None if the reservation can't be extended, and raises a ``WarreError`` if that can't be
#: found out.
LatestEnd = Callable[[str], datetime.datetime | None]


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


class Composer:
    """Composes the messages of one batch. What is the same in them is found out once."""

    def __init__(self, site: MessageSite, people: People, now: datetime.datetime) -> None:
        self._site, self._people, self._now = site, people, now

    def message(
        self,
        notices: Sequence[Notice],
        recipient: Recipient,
        last_before: datetime.datetime | None,
    ) -> Message:
        """The message that tells of notices.

        :param notices: a group of ``domain.messages.groups``.
        :param last_before: the end of the hour, if this is the last message to the address in it.
        :raises Undeliverable: the message can't be made.
        :raises WarreError: Keystone can't be asked.
        """
        first = notices[0]
        values = self._values(notices, recipient) | {
            "stop_url": self._stop_url(recipient),
            "last_before": last_before,
        }
        try:
            rendered = self._site.templates.render(first.news.kind.value, values)
        except Exception as error:  # It would fail in the same way at each further attempt.
            raise Undeliverable(f"The message can't be made: {error!r}") from error
        ids = [notice_id(notice) for notice in notices]
        data = [payloads.payload(notice) for notice in notices]
        return Message(
            id=_id_of_all(ids),
            event=first.news.kind.value,
            to=recipient.address,
            subject=rendered.subject,
            text=rendered.text,
            html=rendered.html,
            data=data[0],
            stop_url=values["stop_url"],
            events=[{"id": i, "data": each} for i, each in zip(ids, data, strict=True)],
        )

    def _stop_url(self, recipient: Recipient) -> str | None:
        if recipient.address is None or recipient.is_own:
            return None
        url, key = self._stop_page
        return url + message_settings.token_for(recipient.address, key)

    @functools.cached_property
    def _stop_page(self) -> tuple[str, bytes]:
        """The URL of the page on which people stop messages, and the key that signs links to it."""
        url = f"{keystone.public_url()}{message_settings.PATH}"
        return url, message_settings.signing_key()

    def _values(self, notices: Sequence[Notice], recipient: Recipient) -> dict[str, Any]:
        """The variables of templates. The documentation describes them."""
        news = notices[0].news
        listed = _listed(notices)
        # Its last notice has the values after all changes.
        notice = next(each for each in reversed(notices) if each.subject == notices[0].subject)
        content = notice.content
        zone, count = content["timezone"], content["instance_count"]
        by = news.user_id
        is_own = by is not None and by == content["user_id"]
        chosen = snapshots.effective_before_end(None, content["before_end"], self._site.before_end)
        return {
            "event": news.kind.value,
            "site": self._site.name,
            "support": self._site.support,
            "reservation": _seen(content),
            "reservations": listed,
            "number": len(listed),
            "is_alike": _is_alike(listed),
            "title": _title(listed),
            "project": messages.one_line(recipient.project),
            "instances": counted(count, "instance"),
            "servers": counted(count, "server"),
            "when": lambda value: messages.shown_time(value, zone),
            "left": messages.shown_length(messages.span_of(notice).end - self._now),
            "begun": messages.has_begun(notice),
            "before": news.before,
            "after": news.after,
            "is_own": is_own,
            "by": None if by is None or is_own else messages.one_line(self._people.name_of(by)),
            "is_bad": news.kind in _BAD,
            "is_saved": chosen == snapshots.SNAPSHOT,
            "unsaved": messages.unsaved(notice),
            "to_contact": recipient.is_contact,
            "extension": self._extension(notice) if len(listed) == 1 else None,
            "boot": boot(notice)[1],
            "booking": messages.booking(content) if news.kind is Kind.WAIT_TOLD else None,
            "is_wait": news.kind in OF_WAITS,
        }

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


def boot(notice: Notice) -> tuple[str, str | None]:
    """The zones in which servers can be booted, and the command that boots one.

    The command is None if the reservation hasn't just begun.
    """
    if notice.news.kind is not Kind.STARTED:
        return "", None
    with session.reader() as db:
        zones = ",".join(allocations.zones_of(db, notice.subject))
    return zones, commands.boot(notice.content["compute_flavor"], zones)


def notice_id(notice: Notice) -> str:
    """The id of what is told by a notice. It stays the same if it is told again."""
    # A database may give the id of a notice that was deleted to another one.
    at = f"{notice.news.at:%Y%m%d%H%M%S}"
    return f"warre-{notice.subject}-{notice.news.kind.value}-{at}-{notice.id}"


def _id_of_all(ids: Sequence[str]) -> str:
    """The id of a message. Another message has another one, even if it begins in the same way."""
    if len(ids) == 1:
        return ids[0]
    return f"{ids[0]}-{hashlib.sha256(' '.join(ids).encode()).hexdigest()[:16]}"


def _seen(content: Mapping[str, Any]) -> dict[str, Any]:
    """The reservation with its name in one line."""
    name = content["name"]
    return {**content, "name": name and messages.one_line(name)}


def _listed(notices: Sequence[Notice]) -> list[dict[str, Any]]:
    """The reservations of a message, each once, with what has changed as it was before."""
    last = {notice.subject: notice for notice in notices}
    before: dict[str, dict[str, Any]] = {subject: {} for subject in last}
    for notice in notices:
        if notice.news.kind in (Kind.MAINTENANCE, *groups.CHANGED):
            before[notice.subject] = {**(notice.news.before or {}), **before[notice.subject]}
    return [
        {
            **_seen(notice.content),
            "before": _before(before[subject]),
            "instances": counted(notice.content["instance_count"], "instance"),
            "begun": messages.has_begun(notice),
        }
        for subject, notice in last.items()
    ]


def _before(values: Mapping[str, Any]) -> dict[str, Any] | None:
    """What templates show of the values before changes. None: nothing has changed."""
    count = values.get("instance_count")
    seen = {"start": values.get("start"), "end": values.get("end")}
    return {**seen, "instances": count and counted(count, "instance")} if values else None


def _is_alike(listed: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the reservations have the same name, flavor and number of instances."""
    shown = {(each["name"], each["flavor"]["id"], each["instance_count"]) for each in listed}
    return len(shown) == 1


def _title(listed: Sequence[Mapping[str, Any]]) -> str:
    """The words after "your reservation" in subjects: what the reservations have in common."""
    names = {each["name"] or "" for each in listed}
    name = names.pop() if len(names) == 1 else ""
    if not name:
        flavors = {messages.one_line(each["flavor"]["name"]) for each in listed}
        return f"of {flavors.pop() if len(flavors) == 1 else counted(len(flavors), 'flavor')}"
    return f'"{name}"' if len(name) <= _LONGEST_NAME else f'"{name[:_LONGEST_NAME]}..."'
