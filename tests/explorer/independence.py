"""Finds schedules of two tasks that have the same result, so that only one of them is run.

Two steps are dependent if one of them writes a table, or a kind of objects of a service, that the
other one reads or writes. Two schedules that order all dependent steps alike have the same result
(they are the same trace, in Mazurkiewicz's sense).

What the steps read and write is taken from the two runs without pre-emption. A task that takes
another way, because the other one has come between, may read and write other things.
"""

import bisect
from collections.abc import Iterable, Iterator, Sequence

from tests.explorer.scheduler import Step
from tests.explorer.schedules import Plan

#: Each manager writes its own row of these at each beat, and nobody else's.
_OWN = frozenset({"warre_managers"})


def are_dependent(one: Step, two: Step) -> bool:
    """Whether the order of two steps of different tasks may make a difference."""
    touched = (one.reads | one.writes) & two.writes | one.writes & two.reads
    return bool(touched - _OWN)


class Traces:
    """Tells which schedules of two tasks order all dependent steps alike.

    :param steps: the steps of each task.
    """

    def __init__(self, steps: Sequence[Sequence[Step]]) -> None:
        self._lengths = [len(mine) for mine in steps]
        self._dependents = [
            [number for number, other in enumerate(steps[1]) if are_dependent(step, other)]
            for step in steps[0]
        ]

    def different(self, plans: Iterable[Plan]) -> Iterator[Plan]:
        """One of each class of plans that order all dependent steps alike."""
        seen = set()
        for plan in plans:
            key = self._key(plan)
            if key not in seen:
                seen.add(key)
                yield plan

    def _key(self, plan: Plan) -> tuple[int, ...]:
        """For each step of the first task, how many of its dependent steps come before it."""
        before: list[int] = []
        at, running = [0, 0], plan.begins
        stops = {(switch.task, switch.point) for switch in plan.switches}
        while at[0] < self._lengths[0]:
            is_over = at[running] >= self._lengths[running]
            if is_over or (
                (running, at[running]) in stops and at[1 - running] < self._lengths[1 - running]
            ):
                stops.discard((running, at[running]))
                running = 1 - running
                continue
            if running == 0:
                before.append(at[1])
            at[running] += 1
        pairs = zip(self._dependents, before, strict=True)
        return tuple(bisect.bisect_left(dependents, count) for dependents, count in pairs)
