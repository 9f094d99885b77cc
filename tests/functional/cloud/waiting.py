"""Waiting for conditions, and running jobs at the same time."""

import time
from collections.abc import Callable, Sequence
from concurrent import futures
from typing import Any, TypeVar

R = TypeVar("R")

#: The seconds after which a test gives up waiting. This isn't a measure of how fast things are.
LONG = 300
#: Each pause between two questions is so many times as long as the one before, up to some seconds.
#: What takes long is asked for less often, so that it isn't held up by the questions.
_GROWTH, _LONGEST_PAUSE = 1.3, 2.0


def until(what: str, probe: Callable[[], R], seconds: float = LONG, pause: float = 0.3) -> R:
    """Poll until the probe returns a true value, and return that value.

    :param what: what is awaited, for the error.
    :param pause: the seconds before the second question.
    :raises AssertionError: the time is over; the error has the last value.
    """
    deadline = time.monotonic() + seconds
    while not (value := probe()):
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}; last: {value!r}"
        time.sleep(pause)
        pause = max(pause, min(_GROWTH * pause, _LONGEST_PAUSE))
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
