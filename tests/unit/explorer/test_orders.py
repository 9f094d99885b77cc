"""Orders that aren't run have the result of one that was."""

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.explorer.orders import Orders
from tests.explorer.runs import Result
from tests.explorer.scheduler import WAITS, Step
from tests.explorer.schedules import Case, Plan, Switch

NAMES = "abc"


@dataclasses.dataclass(frozen=True)
class Act:
    """What a step of a task does: it reads some names, and writes what it has seen to others."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    #: Whether the task gives way to the other one, if that isn't over.
    waits: bool = False
    #: Whether the task ends before this step if it has seen an odd number.
    may_end: bool = False


class Site:
    """Runs two tasks in the orders of plans."""

    def __init__(self, *tasks: list[Act]) -> None:
        self.tasks = tasks
        self.runs = 0
        #: What the runs have left: what each task has seen, and the value of each name.
        self.left: set[Any] = set()

    def run(self, plan: Plan) -> Result:
        """Run a plan."""
        self.runs += 1
        values = dict.fromkeys(NAMES, 0)
        seen, trace = [0, 0], list[Step]()
        at, running = [0, 0], plan.begins
        stops = {(switch.task, switch.point) for switch in plan.switches}
        asked: set[tuple[int, int]] = set()
        while not (self._is_over(0, at, seen) and self._is_over(1, at, seen)):
            place, other = (running, at[running]), 1 - running
            if self._is_over(running, at, seen):
                running = other
                continue
            waits = self._act(place).waits
            goes_on = self._is_over(other, at, seen) or place in asked
            if not goes_on and (waits or place in stops):
                asked.add(place)
                running = other
                continue
            act, step = self._act(place), Step(*place, WAITS if waits else "")
            step.reads, step.writes = set(act.reads), set(act.writes)
            step.see(running, at[running], [values[name] for name in act.reads])
            seen[running] = hash((seen[running], step.seen))
            values |= dict.fromkeys(act.writes, seen[running])
            step.see([values[name] for name in act.writes])
            trace.append(step)
            at[running] += 1
        self.left.add((*seen, *values.values()))
        steps = [[step for step in trace if step.task == task] for task in (0, 1)]
        return Result(Case("", "", ()), [], [], steps, trace)

    def _act(self, place: tuple[int, int]) -> Act:
        return self.tasks[place[0]][place[1]]

    def _is_over(self, task: int, at: list[int], seen: list[int]) -> bool:
        acts = self.tasks[task]
        return at[task] >= len(acts) or (acts[at[task]].may_end and seen[task] % 2 == 1)


def names(most: int) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(NAMES), max_size=most, unique=True).map(tuple)


READS = st.builds(Act, names(2))
ACTS = st.one_of(
    READS,
    st.builds(Act, names(1), names(1), st.just(False), st.booleans()),
    st.just(Act(waits=True)),
)
TASKS = st.lists(ACTS, min_size=1, max_size=6)


def all_plans(*tasks: list[Act]) -> Iterator[Plan]:
    """All plans with at most two switches, also those that no task comes to."""
    switches = [
        Switch(task, point, 1 - task) for task in (0, 1) for point in range(1, len(tasks[task]))
    ]
    for count in range(3):
        for chosen in itertools.combinations(switches, count):
            yield from (Plan(begins, chosen) for begins in (0, 1))


@given(TASKS, TASKS)
def test_every_result_is_found(first: list[Act], second: list[Act]):
    site, every = Site(first, second), Site(first, second)
    Orders(site.run).explore()
    for plan in all_plans(first, second):
        every.run(plan)
    assert site.left == every.left


def test_reads_need_no_order():
    site = Site([Act(("a",))] * 9, [Act(("a",))] * 9)
    orders = Orders(site.run)
    orders.explore()
    assert (orders.runs, orders.left_out) == (2, 0)
    # 8 places for one pre-emption, or two, of each task.
    assert orders.skipped == 2 * 8 + 2 * 8 * 8


def test_read_before_and_after_a_write_is_run():
    site = Site([Act(("a",)), Act(("b",)), Act(("c",))], [Act((), ("b",))])
    orders = Orders(site.run)
    orders.explore()
    assert (len(site.left), orders.runs, orders.skipped) == (2, 3, 1)


def test_more_runs_than_allowed_are_left_out():
    writes = [Act(("a",), ("a",))] * 4
    site = Site(writes, writes)
    orders = Orders(site.run, 5)
    orders.explore()
    assert (site.runs, orders.runs) == (5, 5)
    assert orders.left_out
