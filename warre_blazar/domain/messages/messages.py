"""Messages about reservations: what they say, who gets them, and which texts are addresses."""

import dataclasses
import datetime
import re
import shlex
import zoneinfo
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeGuard

from warre_blazar import times
from warre_blazar.domain.booking import reservation_states
from warre_blazar.domain.messages.notices import Kind, Notice
from warre_blazar.domain.running.snapshots import Status
from warre_blazar.domain.timeline import Span
from warre_blazar.fields.kinds import Email

_EMAIL = Email()


def is_address(value: Any) -> TypeGuard[str]:
    """Whether a value is an email address to which messages can go."""
    try:
        _EMAIL.validate(value)
    except ValueError:
        return False
    return True


def is_same(one: str, other: str | None) -> bool:
    """Whether two addresses are the same, apart from capital letters."""
    return other is not None and one.lower() == other.lower()


def domain_of(address: str) -> str:
    """The domain of an address, in small letters."""
    return address.rpartition("@")[2].lower()


def mailbox_of(address: str) -> str:
    """The mailbox to which an address leads: ``team@example.org`` for ``Team+gpu@Example.org``.

    Most servers deliver what follows a plus sign to the same mailbox. So nobody avoids a limit, or
    what the owner of a mailbox wants, by another spelling.
    """
    name, _, domain = address.lower().rpartition("@")
    return f"{name.partition('+')[0] or name}@{domain}"


#: Changes that users needn't hear of if they have made them themselves.
_CHANGES = frozenset({Kind.RESCHEDULED, Kind.RESIZED, Kind.DELETED})
#: The kinds of notices whose messages say how to extend the reservation.
EXTENDABLE = frozenset({Kind.STARTED, Kind.REMINDED, Kind.RESCHEDULED, Kind.RESIZED, Kind.SNAPSHOT})

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = (*("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),)
_SPACE = re.compile(r"\s+")


@dataclasses.dataclass(frozen=True)
class Message:
    """A message as a messenger gets it."""

    #: Stays the same if the message is sent again, and differs from that of all other messages.
    id: str
    #: What it is about: the value of a kind of notice, such as "reminded".
    event: str
    #: The email address, or None if the messenger needs none and none is known.
    to: str | None
    #: One line.
    subject: str
    text: str
    html: str
    #: What has happened, as a document for JSON.
    data: Mapping[str, Any]
    #: The page on which the receiver can stop messages. None: the address is the user's own, or
    #: there is none.
    stop_url: str | None = None
    #: The events that the message tells: the id and the data of each. Several events belong
    #: together. ``data`` above is that of the first one.
    events: Sequence[Mapping[str, Any]] = ()


@dataclasses.dataclass(frozen=True)
class MessageLimits:
    """How many messages an address gets in an hour."""

    #: If it is the address of the reservation's user in Keystone.
    own: int
    #: Any other address.
    others: int


@dataclasses.dataclass(frozen=True)
class WantedMessages:
    """Which messages a site sends."""

    events: Collection[str]
    #: Whether users also hear of their own changes.
    own_changes: bool

    def is_told(self, notice: Notice, now: datetime.datetime) -> bool:
        """Whether people get a message about a notice, unless they have turned messages off."""
        kind, content = notice.news.kind, notice.content
        if kind.value not in self.events:
            return False
        is_own = notice.news.user_id is not None and notice.news.user_id == content["user_id"]
        if kind in _CHANGES and is_own and not self.own_changes:
            return False
        if kind is Kind.REMINDED:
            return _moment(content["end"]) > now
        if kind is Kind.DELETED:
            # What has ended, and was told so, is removed from the list of reservations later.
            return _moment(content["end"]) > notice.news.at
        if kind is Kind.SNAPSHOT:
            return bool(unsaved(notice))
        if kind is Kind.MOVED:
            return bool(content["status"] == reservation_states.ACTIVE)
        return True


def has_begun(notice: Notice) -> bool:
    """Whether the reservation had begun when it happened, so that it could have servers."""
    return _moment(notice.content["start"]) <= notice.news.at


def unsaved(notice: Notice) -> list[Mapping[str, Any]]:
    """The last snapshots of the servers that have no image, if a notice tells of snapshots."""
    if notice.news.kind is not Kind.SNAPSHOT or notice.news.after is None:
        return []
    last = {snapshot["server"]: snapshot for snapshot in notice.news.after["snapshots"]}
    return [each for each in last.values() if each["status"] == Status.FAILED.value]


def span_of(notice: Notice) -> Span:
    """The time of the reservation in a notice."""
    return Span(_moment(notice.content["start"]), _moment(notice.content["end"]))


def extension(reservation_id: str, end: datetime.datetime | None) -> str:
    """The command that extends a reservation.

    :param end: the new end, in naive UTC. None: a word stands for it.
    """
    until = "END" if end is None else f"{end:%Y-%m-%dT%H:%M}Z"
    return f"openstack reservation set {reservation_id} --end {until}"


def booking(content: Mapping[str, Any]) -> str:
    """The command that books what a notice is about."""
    start, end = (f"{_moment(content[name]):%Y-%m-%dT%H:%M}Z" for name in ("start", "end"))
    count = f" --count {content['instance_count']}" if content["instance_count"] > 1 else ""
    flavor = shlex.quote(one_line(content["flavor"]["name"]))
    return f"openstack reservation create {flavor}{count} --start {start} --end {end}"


def shown_length(length: datetime.timedelta) -> str:
    """A length of time as messages show it, such as ``1 hour``. It isn't exact."""
    step = 5 * times.MINUTE
    shown = max(1, round(length / step)) * step
    if shown < times.HOUR:
        return f"{shown // times.MINUTE} minutes"
    hours = round(shown / times.HOUR)
    if hours * times.HOUR < 2 * times.DAY:
        return "1 hour" if hours == 1 else f"{hours} hours"
    return f"{round(hours * times.HOUR / times.DAY)} days"


def shown_time(value: str | datetime.datetime, zone: str | None) -> str:
    """A time as messages show it: in UTC, and in a time zone if there is one.

    An example is ``Tue 1 Dec 2026, 09:00 UTC (10:00 in Europe/Berlin)``.

    :param value: a time in naive UTC, or a text as notices have it.
    :param zone: the name of the time zone. One that this machine doesn't know is left out.
    """
    moment = _moment(value).replace(tzinfo=datetime.UTC)
    text = f"{_day(moment)} {moment.year}, {moment:%H:%M} UTC"
    try:
        local = moment.astimezone(zoneinfo.ZoneInfo(zone)) if zone else None
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError, OverflowError):
        local = None
    if local is None:
        return text
    day = "" if local.date() == moment.date() else f"{_day(local)}, "
    return f"{text} ({day}{local:%H:%M} in {zone})"


def _day(moment: datetime.datetime) -> str:
    return f"{_DAYS[moment.weekday()]} {moment.day} {_MONTHS[moment.month - 1]}"


def _moment(value: str | datetime.datetime) -> datetime.datetime:
    """A time in naive UTC."""
    moment = datetime.datetime.fromisoformat(value) if isinstance(value, str) else value
    if moment.tzinfo is None:
        return moment
    return moment.astimezone(datetime.UTC).replace(tzinfo=None)


def one_line(text: str) -> str:
    """A text without line breaks, and without characters that can't be seen.

    Users write the names of reservations. So a name can't add a line to a message, or a header.
    """
    visible = "".join(c if c.isprintable() else " " for c in text)
    return _SPACE.sub(" ", visible).strip()
