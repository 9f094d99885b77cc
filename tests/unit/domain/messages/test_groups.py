"""Which notices are told in one message, and in which order."""

import dataclasses
import datetime
import itertools
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from warre_blazar.domain.messages.groups import grouped
from warre_blazar.domain.messages.notices import Kind, News, Notice

NOW = datetime.datetime(2100, 1, 1)
CONTENT: dict[str, Any] = {
    "project_id": "p",
    "user_id": "u",
    "contact": None,
    "timezone": None,
    "name": "course",
    "instance_count": 1,
    "before_end": None,
    "flavor": {"id": "f"},
    "lease_id": "lease",
    "series_id": "series",
    "start": "2100-02-01T00:00:00+00:00",
    "end": "2100-02-01T01:00:00+00:00",
}


def notice(
    number: int, subject: str, kind: Kind = Kind.CREATED, by: str | None = "u", **changes: Any
) -> Notice:
    return Notice(number, subject, News(kind, NOW, by), {**CONTENT, **changes})


def ids(groups: list[list[Notice]]) -> list[list[int]]:
    return [[each.id for each in group] for group in groups]


def test_bookings_of_a_series_are_one_group():
    assert ids(grouped([notice(n, f"r{n}") for n in range(15)])) == [list(range(15))]


def test_reservations_of_a_lease_are_one_group():
    of_lease = [notice(n, f"r{n}", series_id=None) for n in range(3)]
    assert ids(grouped(of_lease)) == [[0, 1, 2]]


@pytest.mark.parametrize(
    "changes",
    [
        {"series_id": "another"},
        {"series_id": None},
        {"contact": "c@example.org"},
        {"user_id": "another"},
        {"project_id": "another"},
        {"name": "another"},
        {"timezone": "UTC"},
        {"instance_count": 2},
        {"before_end": "snapshot"},
        {"flavor": {"id": "another"}},
        {"start": "2099-01-01T00:00:00+00:00"},
        {"kind": Kind.DELETED},
        {"by": "another"},
    ],
)
def test_what_a_message_says_once_is_the_same_in_a_group(changes: dict[str, Any]):
    assert ids(grouped([notice(0, "a"), notice(1, "b", **changes)])) == [[0], [1]]


@pytest.mark.parametrize(
    ("changes", "is_one"),
    [
        ({"series_id": "another"}, True),
        ({"name": "another"}, True),
        ({"instance_count": 2}, True),
        ({"flavor": {"id": "another"}}, True),
        ({"start": "2099-01-01T00:00:00+00:00"}, True),
        ({"by": "another"}, False),
        ({"user_id": "another"}, False),
        ({"project_id": "another"}, False),
        ({"contact": "c@example.org"}, False),
        ({"timezone": "UTC"}, False),
    ],
)
def test_deletions_by_a_person_are_a_group_of_each_receiver(changes: dict[str, Any], is_one: bool):
    deleted = [notice(0, "a", Kind.DELETED), notice(1, "b", Kind.DELETED, **changes)]
    assert ids(grouped(deleted)) == ([[0, 1]] if is_one else [[0], [1]])


@pytest.mark.parametrize(
    ("changed", "is_one"),
    [
        ({"kind": Kind.RESIZED}, True),
        ({"name": "another"}, True),
        ({"instance_count": 2}, True),
        ({"series_id": "another"}, False),
        ({"series_id": None}, False),
        ({"by": "another"}, False),
        ({"contact": "c@example.org"}, False),
        ({"timezone": "UTC"}, False),
    ],
)
def test_changes_of_a_series_by_a_person_are_a_group(changed: dict[str, Any], is_one: bool):
    both = [
        notice(0, "a", Kind.RESCHEDULED),
        notice(1, "b", **{"kind": Kind.RESCHEDULED, **changed}),
    ]
    assert ids(grouped(both)) == ([[0, 1]] if is_one else [[0], [1]])


def test_reservation_may_have_several_changes_in_a_group():
    changed = [
        notice(number, subject, kind)
        for number, (subject, kind) in enumerate(
            itertools.product("ab", [Kind.RESCHEDULED, Kind.RESIZED])
        )
    ]
    assert ids(grouped(changed)) == [[0, 1, 2, 3]]
    assert ids(grouped(changed[:2])) == [[0], [1]]


@pytest.mark.parametrize("kind", [Kind.STARTED, Kind.REMINDED, Kind.ENDED, Kind.IDLE])
def test_what_differs_from_reservation_to_reservation_is_told_alone(kind: Kind):
    assert ids(grouped([notice(0, "a", kind), notice(1, "b", kind)])) == [[0], [1]]


def test_group_overtakes_no_notice_about_the_same_reservation():
    told = [
        notice(0, "a", Kind.DELETED),
        notice(1, "b", Kind.RESCHEDULED),
        notice(2, "b", Kind.DELETED),
        notice(3, "c", Kind.DELETED),
    ]
    assert ids(grouped(told)) == [[0], [1], [2, 3]]


def test_reservation_is_in_a_group_once():
    lost = [notice(number, "a", Kind.HOST_LOST) for number in range(2)]
    assert ids(grouped(lost)) == [[0], [1]]


SOME = st.builds(
    notice,
    st.just(0),
    st.sampled_from("abc"),
    st.sampled_from(
        [Kind.CREATED, Kind.DELETED, Kind.STARTED, Kind.HOST_LOST, Kind.RESCHEDULED, Kind.RESIZED]
    ),
    series_id=st.sampled_from(["s", "t"]),
)


@hypothesis.given(st.lists(SOME, max_size=20))
def test_every_notice_is_told_once_and_each_reservation_in_order(some: list[Notice]):
    told = [dataclasses.replace(each, id=number) for number, each in enumerate(some)]
    groups = grouped(told)
    flat = [each for group in groups for each in group]
    assert sorted(each.id for each in flat) == list(range(len(told)))
    for subject in "abc":
        of_subject = [each.id for each in flat if each.subject == subject]
        assert of_subject == sorted(of_subject)
    for group in groups:
        changes = {each.news.kind for each in group} <= {Kind.RESCHEDULED, Kind.RESIZED}
        assert changes or len({each.subject for each in group}) == len(group)
