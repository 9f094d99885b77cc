"""Interval arithmetic against a count minute by minute."""

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.domain import minutes
from tests.unit.domain.minutes import at, span
from warre_blazar.domain import timeline
from warre_blazar.domain.timeline import Claim, Span

_MINUTE = datetime.timedelta(minutes=1)


@given(minutes.claims(), minutes.spans(0, minutes.HORIZON))
def test_peak_is_the_fullest_minute(claims: list[Claim], window: Span) -> None:
    inside = [m for m in range(minutes.HORIZON) if minutes.holds(window, m)]
    assert timeline.peak(claims, window) == max(minutes.taken(claims, m) for m in inside)


def test_what_ends_makes_room_at_that_minute() -> None:
    claims = [Claim(span(0, 5), 2), Claim(span(5, 9), 3)]
    assert timeline.peak(claims, span(0, 9)) == 3


@given(minutes.spans(), minutes.spans())
def test_overlap_is_having_a_minute_in_common(one: Span, other: Span) -> None:
    both = [m for m in range(-5, 30) if minutes.holds(one, m) and minutes.holds(other, m)]
    assert one.overlaps(other) == bool(both)


@given(minutes.spans(), minutes.spans())
def test_union_holds_the_minutes_of_either_once(one: Span, other: Span) -> None:
    joined = timeline.union(one, other)
    for m in range(-5, 30):
        in_either = minutes.holds(one, m) or minutes.holds(other, m)
        assert sum(minutes.holds(s, m) for s in joined) == in_either


@pytest.mark.parametrize(
    ("length", "hours"),
    [
        pytest.param(1, 1, id="a minute"),
        pytest.param(59, 1, id="a minute less than an hour"),
        pytest.param(60, 1, id="an hour"),
        pytest.param(61, 2, id="a minute more"),
        pytest.param(24 * 60, 24, id="a day"),
    ],
)
def test_started_hours_count_whole(length: int, hours: int) -> None:
    assert span(0, length).hours() == hours


def test_padding_ends_where_time_does() -> None:
    last = Span(at(0), datetime.datetime.max - _MINUTE)
    assert last.padded(datetime.timedelta(days=1)).end == datetime.datetime.max


@given(minutes.spans(), st.integers(0, 100))
def test_padding_only_moves_the_end(one: Span, tail: int) -> None:
    padded = one.padded(tail * _MINUTE)
    assert (padded.start, padded.end) == (one.start, one.end + tail * _MINUTE)
