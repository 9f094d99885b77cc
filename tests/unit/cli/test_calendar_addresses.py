"""Commands on addresses of calendars."""

from collections.abc import Callable
from typing import Any

from tests.fakes.service import Answer
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_api import Api, listing
from warre_blazar.cli import calendar_addresses

_CALENDAR = {
    "id": "77777777-7777-4777-8777-777777777777",
    "name": "GPUs",
    "url": "https://reservation.example.org/v2/calendar-files/x.y.ics",
    "project_id": "project-1",
    "user_id": "user-1",
    "created_at": "2026-11-01T00:00:00+00:00",
}


def test_address_is_made_shown_listed_and_withdrawn(
    api: Api, run: Run, run_json: Callable[..., Any]
) -> None:
    api.answers |= {
        "POST /v2/calendars": Answer(201, _CALENDAR),
        "GET /v2/calendars": listing(_CALENDAR),
        "GET /v2/calendars/77777777-7777-4777-8777-777777777777": Answer(200, _CALENDAR),
        "DELETE /v2/calendars/77777777-7777-4777-8777-777777777777": Answer(204),
    }
    assert run_json(calendar_addresses.CreateCalendar, "GPUs") == _CALENDAR
    assert api.seen[-1].body == {"name": "GPUs"}
    assert run_json(calendar_addresses.ShowCalendarAddress, "7777") == _CALENDAR
    (row,) = run_json(calendar_addresses.ListCalendars)
    assert (row["name"], row["url"]) == ("GPUs", _CALENDAR["url"])
    would = run(calendar_addresses.DeleteCalendar, "GPUs", "--dry-run")
    assert f"would delete calendar {_CALENDAR['id']}" in would
    assert "Deleted calendar: GPUs" in run(calendar_addresses.DeleteCalendar, "GPUs")


def test_dry_run_makes_no_address(api: Api, run: Run) -> None:
    said = run(calendar_addresses.CreateCalendar, "GPUs", "--dry-run")
    assert said == "Dry run: would make an address for your project's calendar, named GPUs\n"
    assert {request.method for request in api.seen} <= {"GET"}
