"""Turns: locks for things that only one thread of the process should change at a time."""

import contextlib
import threading
from collections.abc import Iterator

#: A thread waits at most this many seconds for its turn. Then it goes on without the lock, so that
#: one request that hangs doesn't stop all other threads. Turns only make it less likely that a
#: service refuses a request. Nothing else depends on them.
_PATIENCE = 5.0


class Turns:
    """Locks by name, one for each thing that only one thread should change at a time."""

    def __init__(self) -> None:
        self._locks: dict[str, threading.Lock] = {}

    @contextlib.contextmanager
    def turn(self, name: str) -> Iterator[None]:
        """Wait until no other thread is in a ``with`` block of this name, at most 5 seconds."""
        lock = self._locks.setdefault(name, threading.Lock())
        taken = lock.acquire(timeout=_PATIENCE)
        try:
            yield
        finally:
            if taken:
                lock.release()
