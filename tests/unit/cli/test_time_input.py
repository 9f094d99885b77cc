"""Reading of times as people write them, and time zones."""

import datetime
import pathlib
import re
import zoneinfo
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, given, note
from hypothesis import strategies as st

from warre_blazar.cli import time_display, time_forms, time_input, time_zones
from warre_blazar.cli.failure import Failure

UTC = datetime.UTC
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
#: A Saturday.
NOW = datetime.datetime(2026, 11, 21, 6, 10, 30, tzinfo=UTC)
TABLE = pathlib.Path(__file__).with_name("phrases.txt")
_HEADER = re.compile(r"\[(\S+) (\S+?)(?: after (\S+?))?( list)?: .*\]")


def _rows() -> Iterator[object]:
    where: datetime.tzinfo = UTC
    now, options = NOW, {}
    for number, line in enumerate(TABLE.read_text().splitlines(), 1):
        if header := _HEADER.fullmatch(line):
            where = UTC if header[1] == "UTC" else zoneinfo.ZoneInfo(header[1])
            now = datetime.datetime.fromisoformat(header[2])
            start = header[3] and datetime.datetime.fromisoformat(header[3])
            options = {"start": start, "looking_back": bool(header[4])}
        elif line and not line.startswith("#"):
            phrase, _, wanted = line.rpartition(" | ")
            yield pytest.param(where, now, options, phrase, wanted, id=f"{number}: {phrase}")


ROWS = list(_rows())


def test_table_has_many_phrases() -> None:
    assert len(ROWS) >= 200


@pytest.mark.parametrize(("where", "now", "options", "phrase", "wanted"), ROWS)
def test_phrase_is_understood_or_refused_with_a_suggestion(
    where: datetime.tzinfo,
    now: datetime.datetime,
    options: dict[str, Any],
    phrase: str,
    wanted: str,
) -> None:
    try:
        found = time_input.parse(phrase, where, now, **options)
    except time_input.NotUnderstood as error:
        advice = str(error).rpartition(". ")[2]
        if wanted == "!":
            assert advice.startswith("A time has a form such as 'mon 9am', 'tomorrow 14:00'")
        else:
            assert advice.replace("Write", "!", 1) == wanted
        understood = {time_input.parse(form, where, now, **options) for form in error.forms}
        assert len(understood) == len(error.forms)
    else:
        assert found.isoformat(timespec="minutes") == wanted
        assert (found.second, found.microsecond) == (0, 0)


def test_refusal_of_a_date_of_digits_says_how_dates_are_written() -> None:
    with pytest.raises(time_input.NotUnderstood) as caught:
        time_input.parse("1/12/2026", UTC, datetime.datetime(2026, 11, 25, 18, 3, tzinfo=UTC))
    assert str(caught.value) == (
        "Time '1/12/2026' refused: it has none of the forms of a time; a date is written as "
        "2026-12-01 or '1 Dec 2026'. Write 2026-12-01"
    )


@given(
    st.sampled_from(["wed", "yesterday", "1/2/2026", "last week", "3 days ago", "5am", "0900"]),
    st.integers(0, 60 * 24 * 14),
)
def test_no_refusal_proposes_a_time_that_has_passed(text: str, minutes: int) -> None:
    now = NOW + datetime.timedelta(minutes=minutes)
    try:
        time_input.parse(text, BERLIN, now)
    except time_input.NotUnderstood as error:
        minute = now.replace(second=0)
        assert all(time_input.parse(form, BERLIN, now) >= minute for form in error.forms)


_LETTERS = [
    *(*time_forms.MONTHS, *time_forms.WEEKDAYS, "now", "noon", "tomorrow", "hours"),
    *("9:00", "9", "14", "9am", "in", "at", "on", "2", "UTC", "CET", "+01:00", "Asia/Tokyo"),
    *("2026-12-01", "1/2/2027", "25.12.2026", "midnight", "banana", "today", ",", "ago", "h"),
]


@given(st.lists(st.sampled_from(_LETTERS), max_size=6).map(" ".join))
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


