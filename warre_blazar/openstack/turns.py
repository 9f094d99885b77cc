"""Turns: locks for things that only a few threads of the process should do at the same time."""

import contextlib
import threading
from collections.abc import Iterator

#: A thread waits at most this many seconds for its turn. Then it goes on without the lock, so that
#: one request that hangs doesn't stop all other threads. Turns only save requests and time. Nothing
#: is wrong if two threads do the same thing at the same time.
_PATIENCE = 5.0


class Turns:
    """Locks by name.

    :param places: the number of threads that have a turn of the same name at the same time.
    """

    def __init__(self, places: int = 1) -> None:
        self._places = places
        self._locks: dict[str, threading.Semaphore] = {}

    @contextlib.contextmanager
    def turn(self, name: str) -> Iterator[None]:
        """Wait until a place is free in the ``with`` blocks of this name, at most 5 seconds."""
        lock = self._locks.setdefault(name, threading.Semaphore(self._places))
        taken = lock.acquire(timeout=_PATIENCE)
        try:
            yield
        finally:
            if taken:
                lock.release()
