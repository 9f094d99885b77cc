"""The clock by which the whole package waits. Tests replace it with a clock of their own."""

import time
from collections.abc import Callable
from typing import TypeVar

R = TypeVar("R")

#: The seconds for which this process waits at most at a time. None: as long as it is told to.
limit: float | None = None


class Clock:
    """The clock of this machine. It tells the time, and sleeps."""

    def now(self) -> float:
        """The seconds since some fixed moment."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Sleep for a number of seconds."""
        time.sleep(seconds)


#: The clock by which the whole package waits.
clock = Clock()


def now() -> float:
    """The seconds since some fixed moment, by the clock by which the package waits."""
    return clock.now()


def sleep(seconds: float) -> None:
    """Sleep for a number of seconds, by the clock by which the package waits."""
    clock.sleep(seconds)


def limited(seconds: float) -> float:
    """A number of seconds, or the number for which this process waits at most if that is less."""
    return seconds if limit is None else min(seconds, limit)


def until(probe: Callable[[], R], seconds: float, pause: float) -> R:
    """Call ``probe`` at least once, and repeatedly until it returns a true value or time is up.

    :param seconds: the time, unless ``limit`` is less.
    :param pause: the seconds between two calls.
    :returns: what the last call returned.
    """
    deadline = now() + limited(seconds)
    while not (answer := probe()) and now() < deadline:
        sleep(pause)
    return answer
