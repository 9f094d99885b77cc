"""The occurrences of rules, against a brute force that tries each day, and rules that do harm."""

import datetime
import sys
import zoneinfo
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warre_blazar import times
from warre_blazar.domain.series import recurrence, rules
from warre_blazar.domain.series.recurrence import Recurrence
from warre_blazar.errors import exceptions

START = datetime.datetime(2026, 3, 2, 9)
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
TWO_HOURS = datetime.timedelta(hours=2)
DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


def rule(text: str, start: datetime.datetime = START, zone: str = "Europe/Berlin") -> Recurrence:
    given = rules.read(text, start, zone)
    return Recurrence(start, zone, given.rule, TWO_HOURS, given.exdates)


def local_starts(text: str, start: datetime.datetime = START, most: int = 60) -> list[Any]:
    return [
        span.start.replace(tzinfo=datetime.UTC).astimezone(BERLIN).replace(tzinfo=None)
        for span in rule(text, start).occurrences(most)
    ]


def brute_force(
    start: datetime.datetime, weekdays: set[int], interval: int, until: datetime.datetime
) -> Iterator[datetime.datetime]:
    """The starts of a weekly rule, found by looking at each day."""
    monday = start - datetime.timedelta(days=start.weekday())
    day = start
    while day <= until:
        if day.weekday() in weekdays and (day - monday).days // 7 % interval == 0:
            yield day
        day += datetime.timedelta(days=1)


@given(
    start=st.datetimes(datetime.datetime(2024, 1, 1), datetime.datetime(2190, 1, 1)),
    others=st.sets(st.integers(0, 6)),
    interval=st.integers(1, 5),
    weeks=st.integers(0, 50),
)
@settings(deadline=None, max_examples=200)
def test_weekly_rule_is_what_a_look_at_each_day_finds(
    start: datetime.datetime, others: set[int], interval: int, weeks: int
) -> None:
    start = start.replace(hour=12, minute=0, second=0, microsecond=0)
    weekdays = {start.weekday(), *others}
    until = start + datetime.timedelta(weeks=weeks)
    by_day = ",".join(DAYS[n] for n in sorted(weekdays))
    text = f"FREQ=WEEKLY;INTERVAL={interval};BYDAY={by_day};UNTIL={until:%Y%m%d}"
    found = list(brute_force(start, weekdays, interval, until))
    assert local_starts(text, start, most=400) == found


@given(st.text("=;,:+-0123456789ABCDEFGHILMNOPQRSTUWXYZ", max_size=60))
@settings(deadline=None, max_examples=300)
def test_any_text_is_a_rule_or_refused(text: str) -> None:
    try:
        spans = rule(f"FREQ=DAILY;COUNT=9;{text}").occurrences(10)
    except exceptions.InvalidField:
        return
    assert 1 <= len(spans) <= 10


PARTS = st.dictionaries(
    st.sampled_from(sorted(rules.PARTS - {"FREQ"})),
    st.text("-,0123456789MOTUWEFR", min_size=1, max_size=8),
    max_size=3,
)


@given(st.sampled_from(rules.FREQUENCIES), PARTS)
@settings(deadline=None, max_examples=500)
def test_rule_of_any_parts_is_refused_or_bounded(frequency: str, parts: dict[str, str]) -> None:
    ended = parts if "UNTIL" in parts else {"COUNT": "9", **parts}
    text = ";".join([f"FREQ={frequency}", *(f"{k}={v}" for k, v in ended.items())])
    try:
        spans = rule(text).occurrences(10)
    except exceptions.InvalidField:
        return
    starts = [span.start for span in spans]
    assert starts == sorted(starts)
    assert 1 <= len(spans) <= 10


