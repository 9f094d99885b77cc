"""Which cases are run: single operations with a fault, pairs, pairs with a fault, and walks."""

import dataclasses
import itertools
import random
from collections.abc import Iterator, Sequence

from tests.explorer import faults, schedules
from tests.explorer.faults import Fault
from tests.explorer.operations import ONLY_ON, OPERATIONS, STATES
from tests.explorer.orders import PREEMPTIONS, Orders
from tests.explorer.report import Report
from tests.explorer.runs import Result, Runner
from tests.explorer.scheduler import Step
from tests.explorer.schedules import Case, Plan, Switch, Walk

#: How many steps after a fault the other task comes in, at most. These are the steps that deal with
#: the fault, which no order without a fault has.
_SOON = 8


@dataclasses.dataclass(frozen=True)
class Explorer:
    """Runs cases and reports them.

    :param budget: the most runs that one pair may take; pairs that have more are told as cut.
    """

    runner: Runner
    report: Report
    database: str
    budget: int | None = None

    def _states(self, *names: str) -> list[str]:
        """The states in which all of some operations make sense, on this kind of database."""
        return [
            state
            for state in STATES
            if all(state in OPERATIONS[name].states for name in names)
            and ONLY_ON.get(state, self.database) == self.database
        ]

    # One operation with a fault.

    def singles(self, names: Sequence[str]) -> None:
        """Run each operation alone, without a fault and with each fault at each of its steps."""
        for name in names:
            for state in self._states(name):
                self._single(Case(self.database, state, (name,)))

    def _single(self, case: Case) -> None:
        plain = self._run(case)
        if plain is not None:
            self._with_faults(plain.case, plain.trace)

    def _with_faults(self, case: Case, trace: Sequence[Step]) -> None:
        for step in trace:
            for kind in faults.of(step):
                fault = Fault(step.task, step.number, kind)
                self._run(dataclasses.replace(case, fault=fault))

    # Two operations.

    def pairs(self, names: Sequence[tuple[str, str]]) -> None:
        """Run each pair in each order with at most two pre-emptions."""
        for one, two in names:
            for state in self._states(one, two):
                self.report.begin_pair()
                self.pair(Case(self.database, state, (one, two)))

    def pair(self, case: Case) -> None:
        """Run two operations in each order, those with the fewest pre-emptions first."""
        orders = Orders(lambda plan: self._run(dataclasses.replace(case, plan=plan)), self.budget)
        orders.explore()
        self.report.add_orders(orders.skipped, orders.left_out)

    def _steps(self, case: Case) -> list[list[Step]] | None:
        """The steps of two tasks, each of them if it is the first one."""
        steps: list[list[Step]] = []
        for begins in (0, 1):
            result = self._run(dataclasses.replace(case, plan=Plan(begins)), quietly=True)
            if result is None:
                return None
            steps.append(result.steps[begins])
        return steps

    # Two operations with a fault.

    def pairs_with_fault(self, names: Sequence[tuple[str, str]], seed: int, share: int) -> None:
        """Run some schedules of each pair, with a fault at some step.

        In half of them the second operation comes in at a step that deals with the fault.

        :param share: the number of schedules of a pair and a state.
        """
        for one, two in names:
            for state in self._states(one, two):
                chance = random.Random(f"{seed} {one} {two} {state}")
                self._pair_with_fault(Case(self.database, state, (one, two)), chance, share)

    def _pair_with_fault(self, case: Case, chance: random.Random, share: int) -> None:
        steps = self._steps(case)
        if steps is None:
            return
        soon = list(_soon_after_a_fault(case, steps))
        for mine in chance.sample(soon, min(share // 2, len(soon))):
            self._run(mine)
        every = schedules.plans([len(mine) for mine in steps], PREEMPTIONS)
        plans = [plan for plan in every if all(_matters(steps, s) for s in plan.switches)]
        for plan in chance.sample(plans, min(share - share // 2, len(plans))):
            plain = self._run(dataclasses.replace(case, plan=plan), quietly=True)
            if plain is None:
                continue
            step = chance.choice([s for s in plain.trace if s.writes] or plain.trace)
            kind = chance.choice(faults.of(step))
            fault = Fault(step.task, step.number, kind)
            self._run(dataclasses.replace(plain.case, fault=fault))

    # Three and more operations.

    def walk(self, seed: int) -> None:
        """Run some operations in a random order, some of them with a fault."""
        chance = random.Random(seed)
        state = chance.choice(["pending", "soon", "active", "due", "ending"])
        names = sorted(name for name, o in OPERATIONS.items() if state in o.states)
        chosen = tuple(chance.choice(names) for _ in range(chance.choice([2, 3, 3])))
        case = Case(self.database, state, chosen)
        if chance.random() < 0.5:
            task = chance.randrange(len(chosen))
            kind = chance.choice(list(faults.Kind))
            case = dataclasses.replace(case, fault=Fault(task, chance.randrange(50), kind))
        self._run(case, walk=Walk(chance))

    def replay(self, text: str) -> Result | None:
        """Run a schedule that a report has printed."""
        return self._run(Case.parse(text))

    def _run(self, case: Case, *, walk: Walk | None = None, quietly: bool = False) -> Result | None:
        """Run a case, unless the time is up.

        :param quietly: whether the case is run again, and so isn't to be counted.
        """
        if self.report.is_over():
            return None
        result = self.runner.run(case, walk)
        if not quietly:
            self.report.add(result)
        return result


def _matters(steps: Sequence[Sequence[Step]], switch: Switch) -> bool:
    """Whether a task is interrupted just before or after a step that writes."""
    mine = steps[switch.task]
    return bool(mine[switch.point - 1].writes or mine[switch.point].writes)


def _soon_after_a_fault(case: Case, steps: Sequence[Sequence[Step]]) -> Iterator[Case]:
    """The schedules in which one task meets a fault, and the other one comes in soon after it.

    :param steps: the steps of each task, each of them if it is the first one.
    """
    for step in itertools.chain(*steps):
        for kind in faults.of(step):
            fault = Fault(step.task, step.number, kind)
            # A task that was killed takes no more steps.
            later = range(1, 2 if kind in faults.KILLS else _SOON + 1)
            for distance in later:
                there = Switch(step.task, step.number + distance, 1 - step.task)
                yield dataclasses.replace(case, plan=Plan(step.task, (there,)), fault=fault)


def all_pairs(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """All pairs of operations, each one with itself too."""
    return itertools.combinations_with_replacement(names, 2)
