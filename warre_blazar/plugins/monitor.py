"""Blazar's hook for periodic work, and our own threads in the manager."""

import datetime
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent import futures
from typing import Any

import futurist
from blazar.plugins import base
from futurist import periodics
from oslo_config import cfg
from oslo_log import log as logging
from oslo_utils import timeutils

from warre_blazar.plugins.outside import BlazarsOutside
from warre_blazar.services import backing
from warre_blazar.services.executor import Executor, Pools
from warre_blazar.services.repair import Repairer

LOG = logging.getLogger(__name__)

#: Between two looks at all leases of ours.
_THOROUGH_PAUSE = datetime.timedelta(minutes=1)

#: Requests to Nova, Placement and Keystone that making or removing one reservation takes at most.
_REQUESTS = 10

_HostsOf = Callable[[str], Sequence[Mapping[str, Any]]]


class SlotMonitor(base.BaseMonitorPlugin):
    """Polls nothing but our own notes of what is left to do."""

    def __init__(self, hosts_of: _HostsOf) -> None:
        """
        :param hosts_of: the hosts that a reservation is on, for Blazar's filters.
        """
        self._hosts_of = hosts_of
        self._threads: Threads | None = None

    def is_notification_enabled(self) -> bool:
        return False

    def get_notification_event_types(self) -> list[str]:
        return []

    def get_notification_topics(self) -> list[str]:
        return []

    def notification_callback(self, event_type: str, payload: Any) -> dict[str, Any]:
        return {}

    def is_polling_enabled(self) -> bool:
        return True

    def get_polling_interval(self) -> int:
        """Blazar asks for it once, in the process that polls: our threads begin there."""
        self._threads = Threads(self._hosts_of)
        self._threads.start()
        return int(cfg.CONF.warre.reconcile_interval)

    def poll(self) -> dict[str, Any]:
        """Do what is left to do in Nova and Placement; no reservation's flags change by it."""
        backing.reconcile()
        return {}

    def get_healing_interval(self) -> int:
        return 0

    def heal(self) -> dict[str, Any]:
        return {}


def patience(reservations: int) -> float:
    """Seconds that anything which works on a lease of so many reservations takes at most."""
    options = cfg.CONF.warre
    each = options.server_deletion_timeout + _REQUESTS * options.request_timeout
    return float(max(reservations, 1) * each)


class Threads:
    """The threads of a manager that execute starts and ends, and repair leases."""

    def __init__(self, hosts_of: _HostsOf) -> None:
        options = cfg.CONF.warre
        self._executor = Executor(
            host=cfg.CONF.host or socket.gethostname(),
            outside=BlazarsOutside(hosts_of),
            patience=lambda: float(options.server_deletion_timeout),
            pools=Pools(
                events=futures.ThreadPoolExecutor(options.event_threads, "warre-event"),
                tidying=futures.ThreadPoolExecutor(2, "warre-tidy"),
                telling=futures.ThreadPoolExecutor(4, "warre-tell"),
            ),
        )
        self._repairer = Repairer(patience)
        self._thorough_at: datetime.datetime | None = None

    def start(self) -> None:
        """Work until the process ends. What it had claimed then goes to another manager."""
        worker = periodics.PeriodicWorker.create(
            [self],
            executor_factory=lambda: futurist.ThreadPoolExecutor(max_workers=3),
            on_failure=_log_failure,
        )
        threading.Thread(target=worker.start, name="warre-periodic", daemon=True).start()

    @periodics.periodic(1, run_immediately=True)
    def claim(self) -> None:
        """Claim what is due."""
        self._executor.beat()
        self._executor.claim(timeutils.utcnow())

    @periodics.periodic(0.25, run_immediately=True)
    def begin_due(self) -> None:
        """Begin with what was claimed and whose time has come."""
        self._executor.begin_due(timeutils.utcnow())

    @periodics.periodic(5, run_immediately=True)
    def repair(self) -> None:
        """Look at the leases in question, and now and then at all."""
        now = timeutils.utcnow()
        thorough = self._thorough_at is None or now - self._thorough_at >= _THOROUGH_PAUSE
        if thorough:
            self._thorough_at = now
        self._repairer.look(now, thorough)


def _log_failure(call: Any, kind: str, spacing: float, failure: Any, traceback: Any = None) -> None:
    """A look that failed, because the database is away for instance, comes again."""
    LOG.error("%s failed, and comes again: %s", call.__name__, failure[1])
