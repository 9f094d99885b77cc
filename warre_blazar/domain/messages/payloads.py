"""The payloads of notifications on the message bus, for each kind of notice."""

from collections.abc import Mapping
from typing import Any

from warre_blazar.domain.messages.notices import Kind, Notice, time_text

#: The version of the payloads of ``reservation.*``. The first number changes when a consumer that
#: knows the fields would read something else; the second one when a field is added.
VERSION = "1.0"

#: The last part of a notification's type, by the kind of the notice.
_EVENTS = {
    Kind.CREATED: "create",
    Kind.STARTED: "start",
    Kind.REMINDED: "reminder",
    Kind.NOVA_QUOTA: "reminder",
    Kind.IDLE: "reminder",
    Kind.IDLE_END: "update",
    Kind.ENDED: "end",
    Kind.RESCHEDULED: "update",
    Kind.RESIZED: "update",
    Kind.RENAMED: "update",
    Kind.BEFORE_END: "update",
    Kind.MOVED: "update",
    Kind.MAINTENANCE: "update",
    Kind.REPAIRED: "update",
    Kind.SNAPSHOT: "update",
    Kind.DELETED: "delete",
    Kind.REFUSED: "error",
    Kind.HOST_LOST: "error",
    Kind.EXISTS: "exists",
    Kind.IN_USE: "in_use",
}
#: The kinds that Warre sends too.
_OF_WARRE = frozenset({Kind.STARTED, Kind.ENDED, Kind.EXISTS, Kind.IN_USE})

#: What a notice says about a reservation, and notifications don't. All but the id of Blazar's
#: reservation is for messages only.
_NOT_SENT = frozenset({"reservation_id", "contact", "timezone", "before_end", "series_id"})

#: The fields of a notice that Warre's payload has, beside the flavor.
_FIELDS_OF_WARRE = ("id", "user_id", "project_id", "lease_id", "start", "end", "instance_count")
_FLAVOR_OF_WARRE = (
    *("id", "name", "vcpu", "memory_mb", "disk_gb", "ephemeral_gb", "active", "category"),
    *("availability_zone", "start", "end"),
)


def event_type(notice: Notice) -> str:
    """The type of the notification about a reservation, for example ``reservation.start``."""
    return f"reservation.{_EVENTS[notice.news.kind]}"


def payload(notice: Notice) -> dict[str, Any]:
    """The payload of the notification about a reservation.

    The page of notifications describes it as a JSON Schema.
    """
    news = notice.news
    document: dict[str, Any] = {
        "version": VERSION,
        "change": news.kind.value,
        "at": time_text(news.at),
        "requested_by": news.user_id,
        "before": news.before,
        "after": news.after,
        "reservation": {k: v for k, v in notice.content.items() if k not in _NOT_SENT},
    }
    if news.kind is Kind.IN_USE:
        document |= news.after or {}
    if news.period is not None:
        seconds = int((news.period.end - news.period.start).total_seconds())
        document["period"] = {
            "start": time_text(news.period.start),
            "end": time_text(news.period.end),
            "seconds": seconds,
            "instance_seconds": seconds * notice.content["instance_count"],
        }
    return document


def is_of_warre(notice: Notice) -> bool:
    """Whether Warre sends a notification about this too.

    Warre's payload doesn't say whether a reservation is in use: the notification itself does.
    """
    news = notice.news
    unused = news.kind is Kind.IN_USE and not (news.after or {}).get("in_use")
    return news.kind in _OF_WARRE and not unused


def warre_event_type(notice: Notice) -> str:
    """The type of Warre's notification, for example ``warre.reservation.start``."""
    return f"warre.{event_type(notice)}"


def warre_payload(notice: Notice) -> dict[str, Any]:
    """The payload of Warre's notification. Times have the form of Warre's API."""
    content = notice.content
    document = {name: content[name] for name in _FIELDS_OF_WARRE}
    flavor: Mapping[str, Any] = content["flavor"]
    return {**document, "flavor": {name: flavor[name] for name in _FLAVOR_OF_WARRE}}
