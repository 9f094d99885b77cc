"""Notices: what managers tell people and other systems about reservations."""

import dataclasses
import datetime
import enum
from collections.abc import Mapping
from typing import Any, Self

from oslo_serialization import jsonutils

from warre_blazar.domain.booking import reservation_states
from warre_blazar.domain.records.changes import Change
from warre_blazar.domain.timeline import Span

#: Values by the names of fields in the API. Times are texts.
Values = Mapping[str, Any]


class Kind(enum.Enum):
    """What has happened to a reservation, or what is said about it regularly."""

    CREATED = "created"
    #: Its start or its end has changed.
    RESCHEDULED = "rescheduled"
    #: Its number of instances has changed.
    RESIZED = "resized"
    #: Its name, its note, its contact or its webhook has changed.
    RENAMED = "renamed"
    #: Somebody chose what is done with its servers before the end.
    BEFORE_END = "before_end"
    #: It is open: its project can boot servers.
    STARTED = "started"
    #: It has begun, but a service refused to open it. It is opened later.
    REFUSED = "refused"
    #: Its end comes near.
    REMINDED = "reminded"
    #: It begins soon, and Nova's quota doesn't allow its project all of its servers.
    NOVA_QUOTA = "nova_quota"
    ENDED = "ended"
    #: It has had no server for some time, and may end early.
    IDLE = "idle"
    #: Its end is now, because it had no server for too long.
    IDLE_END = "idle_end"
    DELETED = "deleted"
    #: Some of its instances got other hosts, because their hosts had failed or were drained.
    MOVED = "moved"
    #: Maintenance moved it to another time, or lets it end sooner.
    MAINTENANCE = "maintenance"
    #: Some of its instances are on failed hosts, and no other host has room.
    HOST_LOST = "host_lost"
    #: Its lease was repaired.
    REPAIRED = "repaired"
    #: What has become of the snapshots of its servers.
    SNAPSHOT = "snapshot"
    #: It has been running for the notice's period.
    EXISTS = "exists"
    #: Whether it has servers.
    IN_USE = "in_use"
    #: There is room for a wait whose user asked to be told.
    WAIT_TOLD = "wait_told"
    #: A wait has ended, and nothing was booked.
    WAIT_ENDED = "wait_ended"
    #: Blazar's notification about a lease.
    LEASE = "lease"
    #: The account of a lease with a credits service is to be looked at.
    CREDITS = "credits"


#: The kinds from which bills are made. Channels get them only if they ask for them.
BILLING = frozenset({Kind.EXISTS, Kind.IN_USE})

#: The kinds that are about a wait, which isn't a reservation. Only people are told of them.
OF_WAITS = frozenset({Kind.WAIT_TOLD, Kind.WAIT_ENDED})

#: The state that a reservation has by what has happened.
STATES = {
    Kind.CREATED: reservation_states.ALLOCATED,
    Kind.STARTED: reservation_states.ACTIVE,
    Kind.REFUSED: reservation_states.ACTIVE,
    Kind.ENDED: reservation_states.COMPLETE,
}


@dataclasses.dataclass(frozen=True)
class News:
    """What a notice tells beside the reservation itself."""

    kind: Kind
    #: When it happened, as a naive datetime in UTC.
    at: datetime.datetime
    #: The user who asked for it. None: no user did.
    user_id: str | None = None
    #: The changed values before and after a change.
    before: Values | None = None
    after: Values | None = None
    #: For EXISTS: for how long the reservation has been running since the last notice of this kind.
    period: Span | None = None

    @classmethod
    def of(cls, change: Change) -> Self:
        """What a notice tells about a change that is also in the reservation's log."""
        return cls(Kind(change.kind.value), change.at, change.user_id, change.before, change.after)


@dataclasses.dataclass(frozen=True)
class Notice:
    """A notice as a channel gets it."""

    #: The id of the row in ``warre_deliveries``.
    id: int
    #: The id of Blazar's reservation, or of the lease if the kind is LEASE.
    subject: str
    news: News
    #: The reservation as it was when it happened: the fields of the API, and ``reservation_id``.
    #: For the kind LEASE: the payload of Blazar's notification, and ``event``.
    content: Values
    #: How many attempts to send the notice have failed.
    attempts: int = 0

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> Self:
        """The notice in a row of ``warre_deliveries``, joined with its entry of the log."""
        stored = jsonutils.loads(row["content"])
        period = stored.get("period")
        before, after = (row[name] and jsonutils.loads(row[name]) for name in ("before", "after"))
        news = News(
            Kind(row["kind"]),
            row["at"],
            row["user_id"],
            before,
            after,
            Span(*map(datetime.datetime.fromisoformat, period)) if period else None,
        )
        return cls(row["id"], row["subject"], news, stored["content"], row["attempts"])


def to_text(news: News, content: Values) -> str:
    """What ``Notice.read`` reads as ``period`` and ``content``."""
    stored: dict[str, Any] = {"content": content}
    if news.period is not None:
        stored["period"] = [news.period.start.isoformat(), news.period.end.isoformat()]
    return jsonutils.dumps(stored)


def time_text(value: datetime.datetime | None) -> str | None:
    """A naive datetime in UTC as notices and changes have it."""
    return None if value is None else f"{value.isoformat(timespec='seconds')}+00:00"
