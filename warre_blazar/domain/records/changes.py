"""Describes changes of reservations."""

import dataclasses
import datetime
import enum
from collections.abc import Mapping
from typing import Any


class ChangeKind(enum.Enum):
    """What has happened to a reservation."""

    CREATED = "created"
    #: Its start or its end has changed.
    RESCHEDULED = "rescheduled"
    #: Its number of instances has changed.
    RESIZED = "resized"
    #: Its name, its note, its contact or its webhook has changed.
    RENAMED = "renamed"
    #: Somebody chose what is done with its servers before the end.
    BEFORE_END = "before_end"
    #: Somebody chose how far maintenance may move it. This isn't told.
    MOVABLE = "movable"
    STARTED = "started"
    ENDED = "ended"
    #: Its end is now, because it had no server for too long.
    IDLE_END = "idle_end"
    #: Some of its instances got other hosts, because their hosts had failed or were drained.
    MOVED = "moved"
    DELETED = "deleted"
    #: It has begun, but a service refused to open it to its project.
    REFUSED = "refused"
    #: It is open to its project, later than it has begun.
    OPENED = "opened"
    #: Another number of its instances is on hosts that have failed or lack the room, and no other
    #: host has room for them.
    MISSING = "missing"


class MoveReason(enum.StrEnum):
    """Why a reservation got other hosts, or maintenance gave it another time."""

    #: Healing moved it off a host that had failed.
    HOST_FAILED = "host_failed"
    #: An operator drains a host.
    DRAIN = "drain"
    #: A maintenance window closes its flavor or a host.
    MAINTENANCE = "maintenance"
    #: It hadn't begun, and was placed again so that another reservation got room.
    MADE_ROOM = "made_room"
    #: Its host had less room than was booked, because of something that no booking knows of.
    NO_ROOM = "no_room"


#: The value with the reason in what a change tells.
REASON = "reason"
#: What a change of the kind MISSING tells: the number of instances on failed hosts.
MISSING_INSTANCES = "missing_instances"

#: The kind of a change by the status that Blazar gives to the reservation.
BY_STATUS = {"active": ChangeKind.STARTED, "deleted": ChangeKind.ENDED}


@dataclasses.dataclass(frozen=True)
class Change:
    """A change of a reservation."""

    #: A naive datetime in UTC.
    at: datetime.datetime
    kind: ChangeKind
    #: The user who asked for the change. None: no user did.
    user_id: str | None = None
    #: The changed values before and after the change, by the names of fields in the API. Times are
    #: texts. None: the kind says all.
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None


def moved(at: datetime.datetime, reason: MoveReason, user_id: str | None = None) -> Change:
    """The change of a reservation that got other hosts.

    :param user_id: the user because of whom it got them. None: no user, or an operator whose name
        isn't known.
    """
    return Change(at, ChangeKind.MOVED, user_id, after={REASON: reason.value})
