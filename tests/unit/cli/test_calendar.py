"""The calendar: free slots of each day, as a chart, rows, or events."""

import datetime
import io
import json
import pathlib
import random
import re
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
from tests.unit.cli.fake_api import FLAVOR, RESERVATION, Api, error, flavor, listing, reservation
from tests.unit.client.test_resources import WINDOW
from warre_blazar import texts
from warre_blazar.cli import (
    bookings_chart,
    calendar,
    free_by_day,
    terminal_chart,
)
from warre_blazar.cli.booked_flavors import BookedFlavor, NamedReservation
from warre_blazar.cli.free_by_day import Day, Row
from warre_blazar.client import Reservation, Span, calendar_file

UTC = datetime.UTC
START = datetime.datetime(2026, 11, 21, 6, 10, tzinfo=UTC)
_BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")


def test_days_follow_the_zone_when_clocks_change() -> None:
    start = datetime.datetime(2026, 10, 24, 22, tzinfo=_BERLIN)
    found = free_by_day.days_from(start, 3)
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

    found = free_by_day.free(6, free_by_day.days_from(first, len(free)), spans)
    assert [(d.throughout, d.at_best) for d in found] == [(min(day), max(day)) for day in free]


def test_few_requests_find_the_free_slots_of_all_days() -> None:
    asked: list[int] = []

    def all_free(count: int) -> Sequence[Span]:
        asked.append(count)
        return [Span(START, START + datetime.timedelta(days=99))]

    (day, *_) = free_by_day.free(1000, free_by_day.days_from(START, 14), all_free)
    assert (day.throughout, len(asked)) == (1000, 10)


def _day(date: datetime.date, least: int, best: int) -> Day:
    begun = datetime.datetime.combine(date, datetime.time(), UTC)
    return Day(date, Span(begun, begun + datetime.timedelta(days=1)), least, best)


def _row(name: str, days: Sequence[tuple[int, int]], slots: int = 3, **more: Any) -> Row:
    dates = [START.date() + datetime.timedelta(days=n) for n in range(len(days))]
    return Row(name, slots, [_day(d, *free) for d, free in zip(dates, days, strict=True)], **more)


def _rows(names: Sequence[str], count: int = 14) -> list[Row]:
    chance = random.Random(1)
    days = [(least := chance.randint(0, 3), max(least, 1)) for _ in range(count)]
    return [_row(name, days) for name in names]


def _drawn(rows: Sequence[Row], zone: datetime.tzinfo = UTC) -> list[str]:
    out = io.StringIO()
    terminal_chart.draw(rows, out, zone)
    assert "\x1b" not in out.getvalue()
    return out.getvalue().splitlines()


