"""Enumerates the orders of two tasks, and tells which of them have the result of one that was run.

If a step of a task that was interrupted sees the same before and after the other task's turn, and
that turn doesn't depend on it, it may come before or after the turn. Then two orders have the same
result, and only one of them is run.

Each step has a digest of all that it has sent and got back (``Step.seen``). What a task does
depends only on what it has seen, because ids and times are the same in each run. The exception is
what a process keeps in memory of the answers of a service. So two steps that ask the same service
keep their order, unless the digests of a run show that they may change it.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence

from tests.explorer.runs import Result
from tests.explorer.scheduler import WAITS, Step
from tests.explorer.schedules import Plan, Switch

#: The most pre-emptions of an order. A task that waits for the other one gives way to it, which is
#: no pre-emption.
PREEMPTIONS = 2
#: Each manager writes its own row of these at each beat, and nobody else's.
_OWN = frozenset({"warre_managers"})

Steps = Sequence[Step]


class Orders:
    """The orders of two tasks with at most two pre-emptions.

    :param run: runs a plan; None if the time is up.
    :param most: the most runs; None: there is no limit.
    """

    def __init__(self, run: Callable[[Plan], Result | None], most: int | None = None) -> None:
        self._run, self._most = run, most
        #: All steps in their order, by the plan. Most of these plans weren't run.
        self._known: dict[Plan, Steps] = {}
        #: The plans of runs in which a task waited for a lock, and that so may end otherwise.
        self._unsure: set[Plan] = set()
        #: How many orders were run, have the result of one that was run, and are neither. Those
        #: with more pre-emptions than an order that is neither aren't counted.
        self.runs = self.skipped = self.left_out = 0

    def explore(self) -> None:
        """Run all orders whose results aren't known, those with the fewest pre-emptions first."""
        plans = [Plan(0), Plan(1)]
        for count in range(PREEMPTIONS + 1):
            for plan in plans:
                self._explore(plan)
            if not count:
                self._learn(plans)  # Each of these needs the other one.
            if count < PREEMPTIONS:
                plans = [more for plan in plans for more in self._with_one_more(plan)]

    def _with_one_more(self, plan: Plan) -> Iterator[Plan]:
        """The plans that have another pre-emption after all those of a plan."""
        steps = self._known.get(plan, ())
        begun = _place(steps, plan.switches[-1]) if plan.switches else 0
        last = {step.task: place for place, step in enumerate(steps)}
        for place in range(begun + 1, len(steps)):
            step, other = steps[place], 1 - steps[place].task
            goes_on = steps[place - 1].task == step.task and step.what != WAITS
            if goes_on and last.get(other, -1) > place:
                yield _with(plan, Switch(step.task, step.number, other))

    def _explore(self, plan: Plan) -> None:
        if plan in self._known:
            self.skipped += 1
            return
        result = None
        if self._most is None or self.runs < self._most:
            result = self._run(plan)
        if result is None:
            self.left_out += 1
            return
        self.runs += 1
        self._known[plan] = result.trace
        if result.was_locked:
            self._unsure.add(plan)
        elif plan.switches:
            self._learn([plan])

    # What a run tells of other orders.

    def _learn(self, run: Sequence[Plan]) -> None:
        """Note the orders that have the same result as those that were run."""
        waiting = [plan for plan in run if plan in self._known and plan not in self._unsure]
        while waiting:
            plan = waiting.pop()
            steps = self._known[plan]
            for same, its_steps in self._same(plan, steps):
                if same not in self._known:
                    self._known[same] = its_steps
                    waiting.append(same)

    def _same(self, plan: Plan, steps: Steps) -> Iterator[tuple[Plan, Steps]]:
        """The plans that differ from a plan in that one switch comes a step later."""
        later = [self._later(plan, number, steps) for number in range(len(plan.switches))]
        if len(plan.switches) < PREEMPTIONS:
            # The task that begins interrupts the other one before its first step.
            other = 1 - plan.begins
            first = Plan(other, (Switch(other, 0, plan.begins), *plan.switches))
            later.append(self._later(first, 0, steps))
        yield from filter(None, later)

    def _later(self, plan: Plan, number: int, steps: Steps) -> tuple[Plan, Steps] | None:
        """The plan in which a switch comes a step later, and its steps, if its result is the same.

        :param steps: those of the plan.
        """
        switch = plan.switches[number]
        before = Plan(plan.begins, plan.switches[:number])
        without = self._known.get(before, ()) if before not in self._unsure else ()
        place = _place(steps, switch)
        back = next((n for n in range(place, len(steps)) if steps[n].task == switch.task), None)
        if back is None or not _goes_on(without, place, switch):
            return None
        moved = Switch(switch.task, switch.point + 1, switch.to)
        step, turn = steps[back], steps[place:back]
        after = _with(before, moved)
        if (
            step.seen != without[place].seen
            or moved.point in (s.point for s in plan.switches if s.task == moved.task)
            or not self._may_pass(step, turn, after, place + 1)
        ):
            return None
        switches = (*plan.switches[:number], moved, *plan.switches[number + 1 :])
        rest = steps[back + 1 :]
        return Plan(plan.begins, switches), [*steps[:place], step, *turn, *rest]

    def _may_pass(self, step: Step, turn: Steps, after: Plan, place: int) -> bool:
        """Whether the other task's turn is the same before and after a step.

        :param after: the plan in which the turn comes after the step, at this place.
        """
        if any(_meet(step.writes, other.writes) for other in turn):
            return False
        statements = [s for s in turn if s.is_statement] if step.is_statement else []
        if statements and any(s.writes for s in (step, *statements)):
            # The later statements of a transaction see what its first one could have seen.
            return False
        if not any(_meet(step.writes, s.reads) or step.asks & s.asks for s in turn):
            return True
        if after in self._unsure:
            return False
        known = self._known.get(after, ())[place : place + len(turn)]
        return [s.seen for s in known] == [s.seen for s in turn]


def _goes_on(steps: Steps, place: int, switch: Switch) -> bool:
    """Whether a task takes its next step and the one after it, if it isn't interrupted."""
    mine = steps[place : place + 2]
    return len(mine) == 2 and all(s.task == switch.task and s.what != WAITS for s in mine)


def _place(steps: Steps, switch: Switch) -> int:
    """The place in an order at which a task is interrupted."""
    taken = 0
    for place, step in enumerate(steps):
        if taken == switch.point:
            return place
        taken += step.task == switch.task
    return len(steps)


def _with(plan: Plan, switch: Switch) -> Plan:
    return dataclasses.replace(plan, switches=(*plan.switches, switch))


def _meet(some: set[str], others: set[str]) -> bool:
    return bool((some & others) - _OWN)
