"""The Pecan hook that lets the requests of a process read in turns."""

import threading
from typing import Any

from pecan import hooks

#: The number of requests of a process that read at the same time.
_READERS = 2

#: A request waits at most this many seconds for its turn. Then it goes on without a turn, so that
#: requests that hang don't stop all others.
_PATIENCE = 5.0

#: The key in a request's WSGI environment that says whether the request has a turn.
_TURN = "warre.turn"


class TurnHook(hooks.PecanHook):
    """Lets only a few requests of a process read at the same time.

    Several threads of a process serve requests, but Python runs only one of them at a time. A list
    computes for most of its time, so lists at the same time don't end sooner than lists in turns.
    But a booking, which waits for the database and for a manager again and again, would have to
    wait for each of them after each of its waits. So bookings need no turn.
    """

    # First, so that whatever another hook does is within the turn.
    priority = 1

    def __init__(self) -> None:
        self._readers = threading.BoundedSemaphore(_READERS)

    def before(self, state: Any) -> None:
        if state.request.method == "GET":
            state.request.environ[_TURN] = self._readers.acquire(timeout=_PATIENCE)

    def after(self, state: Any) -> None:
        # Pecan calls this after an error, too.
        if state.request.environ.pop(_TURN, False):
            self._readers.release()