_NAMES = ["gpu.large", "😀" * 20, "[red]no markup[/red]", 'it\'s "quoted"', "x" * 64]


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_chart_fits_any_terminal_width(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = _drawn(_rows(_NAMES))
    assert max(cell_len(line) for line in lines) <= width
    # Every day of every flavor is in it, whole.
    weeks = [line for line in lines[:-1] if not line.endswith(" slots")]
    cells = [c for line in weeks for c in line.split() if re.fullmatch(r"[123]\+?|0\+", c)]
    assert len(cells) == 14 * len(_NAMES)


def test_chart_has_a_row_for_each_week_with_marks() -> None:
    day = datetime.timedelta(days=1)
    free = [(2, 2), (0, 2), (0, 0), *[(1, 2)] * 6]
    windows = [Span(START + day, START + 1.1 * day)]
    own = [Reservation.of({**reservation(), "start": (START + 4 * day).isoformat()})]
    assert _drawn([_row("gpu", free, 2, windows=windows, own=own)], _BERLIN)[:4] == [
        "gpu: 2 slots",
        "        Mon Tue Wed Thu Fri Sat Sun",
        "Nov 16                        2 0+/",
        "Nov 23    0  1+ 1+* 1+* 1+* 1+* 1+*",
    ]
    assert _drawn([_row("gpu", free)], _BERLIN)[-1].endswith("Europe/Berlin")


def test_many_slots_fit_into_a_cell() -> None:
    assert _drawn([_row("a", [(1999, 2000)], 2000)])[2].endswith(" 1999+")


@pytest.mark.parametrize("forced", [True, False])
def test_chart_has_color_on_terminals_only(monkeypatch: pytest.MonkeyPatch, forced: bool) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return forced

    monkeypatch.setenv("TERM", "xterm")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    out = Terminal()
    terminal_chart.draw(_rows(["a"]), out, UTC)
    assert ("\x1b[" in out.getvalue()) == forced


@pytest.fixture
def free(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """An API with two free slots, but only one on the morning of the second day."""
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
def test_calendar_prints_chart_or_rows_by_format(run: Run, run_json: Callable[..., Any]) -> None:
    text = run(calendar.ShowCalendar, "--days", "3")
    cells = [c for line in text.splitlines()[2:] for c in line.split() if c in ("1", "1+", "2")]
    assert cells == ["1", "1+", "2"]
    rows = run_json(calendar.ShowCalendar, "gpu.large", "--days", "3")
    assert [(r["free"], r["free_at_best"], r["slots"]) for r in rows] == [
        (1, 1, 2),
        (1, 2, 2),
        (2, 2, 2),
    ]


@pytest.mark.usefixtures("free")
def test_windows_and_own_reservations_are_marked(api: Api, run: Run) -> None:
    today = datetime.datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    two_days = {
        "start": today.isoformat(),
        "end": (today + datetime.timedelta(days=2)).isoformat(),
    }
    api.answers["GET /v2/maintenancewindows"] = listing({**WINDOW, **two_days})
    api.answers["GET /v2/reservations"] = listing(reservation(**two_days))
    assert "1/*" in run(calendar.ShowCalendar, "--days", "3")


def _at(day: int, hour: int = 0) -> datetime.datetime:
    local = datetime.datetime(2026, 11, 21, tzinfo=_BERLIN) + datetime.timedelta(days=day)
    return (local + datetime.timedelta(hours=hour)).astimezone(UTC)


def _booked(first: datetime.datetime, last: datetime.datetime, **more: Any) -> Reservation:
    span = {"start": first.isoformat(), "end": last.isoformat()}
    return Reservation.of({**reservation(), **span, **more})


def test_calendar_shows_who_has_booked(api: Api, run: Run, run_json: Callable[..., Any]) -> None:
    now = datetime.datetime.now(UTC)
    start, end = ((now + datetime.timedelta(days=n)).isoformat() for n in (1, 3))
    api.answers |= {
        "GET /v2/flavors/gpu.large": Answer(200, flavor()),
        "GET /v2/reservations": listing(reservation(start=start, end=end)),
        "GET /v2/maintenancewindows": listing(),
        "GET /v1/projects/project-1": Answer(
            200, {"project": {"id": "project-1", "name": "climate"}}
        ),
    }
    (row,) = run_json(calendar.ShowCalendar, "gpu.large", "--bookings")
    assert (row["project"], row["instance_count"]) == ("climate", 2)
    asked = next(r for r in api.seen if r.path == "/v2/reservations")
    assert asked.query.keys() == {"all_projects", "from", "to"}
    chart = run(calendar.ShowCalendar, "gpu.large", "--bookings")
    title, bar, axis, *legend = chart.splitlines()
    assert title == "gpu.large: 2 slots"
    assert re.fullmatch(r"climate +2 \| +▒+ +\|", bar)
    assert re.search(r"'[A-Z][a-z]{2} \d\d", axis)
    assert "▒ doesn't run now" in " ".join(legend)


def test_bookings_are_refused_to_members_with_a_way_on(api: Api, run: Run) -> None:
    api.answers["GET /v2/flavors/gpu.large"] = Answer(200, flavor())
    api.answers["GET /v2/reservations"] = error(403, "all_projects: no", "forbidden")
    with pytest.raises(BlazarClientException, match="leave out --bookings to see free slots"):
        run(calendar.ShowCalendar, "gpu.large", "--bookings")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--days", "9999"], "At most 366 days"),
        (["--ics", "/nowhere/at/all.ics"], "/nowhere/at/all.ics: No such file"),
        (["--ics", "-", "--days", "3"], "leave out --start and --days"),
        (["--ics", "-", "--start", "tomorrow"], "leave out --start and --days"),
    ],
)
def test_bad_argument_says_why(api: Api, run: Run, arguments: list[str], said: str) -> None:
    api.answers["GET /v2/reservations"] = listing()
    with pytest.raises(BlazarClientException, match=said):
        run(calendar.ShowCalendar, *arguments)


def test_calendar_without_flavors_says_so(api: Api, run: Run) -> None:
    api.answers["GET /v2/flavors"] = listing()
    with pytest.raises(BlazarClientException, match="no flavors that you may book"):
        run(calendar.ShowCalendar)