@given(st.text(max_size=30) | st.text(alphabet="0123456789:-+TZW amp/dec.", max_size=20))
def test_any_text_is_a_time_or_refused(text: str) -> None:
    try:
        assert time_input.parse(text, BERLIN, NOW).tzinfo
    except time_input.NotUnderstood as error:
        assert re.search(r"\. (Write|A time has a form such as) ", str(error))


#: Zones with summer time, with two midnights, with half hours, with a name for UTC.
_ZONES = st.sampled_from(
    [
        *("UTC", "Europe/Berlin", "Europe/London", "America/Caracas", "America/Santiago"),
        *("America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"),
    ]
).map(lambda name: UTC if name == "UTC" else zoneinfo.ZoneInfo(name))
_MOMENTS = st.datetimes(datetime.datetime(2000, 1, 1), datetime.datetime(2099, 1, 1)).map(
    lambda moment: moment.replace(second=0, microsecond=0, tzinfo=UTC)
)


@given(_MOMENTS, _MOMENTS, _ZONES, _ZONES)
def test_shown_time_is_read_back_as_the_same_time(
    moment: datetime.datetime,
    now: datetime.datetime,
    where: datetime.tzinfo,
    reader: datetime.tzinfo,
) -> None:
    shown = [f(moment, where) for f in (time_display.iso, time_display.argument)]
    assert all(time_input.is_exact(text) for text in shown)
    shown += [f(moment, where) for f in (time_display.brief, time_display.plain)]
    assert [time_input.parse(text, reader, now) for text in shown] == [moment] * 4
    field = time_display.field("start", moment.isoformat(), where)
    assert time_input.parse(field, reader, now) == moment


@given(_MOMENTS, _ZONES)
def test_whole_day_ends_a_minute_before_the_next_day(
    moment: datetime.datetime, where: datetime.tzinfo
) -> None:
    day = moment.astimezone(where).date()
    last = time_input.parse(str(day), where, NOW, whole_day=True)
    following = time_input.parse(str(day + datetime.timedelta(days=1)), where, NOW)
    assert last.date() == day
    assert following.astimezone(UTC) - last.astimezone(UTC) == datetime.timedelta(minutes=1)


_CLOCKS = st.sampled_from(
    [("", None), ("noon", (12, 0))]
    + [(f"{h}:{m:02}", (h, m)) for h in range(24) for m in (0, 30, 59)]
    + [(f"{h:02}:15", (h, 15)) for h in range(24)]
    + [(f"{h}{space}am", (h, 0)) for h in range(1, 12) for space in ("", " ")]
    + [(f"{h}:05pm", (h + 12, 5)) for h in range(1, 12)]
)
_TYPED_ZONES = st.sampled_from(
    [("", None), ("UTC", UTC), ("utc", UTC)]
    + [("UTC-5", datetime.timezone(datetime.timedelta(hours=-5)))]
    + [(name, zoneinfo.ZoneInfo(name)) for name in ("Asia/Tokyo", "America/Santiago")]
)
_DATES = st.dates(datetime.date(2026, 1, 1), datetime.date(2029, 12, 31))


@st.composite
def _days(draw: st.DrawFn) -> tuple[str, Any]:
    """Return the words of a day, and whether a date is the one that they mean, given today."""
    date = draw(_DATES)
    month = draw(
        st.sampled_from([date.strftime("%b"), date.strftime("%B"), date.strftime("%B").lower()])
    )
    weekday = draw(
        st.sampled_from([date.strftime("%a"), date.strftime("%A"), date.strftime("%A").upper()])
    )
    one = datetime.timedelta(days=1)
    return draw(
        st.sampled_from(
            [
                ("today", lambda day, today: day == today),
                ("tomorrow", lambda day, today: day == today + one),
                (str(date), lambda day, _: day == date),
                (date.strftime("%G-W%V-%u"), lambda day, _: day == date),
                (f"{date.day} {month} {date.year}", lambda day, _: day == date),
                (f"{month} {date.day} {date.year}", lambda day, _: day == date),
                (f"{weekday} {date}", lambda day, _: day == date),
                (
                    weekday,
                    # On the weekday itself, a time that has passed means next week's. Others are
                    # refused.
                    lambda day, today: _first(
                        day, today + one, lambda d: d.weekday() == date.weekday()
                    ),
                ),
                (
                    f"{month} {date.day}",
                    lambda day, today: _first(
                        day, today, lambda d: (d.month, d.day) == (date.month, date.day)
                    ),
                ),
            ]
        )
    )


