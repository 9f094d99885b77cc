"""The checks of a booking against a flavor's terms, at the limits of each term."""

import datetime

import pytest

from tests.unit.domain.clock import MINUTE, at, span
from tests.unit.domain.shapes import flavor
from warre_blazar.domain import booking_rules
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions

HOUR = 60
SECOND = datetime.timedelta(seconds=1)


@pytest.mark.parametrize(
    "period",
    [
        pytest.param(span(5, 5), id="empty"),
        pytest.param(span(5, 4), id="backwards"),
    ],
)
def test_empty_or_reversed_period_is_refused(period):
    with pytest.raises(exceptions.InvalidPeriod):
        booking_rules.check_period(period)


def test_period_of_a_minute_is_allowed():
    booking_rules.check_period(span(5, 6))


@pytest.mark.parametrize(
    "now",
    [
        pytest.param(at(5) - MINUTE, id="a minute ahead"),
        pytest.param(at(5), id="the present minute, just begun"),
        pytest.param(at(6) - SECOND, id="the present minute, almost over"),
        pytest.param(at(6) - datetime.timedelta(microseconds=1), id="its last microsecond"),
    ],
)
def test_start_in_the_present_minute_or_later_is_allowed(now):
    booking_rules.check_future(span(5, 60), now)


@pytest.mark.parametrize(
    "now",
    [
        pytest.param(at(6), id="the minute before"),
        pytest.param(at(6) + SECOND, id="the minute before, and a second"),
        pytest.param(at(5 + 24 * HOUR), id="the day before"),
    ],
)
def test_start_before_the_present_minute_is_refused(now):
    with pytest.raises(exceptions.InvalidPeriod):
        booking_rules.check_future(span(5, 60), now)


PERIOD = {"start": at(10), "end": at(10 + 3 * HOUR)}


@pytest.mark.parametrize(
    ("terms", "booked"),
    [
        pytest.param({}, span(0, 24 * HOUR), id="exactly max length"),
        pytest.param({}, span(0, 1), id="a minute"),
        pytest.param(PERIOD, span(10, 70), id="start is the flavor's start"),
        pytest.param(PERIOD, span(20, 190), id="end is the flavor's end"),
        pytest.param(PERIOD, span(10, 190), id="all of the flavor's period"),
        pytest.param({"start": at(10)}, span(10, 24 * HOUR), id="start only"),
        pytest.param({"end": at(10)}, span(0, 10), id="end only"),
    ],
)
def test_span_within_the_terms_is_bookable(terms, booked):
    assert booking_rules.terms(flavor(**terms), True, booked) == []


@pytest.mark.parametrize(
    ("terms", "accessible", "booked", "code"),
    [
        pytest.param({"active": False}, True, span(0, 60), "flavor_inactive", id="inactive"),
        pytest.param({}, False, span(0, 60), "flavor_not_accessible", id="no access"),
        pytest.param({}, True, span(0, 24 * HOUR + 1), "too_long", id="a minute too long"),
        pytest.param(PERIOD, True, span(9, 70), "before_flavor_start", id="a minute too early"),
        pytest.param(PERIOD, True, span(20, 191), "after_flavor_end", id="a minute too late"),
        pytest.param(PERIOD, True, span(0, 10), "before_flavor_start", id="ends as it starts"),
        pytest.param(PERIOD, True, span(190, 200), "after_flavor_end", id="starts as it ends"),
        pytest.param(
            {"active": False}, False, span(0, 9999), "flavor_inactive", id="inactive comes first"
        ),
        pytest.param(
            {}, False, span(0, 9999), "flavor_not_accessible", id="access comes before length"
        ),
    ],
)
def test_span_outside_a_term_is_refused_with_its_code(terms, accessible, booked, code):
    refusals = booking_rules.terms(flavor(**terms), accessible, booked)
    assert refusals[0].code == code


def test_every_term_that_is_broken_is_named():
    closed = flavor(active=False, start=at(10), max_length_hours=1)
    assert [error.code for error in booking_rules.terms(closed, False, span(0, 61))] == [
        "flavor_inactive",
        "flavor_not_accessible",
        "too_long",
        "before_flavor_start",
    ]
    assert booking_rules.terms(closed, True, span(10, 71), any_length=True)[1:] == []


def test_span_that_is_too_long_names_the_limit():
    with pytest.raises(exceptions.FlavorNotBookable) as refused:
        booking_rules.check_length(flavor(max_length_hours=2), span(0, 121))
    assert refused.value.detail == {"max_length_hours": 2}


def test_started_hour_counts_as_a_whole_hour():
    booked = Span(at(0), at(24 * HOUR) + SECOND)
    with pytest.raises(exceptions.FlavorNotBookable):
        booking_rules.check_length(flavor(), booked)


@pytest.mark.parametrize(
    ("booked", "detail"),
    [
        pytest.param(span(9, 70), {"start": "2026-03-29T00:10:00+00:00"}, id="start"),
        pytest.param(span(10, 191), {"end": "2026-03-29T03:10:00+00:00"}, id="end"),
    ],
)
def test_span_outside_the_flavors_period_names_the_bound_in_utc(booked, detail):
    with pytest.raises(exceptions.FlavorNotBookable) as refused:
        booking_rules.check_flavor_period(flavor(**PERIOD), booked)
    assert refused.value.detail == detail


@pytest.mark.parametrize(
    ("taken", "count"),
    [
        pytest.param(0, 3, id="all at once"),
        pytest.param(2, 1, id="the last one"),
        pytest.param(0, 1, id="the first"),
    ],
)
def test_instances_within_the_slots_are_allowed(taken, count):
    booking_rules.check_slots(flavor(slots=3), taken, count)


@pytest.mark.parametrize(
    ("taken", "count", "free"),
    [
        pytest.param(3, 1, 0, id="none left"),
        pytest.param(2, 2, 1, id="one left of two"),
        pytest.param(0, 4, 3, id="more than there are"),
        pytest.param(5, 1, 0, id="slots went below what is booked"),
    ],
)
def test_instances_beyond_the_slots_are_refused(taken, count, free):
    with pytest.raises(exceptions.SlotsExhausted) as refused:
        booking_rules.check_slots(flavor(slots=3), taken, count)
    assert refused.value.detail == {"asked": count, "free": free, "slots": 3}
