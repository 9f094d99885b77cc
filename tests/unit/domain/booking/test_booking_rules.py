"""The checks of a booking against a flavor's terms, at the limits of each term."""

import datetime
import functools
import itertools

import hypothesis
import pytest
from hypothesis import strategies as st

from tests.unit.domain.clock import MINUTE, at, span
from tests.unit.domain.shapes import flavor
from warre_blazar.domain.booking import booking_rules
from warre_blazar.domain.timeline import Claim, Span
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
    assert booking_rules.terms(flavor(**terms), True, booked, at(0)) == []


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
    refusals = booking_rules.terms(flavor(**terms), accessible, booked, at(0))
    assert refusals[0].code == code


def test_every_term_that_is_broken_is_named():
    closed = flavor(active=False, start=at(10), max_length_hours=1)
    assert [error.code for error in booking_rules.terms(closed, False, span(0, 61), at(0))] == [
        "flavor_inactive",
        "flavor_not_accessible",
        "too_long",
        "before_flavor_start",
    ]
    assert booking_rules.terms(closed, True, span(10, 71), at(0), any_length=True)[1:] == []


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


DAY = 24 * HOUR


@pytest.mark.parametrize(
    ("end", "codes"),
    [
        pytest.param(2 * DAY, [], id="exactly so many days"),
        pytest.param(2 * DAY + 1, ["too_far_ahead"], id="a minute more"),
    ],
)
def test_end_may_be_only_so_many_days_ahead(end, codes):
    limited = flavor(max_days_ahead=2)
    late = at(0) + 59 * SECOND
    refusals = booking_rules.terms(limited, True, span(end - HOUR, end), late)
    assert [error.code for error in refusals] == codes
    if codes:
        assert refusals[0].detail == {
            "max_days_ahead": 2,
            "latest_end": f"{at(2 * DAY).isoformat()}+00:00",
        }


@pytest.mark.parametrize(
    ("after", "now", "is_refused"),
    [
        pytest.param(span(0, 11 * HOUR), at(8 * HOUR), False, id="in the last hours"),
        pytest.param(span(0, 11 * HOUR), at(8 * HOUR - 1), True, id="a minute too early"),
        pytest.param(span(0, 9 * HOUR), at(0), False, id="shorter"),
        pytest.param(span(HOUR, 11 * HOUR), at(0), False, id="moved, and as long as before"),
        pytest.param(span(-HOUR, 10 * HOUR), at(-DAY), False, id="begins earlier"),
        pytest.param(span(HOUR, 11 * HOUR + 1), at(0), True, id="moved and longer"),
    ],
)
def test_extension_comes_only_so_long_before_the_end(after, now, is_refused):
    limited, before = flavor(extend_within_hours=2), span(0, 10 * HOUR)
    check = functools.partial(booking_rules.check_extension, limited, before, after, now)
    codes = [error.code for error in booking_rules.refusals(check)]
    assert codes == (["too_early_to_extend"] if is_refused else [])
    booking_rules.check_extension(flavor(), before, after, now)


def claims(*booked: tuple[int, int, int]) -> list[Claim]:
    return [Claim(span(start, end), count) for start, end, count in booked]


@pytest.mark.parametrize(
    ("own", "count", "codes"),
    [
        pytest.param([(0, 60, 1), (60, 120, 2)], 1, [], id="as many as allowed"),
        pytest.param([(0, 60, 1), (60, 120, 2)], 2, ["too_many_instances"], id="one more"),
        pytest.param([(120, 180, 3)], 3, [], id="at another time"),
    ],
)
def test_project_holds_only_so_many_instances_at_a_time(own, count, codes):
    limited = flavor(max_instances_per_project=3)
    refusals = booking_rules.project_terms(limited, claims(*own), span(0, 120), count)
    assert [error.code for error in refusals] == codes


def test_reservation_with_too_many_instances_itself_is_counted_in_the_text():
    limited = flavor(max_instances_per_project=2)
    (refusal,) = booking_rules.project_terms(limited, [], span(0, 120), 5)
    assert "This reservation would have 5, and the project's other reservations hold 0" in str(
        refusal
    )
    assert "another time" not in str(refusal)


@pytest.mark.parametrize(
    ("start", "end", "codes"),
    [
        pytest.param(120, 180, [], id="exactly the gap after"),
        pytest.param(119, 180, ["gap_too_short"], id="a minute too soon after"),
        pytest.param(-120, -60, [], id="exactly the gap before"),
        pytest.param(-120, -59, ["gap_too_short"], id="a minute too late before"),
        pytest.param(10, 20, ["gap_too_short"], id="overlapping"),
    ],
)
def test_hours_pass_between_reservations_of_a_project(start, end, codes):
    limited, own = flavor(gap_hours=1), claims((0, 60, 1))
    refusals = booking_rules.project_terms(limited, own, span(start, end), 1)
    assert [error.code for error in refusals] == codes
    if codes:
        assert refusals[0].detail["start_from"] == f"{at(120).isoformat()}+00:00"


def test_reservations_of_a_project_can_follow_each_other_without_overlapping():
    limited, own = flavor(gap_hours=0), claims((0, 60, 1))
    assert list(booking_rules.project_terms(limited, own, span(60, 120), 1)) == []
    assert list(booking_rules.project_terms(limited, own, span(-60, 0), 1)) == []
    [refusal] = booking_rules.project_terms(limited, own, span(59, 120), 1)
    assert "by the same project can't overlap" in str(refusal)
    assert refusal.detail["start_from"] == f"{at(60).isoformat()}+00:00"


@hypothesis.given(
    st.lists(
        st.tuples(st.integers(0, 10), st.integers(1, 5), st.integers(1, 2)).map(
            lambda drawn: (drawn[0], drawn[0] + drawn[1], drawn[2])
        ),
        max_size=4,
    ),
    st.none() | st.integers(1, 3),
    st.sampled_from([None, 0, 1]),
    st.integers(1, 3),
)
def test_project_times_are_those_that_the_terms_allow(own, most, gap, count):
    hours = [(start * HOUR, end * HOUR, n) for start, end, n in own]
    limited = flavor(max_instances_per_project=most, gap_hours=gap)
    window = span(0, 16 * HOUR)
    times = booking_rules.project_times(limited, claims(*hours), count, window)
    for start, end in itertools.combinations(range(0, 17), 2):
        booked = span(start * HOUR, end * HOUR)
        allowed = not booking_rules.project_terms(limited, claims(*hours), booked, count)
        assert any(time.contains(booked) for time in times) == allowed
        room = booking_rules.project_room(limited, claims(*hours), booked)
        assert (room is None or room >= count) == allowed
