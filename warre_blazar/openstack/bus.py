"""Sends notifications to the message bus, and says if that fails."""

import threading
from collections.abc import Mapping
from typing import Any

import oslo_messaging
from oslo_config import cfg
from oslo_messaging import transport as messaging_transport

from warre_blazar import texts
from warre_blazar.errors import exceptions

#: How often the driver tries to connect again before a notification counts as not sent.
_RETRIES = 1


class _WatchedTransport(messaging_transport.NotificationTransport):
    """A transport that remembers the last error.

    oslo.messaging's drivers log errors and don't raise them.
    """

    def __init__(self, transport: messaging_transport.NotificationTransport) -> None:
        super().__init__(transport._driver)
        self.error: Exception | None = None

    def _send_notification(self, *args: Any, **options: Any) -> None:
        try:
            super()._send_notification(*args, **options)
        except Exception as error:
            self.error = error
            raise


class Bus:
    """The message bus, with the drivers and topics of ``[oslo_messaging_notifications]``.

    Each object has a connection of its own, which several threads may use in turn.
    """

    def __init__(self) -> None:
        self._transport = _WatchedTransport(oslo_messaging.get_notification_transport(cfg.CONF))
        self._notifier = oslo_messaging.Notifier(
            self._transport, cfg.CONF.notifications.publisher_id, retry=_RETRIES
        )
        self._lock = threading.Lock()

    def send(
        self, event_type: str, payload: Mapping[str, Any], context: Mapping[str, Any], level: str
    ) -> None:
        """Send a notification.

        :param context: the user and the project, by the names ``user_id`` and ``project_id``.
        :param level: the priority: "info", "warn" or "error".
        :raises ServiceUnavailable: the bus hasn't taken the notification.
        """
        with self._lock:
            self._transport.error = None
            getattr(self._notifier, level)(dict(context), event_type, dict(payload))
            if self._transport.error is not None:
                raise exceptions.ServiceUnavailable(
                    "The message bus", texts.services.SAID(said=str(self._transport.error))
                )
