"""The check of a request against the limits of a project."""

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warre_blazar.domain.booking import quota
from warre_blazar.domain.booking.quota import Amount
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions

limits = st.builds(Amount, st.integers(-1, 5), st.integers(-1, 5))
amounts = st.builds(Amount, st.integers(0, 6), st.integers(0, 6))


@given(limits, amounts, amounts)
def test_request_passes_if_it_exceeds_no_limit_that_it_asks_for(limit, used, asked):
    names = [
        name
        for name, allowed in limit.by_name().items()
        if asked.by_name()[name]
        and allowed != -1
        and used.by_name()[name] + asked.by_name()[name] > allowed
    ]
    if not names:
        quota.check(limit, used, asked)
        return
    with pytest.raises(exceptions.QuotaExceeded) as caught:
        quota.check(limit, used, asked)
    assert [each["resource"] for each in caught.value.detail["exceeded"]] == names


def test_refusal_names_every_exceeded_limit():
    with pytest.raises(exceptions.QuotaExceeded) as caught:
        quota.check(Amount(1, 10), Amount(1, 9), Amount(1, 4))
    assert caught.value.detail["exceeded"] == [
        {"resource": "reservation", "limit": 1, "used": 1, "asked": 1},
        {"resource": "hours", "limit": 10, "used": 9, "asked": 4},
    ]
    for told in ("reservation: 1 asked, 1 of 1 used", "hours: 4 asked, 9 of 10 used"):
        assert told in caught.value.message


@pytest.mark.parametrize(
    ("minutes", "count", "hours"), [(60, 1, 1), (61, 1, 2), (61, 3, 6), (0, 2, 0)]
)
def test_each_hour_that_has_begun_counts_for_each_instance(minutes: int, count: int, hours: int):
    start = datetime.datetime(2030, 1, 1)
    span = Span(start, start + datetime.timedelta(minutes=minutes))
    assert quota.of_booking(span, count) == Amount(1, hours)


@pytest.mark.parametrize(("before", "after", "more"), [(2, 5, 3), (5, 5, 0), (5, 2, 0)])
def test_change_asks_only_for_more_hours(before: int, after: int, more: int):
    assert quota.growth(Amount(1, before), Amount(1, after)) == Amount(0, more)
