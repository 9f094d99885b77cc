"""The calendar: free slots of each day, as a chart, a picture, or events."""

import datetime
import io
import json
import pathlib
import random
import zoneinfo
from collections.abc import Callable, Sequence
from typing import Any

import icalendar
import pytest
from blazarclient.exception import BlazarClientException
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.fakes.service import Answer, Request
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_api import FLAVOR, RESERVATION, Api, flavor, listing, reservation
from warre_blazar.cli import calendar, chart, days, ics, picture
from warre_blazar.cli.days import Day
from warre_blazar.client import Reservation, Span

UTC = datetime.UTC
START = datetime.datetime(2026, 11, 21, 6, 10, tzinfo=UTC)
_BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")


def test_days_are_of_the_zone_and_its_changing_clocks() -> None:
    start = datetime.datetime(2026, 10, 24, 22, tzinfo=_BERLIN)
    found = days.days_from(start, 3)
    assert [date.day for date, _ in found] == [24, 25, 26]
    assert [span.length.total_seconds() / 3600 for _, span in found] == [2, 25, 24]


@given(st.lists(st.lists(st.integers(0, 6), min_size=24, max_size=24), min_size=1, max_size=3))
def test_free_slots_against_hours(free: list[list[int]]) -> None:
    first = datetime.datetime(2026, 12, 1, tzinfo=UTC)
    hours = [count for day in free for count in day]

    def spans(count: int) -> Sequence[Span]:
        hour = datetime.timedelta(hours=1)
        begins = [h for h, n in enumerate(hours) if n >= count and (h == 0 or hours[h - 1] < count)]
        ends = [
            h + 1
            for h, n in enumerate(hours)
            if n >= count and (h + 1 == len(hours) or hours[h + 1] < count)
        ]
        return [Span(first + b * hour, first + e * hour) for b, e in zip(begins, ends, strict=True)]

    found = days.free(6, days.days_from(first, len(free)), spans)
    assert [(d.throughout, d.at_best) for d in found] == [(min(day), max(day)) for day in free]


def test_few_questions_are_asked() -> None:
    asked: list[int] = []

    def all_free(count: int) -> Sequence[Span]:
        asked.append(count)
        return [Span(START, START + datetime.timedelta(days=99))]

    (day, *_) = days.free(1000, days.days_from(START, 14), all_free)
    assert (day.throughout, len(asked)) == (1000, 10)


def _rows(names: Sequence[str], count: int = 14) -> list[tuple[str, list[Day]]]:
    chance = random.Random(1)
    dates = [START.date() + datetime.timedelta(days=n) for n in range(count)]
    return [(n, [Day(d, (a := chance.randint(0, 3)), max(a, 1), 3) for d in dates]) for n in names]


