"""Turns: they make the bookings and changes of a process wait for each other.

Without turns, simultaneous bookings would conflict with each other and would be tried again. Turns
only save these retries. Turns aren't needed against overbooking: the generations of flavors, hosts
and projects prevent it, also between processes.
"""

import contextlib
from typing import Any

#: A context manager such as a lock. Only one booking or change of a process is inside it at a time.
Turn = contextlib.AbstractContextManager[Any]

#: A turn for bookings and changes that needn't wait for each other.
NO_TURN: Turn = contextlib.nullcontext()