def test_ics_has_an_event_for_each_reservation(api: Api, run: Run, tmp_path: pathlib.Path) -> None:
    api.answers["GET /v2/flavors/gpu.large"] = Answer(200, flavor())
    other = reservation(flavor=flavor(id="other", name="other"))
    api.answers["GET /v2/reservations"] = [listing(), listing(reservation(), other)]
    path = tmp_path / "mine.ics"
    assert run(calendar.ShowCalendar, "gpu.large", "--ics", str(path)).endswith("1 reservation\n")
    (event,) = icalendar.Calendar.from_ical(path.read_bytes()).walk("VEVENT")
    assert str(event["uid"]) == f"{RESERVATION.id}@warre-blazar"
    assert str(event["summary"]) == "2 x gpu.large"
    assert event["dtstart"].dt == datetime.datetime(2026, 12, 1, 9, tzinfo=UTC)
    assert event["dtend"].dt == datetime.datetime(2026, 12, 1, 11, tzinfo=UTC)
    api.answers["GET /v2/reservations"] = [listing(), listing(reservation(), other)]
    text = run(calendar.ShowCalendar, "--ics", "-", "-f", "json")
    assert text.count("BEGIN:VEVENT") == 2


def test_ics_of_a_category_has_the_reservations_of_its_flavors(api: Api, run: Run) -> None:
    api.answers["GET /v2/flavors"] = listing(flavor())
    other = reservation(flavor=flavor(id="other", name="other"))
    api.answers["GET /v2/reservations"] = [listing(), listing(reservation(), other)]
    text = run(calendar.ShowCalendar, "--category", "gpu", "--ics", "-")
    assert text.count("BEGIN:VEVENT") == 1


def test_ics_has_what_has_just_ended_and_cancels_what_was_deleted(api: Api, run: Run) -> None:
    over = reservation(id="22222222-9999-4999-8999-999999999999", status="COMPLETE")
    gone = reservation(id="33333333-9999-4999-8999-999999999999", status="DELETED")
    counted = {"change_count": 4, "changed_at": "2026-11-03T10:00:00+00:00"}
    api.answers["GET /v2/reservations"] = [
        listing(gone | counted),
        listing(reservation() | counted, over),
    ]
    text = run(calendar.ShowCalendar, "--ics", "-")
    events = icalendar.Calendar.from_ical(text).walk("VEVENT")
    assert [(str(e["status"]), e["sequence"], len(e.walk("VALARM"))) for e in events] == [
        ("CONFIRMED", 4, 1),
        ("CONFIRMED", 0, 0),
        ("CANCELLED", 4, 0),
    ]
    assert events[0]["last-modified"].dt == datetime.datetime(2026, 11, 3, 10, tzinfo=UTC)
    asked = [request.query for request in api.seen]
    assert [query.get("deleted") for query in asked] == ["true", None]
    assert all(query["changes"] == "true" and query["from"] for query in asked)


def test_ics_of_a_deleted_reservation_says_so(api: Api, run: Run, tmp_path: pathlib.Path) -> None:
    gone = reservation(status="DELETED")
    api.answers["GET /v2/reservations"] = [listing(gone), listing()]
    said = run(calendar.ShowCalendar, "--ics", str(tmp_path / "mine.ics"))
    assert said.endswith("1 reservation, 1 of them deleted\n")


def test_ics_says_what_the_reservation_is_for_and_what_ends_with_it(api: Api, run: Run) -> None:
    named = reservation(name="sweep", note="for the paper")
    api.answers["GET /v2/reservations"] = [listing(), listing(named)]
    text = run(calendar.ShowCalendar, "--ics", "-")
    (first,) = icalendar.Calendar.from_ical(text).walk("VEVENT")
    assert str(first["summary"]) == "sweep: 2 x gpu.large"
    assert str(first["description"]).startswith("for the paper\nReservation ")
    assert "all servers with this flavor are deleted" in str(first["description"])
    (alarm,) = first.walk("VALARM")
    assert alarm["trigger"].dt == datetime.timedelta(hours=-1)
    assert alarm["trigger"].params["RELATED"] == "END"


def test_event_of_a_reservation_that_has_ended_has_no_alarm() -> None:
    """An operator's file of bookings may have such reservations."""
    over = Reservation.of(reservation(status="COMPLETE"))
    text = calendar_file.calendar([("over", over)])
    (event,) = icalendar.Calendar.from_ical(text).walk("VEVENT")
    assert event.walk("VALARM") == []


def test_ics_of_bookings_has_those_of_all_projects(api: Api, run: Run) -> None:
    now = datetime.datetime.now(UTC)
    start, end = ((now + datetime.timedelta(days=n)).isoformat() for n in (1, 3))
    api.answers |= {
        "GET /v2/flavors/gpu.large": Answer(200, flavor()),
        "GET /v2/reservations": [listing(), listing(reservation(start=start, end=end))],
        "GET /v1/projects/project-1": Answer(
            200, {"project": {"id": "project-1", "name": "climate"}}
        ),
    }
    text = run(calendar.ShowCalendar, "gpu.large", "--bookings", "--ics", "-", "--days", "5")
    (event,) = icalendar.Calendar.from_ical(text).walk("VEVENT")
    assert str(event["summary"]) == "climate: 2 x gpu.large"


