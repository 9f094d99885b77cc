"""Constraints, at the limits of each: what they refuse, what they say, and that answers agree."""

import datetime
import itertools

import hypothesis
import pytest
from hypothesis import strategies as st

from tests.unit.domain.clock import MINUTE, at, span
from tests.unit.domain.shapes import flavor
from warre_blazar.domain.booking import booking_rules, constraints, verdict
from warre_blazar.domain.booking.constraints import Case, Constraint, Search
from warre_blazar.domain.booking.quota import Amount
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.taken import TakenOverTime
from warre_blazar.domain.timeline import Claim, Span
from warre_blazar.errors import exceptions
from warre_blazar.texts import refusals

HOUR = 60
SECOND = datetime.timedelta(seconds=1)
NO_TIME = datetime.timedelta(0)


def refused(rules: list[Constraint], booked: Span, count: int = 1) -> list[exceptions.WarreError]:
    return verdict.refusals(rules, booked, count)


def refused_terms(
    limited: Flavor,
    accessible: bool,
    booked: Span,
    now: datetime.datetime,
    any_length: bool = False,
) -> list[exceptions.WarreError]:
    case = Case(limited, now, accessible, any_length)
    return refused([*constraints.access(case), *constraints.terms(case)], booked)


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
    assert refused([constraints.past(now)], span(5, 60)) == []


@pytest.mark.parametrize(
    "now",
    [
        pytest.param(at(6), id="the minute before"),
        pytest.param(at(6) + SECOND, id="the minute before, and a second"),
        pytest.param(at(5 + 24 * HOUR), id="the day before"),
    ],
)
def test_start_before_the_present_minute_is_refused(now):
    assert [error.code for error in refused([constraints.past(now)], span(5, 60))] == [
        "invalid_period"
    ]


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
    assert refused_terms(flavor(**terms), True, booked, at(0)) == []


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
    refusals = refused_terms(flavor(**terms), accessible, booked, at(0))
    assert refusals[0].code == code


def test_every_term_that_is_broken_is_named():
    closed = flavor(active=False, start=at(10), max_length_hours=1)
    assert [error.code for error in refused_terms(closed, False, span(0, 61), at(0))] == [
        "flavor_inactive",
        "flavor_not_accessible",
        "too_long",
        "before_flavor_start",
    ]
    assert refused_terms(closed, True, span(10, 71), at(0), any_length=True)[1:] == []


def test_span_that_is_too_long_names_the_limit():
    (refusal,) = refused_terms(flavor(max_length_hours=2), True, span(0, 121), at(0))
    assert refusal.detail == {"max_length_hours": 2}


def test_started_hour_counts_as_a_whole_hour():
    booked = Span(at(0), at(24 * HOUR) + SECOND)
    assert [error.code for error in refused_terms(flavor(), True, booked, at(0))] == ["too_long"]


@pytest.mark.parametrize(
    ("booked", "detail"),
    [
        pytest.param(span(9, 70), {"start": "2026-03-29T00:10:00+00:00"}, id="start"),
        pytest.param(span(10, 191), {"end": "2026-03-29T03:10:00+00:00"}, id="end"),
    ],
)
def test_span_outside_the_flavors_period_names_the_bound_in_utc(booked, detail):
    (refusal,) = refused_terms(flavor(**PERIOD), True, booked, at(0))
    assert refusal.detail == detail


@pytest.mark.parametrize(
    ("taken", "count", "free"),
    [
        pytest.param(0, 3, None, id="all at once"),
        pytest.param(2, 1, None, id="the last one"),
        pytest.param(0, 1, None, id="the first"),
        pytest.param(3, 1, 0, id="none left"),
        pytest.param(2, 2, 1, id="one left of two"),
        pytest.param(0, 4, 3, id="more than there are"),
        pytest.param(5, 1, 0, id="slots went below what is booked"),
    ],
)
def test_instances_beyond_the_slots_are_refused(taken, count, free):
    rule = constraints.slots(flavor(slots=3), TakenOverTime(claims((0, 60, taken))), NO_TIME)
    found = [error.detail for error in refused([rule], span(30, 90), count)]
    assert found == ([] if free is None else [{"asked": count, "free": free, "slots": 3}])


