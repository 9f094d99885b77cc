"""What can go wrong between a client and the API."""

import datetime
from collections.abc import Sequence
from typing import Any


class ClientError(Exception):
    """Any of them; its text is one line for people."""


class NoEndpoint(ClientError):
    """The catalogue has no endpoint of Blazar's, or Blazar there has no v2."""


class NotServed(ClientError):
    """Blazar answers, but doesn't know the request: the plugin is off, or older than this."""


class NoDocument(ClientError):
    """Something answered that isn't our API."""


class Ambiguous(ClientError):
    """A name that several things have.

    :ivar candidates: the ids.
    :ivar things: what has the name, as far as more than its id is known.
    """

    def __init__(self, message: str, candidates: list[str], things: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.candidates = candidates
        self.things = things


class NaiveTime(ClientError, ValueError):
    """A time without a zone was given: nobody can know which moment it is."""

    def __init__(self, name: str, value: datetime.datetime) -> None:
        super().__init__(
            f"{name}={value!r} has no time zone; give an aware datetime, such as "
            f"{value.isoformat()} with tzinfo=datetime.timezone.utc"
        )


class WaitError(ClientError):
    """What was waited for won't come."""


class ApiError(ClientError):
    """The API refused.

    :ivar status: of HTTP.
    :ivar code: the stable word for programs, ``""`` if it wasn't our API that refused.
    :ivar detail: data, if there are any (the API's reference says which).
    """

    def __init__(
        self, message: str, status: int, code: str = "", detail: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.detail = detail or {}


class NotFound(ApiError):
    """There is no such thing, or none that one may see."""
