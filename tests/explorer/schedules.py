"""Schedules: which task goes on at which point, and which schedules are worth a run."""

import dataclasses
import random
import re
from collections.abc import Iterator, Sequence

from tests.explorer.faults import Fault


@dataclasses.dataclass(frozen=True)
class Switch:
    """At one of its points, a task gives way to another one."""

    task: int
    point: int
    to: int

    def __str__(self) -> str:
        return f"{self.task}.{self.point}>{self.to}"


@dataclasses.dataclass(frozen=True)
class Plan:
    """A schedule by a list of switches. Where there is none, a task goes on until it is over."""

    begins: int = 0
    switches: tuple[Switch, ...] = ()

    def first(self, tasks: int) -> int:
        """The task that begins."""
        return min(self.begins, tasks - 1)

    def after(self, task: int, point: int, ready: list[int]) -> int:
        """The task that goes on."""
        for switch in self.switches:
            if (switch.task, switch.point) == (task, point) and switch.to in ready:
                return switch.to
        return task


class Walk:
    """A random schedule: at each point, some other task goes on with some probability."""

    def __init__(self, chance: random.Random, often: float = 0.15) -> None:
        self._chance, self._often = chance, often
        self.begins = 0

    def first(self, tasks: int) -> int:
        """The task that begins."""
        self.begins = self._chance.randrange(tasks)
        return self.begins

    def after(self, task: int, point: int, ready: list[int]) -> int:
        """The task that goes on."""
        return self._chance.choice(ready) if self._chance.random() < self._often else task


@dataclasses.dataclass(frozen=True)
class Case:
    """Everything that decides a run. Its text can be replayed."""

    database: str
    state: str
    operations: tuple[str, ...]
    plan: Plan = Plan()
    fault: Fault | None = None
    #: Whether somebody books what becomes free.
    buys: bool = True

    def __str__(self) -> str:
        parts = (
            self.database,
            self.state,
            "+".join(self.operations),
            str(self.plan.begins),
            ",".join(map(str, self.plan.switches)) or "-",
            str(self.fault or "-"),
        )
        return ":".join(parts)

    @classmethod
    def parse(cls, text: str) -> "Case":
        """Read what ``str`` has written.

        :raises ValueError: the text isn't a case.
        """
        database, state, operations, begins, switches, fault = text.split(":")
        return cls(
            database,
            state,
            tuple(operations.split("+")),
            Plan(int(begins), tuple(_switch(s) for s in switches.split(",") if s != "-")),
            Fault.parse(fault) if fault != "-" else None,
        )


def _switch(text: str) -> Switch:
    match = re.fullmatch(r"(\d+)\.(\d+)>(\d+)", text)
    if match is None:
        raise ValueError(f"not a switch: {text}")
    return Switch(*map(int, match.groups()))


def plans(lengths: Sequence[int], preemptions: int) -> Iterator[Plan]:
    """All schedules of two tasks with at most so many pre-emptions, those with fewer ones first.

    :param lengths: the number of steps of each task.
    """
    for count in range(preemptions + 1):
        for begins in (0, 1):
            yield from _with(lengths, begins, count)


def _with(lengths: Sequence[int], begins: int, count: int) -> Iterator[Plan]:
    other = 1 - begins
    if count == 0:
        yield Plan(begins)
        return
    for there in range(1, lengths[begins]):
        leaving = Switch(begins, there, other)
        if count == 1:
            yield Plan(begins, (leaving,))
            continue
        for back in range(1, lengths[other]):
            yield Plan(begins, (leaving, Switch(other, back, begins)))
