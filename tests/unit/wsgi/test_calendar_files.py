"""Calendars to which calendar programs subscribe: made by a user, read without a token."""

import logging
from typing import Any

import icalendar
import pytest
import webob

from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.wsgi import sending
from tests.unit.wsgi.test_stop_page import odd_parts
from tests.unit.wsgi.whole import WholeSite
from warre_blazar import times
from warre_blazar.db import session
from warre_blazar.db.tables import secrets
from warre_blazar.wsgi import calendar_files

PREFIX = "/v2/calendar-files/"


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test reads anew, as after the time for which a calendar is kept."""
    monkeypatch.setattr(calendar_files, "_kept", {})
    monkeypatch.setattr(times, "CALENDAR_KEPT", 0.0)


@pytest.fixture
def flavor(admin: Person) -> dict:
    return things.add_flavor(admin, slots=8)


@pytest.fixture
def beta(site: WholeSite) -> Person:
    return Person(site.app, "beta")


def subscribed(person: Person) -> dict[str, Any]:
    return things.made(person.post("calendars", {"name": "GPUs"}))


def path_of(calendar: dict[str, Any]) -> str:
    _, found, rest = calendar["url"].partition(PREFIX)
    return found + rest


def read(
    site: WholeSite, calendar: dict[str, Any], method: str = "GET", **headers: str
) -> webob.Response:
    return sending.send(site.app, method, path_of(calendar), who=None, **headers)


def events(site: WholeSite, calendar: dict[str, Any]) -> dict[str, icalendar.Event]:
    answer = read(site, calendar)
    assert answer.status_int == 200, answer
    found = icalendar.Calendar.from_ical(answer.body).walk("VEVENT")
    return {str(event["uid"]).removesuffix("@warre-blazar"): event for event in found}


def unfolded(text: str) -> list[str]:
    """The lines of a calendar, read by the rules of RFC 5545 (3.1) alone."""
    assert text.endswith("\r\n")
    lines = text.removesuffix("\r\n").split("\r\n")
    assert all(len(line.encode()) <= 75 for line in lines)
    whole: list[str] = []
    for line in lines:
        if line.startswith(" "):
            whole[-1] += line[1:]
        else:
            whole.append(line)
    return whole


def test_calendar_shows_the_changes_of_the_own_reservations(
    site: WholeSite, alpha: Person, beta: Person, flavor: dict
):
    booked, gone = things.book(alpha, flavor, name="sweep"), things.book(alpha, flavor)
    lent = things.book(beta, flavor)
    things.share(beta, lent, alpha.project_id)
    calendar = subscribed(alpha)
    before = events(site, calendar)
    assert before.keys() == {booked["id"], gone["id"]}
    assert {str(event["status"]) for event in before.values()} == {"CONFIRMED"}
    things.made(alpha.patch(f"reservations/{booked['id']}", {"end": things.at(2, 12)}))
    assert alpha.delete(f"reservations/{gone['id']}").status_int == 204
    after = events(site, calendar)
    assert after.keys() == before.keys()
    assert all(after[name]["sequence"] > before[name]["sequence"] for name in after)
    moved, cancelled = after[booked["id"]], after[gone["id"]]
    assert moved["dtend"].dt == things.moment(2, 12).replace(tzinfo=moved["dtend"].dt.tzinfo)
    assert moved["last-modified"].dt >= moved["dtstamp"].dt
    assert str(moved["summary"]) == "sweep: 1 x gpu.small"
    assert (str(cancelled["status"]), len(cancelled.walk("VALARM"))) == ("CANCELLED", 0)
    assert beta.post("calendars", {"name": "GPUs"}).json["url"] != calendar["url"]


def test_calendar_folds_and_escapes_as_calendars_do(site: WholeSite, alpha: Person, flavor: dict):
    note = 'one; two, three\\four: "five"\n' + "sechs \u00fc\U0001f600" * 40
    things.book(alpha, flavor, name="x;y,z\\n" + "\u00fc" * 100, note=note)
    answer = read(site, subscribed(alpha))
    assert (answer.content_type, answer.charset) == ("text/calendar", "UTF-8")
    lines = unfolded(answer.body.decode())
    (summary,) = [line for line in lines if line.startswith("SUMMARY:")]
    assert summary.startswith("SUMMARY:x\\;y\\,z\\\\n" + "\u00fc" * 100)
    (description,) = [line for line in lines if line.startswith("DESCRIPTION:one")]
    assert description.startswith('DESCRIPTION:one\\; two\\, three\\\\four: "five"\\nsechs')


def test_unchanged_calendar_is_not_sent_again(site: WholeSite, alpha: Person, flavor: dict):
    booked = things.book(alpha, flavor)
    calendar = subscribed(alpha)
    first = read(site, calendar)
    assert (
        "no-cache" in first.headers["Cache-Control"] and "private" in first.headers["Cache-Control"]
    )
    head = read(site, calendar, "HEAD")
    assert (head.body, head.headers["ETag"]) == (b"", first.headers["ETag"])
    again = read(site, calendar, If_None_Match=first.headers["ETag"])
    assert (again.status_int, again.body) == (304, b"")
    things.made(alpha.patch(f"reservations/{booked['id']}", {"name": "other"}))
    changed = read(site, calendar, If_None_Match=first.headers["ETag"])
    assert changed.status_int == 200 and changed.headers["ETag"] != first.headers["ETag"]


def test_withdrawn_address_answers_404_at_once(
    site: WholeSite, alpha: Person, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(times, "CALENDAR_KEPT", 60.0)
    calendar = subscribed(alpha)
    assert read(site, calendar).status_int == 200
    assert refusal(alpha.post("calendars", {"name": "GPUs"})) == (409, "calendar_exists")
    assert alpha.delete(f"calendars/{calendar['id']}").status_int == 204
    assert sending.refused(read(site, calendar)) == (404, "calendar_not_found")
    another = subscribed(alpha)
    assert another["url"] != calendar["url"]
    assert read(site, another).status_int == 200
    assert read(site, calendar).status_int == 404


def test_addresses_that_were_changed_find_nothing(site: WholeSite, alpha: Person, beta: Person):
    own, other = (
        path_of(subscribed(p)).removeprefix(PREFIX).removesuffix(".ics") for p in (alpha, beta)
    )
    before = site.rows()
    for token in odd_parts(own, other):
        for ending in (".ics", ""):
            path = f"{PREFIX}{token}{ending}".encode().decode("latin-1")
            assert sending.send(site.app, "GET", path, who=None).status_int == 404, path
    assert sending.send(site.app, "GET", PREFIX + own, who=None).status_int == 404
    assert site.rows() == before
    with session.writer() as db:
        db.execute(secrets.delete())
    assert sending.send(site.app, "GET", f"{PREFIX}{own}.ics", who=None).status_int == 404


def test_owner_who_lost_the_role_or_the_account_shows_nothing(site: WholeSite, alpha: Person):
    calendar = subscribed(alpha)
    site.cloud.keystone.roles[alpha.user_id, alpha.project_id] = []
    assert sending.refused(read(site, calendar)) == (404, "calendar_not_found")
    site.cloud.keystone.roles[alpha.user_id, alpha.project_id] = ["reader"]
    assert read(site, calendar).status_int == 200
    site.cloud.keystone.fail(match="GET /v3/role_assignments", status=503)
    assert sending.refused(read(site, calendar))[0] == 503


def test_user_whose_roles_keystone_does_not_list_gets_no_address(site: WholeSite, alpha: Person):
    site.cloud.keystone.roles[alpha.user_id, alpha.project_id] = []
    before = site.rows()
    answer = alpha.post("calendars", {"name": "GPUs"})
    assert refusal(answer) == (403, "forbidden")
    assert answer.json["detail"]["reason"] == "no_role_to_subscribe"
    assert site.rows() == before


def test_program_that_asks_all_the_time_is_answered_from_memory(
    site: WholeSite, alpha: Person, flavor: dict, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(times, "CALENDAR_KEPT", 60.0)
    calendar = subscribed(alpha)
    first = read(site, calendar).body
    things.book(alpha, flavor)
    site.cloud.keystone.fail(match="GET /v3/role_assignments", status=503)
    assert read(site, calendar).body == first


def test_only_the_owner_sees_the_address_and_an_operator_withdraws_it(
    site: WholeSite, admin: Person, alpha: Person, beta: Person
):
    calendar = subscribed(alpha)
    path = f"calendars/{calendar['id']}"
    assert alpha.get(path).json == calendar
    assert alpha.get("calendars").json["results"] == [calendar]
    mate = Person(site.app, "reader")
    assert (mate.project_id, mate.get("calendars").json["results"]) == (alpha.project_id, [])
    for other in (mate, beta):
        assert refusal(other.get(path)) == (404, "calendar_not_found")
        assert refusal(other.delete(path)) == (404, "calendar_not_found")
        assert refusal(other.get("calendars?all_projects=1")) == (403, "forbidden")
    hidden = {**calendar, "url": None}
    assert admin.get("calendars?all_projects=1").json["results"] == [hidden]
    assert admin.get(path).json == hidden
    assert admin.delete(path).status_int == 204
    assert read(site, calendar).status_int == 404


def test_log_does_not_name_the_address(
    site: WholeSite,
    alpha: Person,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
):
    calendar = subscribed(alpha)
    secret = path_of(calendar).removeprefix(PREFIX)
    caplog.set_level(logging.DEBUG)

    def fail(*_: Any) -> None:
        raise RuntimeError

    with monkeypatch.context() as patched:
        patched.setattr(calendar_files, "_text", fail)
        assert read(site, calendar).status_int == 500
    alpha.delete(f"calendars/{calendar['id']}")
    assert read(site, calendar).status_int == 404
    assert "GET '/v2/calendar-files/...' failed" in caplog.text
    assert secret.partition(".")[2].removesuffix(".ics") not in caplog.text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_calendar_is_only_read(site: WholeSite, alpha: Person, method: str):
    answer = read(site, subscribed(alpha), method)
    assert (answer.status_int, answer.headers["Allow"]) == (405, "GET, HEAD")