def _first(day: datetime.date, today: datetime.date, fits: Any) -> bool:
    """Whether a day is the first one from today on that fits."""
    dates = (today + datetime.timedelta(days=n) for n in range(367 * 5))
    return day == next(date for date in dates if fits(date))


@given(_days(), _CLOCKS, _TYPED_ZONES, _ZONES, _MOMENTS)
def test_understood_day_and_clock_mean_what_their_words_say(
    day: tuple[str, Any],
    clock: tuple[str, tuple[int, int] | None],
    zone: tuple[str, datetime.tzinfo | None],
    where: datetime.tzinfo,
    now: datetime.datetime,
) -> None:
    text = " ".join(part for part in (day[0], clock[0], zone[0]) if part)
    try:
        found = time_input.parse(text, where, now)
    except time_input.NotUnderstood as error:
        assert re.search(r"that may be|no year|has no day|clocks in .* (skip|show)", str(error))
        return
    local = found.astimezone(zone[1] or where)
    assert day[1](local.date(), now.astimezone(zone[1] or where).date())
    if clock[1] is not None:
        assert (local.hour, local.minute) == clock[1]
    else:
        before = (found.astimezone(UTC) - datetime.timedelta(minutes=1)).astimezone(local.tzinfo)
        assert before.date() < local.date() or (local.hour, local.minute) == (0, 0)


@given(st.integers(0, 5000), st.sampled_from(["minute", "hour", "day", "week"]), _ZONES, _MOMENTS)
def test_time_from_now_means_what_its_words_say(
    count: int, unit: str, where: datetime.tzinfo, now: datetime.datetime
) -> None:
    plural = "" if count == 1 else "s"
    try:
        found = time_input.parse(f"in {count} {unit}{plural}", where, now)
    except time_input.NotUnderstood as error:
        assert unit in ("day", "week")
        assert re.search(r"clocks in .* (skip|show)", str(error))
        return
    step = datetime.timedelta(**{f"{unit}s": count})
    if unit in ("minute", "hour"):
        assert found.astimezone(UTC) == now + step
    else:
        local = now.astimezone(where).replace(tzinfo=None, fold=0)
        assert found.replace(tzinfo=None, fold=0) == local + step


@given(_CLOCKS, _days(), _MOMENTS, _MOMENTS, _ZONES)
def test_end_without_a_day_is_on_the_day_of_the_start(
    clock: tuple[str, tuple[int, int] | None],
    day: tuple[str, Any],
    start: datetime.datetime,
    now: datetime.datetime,
    where: datetime.tzinfo,
) -> None:
    assume(clock[1] is not None)
    start = start.astimezone(where)
    try:
        found = time_input.parse(clock[0], where, now, start=start)
    except time_input.NotUnderstood:
        return
    assert found > start
    assert found.date() == start.date()
    assert (found.hour, found.minute) == clock[1]


@given(st.sampled_from(time_forms.WEEKDAYS), _CLOCKS, _MOMENTS, _MOMENTS, _ZONES)
def test_weekday_of_an_end_is_within_a_week_of_the_start(
    weekday: str,
    clock: tuple[str, Any],
    start: datetime.datetime,
    now: datetime.datetime,
    where: datetime.tzinfo,
) -> None:
    try:
        end = time_input.parse(f"{weekday} {clock[0]}", where, now, start=start.astimezone(where))
    except time_input.NotUnderstood:
        return
    assert end.strftime("%A").lower() == weekday
    assert start < end
    assert (end.date() - start.astimezone(where).date()).days < 7


@given(st.dates(datetime.date(2020, 1, 1), datetime.date(2030, 1, 1)), _DATES)
def test_date_in_a_list_is_the_near_one_or_refused(
    date: datetime.date, today: datetime.date
) -> None:
    now = datetime.datetime.combine(today, datetime.time(12), UTC)
    text = f"{date.day} {date:%b}"
    try:
        found = time_input.parse(text, UTC, now, looking_back=True)
    except time_input.NotUnderstood:
        return
    assert (found.day, found.month) == (date.day, date.month)
    assert abs((found.date() - today).days) <= 120


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


