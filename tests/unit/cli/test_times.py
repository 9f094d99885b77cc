"""Times as people write them."""

import datetime
import zoneinfo

import pytest

from warre_blazar.cli import arguments, times
from warre_blazar.cli.failures import Failure

UTC = datetime.UTC
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
#: A Saturday.
NOW = datetime.datetime(2026, 11, 21, 6, 10, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "understood"),
    [
        ("2026-12-01", "2026-12-01T00:00+00:00"),
        ("2026-12-01T09:00+11:00", "2026-12-01T09:00+11:00"),
        ("2026-12-01T09:00Z", "2026-12-01T09:00+00:00"),
        ("2026-12-01 09:00 Europe/Berlin", "2026-12-01T09:00+01:00"),
        ("mon 9:00", "2026-11-23T09:00+00:00"),
        ("Monday 9am", "2026-11-23T09:00+00:00"),
        ("next monday 9:00", "2026-11-23T09:00+00:00"),
        ("mon 9:00 Australia/Melbourne", "2026-11-23T09:00+11:00"),
        ("mon 9:00 +10:00", "2026-11-23T09:00+10:00"),
        ("tomorrow 9am UTC", "2026-11-22T09:00+00:00"),
        ("tomorrow", "2026-11-22T00:00+00:00"),
        ("fri", "2026-11-27T00:00+00:00"),
        ("today 14:00", "2026-11-21T14:00+00:00"),
        ("9:00", "2026-11-21T09:00+00:00"),
        ("in 2 hours", "2026-11-21T08:10+00:00"),
        ("now", "2026-11-21T06:10+00:00"),
        ("1 dec 9:00", "2026-12-01T09:00+00:00"),
        ("Dec 1", "2026-12-01T00:00+00:00"),
        ("1 feb", "2027-02-01T00:00+00:00"),
    ],
)
def test_understood(text: str, understood: str) -> None:
    found = times.parse(text, UTC, NOW)
    assert found.replace(second=found.second).isoformat(timespec="minutes") == understood


def test_a_day_is_one_of_the_zone() -> None:
    late = datetime.datetime(2026, 11, 21, 23, 30, tzinfo=UTC)
    assert times.parse("tomorrow", BERLIN, late).isoformat() == "2026-11-23T00:00:00+01:00"


@pytest.mark.parametrize(
    "text",
    [
        *(
            "banana",
            "",
            " ",
            "5",
            "25:00",
            "mon 25:00",
            "mon 9:75",
            "32 dec",
            "31 feb",
            "gpu.large",
        ),
        *("2026-13-01", "2026-02-30", "1/2/2027", "01.02.2027", "😀", "9999999999", "mon 9:00 X/Y"),
    ],
)
def test_not_understood(text: str) -> None:
    with pytest.raises(Failure):
        times.parse(text, UTC, NOW)


def test_what_could_be_two_days_is_said_to() -> None:
    with pytest.raises(Failure, match="could be several days; write it as"):
        times.parse("1/2/2027 9:00", UTC, NOW)


@pytest.mark.parametrize("name", ["Mars/Base", "", "../etc/passwd", "/etc/passwd", "a\0b"])
def test_no_zones(name: str) -> None:
    with pytest.raises(Failure, match="isn't a time zone"):
        times.zone(name)


def test_hours_are_hours_where_clocks_are_changed() -> None:
    start = datetime.datetime(2026, 10, 24, 12, tzinfo=BERLIN)
    begun, end = arguments.span(start, None, 24)
    assert end.astimezone(UTC) - begun.astimezone(UTC) == datetime.timedelta(hours=24)
    assert end.hour == 11


def test_told_with_zone_and_utc() -> None:
    moment = datetime.datetime(2026, 11, 22, 9, tzinfo=zoneinfo.ZoneInfo("Australia/Melbourne"))
    told = times.told(moment, moment.tzinfo or UTC)
    assert told == "Sun 2026-11-22 09:00 AEDT (2026-11-21 22:00 UTC)"
    assert times.told(moment, UTC) == "Sat 2026-11-21 22:00 UTC"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, "0:00"), (59.9, "0:59"), (3600, "1:00:00"), (90061, "1 d 01:01 h")],
)
def test_durations(seconds: float, text: str) -> None:
    assert times.duration(seconds) == text
