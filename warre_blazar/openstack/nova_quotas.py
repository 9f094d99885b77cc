"""Asks for projects' quotas in Nova in threads of their own, so that nobody waits for them.

The answer is only for a warning. So errors are logged, and whoever asks goes on without an answer.
"""

import threading
import time
from collections.abc import Mapping

from oslo_log import log as logging

from warre_blazar import times
from warre_blazar.errors import exceptions
from warre_blazar.openstack import nova

LOG = logging.getLogger(__name__)

#: A project's limits, as ``nova.quota_of`` returns them.
Limits = Mapping[str, int]


class LimitsAsked:
    """A request for a project's quota. Several threads may look at its answer."""

    def __init__(self, project_id: str) -> None:
        self._project_id = project_id
        self._begun = time.monotonic()
        self._done = threading.Event()
        self._limits: Limits | None = None
        try:
            threading.Thread(target=self._run, name="warre-nova-quota", daemon=True).start()
        except RuntimeError:  # The process can't have more threads.
            self._done.set()

    @property
    def age(self) -> float:
        """The seconds since the request was sent."""
        return time.monotonic() - self._begun

    def limits(self, patience: float = 0) -> Limits | None:
        """The limits, or None if Nova hasn't told them.

        :param patience: for how many seconds after the request to wait for the answer.
        """
        self._done.wait(max(patience - self.age, 0))
        return self._limits

    def _run(self) -> None:
        try:
            self._limits = nova.quota_of(self._project_id)
        except exceptions.WarreError as error:
            LOG.info("Nova's quota of project %s isn't known: %s", self._project_id, error)
        except Exception:
            LOG.exception("Nova's quota of project %s couldn't be read", self._project_id)
        self._done.set()


#: The last request for each project's quota.
_asked: dict[str, LimitsAsked] = {}
_lock = threading.Lock()


def ask(project_id: str) -> LimitsAsked:
    """Ask for a project's quota, unless that was done a moment ago."""
    with _lock:
        for known in [p for p, asked in _asked.items() if asked.age >= times.NOVA_QUOTA_KEPT]:
            del _asked[known]
        if project_id not in _asked:
            _asked[project_id] = LimitsAsked(project_id)
        return _asked[project_id]
