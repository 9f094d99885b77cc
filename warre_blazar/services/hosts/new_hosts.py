"""Reads the resource providers of new hosts before somebody needs them.

A host is new as long as nothing is stored about its providers. Services call ``read`` before they
open the transaction in which they look at hosts.
"""

import threading
import time
from collections.abc import Collection

from oslo_log import log as logging

from warre_blazar import times
from warre_blazar.db import session
from warre_blazar.db.hosts import host_providers
from warre_blazar.services.hosts import host_refresh

LOG = logging.getLogger(__name__)


def read() -> None:
    """Read the providers of new hosts, but wait only a few seconds for Placement.

    Errors of Placement and Nova aren't raised. If a host can't be read, callers use what Blazar's
    own tables say about the host.
    """
    with session.reader() as db:
        unread = host_providers.unread(db)
    wait(unread)


def wait(host_ids: Collection[str]) -> None:
    """Read the providers of these hosts, as ``read`` does. The hosts must be new."""
    if host_ids:
        _readings.wait(host_ids)


class _Reading:
    """A thread that reads new hosts. Several callers may wait for it."""

    def __init__(self, host_ids: Collection[str]) -> None:
        self._host_ids = host_ids
        self._begun = time.monotonic()
        self._done = threading.Event()
        threading.Thread(target=self._run, name="warre-new-hosts", daemon=True).start()

    @property
    def age(self) -> float:
        """The seconds since the reading began."""
        return time.monotonic() - self._begun

    def wait(self) -> None:
        """Wait until the reading has ended, or has taken too long."""
        self._done.wait(max(times.NEW_HOSTS_WAIT - self.age, 0))

    def _run(self) -> None:
        try:
            host_refresh.refresh(self._host_ids)
        except Exception:
            LOG.exception("The resource providers of new hosts couldn't be stored")
        finally:
            self._done.set()


class _Readings:
    """For each new host, the last reading that this process has begun."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_host: dict[str, _Reading] = {}

    def wait(self, host_ids: Collection[str]) -> None:
        """Wait for readings of the hosts.

        If some hosts weren't read recently, a new reading of these hosts begins.
        """
        with self._lock:
            due = [i for i in host_ids if not self._is_recent(i)]
            if due:
                self._by_host.update(dict.fromkeys(due, _Reading(due)))
            readings = {self._by_host[i] for i in host_ids}
        for reading in readings:
            reading.wait()

    def _is_recent(self, host_id: str) -> bool:
        reading = self._by_host.get(host_id)
        return reading is not None and reading.age < times.NEW_HOSTS_READ_AGAIN_AFTER


_readings = _Readings()