class _Steps:
    """Counts the lines that Python executes in dateutil."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, frame: Any, event: str, arg: Any) -> Any:
        if "dateutil" not in frame.f_code.co_filename:
            return None
        self.count += 1
        return self


HARMFUL = [
    "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=31",
    "FREQ=DAILY;INTERVAL=9999;BYMONTH=2;BYMONTHDAY=30",
    "FREQ=WEEKLY;BYMONTH=2;BYMONTHDAY=31",
    "FREQ=MONTHLY;BYMONTHDAY=31;BYMONTH=4",
    "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=31",
    "FREQ=YEARLY;BYWEEKNO=53;BYMONTH=6",
    "FREQ=DAILY;BYSETPOS=99",
    "FREQ=YEARLY;BYDAY=MO;BYSETPOS=-366,366,300,299",
]


@pytest.mark.parametrize("text", HARMFUL)
def test_rule_without_occurrences_takes_a_bounded_number_of_steps(text: str) -> None:
    """Until the year 9999 there would be millions of steps."""
    steps = _Steps()
    sys.settrace(steps)
    try:
        with pytest.raises(exceptions.InvalidField):
            rule(f"{text};COUNT=60").occurrences(60)
    finally:
        sys.settrace(None)
    assert steps.count < 1_000_000


def test_local_time_that_the_clocks_skip_has_the_offset_before() -> None:
    spans = rule("FREQ=DAILY;COUNT=3", datetime.datetime(2026, 3, 28, 2, 30)).occurrences(9)
    assert [s.start.hour for s in spans] == [1, 1, 0]


def test_local_time_that_occurs_twice_is_the_first() -> None:
    spans = rule("FREQ=DAILY;COUNT=3", datetime.datetime(2026, 10, 24, 2, 30)).occurrences(9)
    assert [s.start.hour for s in spans] == [0, 0, 1]


def test_length_is_the_time_that_passes() -> None:
    (span,) = rule("FREQ=DAILY;COUNT=1", datetime.datetime(2026, 3, 29, 1)).occurrences(9)
    assert span.end - span.start == TWO_HOURS


def test_until_in_utc_is_compared_in_the_time_zone() -> None:
    assert len(local_starts("FREQ=DAILY;UNTIL=20260304T080000Z")) == 3
    assert len(local_starts("FREQ=DAILY;UNTIL=20260304T075959Z")) == 2
    assert len(local_starts("FREQ=DAILY;UNTIL=20260304T090000")) == 3
    assert len(local_starts("FREQ=DAILY;UNTIL=20260304")) == 3


@pytest.mark.parametrize("text", ["FREQ=DAILY", "FREQ=WEEKLY;BYDAY=MO", "FREQ=YEARLY"])
def test_rule_without_an_end_is_refused_with_what_to_add(text: str) -> None:
    with pytest.raises(exceptions.InvalidField) as refused:
        local_starts(text)
    assert refused.value.detail["field"] == "rrule"
    assert f"add COUNT (how many times) or UNTIL (the last day), as in {text};COUNT=12" in str(
        refused.value
    )
    assert len(local_starts(f"{text};COUNT=3")) == 3


def test_rule_without_an_end_goes_on_up_to_a_new_one() -> None:
    daily = rule("FREQ=DAILY")
    assert daily.is_endless
    assert len(daily.occurrences(7, endless=True)) == 7
    assert len(daily.occurrences(60, START + datetime.timedelta(days=3), endless=True)) == 4
    assert len(rule("FREQ=YEARLY").occurrences(60, endless=True)) == times.SERIES_YEARS
    assert not rule("FREQ=DAILY;UNTIL=20260304").is_endless


@pytest.mark.parametrize("year", [1970, 1999, 2026, 2096, 2199, 8990])
def test_late_years_have_the_same_days(year: int) -> None:
    late = recurrence._late_year(year)
    assert late > datetime.MAXYEAR - 400
    for n in range(times.SERIES_YEARS + 1):
        days = [
            (datetime.date(y + n, 1, 1).weekday(), datetime.date(y + n, 12, 31).weekday())
            for y in (year, late)
        ]
        assert days[0] == days[1]


@pytest.mark.parametrize("text", ["WEEKLY", "weekly;COUNT=3", "BYDAY=FR"])
def test_rule_without_freq_is_told_that_it_is_missing(text: str) -> None:
    with pytest.raises(exceptions.InvalidField, match=r"expected a FREQ, as in FREQ=WEEKLY;COUNT"):
        rule(text).occurrences(60)


MONDAYS = ["2026-03-02 09:00", "2026-03-09 09:00", "2026-03-16 09:00"]


@pytest.mark.parametrize(
    "text",
    [
        "RRULE:freq=weekly;count=3",
        "FREQ=WEEKLY; BYDAY=MO; COUNT=3",
        "FREQ=WEEKLY;BYDAY=MO;COUNT=3;",
        "  FREQ=WEEKLY;COUNT=3 ",
        "DTSTART;TZID=Europe/Berlin:20260302T090000\nRRULE:FREQ=WEEKLY;COUNT=3",
        "DTSTART:20260302T080000Z\r\nRRULE:FREQ=WEEKLY;COUNT=3\r\n",
        r"DTSTART:20260302T090000\nRRULE:FREQ=WEEKLY;COUNT=3",
        "DTSTART=20260302;FREQ=WEEKLY;COUNT=3",
    ],
)
def test_what_does_not_change_the_meaning_is_read(text: str) -> None:
    assert [f"{each:%Y-%m-%d %H:%M}" for each in local_starts(text)] == MONDAYS


@pytest.mark.parametrize(
    "left_out",
    [
        ";EXDATE=20260309",
        "\nEXDATE:20260309T090000",
        "\nEXDATE;TZID=Europe/Berlin:20260309T090000,20260310T090000",
        "\nEXDATE;TZID=America/New_York:20260309T040000",
        "\nEXDATE;VALUE=DATE:20260309\nEXDATE;VALUE=DATE:20270101",
        "\nEXDATE:20260309T080000Z",
    ],
)
def test_days_are_left_out_and_count(left_out: str) -> None:
    found = local_starts(f"FREQ=WEEKLY;COUNT=3{left_out}")
    assert [f"{each:%Y-%m-%d %H:%M}" for each in found] == [MONDAYS[0], MONDAYS[2]]


def test_one_of_several_starts_of_a_day_is_left_out() -> None:
    found = local_starts("FREQ=DAILY;BYHOUR=9,14;COUNT=4\nEXDATE:20260303T090000")
    assert [each.hour for each in found] == [9, 14, 14]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FREQ=WEEKLY;COUNT=3;COLOR=RED", "rrule: expected no COLOR: a rule has BYDAY"),
        ("RRULE:FREQ=WEEKLY;COUNT=3\nRDATE:20260401", "expected no RDATE: .* make another series"),
        ("FREQ=WEEKLY;COUNT=3;COUNT=4", "expected COUNT once, with a value"),
        ("DTSTART:20260303T090000\nRRULE:FREQ=DAILY;COUNT=3", "the DTSTART 2026-03-02 09:00"),
        ("FREQ=DAILY;COUNT=3\nEXDATE:christmas", "expected dates such as 20261224"),
        ("FREQ=DAILY;COUNT=1;EXDATE=20260302", "expected a day that isn't left out"),
        ("FREQ=WEEKLY;BYDAY=TU;COUNT=3", "start: expected .*, such as 2026-03-03 09:00"),
        ("FREQ=DAILY;COUNT=1;BYDAY=" + ",".join(["MO"] * 90), "characters"),
    ],
)
def test_what_is_not_taken_is_named_with_the_way_around(text: str, expected: str) -> None:
    with pytest.raises(exceptions.InvalidField, match=expected):
        local_starts(text)