@pytest.mark.parametrize(("start", "is_free"), [(69, False), (70, True)])
def test_slots_are_cleaned_after_a_booking(start, is_free):
    cleaning = 10 * MINUTE
    rule = constraints.slots(flavor(slots=1), TakenOverTime(claims((start, 200, 1))), cleaning)
    assert (refused([rule], span(0, 60)) == []) == is_free


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
    refusals = refused_terms(limited, True, span(end - HOUR, end), late)
    assert [error.code for error in refusals] == codes
    if codes:
        assert refusals[0].detail == {
            "max_days_ahead": 2,
            "latest_end": f"{at(2 * DAY).isoformat()}+00:00",
        }


@pytest.mark.parametrize(
    ("before", "start", "is_refused"),
    [
        pytest.param(None, 119, True, id="a minute too soon"),
        pytest.param(None, 120, False, id="exactly so many hours ahead"),
        pytest.param(30, 30, False, id="a change that keeps the start"),
        pytest.param(30, 40, False, id="a change to a later start"),
        pytest.param(30, 20, True, id="a change to an earlier start"),
        pytest.param(600, 119, True, id="a change to a start that is too soon"),
    ],
)
def test_reservation_is_booked_some_hours_ahead(before, start, is_refused):
    case = Case(
        flavor(notice_hours=2),
        at(0) + 59 * SECOND,
        before=None if before is None else span(before, before + 60),
    )
    found = refused(constraints.terms(case), span(start, start + 60))
    assert [error.code for error in found] == (["too_short_notice"] if is_refused else [])
    for error in found:
        assert error.detail == {
            "notice_hours": 2,
            "start_from": f"{at(120).isoformat()}+00:00",
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
    before = span(0, 10 * HOUR)
    case = Case(flavor(extend_within_hours=2), now, before=before)
    codes = [error.code for error in refused(constraints.terms(case), after)]
    assert codes == (["too_early_to_extend"] if is_refused else [])
    assert refused(constraints.terms(Case(flavor(), now, before=before)), after) == []


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
    refusals = refused(constraints.of_project(limited, claims(*own)), span(0, 120), count)
    assert [error.code for error in refusals] == codes


def test_reservation_with_too_many_instances_itself_is_counted_in_the_text():
    limited = flavor(max_instances_per_project=2)
    (refusal,) = refused(constraints.of_project(limited, []), span(0, 120), 5)
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
    refusals = refused(constraints.of_project(limited, own), span(start, end))
    assert [error.code for error in refusals] == codes
    if codes:
        assert refusals[0].detail["start_from"] == f"{at(120).isoformat()}+00:00"


def test_reservations_of_a_project_can_follow_each_other_without_overlapping():
    limited, own = flavor(gap_hours=0), claims((0, 60, 1))
    assert refused(constraints.of_project(limited, own), span(60, 120)) == []
    assert refused(constraints.of_project(limited, own), span(-60, 0)) == []
    [refusal] = refused(constraints.of_project(limited, own), span(59, 120))
    assert "by the same project can't overlap" in str(refusal)
    assert refusal.detail["start_from"] == f"{at(60).isoformat()}+00:00"


CLAIMS = st.lists(
    st.tuples(st.integers(0, 10), st.integers(1, 5), st.integers(1, 2)).map(
        lambda drawn: (drawn[0] * HOUR, (drawn[0] + drawn[1]) * HOUR, drawn[2])
    ),
    max_size=4,
)
HOURS = st.none() | st.integers(1, 8)
#: The hour 0 is the first one of a Sunday, in UTC.
WEEKLY = "3h sun 03:00-06:00, sun 07:00-12:00 UTC"


@st.composite
def rules(draw: st.DrawFn) -> list[Constraint]:
    """Some constraints of all kinds. The present is the hour 3."""
    limited = flavor(
        slots=draw(st.integers(1, 3)),
        max_length_hours=draw(st.integers(1, 16)),
        max_instances_per_project=draw(st.none() | st.integers(1, 3)),
        gap_hours=draw(st.sampled_from([None, 0, 1])),
        start=draw(HOURS.map(lambda n: n and at(n * HOUR))),
        end=draw(HOURS.map(lambda n: n and at((8 + n) * HOUR))),
        extend_within_hours=draw(HOURS),
        notice_hours=draw(st.sampled_from([0, 0, 2])),
        weekly_hours=draw(st.sampled_from([None, None, WEEKLY, "1h sun 02:00-08:00 UTC"])),
    )
    before = draw(st.none() | st.integers(4, 9).map(lambda end: span(2 * HOUR, end * HOUR)))
    case = Case(limited, at(3 * HOUR), any_length=draw(st.booleans()), before=before)
    limits = Amount(draw(st.sampled_from([-1, 1, 2])), draw(st.sampled_from([-1, 4, 9])))
    own = before and Amount(1, before.hours())
    return [
        *([constraints.past(case.now)] if draw(st.booleans()) else []),
        *constraints.terms(case),
        *constraints.windows(claim.span for claim in claims(*draw(CLAIMS)[:1])),
        *constraints.of_project(limited, claims(*draw(CLAIMS))),
        constraints.slots(
            limited, TakenOverTime(claims(*draw(CLAIMS))), draw(st.sampled_from([0, HOUR])) * MINUTE
        ),
        constraints.QuotaLimit(limits, own or Amount(1, 2), own),
    ]


SPANS = [span(start * HOUR, end * HOUR) for start, end in itertools.combinations(range(0, 17), 2)]


@hypothesis.given(rules(), st.integers(1, 3))
def test_answers_of_a_constraint_agree(found: list[Constraint], count: int):
    search = Search(count, NO_TIME, span(0, 16 * HOUR))
    for rule, booked in itertools.product(found, SPANS):
        is_allowed = rule.refusal(booked, count) is None
        assert any(times.allow(booked) for times in rule.times(search)) == is_allowed
        assert (rule.most(booked, count) == count) == is_allowed


@hypothesis.given(rules(), st.integers(1, 3), st.integers(1, 3))
def test_verdict_is_what_all_constraints_say(found: list[Constraint], count: int, hours: int):
    window = span(0, 16 * HOUR)
    least = hours * HOUR * MINUTE
    allowed = {
        (booked.start, booked.end)
        for booked in SPANS
        if booked.end - booked.start >= least and not refused(found, booked, count)
    }
    times = verdict.find(found, Search(count, least, window))
    assert {
        (booked.start, booked.end)
        for booked in SPANS
        if booked.end - booked.start >= least and any(each.allow(booked) for each in times.times)
    } == allowed
    assert (times.blamed is None) == bool(times.times)
    for start in range(16):
        ends = [end for first, end in allowed if first == at(start * HOUR)]
        search = Search(count, NO_TIME, window)
        end, stop = verdict.latest_end(found, at(start * HOUR), search)
        if ends:
            assert end == max(ends) == times.reach(at(start * HOUR))
        later = Span(at(start * HOUR), end + HOUR * MINUTE)
        assert (stop is None) == (end == window.end)
        if stop is not None:
            assert stop.error(later, count).code in verdict.CODES
            assert refused(found, later, count)
    for wanted in SPANS:
        length = wanted.end - wanted.start
        starts = [s for s, e in allowed if e - s == length and s >= wanted.start]
        if length >= least:
            assert times.first(wanted) == min(starts, default=None)
            most = verdict.most(found, wanted, 3)
            assert most == max((n for n in (1, 2, 3) if not refused(found, wanted, n)), default=0)


def test_helpful_refusals_come_first():
    codes = ["too_long", "no_host_matches", "slots_exhausted"]
    found = [exceptions.WarreError(refusals.TRY_AGAIN()) for _ in codes]
    for error, code in zip(found, codes, strict=True):
        error.code = code
    assert [error.code for error in verdict.helpful(found)] == [
        "no_host_matches",
        "too_long",
        "slots_exhausted",
    ]
