"""The channel that calls the webhooks of projects."""

import hashlib
import hmac
from collections.abc import Callable, Mapping
from typing import Any

from warre_blazar import timer, times
from warre_blazar.db import clock, session
from warre_blazar.db.booking import reservations
from warre_blazar.db.messages import deliveries
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.messages import payloads
from warre_blazar.domain.messages.messages import WantedMessages
from warre_blazar.domain.messages.notices import Kind, Notice
from warre_blazar.domain.messages.webhook_urls import UrlParts
from warre_blazar.services import signed_links
from warre_blazar.services.messages import composing
from warre_blazar.services.messages.delivery import EachAlone
from warre_blazar.texts import Said, warnings

#: What projects are told of.
_WANTED = WantedMessages(
    frozenset(kind.value for kind in (Kind.STARTED, Kind.REMINDED, Kind.ENDED, Kind.DELETED)),
    own_changes=True,
)

#: Posts a document to a URL, with a signature by a key.
Call = Callable[[str, str, Mapping[str, Any]], None]


class ReceiverSilent(Exception):
    """A receiver hasn't answered in time."""

    def __init__(self) -> None:
        limit = times.PROJECT_WEBHOOK_TIMEOUT // times.SECOND
        super().__init__(f"the receiver doesn't answer within {limit} seconds")


class ProjectWebhooks(EachAlone):
    """Calls the webhook that a reservation has at the moment of the call."""

    name = "project webhooks"
    billing = False

    def __init__(self, call: Call) -> None:
        self._call = call
        #: By project and host, until when the host isn't called because it has been silent.
        self._silent: dict[tuple[str, str], float] = {}

    def send_one(self, notice: Notice) -> None:
        """Call the webhook about a notice, if there is one and projects are told of the event."""
        if not _WANTED.is_told(notice, clock.utcnow()):
            return
        with session.reader() as db:
            url = reservations.webhook(db, notice.subject)
        if url is None:
            return
        project_id = notice.content["project_id"]
        receiver = (project_id, UrlParts.read(url).authority)
        if self._silent.get(receiver, 0) > timer.now():
            raise ReceiverSilent
        try:
            self._call(url, key_of(project_id), _document(notice))
        except ReceiverSilent:
            self._note_silence(receiver)
            raise

    def _note_silence(self, receiver: tuple[str, str]) -> None:
        now = timer.now()
        self._silent = {each: until for each, until in self._silent.items() if until > now}
        self._silent[receiver] = now + times.PROJECT_WEBHOOK_PAUSE / times.SECOND


def _document(notice: Notice) -> dict[str, Any]:
    zones, boot = composing.boot(notice)
    return {
        "id": composing.notice_id(notice),
        "event": notice.news.kind.value,
        "data": payloads.payload(notice),
        "availability_zone": zones or None,
        "boot": boot,
    }


def key_of(project_id: str) -> str:
    """The key with which the calls of a project's webhooks are signed."""
    key = signed_links.key(ProjectWebhooks.name)
    return hmac.new(key, project_id.encode(), hashlib.sha256).hexdigest()


def failures(reservation: Reservation) -> list[Said]:
    """The warning that the last call of a reservation's webhook has failed, if it has."""
    if reservation.labels.webhook is None:
        return []
    with session.reader() as db:
        last = deliveries.last_failure(db, ProjectWebhooks.name, reservation.reservation_id)
    if last is None:
        return []
    entry = warnings.WEBHOOK_GIVEN_UP if last.is_given_up else warnings.WEBHOOK_FAILED
    return [entry(event=last.kind, said=last.error)]
