"""Parsing of times as people write them, and time zones."""

import datetime
import pathlib
import re
import zoneinfo
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warre_blazar.cli import time_display, time_input, time_phrases, time_zones
from warre_blazar.cli.failure import Failure

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


def test_table_has_many_phrases() -> None:
    assert len(ROWS) >= 200


@pytest.mark.parametrize(("where", "now", "phrase", "wanted"), ROWS)
def test_a_phrase_is_understood_whole_or_refused(
    where: datetime.tzinfo, now: datetime.datetime, phrase: str, wanted: str
) -> None:
    try:
        found = time_input.parse(phrase, where, now)
    except time_input.NotUnderstood as error:
        assert wanted.startswith("! ")
        assert wanted.removeprefix("! ") in str(error)
        understood = {time_input.parse(form, where, now) for form in error.forms}
        assert len(understood) == len(error.forms) >= 1
    else:
        assert found.isoformat(timespec="minutes") == wanted
        assert (found.second, found.microsecond) == (0, 0)


_WORDS = [
    *time_phrases.VOCABULARY,
    *("9:00", "9", "14", "9am", "in", "at", "on", "2", "UTC", "CET", "+01:00", "Asia/Tokyo"),
    *("2026-12-01", "1/2/2027", "25.12.2026", "midnight", "banana", "today", ",", "ago", "h"),
]


@given(st.lists(st.sampled_from(_WORDS), max_size=6).map(" ".join))
def test_understood_phrase_with_a_meaningless_word_is_refused(text: str) -> None:
    try:
        time_input.parse(text, BERLIN, NOW)
    except time_input.NotUnderstood as error:
        assert all(time_input.parse(form, BERLIN, NOW) for form in error.forms)
        return
    with pytest.raises(time_input.NotUnderstood):
        time_input.parse(f"{text} banana", BERLIN, NOW)
    with pytest.raises(time_input.NotUnderstood):
        time_input.parse(f"banana {text}", BERLIN, NOW)


@given(st.text(max_size=30))
def test_any_text_is_a_time_or_refused(text: str) -> None:
    try:
        assert time_input.parse(text, BERLIN, NOW).tzinfo
    except time_input.NotUnderstood as error:
        assert error.forms


@given(st.datetimes(datetime.datetime(2000, 1, 1), datetime.datetime(2099, 1, 1)))
def test_shown_time_can_be_typed_again(moment: datetime.datetime) -> None:
    moment = moment.replace(second=0, microsecond=0, tzinfo=UTC)
    for where in (UTC, BERLIN, zoneinfo.ZoneInfo("America/Caracas")):
        for shown in (time_display.iso(moment, where), time_display.argument(moment, where)):
            assert time_input.parse(shown, BERLIN, NOW) == moment
            assert time_input.is_exact(shown)


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
    assert time_input.is_exact(text) == exact


@pytest.mark.parametrize(
    "name", ["Mars/Base", "", "../etc/passwd", "/etc/passwd", "a\0b", "EST", "CET", "+15:00"]
)
def test_invalid_zone_is_refused(name: str) -> None:
    with pytest.raises(
        Failure,
        match=r"isn't a time zone|doesn't name exactly one|isn't the offset of a time zone",
    ):
        time_zones.named(name)


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
def test_zone_comes_from_option_or_variable(
    monkeypatch: pytest.MonkeyPatch, given_name: str | None, variable: str, label: str | None
) -> None:
    monkeypatch.setenv("TZ", variable)
    if label is None:
        with pytest.raises(Failure, match=r"The variable TZ is .* --timezone"):
            time_zones.chosen(given_name)
    else:
        assert time_zones.label(time_zones.chosen(given_name)) == label


def test_zone_defaults_to_that_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TZ", raising=False)
    monkeypatch.setattr("tzlocal.get_localzone", lambda: BERLIN)
    assert time_zones.chosen(None) is BERLIN
