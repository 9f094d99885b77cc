"""Buckets and histograms of delays."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warre_blazar import times
from warre_blazar.domain.records import tallies
from warre_blazar.domain.records.tallies import Tally


@pytest.mark.parametrize(
    ("seconds", "label"),
    [(0.0, "0.1"), (0.1, "0.1"), (0.11, "0.25"), (60.0, "60.0"), (1e6, "inf")],
)
def test_bucket_holds_delays_up_to_its_limit(seconds: float, label: str):
    assert tallies.bucket(seconds) == label


@given(st.lists(st.floats(0, 1e5)))
def test_histogram_counts_what_is_below_each_limit(delays: list[float]):
    counted: dict[str, Tally] = {}
    for delay in delays:
        before = counted.get(tallies.bucket(delay), Tally(0, 0.0))
        counted[tallies.bucket(delay)] = Tally(before.count + 1, before.total + delay)
    histogram = tallies.histogram(counted)
    assert histogram.buckets == [
        (limit, sum(delay <= limit for delay in delays)) for limit in times.DELAY_BUCKETS
    ]
    assert histogram.total == pytest.approx(sum(delays))


def test_bucket_of_an_earlier_release_counts_in_the_next_larger_one():
    histogram = tallies.histogram({"0.75": Tally(2, 1.3), "9999.0": Tally(1, 9000.0)})
    numbers = dict(histogram.buckets)
    assert (numbers[0.5], numbers[1.0], numbers[7200.0], numbers[math.inf]) == (0, 2, 2, 3)
