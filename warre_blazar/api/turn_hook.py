"""The Pecan hook that lets the requests of a process read in turns."""

import contextlib
from typing import Any

from pecan import hooks

from warre_blazar.openstack.turns import Turns

#: The number of requests of a process that read at the same time.
_READERS = 2

#: The key in a request's WSGI environment. Its value ends the request's turn.
_TURN = "warre.turn"


class TurnHook(hooks.PecanHook):
    """Lets only a few requests of a process read at the same time.

    Several threads of a process serve requests, but Python runs only one of them at a time. A list
    computes for most of its time, so lists at the same time don't end sooner than lists in turns.
    But a booking waits for the database and for a manager again and again. After each of these
    waits it would have to wait for all lists that are computing. So lists take turns, and bookings
    need no turn.
    """

    # First, so that whatever another hook does is within the turn.
    priority = 1

    def __init__(self) -> None:
        self._turns = Turns(_READERS)

    def before(self, state: Any) -> None:
        if state.request.method == "GET":
            turn = state.request.environ[_TURN] = contextlib.ExitStack()
            turn.enter_context(self._turns.turn("reading"))

    def after(self, state: Any) -> None:
        # Pecan calls this after an error, too.
        if turn := state.request.environ.pop(_TURN, None):
            turn.close()
