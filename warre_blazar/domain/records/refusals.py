"""Refusals: requests to book or to change a reservation that a rule has refused."""

import dataclasses
import datetime

from warre_blazar.domain.booking import verdict
from warre_blazar.domain.timeline import Span

#: The codes of the errors that count as refusals. Malformed requests, transient states of a
#: reservation, and services that don't answer aren't among them.
CODES = frozenset({*verdict.CODES, *verdict.OTHERS}) - {"flavor_not_accessible"}

#: A project that has no access to a flavor isn't told that the flavor exists.
_TOLD_AS = {"flavor_not_accessible": "flavor_not_found"}


@dataclasses.dataclass(frozen=True)
class Asked:
    """What a request asked for, and who has sent it."""

    project_id: str
    user_id: str | None
    #: The id or the name of the flavor.
    flavor: str
    count: int
    span: Span
    #: The reservation to change, by the id of Blazar's reservation. None: the request is a booking.
    reservation_id: str | None = None


@dataclasses.dataclass(frozen=True)
class RefusedRequest:
    """A request that was refused."""

    id: int
    at: datetime.datetime
    code: str
    project_id: str
    user_id: str | None
    #: The flavor's id. None: the project has no flavor with the requested id or name.
    flavor_id: str | None
    flavor_name: str | None
    reservation_id: str | None
    count: int
    span: Span


def counted_code(code: str) -> str | None:
    """The code under which an error counts as a refusal; None if it doesn't count."""
    told = _TOLD_AS.get(code, code)
    return told if told in CODES else None