@given(st.text(min_size=1, max_size=40))
def test_any_name_survives_the_export(name: str) -> None:
    item = Reservation.of(json.loads(json.dumps(reservation(flavor=flavor(name=name)))))
    text = calendar_file.calendar([(calendar_file.title(item), item)])
    assert all(len(line.encode()) <= 75 for line in text.split("\r\n"))
    assert len(icalendar.Calendar.from_ical(text).walk("VEVENT")) == 1
    assert FLAVOR.name not in text


@pytest.mark.parametrize("words", [(), ("-f", "json")])
def test_calendar_says_why_a_flavor_is_never_free(
    api: Api, run: Run, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    why = {"code": "no_host_matches", "message": "No", "detail": {}}
    api.answers |= {
        "GET /v2/flavors/gpu": Answer(200, flavor()),
        f"GET /v2/flavors/{FLAVOR.id}/freeslots": [
            Answer(200, []),
            Answer(200, {"results": [], "reason": why}),
        ],
        "GET /v2/reservations": listing(),
        "GET /v2/maintenancewindows": listing(),
    }
    run(calendar.ShowCalendar, "gpu", "--days", "3", *words)
    said = texts.BRIEF["no_host_matches"].sentence({})
    assert f"No gpu.large: {said}" in capsys.readouterr().err


def test_calendar_of_a_category(api: Api, run_json: Callable[..., Any]) -> None:
    api.answers |= {
        "GET /v2/flavors": listing(flavor()),
        f"GET /v2/flavors/{FLAVOR.id}/freeslots": Answer(200, []),
        "GET /v2/reservations": listing(),
        "GET /v2/maintenancewindows": listing(),
    }
    assert len(run_json(calendar.ShowCalendar, "--category", "gpu", "--days", "2")) == 2
    assert api.seen[0].query == {"category": "gpu"}


def test_bookings_of_all_flavors(api: Api, run_json: Callable[..., Any], run: Run) -> None:
    now = datetime.datetime.now(UTC)
    start, end = ((now + datetime.timedelta(days=n)).isoformat() for n in (1, 3))
    other = flavor(id="66666666-6666-4666-8666-666666666666", name="gpu.small")
    api.answers |= {
        "GET /v2/flavors": listing(flavor(), other),
        "GET /v2/reservations": listing(
            reservation(start=start, end=end), reservation(start=start, end=end, flavor=other)
        ),
        "GET /v2/maintenancewindows": listing(),
    }
    closed = flavor(id="77777777-7777-4777-8777-777777777777", name="idle", active=False)
    api.answers["GET /v2/flavors"] = listing(flavor(), {**other, "active": False}, closed)
    rows = run_json(calendar.ShowCalendar, "--bookings")
    asked = next(request for request in api.seen if request.path == "/v2/flavors")
    assert asked.query == {"all_projects": "true"}
    assert [row["flavor"] for row in rows] == ["gpu.large", "gpu.small"]
    chart = run(calendar.ShowCalendar, "--bookings")
    assert "gpu.large: 2 slots\n" in chart
    assert "gpu.small: 2 slots\n" in chart
    assert "idle" not in chart


def chart_of(*flavors: BookedFlavor) -> list[str]:
    out = io.StringIO()
    bookings_chart.draw(flavors, Span(_at(0), _at(21)), out, _BERLIN)
    return out.getvalue().splitlines()


def test_chart_without_bookings_says_so() -> None:
    assert chart_of(BookedFlavor("gpu", 1, []))[:2] == [
        "gpu: 1 slot",
        "No reservations from 2026-11-21 00:00 +01:00 to 2026-12-12 00:00 +01:00",
    ]


def test_chart_shows_what_runs_whose_it_is_and_what_is_closed() -> None:
    bookings = [
        NamedReservation("climate", _booked(_at(-3), _at(2), status="ACTIVE")),
        NamedReservation("ocean", _booked(_at(20, 23), _at(22), instance_count=4, name="sweep")),
    ]
    window = Span(_at(8), _at(10))
    _, running, later, axis, *_ = chart_of(BookedFlavor("gpu", 4, bookings, [window]))
    assert re.fullmatch(r"climate +2 \|█+ +/+ +\|", running)
    assert re.fullmatch(r"ocean: sweep +4 \| +/+ +▒\|", later)
    assert axis.index("'Nov 21") == running.index("█")


def test_axis_of_one_day_has_hours() -> None:
    out = io.StringIO()
    bookings = [NamedReservation("climate", _booked(_at(0, 14), _at(0, 20)))]
    period = Span(_at(0, 13), _at(1))
    bookings_chart.draw([BookedFlavor("gpu", 4, bookings)], period, out, _BERLIN)
    assert re.search(r"'14:00 +'16:00 +'18:00 +'20:00 +'22:00", out.getvalue())
