"""The channels to the message bus, and Blazar's notifications about leases."""

from collections.abc import Collection

import sqlalchemy as sa
from blazar.db.sqlalchemy import models
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


def add_of_leases(db: Session, lease_ids: Collection[str], event: str) -> None:
    """Write notifications ``lease.EVENT`` into the outbox, with the leases as they are now.

    Nothing is written for a lease that is gone.

    :param db: the session of the transaction in which the leases change.
    """
    # What Blazar has read earlier in this transaction is read again.
    query = sa.select(models.Lease).where(models.Lease.id.in_(lease_ids))
    found = db.scalars(query, execution_options={"populate_existing": True}).unique()
    leases = [notifications.format_lease_payload(lease) for lease in found]
    outbox.add_leases(db, leases, event, timeutils.utcnow())
