"""A flavor's terms, at their edges."""

import dataclasses
import datetime

import pytest

from tests.unit.domain.minutes import at, span
from tests.unit.domain.test_flavor import shape
from warre_blazar import exceptions
from warre_blazar.domain import rules
from warre_blazar.domain.flavor import Flavor
from warre_blazar.domain.timeline import Span

FLAVOR = Flavor(
    id="id",
    name="name",
    description=None,
    shape=shape(),
    slots=3,
    max_length_hours=2,
    start=at(60),
    end=at(600),
    category=None,
    is_public=True,
    active=True,
)


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(span(60, 180), id="the longest, from the flavor's start"),
        pytest.param(span(480, 600), id="to the flavor's end"),
        pytest.param(span(100, 101), id="a minute"),
    ],
)
def test_bookable(asked: Span) -> None:
    rules.check_bookable(FLAVOR, True, asked)


@pytest.mark.parametrize(
    ("code", "changes", "accessible", "asked"),
    [
        ("flavor_inactive", {"active": False}, True, span(60, 120)),
        ("flavor_not_accessible", {"is_public": False}, False, span(60, 120)),
        ("too_long", {}, True, span(60, 181)),
        ("before_flavor_start", {}, True, span(59, 120)),
        ("after_flavor_end", {}, True, span(500, 601)),
    ],
)
def test_refused(code: str, changes: dict[str, bool], accessible: bool, asked: Span) -> None:
    with pytest.raises(exceptions.FlavorNotBookable) as caught:
        rules.check_bookable(dataclasses.replace(FLAVOR, **changes), accessible, asked)
    assert caught.value.code == code


@pytest.mark.parametrize("end", [pytest.param(5, id="at once"), pytest.param(4, id="before")])
def test_a_period_has_a_length(end: int) -> None:
    with pytest.raises(exceptions.InvalidPeriod):
        rules.check_period(Span(at(5), at(end)))


def test_the_present_minute_may_be_booked_and_no_earlier_one() -> None:
    now = at(10) + datetime.timedelta(seconds=59)
    rules.check_future(span(10, 20), now)
    with pytest.raises(exceptions.InvalidPeriod):
        rules.check_future(span(9, 20), now)


@pytest.mark.parametrize(("taken", "count"), [(0, 3), (2, 1), (0, 1)])
def test_slots_suffice(taken: int, count: int) -> None:
    rules.check_slots(FLAVOR, taken, count)


@pytest.mark.parametrize(("taken", "count", "free"), [(0, 4, 3), (3, 1, 0), (5, 1, 0)])
def test_slots_do_not_suffice(taken: int, count: int, free: int) -> None:
    with pytest.raises(exceptions.SlotsExhausted) as caught:
        rules.check_slots(FLAVOR, taken, count)
    assert caught.value.detail == {"asked": count, "free": free, "slots": 3}
