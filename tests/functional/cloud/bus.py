"""A consumer of notifications on the cloud's message bus."""

import contextlib
import threading
import uuid
from collections.abc import Iterator
from typing import Any

import oslo_messaging
from oslo_config import cfg

from tests.functional.cloud import devcloud

Heard = list[tuple[str, dict[str, Any]]]


class _Endpoint:
    """Records the types and the payloads of notifications."""

    def __init__(self) -> None:
        self.heard: Heard = []
        self._lock = threading.Lock()

    def info(
        self, ctxt: Any, publisher_id: str, event_type: str, payload: Any, metadata: Any
    ) -> None:
        with self._lock:
            self.heard.append((event_type, payload))

    error = info


@contextlib.contextmanager
def listening() -> Iterator[Heard]:
    """What is sent while the block runs. Other consumers get the same notifications."""
    conf = cfg.ConfigOpts()
    conf([])
    transport = oslo_messaging.get_notification_transport(
        conf, devcloud.option("DEFAULT", "transport_url")
    )
    endpoint = _Endpoint()
    targets = [oslo_messaging.Target(topic="notifications", exchange="openstack")]
    pool = f"test-{uuid.uuid4().hex}"
    listener = oslo_messaging.get_notification_listener(
        transport, targets, [endpoint], executor="threading", pool=pool
    )
    listener.start()
    try:
        yield endpoint.heard
    finally:
        listener.stop()
        listener.wait()
        transport.cleanup()
