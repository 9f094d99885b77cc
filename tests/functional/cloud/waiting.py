"""Waiting for what takes its time, and doing things at the same time."""

import time
from collections.abc import Callable, Sequence
from concurrent import futures
from typing import Any, TypeVar

R = TypeVar("R")

#: Seconds after which something that has to happen hasn't. Nothing here is a measurement.
LONG = 300


def until(what: str, probe: Callable[[], R], seconds: float = LONG, pause: float = 0.5) -> R:
    """Poll until the probe answers something true.

    :raises AssertionError: when it doesn't in time, with its last answer.
    """
    deadline = time.monotonic() + seconds
    while not (found := probe()):
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}; last: {found!r}"
        time.sleep(pause)
    return found


def at_once(jobs: Sequence[Callable[[], R]], threads: int | None = None) -> list[R]:
    """Do jobs at the same time, each in a thread; their results in order."""
    with futures.ThreadPoolExecutor(threads or len(jobs)) as pool:
        return [done.result() for done in [pool.submit(job) for job in jobs]]


def begun(job: Callable[..., R], *args: Any) -> "futures.Future[R]":
    """Begin a job in a thread of its own."""
    pool = futures.ThreadPoolExecutor(1)
    future = pool.submit(job, *args)
    pool.shutdown(wait=False)
    return future
