"""Waiting a little for what comes soon, so that users needn't ask again."""

import time
from collections.abc import Callable
from typing import TypeVar

R = TypeVar("R")

_PAUSE = 0.5


class Clock:
    """The time that passes here."""

    def now(self) -> float:
        """Seconds since any fixed moment."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds)


#: The clock by which everything in ``services`` waits. Tests put in one of their own.
clock = Clock()


def until(probe: Callable[[], R], seconds: float) -> R:
    """Ask at least once, and again until the answer is true or the time is up.

    :returns: the last answer.
    """
    deadline = clock.now() + seconds
    while not (answer := probe()) and clock.now() < deadline:
        clock.sleep(_PAUSE)
    return answer