#: Parts of a pasted time: the text, and a predicate for the local time in the zone of the text.
_PASTED_DAYS = [
    ("2026-12-01", lambda t, _: str(t.date()) == "2026-12-01"),
    ("Dec 1 2026", lambda t, _: str(t.date()) == "2026-12-01"),
    ("1 december 2026", lambda t, _: str(t.date()) == "2026-12-01"),
    ("Tue, 01 Dec 2026", lambda t, _: str(t.date()) == "2026-12-01"),
    ("Tue Dec 1", lambda t, _: (t.month, t.day) == (12, 1)),
    ("1/12/2026", lambda t, _: (t.month, t.day) in ((12, 1), (1, 12))),
    ("2/3/2027", lambda t, _: (t.month, t.day) in ((2, 3), (3, 2))),
    ("31 nov", lambda *_: False),
    ("2027-02-30", lambda *_: False),
    ("29 feb", lambda t, _: (t.month, t.day) == (2, 29)),
    ("20 nov", lambda t, _: (t.month, t.day) == (11, 20)),
    ("28.3.2027", lambda t, _: str(t.date()) == "2027-03-28"),
    ("thurs", lambda t, _: t.weekday() == 3),
    ("next Saturday", lambda t, _: t.weekday() == 5),
    ("tommorow", lambda t, now: (t.date() - now.date()).days == 1),
    ("day after tomorrow", lambda t, now: (t.date() - now.date()).days == 2),
    ("yesterday", lambda t, now: (t.date() - now.date()).days == -1),
]
_PASTED_CLOCKS = [
    *((f"{h:02}:29{s}", (h, 29)) for h in (2, 7, 20) for s in ("", ":13", ":13.5")),
    *(("8:29 PM", (20, 29)), ("8:29:12 pm", (20, 29)), ("9h30", (9, 30)), ("0900", (9, 0))),
    *(("noon", (12, 0)), ("12:29:12 AM", (0, 29)), ("21 Uhr", (21, 0)), ("24:00", (0, 0))),
]
_PASTED_ZONES = [
    *(("UTC", 0), ("GMT", 0), ("utc+2", 120), ("GMT-03:30", -210), ("+1100", 660)),
    *(("-05:00", -300), ("AEST", 600), ("EST", -300), ("Asia/Tokyo", 540), ("XYZT", None)),
]


@given(
    st.none() | st.sampled_from(_PASTED_DAYS),
    st.none() | st.sampled_from(_PASTED_CLOCKS),
    st.none() | st.sampled_from(_PASTED_ZONES),
    st.none() | st.sampled_from(["at", "on", "9", "2026", "sharp", "15:00", "tue", "(CET)", "--"]),
    st.randoms(),
    st.sampled_from([" ", ", "]),
    st.sampled_from([{}, {"looking_back": True}, {"start": NOW + datetime.timedelta(days=2)}]),
)
def test_suggestion_means_what_the_text_says(
    day: tuple[str, Any] | None,
    clock: tuple[str, Any] | None,
    zone: tuple[str, int | None] | None,
    other: str | None,
    random: Any,
    separator: str,
    options: dict[str, Any],
) -> None:
    parts = [*(part[0] for part in (day, clock, zone) if part), *([other] if other else [])]
    random.shuffle(parts)
    text = separator.join(parts)
    note(text)
    try:
        meant = [time_input.parse(text, BERLIN, NOW, **options)]
    except time_input.NotUnderstood as error:
        meant = [time_input.parse(form, BERLIN, NOW, **options) for form in error.forms]
    for moment in meant:
        local = moment
        if zone:
            assert zone[1] is not None
            local = moment.astimezone(datetime.timezone(datetime.timedelta(minutes=zone[1])))
            assert moment.utcoffset() == local.utcoffset()
        if clock:
            assert (local.hour, local.minute) == clock[1]
        on_day = local - datetime.timedelta(days=1) if clock and clock[0] == "24:00" else local
        assert day is None or day[1](on_day, NOW.astimezone(local.tzinfo))
