"""The channels to the message bus, and Blazar's notifications about leases."""

from blazar.db import api as db_api
from blazar.notification import api as notifications
from oslo_utils import timeutils
from sqlalchemy.orm import Session

from warre_blazar.db.messages import outbox
from warre_blazar.domain.messages import payloads
from warre_blazar.domain.messages.notices import OF_WAITS, Kind, Notice
from warre_blazar.openstack.bus import Bus
from warre_blazar.services.messages.delivery import EachAlone

_ERRORS = (Kind.REFUSED, Kind.HOST_LOST)


class ReservationNotifications(EachAlone):
    """Sends ``reservation.*`` to the message bus."""

    name = "notifications"
    billing = True

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    def send_one(self, notice: Notice) -> None:
        """Send the notification about a notice, if it is about a reservation."""
        if notice.news.kind in OF_WAITS:
            return
        level = "error" if notice.news.kind in _ERRORS else "info"
        self._bus.send(
            payloads.event_type(notice), payloads.payload(notice), _context(notice), level
        )


class WarreNotifications(EachAlone):
    """Sends ``warre.reservation.*`` to the message bus, for consumers that know Warre."""

    name = "warre"
    billing = True

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    def send_one(self, notice: Notice) -> None:
        """Send the notification about a notice, if Warre has one."""
        if payloads.is_of_warre(notice):
            document = payloads.warre_payload(notice)
            self._bus.send(payloads.warre_event_type(notice), document, _context(notice), "info")


class LeaseNotifications(EachAlone):
    """Sends Blazar's ``lease.*`` to the message bus, for leases that this package works on."""

    name = outbox.LEASES
    billing = False

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    def send_one(self, notice: Notice) -> None:
        """Send Blazar's notification."""
        payload = dict(notice.content)
        event = payload.pop("event")
        self._bus.send(f"lease.{event}", payload, _context(notice), "info")


def _context(notice: Notice) -> dict[str, str | None]:
    content = notice.content
    return {"user_id": content["user_id"], "project_id": content["project_id"]}


def add_of_lease(db: Session, lease_id: str, event: str) -> None:
    """Write the notification ``lease.EVENT`` into the outbox, with the lease as it is now.

    Nothing is written if the lease is gone.

    :param db: the session of the transaction in which the lease changes.
    """
    # Blazar reads the lease in the same transaction. What it has read earlier is read again.
    db.expire_all()
    lease = db_api.lease_get(lease_id)
    if lease is not None:
        payload = notifications.format_lease_payload(lease)
        outbox.add_lease(db, payload, event, timeutils.utcnow())
