"""Lets a manager that is stopped or restarted finish the requests that it has received.

The message broker forgets a request as soon as a manager has received it. Blazar's manager stops
listening when it is stopped, and then ends at once, with all requests on which it works. Their
clients wait in vain for an answer.
"""

import functools
from typing import Any

from blazar.manager import service
from oslo_log import log as logging

LOG = logging.getLogger(__name__)


def register() -> None:
    """Let the manager of this process finish its requests before it ends.

    oslo.service ends the process anyhow after [DEFAULT] graceful_shutdown_timeout. By default this
    is as long as clients wait for an answer, so later answers would serve nobody.
    """
    stop = service.ManagerService.stop
    if hasattr(stop, "__wrapped__"):
        return

    @functools.wraps(stop)
    def finishing(self: Any) -> None:
        # After this, the manager doesn't listen any more. What it has received, is queued in it.
        stop(self)
        LOG.info("The manager stops when it has answered the requests that it has received")
        self._server.wait()

    service.ManagerService.stop = finishing
