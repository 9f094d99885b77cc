"""Waits a few seconds for a result that is expected soon, so that users needn't ask again."""

import time
from collections.abc import Callable
from typing import TypeVar

R = TypeVar("R")

#: Seconds between two probes.
_PAUSE = 0.5


class Clock:
    """The clock of this machine. It tells the time, and sleeps."""

    def now(self) -> float:
        """The seconds since some fixed moment."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Sleep for a number of seconds."""
        time.sleep(seconds)


#: The clock by which the functions in ``services`` wait. Tests replace it with a clock of their
#: own.
clock = Clock()


def until(probe: Callable[[], R], seconds: float) -> R:
    """Call ``probe`` at least once, and repeatedly until it returns a true value or time is up.

    :returns: what the last call returned.
    """
    deadline = clock.now() + seconds
    while not (answer := probe()) and clock.now() < deadline:
        clock.sleep(_PAUSE)
    return answer
