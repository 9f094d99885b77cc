"""Waiting for conditions, and running jobs at the same time."""

import time
from collections.abc import Callable, Sequence
from concurrent import futures
from typing import Any, TypeVar

R = TypeVar("R")

#: The seconds after which a test gives up waiting. This isn't a measure of how fast things are.
LONG = 300
#: The first and the longest pause between two questions, in seconds, and the factor by which pauses
#: grow. Questions that are asked too often would slow down what the test waits for.
_FIRST_PAUSE, _LONGEST_PAUSE, _GROWTH = 0.3, 2.0, 1.3


def until(
    what: str, probe: Callable[[], R], seconds: float = LONG, pause: float | None = None
) -> R:
    """Poll until the probe returns a true value, and return that value.

    :param what: what is awaited, for the error.
    :param pause: the seconds between two questions. None: the pauses grow.
    :raises AssertionError: the time is over; the error has the last value.
    """
    deadline = time.monotonic() + seconds
    wait = pause or _FIRST_PAUSE
    while not (value := probe()):
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}; last: {value!r}"
        time.sleep(wait)
        if pause is None:
            wait = min(_GROWTH * wait, _LONGEST_PAUSE)
    return value


def at_once(jobs: Sequence[Callable[[], R]], threads: int | None = None) -> list[R]:
    """Run jobs at the same time, each in a thread, and return their results in order."""
    with futures.ThreadPoolExecutor(threads or len(jobs)) as pool:
        return [done.result() for done in [pool.submit(job) for job in jobs]]


def begun(job: Callable[..., R], *args: Any) -> "futures.Future[R]":
    """Start a job in a thread of its own."""
    pool = futures.ThreadPoolExecutor(1)
    future = pool.submit(job, *args)
    pool.shutdown(wait=False)
    return future
