"""The times of a week within which long reservations lie, also when clocks change."""

import datetime

import pytest

from warre_blazar import texts
from warre_blazar.domain.booking.weekly_hours import WeeklyHours
from warre_blazar.domain.timeline import Span

NIGHTS = "8h mon-fri 19:00-08:00, sat-sun Europe/Berlin"
LATE = datetime.datetime(2030, 1, 1)


def utc(day: int, hour: int, month: int = 1) -> datetime.datetime:
    return datetime.datetime(2026, month, day, hour)


def spans(text: str, start: datetime.datetime, end: datetime.datetime) -> list[Span]:
    found = WeeklyHours.parse(text).spans(Span(start, end), LATE)
    return [span for span in found if span.start < end and span.end > start]


def test_nights_and_weekends():
    # The 5th is a Monday. Friday night, the weekend, and Sunday are one time.
    assert spans(NIGHTS, utc(7, 12), utc(13, 12)) == [
        Span(utc(7, 18), utc(8, 7)),
        Span(utc(8, 18), utc(9, 7)),
        Span(utc(9, 18), utc(11, 23)),
        Span(utc(12, 18), utc(13, 7)),
    ]
    assert WeeklyHours.parse(NIGHTS).longest == datetime.timedelta(hours=8)


def test_times_are_those_of_the_clocks():
    # Clocks are put forward on the night to the 29th of March.
    assert spans("1h sat 22:00-06:00 Europe/Berlin", utc(28, 0, 3), utc(30, 0, 3)) == [
        Span(utc(28, 21, 3), utc(29, 4, 3))
    ]
    assert spans("1h sun 02:00-03:00 Europe/Berlin", utc(28, 0, 3), utc(30, 0, 3)) == []


def test_days_may_go_over_the_end_of_the_week():
    assert spans("1h sat-mon UTC", utc(7, 0), utc(14, 0)) == [Span(utc(10, 0), utc(13, 0))]


def test_whole_week_is_one_time():
    (span,) = spans("1h mon-sun UTC", utc(7, 0), utc(14, 0))
    assert span.contains(Span(utc(7, 0), utc(14, 0)))


def test_long_window_ends_where_the_hours_are_known():
    hours = WeeklyHours.parse(NIGHTS)
    found = hours.spans(Span(utc(7, 0), datetime.datetime.max), utc(20, 0))
    assert found[-1].start < utc(28, 0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mon-fri UTC",
        "8h UTC",
        "8h mon-fri",
        "8h mon-fry UTC",
        "8h mon-fri 24:00-08:00 UTC",
        "8h mon-fri 19:00-24:01 UTC",
        "8h mon-fri 19:60-08:00 UTC",
        "8h mon-fri Nowhere/None",
        "8h mon-fri ../etc",
        "8h mon-fri /etc/passwd",
        "8 mon-fri UTC",
        "8h mon-fri,sat UTC",
    ],
)
def test_other_texts_are_refused(text: str):
    with pytest.raises(texts.NotValid):
        WeeklyHours.parse(text)


def test_hours_are_written_in_several_ways():
    assert WeeklyHours.parse("8 h mon-fri 19-8:00, sat, sun Europe/Berlin") == WeeklyHours.parse(
        "8h mon-fri 19:00-08:00, sat, sun Europe/Berlin"
    )


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("8h mon-fri 19:00-8.30, sat-sun Europe/Berlin", "mon-fri 19:00-8.30"),
        ("8h mon-fri, saturday Europe/Berlin", "saturday"),
        ("8h mon-fri, sat-sun Berlin", "Berlin"),
        ("mon-fri 19:00-08:00 Europe/Berlin", "mon-fri 19:00-08:00 Europe/Berlin"),
    ],
)
def test_refusal_names_the_part_that_is_wrong(text: str, part: str):
    with pytest.raises(texts.NotValid, match=f"in place of '{part}'"):
        WeeklyHours.parse(text)
