"""Snapshots: the images of servers that are made before the end, and who chooses so."""

import dataclasses
import datetime
import enum
from collections.abc import Mapping
from typing import Any

from warre_blazar import texts, times
from warre_blazar.domain.messages.notices import time_text
from warre_blazar.errors import exceptions
from warre_blazar.fields.reservations import ReservationFields

NOTHING, SNAPSHOT = "nothing", "snapshot"


@dataclasses.dataclass(frozen=True)
class BeforeEndRule:
    """What the configuration says."""

    #: What is done if neither the reservation nor its flavor says anything.
    default: str = NOTHING
    #: How long before the end it is done.
    ahead: datetime.timedelta = times.BEFORE_END


#: What holds without a configuration.
USUAL = BeforeEndRule()


@dataclasses.dataclass(frozen=True)
class BeforeEndChoice:
    """What somebody has chosen for a reservation. None: what its flavor says."""

    value: str | None


def effective_before_end(chosen: str | None, of_flavor: str | None, default: str) -> str:
    """What is done with a reservation's servers.

    :param chosen: what was chosen for the reservation, if anything was.
    :param of_flavor: what the flavor says, if it says anything.
    :param default: what the site's configuration says.
    """
    return chosen or of_flavor or default


def checked_before_end(value: Any) -> str | None:
    """Check a choice from a request.

    :raises InvalidField: it is neither None nor one of the words.
    """
    try:
        return None if value is None else ReservationFields.before_end.kind.validate(value)
    except texts.NotValid as error:
        raise exceptions.InvalidField("before_end", error.expected) from error


#: Nova accepts longer names, but nobody reads them.
_LONGEST_PART = 100


class Status(enum.Enum):
    """How far a snapshot has come."""

    #: It is still to be requested, or the last attempt has failed.
    WAITING = "waiting"
    #: Nova is making the image.
    SAVING = "saving"
    SAVED = "saved"
    #: There is no image, and no further attempt is made.
    FAILED = "failed"


#: Something is left to do.
UNFINISHED = (Status.WAITING, Status.SAVING)


@dataclasses.dataclass(frozen=True)
class ServerSnapshot:
    """A snapshot of a server. It needn't exist yet."""

    #: The id of Blazar's reservation.
    reservation_id: str
    #: The id of the server. Empty: this stands for servers that couldn't be found.
    server_id: str
    #: Distinguishes the snapshots of one server. The first one has the number 1.
    number: int
    #: The project that the image is for.
    project_id: str
    server_name: str | None
    status: Status
    #: When it was noticed that the snapshot has to be made, as a naive datetime in UTC.
    at: datetime.datetime
    image_id: str | None = None
    #: Why there is no image, or what is wrong with it.
    error: str | None = None
    #: How many attempts have begun.
    attempts: int = 0
    #: When the next attempt is due. None: at once. Of a saved snapshot: when a manager saw that its
    #: image was complete.
    next_at: datetime.datetime | None = None

    def document(self) -> dict[str, Any]:
        """What the API and notices say about it."""
        return {
            "server": self.server_id or None,
            "server_name": self.server_name,
            "image": self.image_id,
            "status": self.status.value,
            "error": self.error,
            "at": time_text(self.at),
        }


def image_name(snapshot: ServerSnapshot, reservation_name: str | None) -> str:
    """The name of the image: the reservation, the server and the time."""
    reservation = reservation_name or f"reservation {snapshot.reservation_id[:8]}"
    parts = [_part(reservation), _part(snapshot.server_name or snapshot.server_id)]
    return ", ".join([*parts, f"{snapshot.at:%Y-%m-%d %H:%M} UTC"])


def _part(text: str) -> str:
    return plain(text)[:_LONGEST_PART].strip() or "?"


def plain(text: str) -> str:
    """A text without the characters that Nova refuses in names.

    Some databases can't store these characters either.
    """
    return "".join(c if c.isprintable() and c < "\uffff" else "?" for c in text)


def image_properties(snapshot: ServerSnapshot) -> Mapping[str, str]:
    """The properties of the image, by which it is found again."""
    return {
        "warre_reservation": snapshot.reservation_id,
        "warre_server": snapshot.server_id,
        "warre_snapshot": str(snapshot.number),
    }
