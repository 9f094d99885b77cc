"""Times as people write them."""

import datetime
import pathlib
import re
import zoneinfo
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warre_blazar.cli import display, phrases, times, zones
from warre_blazar.cli.failures import Failure

UTC = datetime.UTC
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
#: A Saturday.
NOW = datetime.datetime(2026, 11, 21, 6, 10, 30, tzinfo=UTC)
TABLE = pathlib.Path(__file__).with_name("phrases.txt")


def _rows() -> Iterator[object]:
    where, now = "UTC", NOW
    for number, line in enumerate(TABLE.read_text().splitlines(), 1):
        if header := re.fullmatch(r"\[(\S+) (\S+?): .*\]", line):
            where, now = header[1], datetime.datetime.fromisoformat(header[2])
        elif line and not line.startswith("#"):
            phrase, _, wanted = line.rpartition(" | ")
            zone = UTC if where == "UTC" else zoneinfo.ZoneInfo(where)
            yield pytest.param(zone, now, phrase, wanted, id=f"{number}: {phrase}")


ROWS = list(_rows())


def test_the_table_is_long() -> None:
    assert len(ROWS) >= 200


@pytest.mark.parametrize(("where", "now", "phrase", "wanted"), ROWS)
def test_a_phrase_is_understood_whole_or_refused(
    where: datetime.tzinfo, now: datetime.datetime, phrase: str, wanted: str
) -> None:
    try:
        found = times.parse(phrase, where, now)
    except times.NotUnderstood as error:
        assert wanted.startswith("! ")
        assert wanted.removeprefix("! ") in str(error)
        understood = {times.parse(form, where, now) for form in error.forms}
        assert len(understood) == len(error.forms) >= 1
    else:
        assert found.isoformat(timespec="minutes") == wanted
        assert (found.second, found.microsecond) == (0, 0)


_WORDS = [
    *phrases.VOCABULARY,
    *("9:00", "9", "14", "9am", "in", "at", "on", "2", "UTC", "CET", "+01:00", "Asia/Tokyo"),
    *("2026-12-01", "1/2/2027", "25.12.2026", "midnight", "banana", "today", ",", "ago", "h"),
]


@given(st.lists(st.sampled_from(_WORDS), max_size=6).map(" ".join))
def test_every_word_counts(text: str) -> None:
    """A phrase that is understood isn't understood with a word more that means nothing."""
    try:
        times.parse(text, BERLIN, NOW)
    except times.NotUnderstood as error:
        assert all(times.parse(form, BERLIN, NOW) for form in error.forms)
        return
    with pytest.raises(times.NotUnderstood):
        times.parse(f"{text} banana", BERLIN, NOW)
    with pytest.raises(times.NotUnderstood):
        times.parse(f"banana {text}", BERLIN, NOW)


@given(st.text(max_size=30))
def test_any_text_is_a_time_or_refused(text: str) -> None:
    try:
        assert times.parse(text, BERLIN, NOW).tzinfo
    except times.NotUnderstood as error:
        assert error.forms


@given(st.datetimes(datetime.datetime(2000, 1, 1), datetime.datetime(2099, 1, 1)))
def test_what_is_shown_is_understood(moment: datetime.datetime) -> None:
    moment = moment.replace(second=0, microsecond=0, tzinfo=UTC)
    for where in (UTC, BERLIN, zoneinfo.ZoneInfo("America/Caracas")):
        for shown in (display.iso(moment, where), display.argument(moment, where)):
            assert times.parse(shown, BERLIN, NOW) == moment
            assert times.is_exact(shown)


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("2026-12-01T09:00Z", True),
        ("2026-12-01T09:00+01:00", True),
        ("20261201T0900+0100", True),
        ("2026-12-01T09:00", False),
        ("2026-12-01", False),
        ("2026-12-01 09:00 Europe/Berlin", False),
        ("tomorrow 9:00 UTC", False),
        ("now", False),
    ],
)
def test_exact_is_iso_with_an_offset(text: str, exact: bool) -> None:
    assert times.is_exact(text) == exact


@pytest.mark.parametrize(
    "name", ["Mars/Base", "", "../etc/passwd", "/etc/passwd", "a\0b", "EST", "CET", "+15:00"]
)
def test_no_zones(name: str) -> None:
    with pytest.raises(Failure, match=r"isn't a time zone|isn't one time zone|no zone's offset"):
        zones.named(name)


@pytest.mark.parametrize(
    ("given_name", "variable", "label"),
    [
        ("Asia/Tokyo", "Europe/Berlin", "Asia/Tokyo"),
        ("UTC", "Europe/Berlin", "UTC"),
        ("+10:00", "Europe/Berlin", "+10:00"),
        (None, "Europe/Berlin", "Europe/Berlin"),
        (None, ":Europe/Berlin", "Europe/Berlin"),
        ("local", "Europe/Berlin", "Europe/Berlin"),
        (None, "UTC", "UTC"),
        (None, "UTC0", None),
        (None, "", "UTC"),
        (None, "CET-1CEST,M3.5.0,M10.5.0/3", None),
    ],
)
def test_the_zone_is_the_options_or_the_variables(
    monkeypatch: pytest.MonkeyPatch, given_name: str | None, variable: str, label: str | None
) -> None:
    monkeypatch.setenv("TZ", variable)
    if label is None:
        with pytest.raises(Failure, match=r"The variable TZ is .* --timezone"):
            zones.chosen(given_name)
    else:
        assert zones.label(zones.chosen(given_name)) == label


def test_without_either_the_zone_is_the_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TZ", raising=False)
    monkeypatch.setattr("tzlocal.get_localzone", lambda: BERLIN)
    assert zones.chosen(None) is BERLIN
