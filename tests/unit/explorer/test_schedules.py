"""Schedules as text, and their enumeration."""

import pytest

from tests.explorer.faults import Fault, Kind
from tests.explorer.scheduler import Scheduler, current
from tests.explorer.schedules import Case, Plan, Switch, plans

CASES = [
    Case("sqlite", "pending", ("book",)),
    Case("mariadb", "active", ("remind", "shorten"), Plan(1, (Switch(1, 6, 0), Switch(0, 30, 1)))),
    Case("sqlite", "due", ("start", "delete"), Plan(0), Fault(1, 12, Kind.UNCERTIFIED)),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_schedule_is_read_back_from_its_text(case: Case):
    assert Case.parse(str(case)) == case


@pytest.mark.parametrize("text", ["", "sqlite:pending:book", "sqlite:pending:book:0:1-2:-"])
def test_text_that_is_no_schedule_is_refused(text: str):
    with pytest.raises(ValueError):
        Case.parse(text)


@pytest.mark.parametrize(("preemptions", "count"), [(0, 2), (1, 2 + 2 + 3), (2, 7 + 2 * 2 * 3)])
def test_every_plan_with_so_many_preemptions_is_made_once(preemptions: int, count: int):
    made = list(plans([3, 4], preemptions))
    assert len(made) == len(set(made)) == count


def run(plan: Plan) -> str:
    """Run two tasks of three steps each, and return the order of their steps."""
    order: list[str] = []

    def act() -> None:
        here = current()
        assert here is not None
        scheduler, task = here
        for _ in range(3):
            scheduler.point(task, "")
            order.append("ab"[task.number])

    Scheduler(plan, [act, act]).run()
    return "".join(order)


ORDERS = {
    Plan(0): "aaabbb",
    Plan(1): "bbbaaa",
    Plan(0, (Switch(0, 1, 1),)): "abbbaa",
    Plan(1, (Switch(1, 2, 0), Switch(0, 1, 1))): "bbabaa",
}


@pytest.mark.parametrize("plan", ORDERS, ids=str)
def test_tasks_go_on_in_the_order_of_the_plan(plan: Plan):
    assert run(plan) == ORDERS[plan]