_NAMES = ["gpu.large", "😀" * 20, "[red]no markup[/red]", 'it\'s "quoted"', "x" * 64]


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_the_chart_fits(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    out = io.StringIO()
    chart.draw(_rows(_NAMES), out)
    lines = out.getvalue().splitlines()
    assert max(cell_len(line) for line in lines) <= width
    assert "\x1b" not in out.getvalue()
    # Every day of every flavor is in it, whole.
    cells = [cell for line in lines for cell in line.split() if cell[0] in "▁▂▃▄▅▆▇█"]
    assert len(cells) == 14 * len(_NAMES)


def test_many_slots_fit() -> None:
    out = io.StringIO()
    chart.draw([("a", [Day(START.date(), 1999, 2000, 2000)])], out)
    assert "▇1999+\n" in out.getvalue()


@pytest.mark.parametrize("forced", [True, False])
def test_colour_only_on_terminals(monkeypatch: pytest.MonkeyPatch, forced: bool) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return forced

    monkeypatch.setenv("TERM", "xterm")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    out = Terminal()
    chart.draw(_rows(["a"]), out)
    assert ("\x1b[" in out.getvalue()) == forced


@pytest.fixture
def free(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two free slots, but one on the second day's morning."""
    now = datetime.datetime.now(UTC)
    second = datetime.datetime.combine(now.date() + datetime.timedelta(days=1), datetime.time())
    noon = second.replace(hour=12, tzinfo=UTC)
    end = now + datetime.timedelta(days=9)
    spans = {"1": (now, end), "2": (noon, end)}
    answered = api.answer

    def answer(request: Request) -> Answer:
        if request.path.endswith("/freeslots"):
            start, end = (t.isoformat() for t in spans[request.query["count"]])
            return Answer(200, [{"start": start, "end": end}])
        return answered(request)

    monkeypatch.setattr(api, "answer", answer)
    api.answers["GET /v2/flavors"] = listing(flavor())
    api.answers["GET /v2/flavors/gpu.large"] = Answer(200, flavor())


@pytest.mark.usefixtures("free")
def test_a_chart_for_people_rows_for_programs(run: Run, run_json: Callable[..., Any]) -> None:
    text = run(calendar.ShowCalendar, "--days", "3")
    line = next(line for line in text.splitlines() if line.startswith("gpu.large"))
    assert line.split()[1:] == ["▄1", "▄1+", "█2"]
    rows = run_json(calendar.ShowCalendar, "gpu.large", "--days", "3")
    assert [(r["free"], r["free_at_best"], r["slots"]) for r in rows] == [
        (1, 1, 2),
        (1, 2, 2),
        (2, 2, 2),
    ]


@pytest.mark.usefixtures("free")
@pytest.mark.parametrize(("suffix", "magic"), [("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_pictures(run: Run, tmp_path: pathlib.Path, suffix: str, magic: bytes) -> None:
    path = tmp_path / f"calendar.{suffix}"
    assert run(calendar.ShowCalendar, "--output", str(path)) == f"Wrote {path}\n"
    assert path.read_bytes().startswith(magic)


@pytest.mark.filterwarnings("ignore:Glyph .* missing from font")
def test_names_in_pictures_are_no_formulas(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "c.svg"
    picture.write(_rows(["$a_{b$ $", "😀"]), str(path))
    assert path.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--output", "c.jpeg"], "end it in .svg or .png"),
        (["--days", "9999"], "At most 366 days"),
        (["--ics", "/nowhere/at/all.ics"], "/nowhere/at/all.ics: No such file"),
    ],
)
def test_what_cannot_be_written(api: Api, run: Run, arguments: list[str], said: str) -> None:
    api.answers["GET /v2/reservations"] = listing()
    with pytest.raises(BlazarClientException, match=said):
        run(calendar.ShowCalendar, *arguments)


def test_pictures_need_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(BlazarClientException, match=r"pip install 'warre-blazar\[cli,picture\]'"):
        picture.write(_rows(["a"]), "c.svg")


def test_no_flavors(api: Api, run: Run) -> None:
    api.answers["GET /v2/flavors"] = listing()
    with pytest.raises(BlazarClientException, match="no flavors that you may book"):
        run(calendar.ShowCalendar)


def test_events_for_calendar_programs(api: Api, run: Run, tmp_path: pathlib.Path) -> None:
    api.answers["GET /v2/flavors/gpu.large"] = Answer(200, flavor())
    other = reservation(flavor=flavor(id="other", name="other"))
    api.answers["GET /v2/reservations"] = listing(reservation(), other)
    path = tmp_path / "mine.ics"
    assert run(calendar.ShowCalendar, "gpu.large", "--ics", str(path)).endswith("1 reservation\n")
    (event,) = icalendar.Calendar.from_ical(path.read_bytes()).walk("VEVENT")
    assert str(event["uid"]) == f"{RESERVATION.id}@warre-blazar"
    assert str(event["summary"]) == "2 x gpu.large"
    assert event["dtstart"].dt == datetime.datetime(2026, 12, 1, 9, tzinfo=UTC)
    assert event["dtend"].dt == datetime.datetime(2026, 12, 1, 11, tzinfo=UTC)
    text = run(calendar.ShowCalendar, "--ics", "-", "-f", "json")
    assert text.count("BEGIN:VEVENT") == 2


@given(st.text(min_size=1, max_size=40))
def test_any_name_survives_the_export(name: str) -> None:
    item = Reservation.of(json.loads(json.dumps(reservation(flavor=flavor(name=name)))))
    text = ics.calendar([item], START)
    assert all(len(line.encode()) <= 75 for line in text.split("\r\n"))
    assert len(icalendar.Calendar.from_ical(text).walk("VEVENT")) == 1
    assert FLAVOR.name not in text
