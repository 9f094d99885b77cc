"""Interval arithmetic, compared with counts by the minute."""

import datetime
import itertools
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.unit.domain.clock import (
    MINUTE,
    at,
    claims,
    level_at,
    longest,
    minutes,
    minutes_of,
    span,
    spans,
)
from warre_blazar.domain import timeline
from warre_blazar.domain.timeline import Claim, Levels, Span

HOUR = datetime.timedelta(hours=1)


def taken_at(booked, minute):
    return sum(claim.amount for claim in booked if minute in minutes(claim.span))


@given(spans(), spans())
def test_overlaps_when_a_minute_is_common(one, other):
    assert one.overlaps(other) == bool(minutes_of([one]) & minutes_of([other]))


@given(spans(), spans())
def test_contains_when_every_minute_is_there(one, other):
    assert one.contains(other) == (minutes_of([other]) <= minutes_of([one]))


@given(spans(), st.integers(0, 9))
def test_padded_adds_minutes_after_the_end(one, tail):
    first, last = minutes(one)[0], minutes(one)[-1]
    assert list(minutes(one.padded(tail * MINUTE))) == list(range(first, last + 1 + tail))


def test_padded_stops_at_the_end_of_time():
    one = Span(at(0), datetime.datetime.max - MINUTE)
    assert one.padded(HOUR).end == datetime.datetime.max


@given(st.integers(0, 10_000))
def test_hours_are_as_many_as_hold_the_minutes(length):
    enough = next(hours for hours in itertools.count() if hours * 60 >= length)
    assert span(0, length).hours() == enough


@pytest.mark.parametrize(
    ("length", "hours"),
    [
        pytest.param(0 * MINUTE, 0, id="nothing"),
        pytest.param(MINUTE, 1, id="a minute"),
        pytest.param(HOUR, 1, id="an hour"),
        pytest.param(HOUR + MINUTE, 2, id="a minute more"),
        pytest.param(HOUR + datetime.timedelta(microseconds=1), 2, id="a microsecond more"),
    ],
)
def test_hours(length, hours):
    assert Span(at(0), at(0) + length).hours() == hours


@given(claims(), spans())
@example([Claim(span(0, 5), 1), Claim(span(5, 9), 1)], span(0, 9))
@example([Claim(span(0, 6), 1), Claim(span(5, 9), 1)], span(0, 9))
@example([Claim(span(0, 4), 4), Claim(span(2, 9), 1)], span(4, 9))
def test_peak_is_the_fullest_minute(booked, window):
    assert timeline.peak(booked, window) == max(taken_at(booked, m) for m in minutes(window))


@given(spans(), spans())
@example(span(0, 5), span(5, 9))
@example(span(0, 5), span(6, 9))
@example(span(6, 9), span(0, 5))
def test_union_has_the_minutes_of_both_in_as_few_spans_as_can_be(one, other):
    both = timeline.union(one, other)
    together = minutes_of([one, other])
    gaps = len(range(min(together), max(together) + 1)) != len(together)
    assert minutes_of(both) == together
    assert len(both) == (2 if gaps else 1)


@given(st.lists(spans(), max_size=5), st.lists(spans(), max_size=5))
def test_intersect_has_the_minutes_in_both(some, others):
    common = timeline.intersect(some, others)
    assert minutes_of(common) == minutes_of(some) & minutes_of(others)
    assert all(one.start < one.end for one in common)


@given(st.lists(spans(), max_size=6), spans())
def test_outside_has_the_minutes_that_none_takes(taken, window):
    free = timeline.outside(taken, window)
    assert minutes_of(free) == minutes_of([window]) - minutes_of(taken)
    assert all(one.start < one.end for one in free)
    assert all(one.end < other.start for one, other in itertools.pairwise(free))


@given(st.lists(spans(), max_size=8))
def test_widest_leaves_those_within_no_other(some):
    edges = {(one.start, one.end) for one in some}
    widest = sorted(
        (start, end)
        for start, end in edges
        if not any(s <= start and end <= e for s, e in edges - {(start, end)})
    )
    assert timeline.widest(some) == [Span(*one) for one in widest]


@pytest.fixture
def berlin(monkeypatch):
    """Run the process in a zone whose clocks go forward in the night from which ``at`` counts."""
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_widest_knows_no_local_time(berlin):
    short, long = span(0, 2 * 60 + 30), span(0, 3 * 60 + 15)
    assert timeline.widest([short, long]) == [long]


@given(st.integers(0, 9), claims(), spans())
def test_left_is_the_capacity_less_what_is_taken(capacity, booked, window):
    levels = Levels.left(capacity, booked, window)
    assert levels.steps[0][0] == window.start
    assert levels.steps[-1][0] < window.end
    assert [level_at(levels, m) for m in minutes(window)] == [
        capacity - taken_at(booked, m) for m in minutes(window)
    ]


@given(claims(), st.integers(0, 9), st.integers(1, 5), spans())
def test_free_runs_are_the_longest_with_room(booked, capacity, count, window):
    def fits(stretch):
        return all(capacity - taken_at(booked, m) >= count for m in stretch)

    left = Levels.left(capacity, booked, window)
    assert left.runs(count, window.end) == longest(fits, window)


@given(
    st.lists(st.tuples(st.integers(0, 5), claims(10, 5)), max_size=4),
    st.integers(1, 8),
    spans(10),
)
def test_maximal_spans_are_the_longest_that_stay_where_they_are(stocks, count, window):
    supplies = [Levels.left(capacity, booked, window) for capacity, booked in stocks]

    def fits(stretch):
        lowest = (
            min(max(capacity - taken_at(booked, m), 0) for m in stretch)
            for capacity, booked in stocks
        )
        return sum(lowest) >= count

    assert timeline.maximal_spans(supplies, count, window) == longest(fits, window)


def test_low_level_is_dropped_although_a_later_higher_level_has_fallen():
    one = Levels([(at(0), 1), (at(2), 5), (at(3), 3)])
    other = Levels([(at(0), 4), (at(3), 2)])
    free = timeline.maximal_spans([one, other], 5, span(0, 9))
    assert free == [span(0, 3), span(2, 9)]


@pytest.mark.parametrize(
    ("booked", "count", "free"),
    [
        pytest.param([], 1, [(0, 60)], id="nothing booked"),
        pytest.param([], 3, [], id="more than there are"),
        pytest.param([(0, 60, 2)], 1, [], id="all booked throughout"),
        pytest.param([(20, 30, 2)], 1, [(0, 20), (30, 60)], id="a hole on either side"),
        pytest.param([(20, 30, 1)], 1, [(0, 60)], id="one of two booked"),
        pytest.param([(0, 20, 2), (20, 30, 2)], 1, [(30, 60)], id="back to back"),
        pytest.param([(0, 20, 2), (21, 30, 2)], 1, [(20, 21), (30, 60)], id="a minute between"),
    ],
)
def test_free_runs_of_two_slots(booked, count, free):
    held = [Claim(span(start, end), amount) for start, end, amount in booked]
    left = Levels.left(2, held, span(0, 60))
    assert left.runs(count, at(60)) == [span(*one) for one in free]
