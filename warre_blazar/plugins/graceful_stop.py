"""Lets a manager that is stopped or restarted finish the requests that it has received.

The message broker forgets a request as soon as a manager has received it. Blazar's manager stops
listening when it is stopped, and then ends at once, with all requests on which it works. Their
clients wait in vain for an answer. Starts and ends need no such care: they are in the database, and
the next manager executes them.
"""

import functools
from collections.abc import Callable
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
        server = self._server
        if server.listener:
            server.listener.stop = _leaving_the_queue(server.listener)
        # After this, the manager doesn't listen any more, but has the requests it has received.
        stop(self)
        LOG.info("The manager stops when it has answered the requests that it has received")
        server.wait()

    service.ManagerService.stop = finishing


def _leaving_the_queue(listener: Any) -> Callable[[], None]:
    """The method that stops a listener, and afterwards ends RabbitMQ's deliveries to it.

    oslo.messaging itself ends them only when it closes the connection. Until then RabbitMQ would
    deliver further requests to this process, although another manager could take them. And as it
    closes the connection, oslo.messaging acknowledges what has been delivered, and drops it.
    """
    stop = listener.stop

    def stop_and_leave() -> None:
        stop()
        # Only the driver for RabbitMQ has this.
        connection = getattr(getattr(listener, "_poll_style_listener", None), "conn", None)
        if connection is None:
            return
        try:
            # What RabbitMQ delivers until it has got the cancellation, goes back to the queue.
            for consumer in connection._consumers:
                consumer.callback = _give_back
            for consumer, tag in connection._consumers.items():
                consumer.cancel(tag)
        except Exception:
            # Then RabbitMQ can't be reached, and delivers nothing.
            LOG.warning("The manager's consumers couldn't be canceled", exc_info=True)

    return stop_and_leave


def _give_back(message: Any) -> None:
    message.requeue()
