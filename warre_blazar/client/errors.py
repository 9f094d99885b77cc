"""The errors that the client raises."""

import datetime
import re
from collections.abc import Sequence
from typing import Any

from warre_blazar.client.types import Alternatives, Document

#: Where urllib3's text begins in a text of keystoneauth about a lost connection.
_URLLIB3 = re.compile(r": (?:HTTP|\()")


#: A text names at most this many objects.
_MOST_NAMED = 5


class ClientError(Exception):
    """The base class of the client's errors. The text is meant for people."""


class NoEndpoint(ClientError):
    """The service catalog has no endpoint for Blazar, or Blazar doesn't serve v2."""


class NotServed(ClientError):
    """Blazar doesn't know the request.

    Either warre-blazar isn't enabled in blazar-api, or its version is older than this client's.
    """


class NoDocument(ClientError):
    """The answer has no JSON document, so it doesn't come from the v2 API."""


class Ambiguous(ClientError):
    """A name, or the start of an id, belongs to several objects.

    :ivar candidates: the ids of the objects.
    :ivar things: the objects themselves. The sequence is empty if only the ids are known.
    """

    def __init__(self, message: str, candidates: list[str], things: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.candidates = candidates
        self.things = things


class NaiveTime(ClientError, ValueError):
    """An argument is a datetime without a time zone, so it isn't clear which moment it means."""

    def __init__(self, name: str, value: datetime.datetime) -> None:
        super().__init__(
            f"{name}={value!r} has no time zone; give an aware datetime, such as "
            f"{value.isoformat()} with tzinfo=datetime.timezone.utc"
        )


def brief(error: Exception) -> str:
    """Return what keystoneauth says about a lost connection, without what urllib3 adds to it."""
    return _URLLIB3.split(str(error))[0].rstrip(".")


class Unanswered(ClientError):
    """A request that changes something wasn't answered, although it was sent several times.

    :ivar noun: the kind of object, as it is spelled in paths.
    :ivar has_arrived: whether one of the requests may have reached the API. If so, it isn't known
        whether it has changed anything. Otherwise, nothing was changed.
    """

    def __init__(self, noun: str, reason: Exception, *, has_arrived: bool) -> None:
        outcome = (
            "What you asked for may have happened nevertheless, so see what is there before you "
            "try again"
            if has_arrived
            else "Nothing was done, because no request has reached the API; try again later"
        )
        super().__init__(f"No answer from the API ({brief(reason)}). {outcome}")
        self.noun, self.has_arrived = noun, has_arrived


class WaitError(ClientError):
    """Waiting for a reservation has failed, because it can no longer become ACTIVE."""


class ApiError(ClientError):
    """The API refused a request.

    :ivar status: the HTTP status code.
    :ivar code: the API's stable error code. ``""`` if the answer didn't come from the v2 API.
    :ivar detail: the error's data. The API reference lists the fields that the data has for each
        code.
    """

    def __init__(
        self, message: str, status: int, code: str = "", detail: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.detail = detail or {}

    @property
    def alternatives(self) -> Alternatives | None:
        """What could be booked in place of the booking or change that the API refused.

        It is None for other errors.
        """
        return Alternatives.of(self.detail) if "most_instances" in self.detail else None


class NotFound(ApiError):
    """The object doesn't exist, or the user may not see it."""


class DeletedBefore(NotFound):
    """An object is gone, most likely by an earlier request of the same deletion."""

    def __init__(self, error: ApiError) -> None:
        super().__init__(str(error), error.status, error.code, error.detail)


class NoSuchName(NotFound):
    """None of the project's objects has this name, and no object an id that starts with it.

    :ivar kind: what one of the objects is called.
    :ivar ref: the name.
    """

    def __init__(self, kind: str, ref: str, text: str) -> None:
        super().__init__(text, 404)
        self.kind, self.ref = kind, ref


class NoSuchReservation(NoSuchName):
    """None of the project's live reservations has this name, and no reservation has this id."""

    def __init__(self, ref: str, hint: str = "") -> None:
        """
        :param hint: a question that names similar ones.
        """
        text = (
            f"There is no reservation {ref!r}{hint}. A name is looked up among the reservations of "
            "your own project that aren't COMPLETE; others are found by their IDs, "
            "or by at least four characters of the start of an ID"
        )
        super().__init__("reservation", ref, text)


class Over(NotFound):
    """What a name or the start of an id means was there, and is over.

    :ivar ids: the ids of all that it may mean, the latest first.
    """

    def __init__(self, said: Sequence[Document], ids: list[str]) -> None:
        """
        :param said: what is said of each, as the API would answer: code, message and detail.
        """
        more = [f"{len(said) - _MOST_NAMED} more"] if len(said) > _MOST_NAMED else []
        text = "; ".join([*(each["message"] for each in said[:_MOST_NAMED]), *more])
        super().__init__(text, 404, said[0]["code"], said[0]["detail"])
        self.ids = ids
