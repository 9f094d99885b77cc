"""Counts runs, and prints the schedules that have broken something."""

import collections
import time
from collections.abc import Callable

from tests.explorer.runs import Result


class Report:
    """What a run of the explorer has found.

    :param say: prints a line.
    :param seconds: after which no more cases are run; None: there is no end.
    :param until_broken: whether no more cases are run after the first one that breaks something.
    """

    def __init__(
        self,
        say: Callable[[str], None] = print,
        seconds: float | None = None,
        most: int = 3,
        *,
        until_broken: bool = False,
    ) -> None:
        self._until_broken = until_broken
        self._say, self._seconds, self._most = say, seconds, most
        self._began = time.monotonic()
        self.runs = self.skipped = self.left_out = self.bought = 0
        self.pairs = self.unrun_pairs = 0
        #: How many runs have broken something, by operations and by what they have broken.
        self.broken: collections.Counter[tuple[str, str]] = collections.Counter()
        self.failures: list[Result] = []

    def is_over(self) -> bool:
        """Whether the time is up, or enough is broken."""
        if self._until_broken and self.failures:
            return True
        return self._seconds is not None and time.monotonic() - self._began > self._seconds

    def begin_pair(self) -> None:
        """Count a pair of operations in a state."""
        self.pairs += 1
        self.unrun_pairs += self.is_over()

    def add_orders(self, skipped: int, left_out: int) -> None:
        """Count the orders of a pair that weren't run.

        :param skipped: those that have the same result as one that was run.
        :param left_out: those for which the budget or the time was too short.
        """
        self.skipped += skipped
        self.left_out += left_out

    def add(self, result: Result) -> None:
        """Count a run, and print it if it has broken something that isn't known yet."""
        self.runs += 1
        self.bought += result.bought
        if not result.violations:
            return
        self.failures.append(result)
        kinds = {_kind(text) for text in result.violations}
        names = "+".join(result.case.operations)
        if any(self.broken[names, kind] < self._most for kind in kinds):
            self._print(result)
        for kind in kinds:
            self.broken[names, kind] += 1

    def _print(self, result: Result) -> None:
        self._say(f"{result.case}")
        for operation, answer in zip(result.case.operations, result.answers, strict=True):
            self._say(f"    {operation}: {answer or 'killed'}")
        for text in result.violations:
            self._say(f"    ! {text}")

    def summary(self) -> str:
        """A line of numbers."""
        minutes = (time.monotonic() - self._began) / 60
        pairs = f" of {self.pairs} pairs" if self.pairs else ""
        cut = f", at least {self.left_out} left out" if self.left_out else ""
        cut += f", {self.unrun_pairs} pairs not begun" if self.unrun_pairs else ""
        return (
            f"{self.runs} runs{pairs}, {self.skipped} skipped{cut}, "
            f"{self.bought} bookings in between, "
            f"{len(self.failures)} with violations, {minutes:.1f} minutes"
        )

    def trace(self, result: Result) -> None:
        """Print each step of a run."""
        for step in result.trace:
            self._say(f"  {step.task}.{step.number:<3} {step.what}")


def _kind(text: str) -> str:
    """A violation without its ids and numbers."""
    return " ".join(word for word in text.split() if not any(c.isdigit() for c in word))[:60]
