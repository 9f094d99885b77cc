"""Locks for things that only a few threads of the process should do at the same time."""

import contextlib
import threading
from collections.abc import Iterator

from warre_blazar import times
from warre_blazar.errors import exceptions


class Locks:
    """Locks by name.

    :param places: the number of threads that hold a lock of the same name at the same time.
    :param refused_after: after so many seconds of waiting, a thread doesn't get the lock at all.
        None: it goes on without the lock after ``times.THREAD_LOCK_WAIT``.
    """

    def __init__(self, places: int = 1, *, refused_after: float | None = None) -> None:
        self._places, self._refused_after = places, refused_after
        self._locks: dict[str, threading.Semaphore] = {}

    @contextlib.contextmanager
    def held(self, name: str) -> Iterator[None]:
        """Wait until a place is free in the ``with`` blocks of this name, or time is up.

        :raises Busy: no place became free, and these locks refuse.
        """
        lock = self._locks.setdefault(name, threading.Semaphore(self._places))
        limit = self._refused_after
        taken = lock.acquire(timeout=times.THREAD_LOCK_WAIT if limit is None else limit)
        if not taken and limit is not None:
            raise exceptions.Busy
        try:
            yield
        finally:
            if taken:
                lock.release()


#: The locks of what reads and computes in the API. Two threads do so at the same time.
READING = Locks(2)
