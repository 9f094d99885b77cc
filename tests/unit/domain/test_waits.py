"""The line of those who wait."""

import datetime
import itertools
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from warre_blazar.domain import waits
from warre_blazar.domain.timeline import Span
from warre_blazar.domain.waits import Wait, WaitState

NOW = datetime.datetime(2100, 1, 1, 12)
HOUR = datetime.timedelta(hours=1)


def wait(
    number: int, project: str, flavor: str | None = "gpu", category: str | None = None
) -> Wait:
    return Wait(
        id=str(number),
        project_id=project,
        user_id="user",
        flavor_id=flavor,
        category=category,
        instance_count=1,
        length=HOUR,
        window=Span(NOW, NOW + 9 * HOUR),
        created_at=NOW,
        expires_at=NOW + 8 * HOUR,
        number=number,
    )


def served(project: str, ago: datetime.timedelta) -> Wait:
    done = wait(0, project)
    return Wait(**{**vars(done), "state": WaitState.BOOKED, "ended_at": NOW - ago})


def order(line: list[Wait]) -> list[int]:
    return [each.number for each in line]


def test_first_waits_of_projects_come_before_second_ones() -> None:
    everybody = [wait(1, "a"), wait(2, "a"), wait(3, "b"), wait(4, "a"), wait(5, "b")]
    assert order(waits.in_line(everybody, [], NOW)) == [1, 3, 2, 5, 4]


def test_what_was_served_within_a_day_counts() -> None:
    everybody = [wait(1, "a"), wait(2, "b")]
    assert order(waits.in_line(everybody, [served("a", 23 * HOUR)], NOW)) == [2, 1]
    assert order(waits.in_line(everybody, [served("a", 25 * HOUR)], NOW)) == [1, 2]


def test_waits_for_something_else_do_not_count() -> None:
    everybody = [wait(1, "a", "cpu"), wait(2, "a"), wait(3, "b")]
    assert order(waits.in_line(everybody, [], NOW)) == [1, 2, 3]


def test_position_counts_only_waits_for_the_same_flavors() -> None:
    categories = {"gpu": "fast", "cpu": "slow"}
    line = [
        wait(1, "a", "cpu"),
        wait(2, "b", None, "fast"),
        wait(3, "c"),
        wait(4, "d", None, "slow"),
    ]
    assert [waits.position(each, line, categories) for each in line] == [1, 1, 2, 2]
    assert waits.position(wait(9, "e"), line, categories) is None


@given(st.lists(st.sampled_from("abc"), max_size=12))
def test_nobody_is_lost_and_each_project_keeps_its_order(projects: list[str]) -> None:
    everybody = [wait(number, project) for number, project in enumerate(projects)]
    line = waits.in_line(everybody, [], NOW)
    assert sorted(order(line)) == list(range(len(projects)))
    for project in "abc":
        own = [each.number for each in line if each.project_id == project]
        assert own == sorted(own)
    # Between two waits of a project, another one has its wait of the one rank or of the other.
    for project in set(projects):
        places = [i for i, each in enumerate(line) if each.project_id == project]
        for first, second in itertools.pairwise(places):
            between = Counter(each.project_id for each in line[first + 1 : second])
            assert all(number <= 2 for number in between.values())
