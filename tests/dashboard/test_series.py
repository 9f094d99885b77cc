"""The pages about series of reservations."""

import html
import re
import urllib.parse
from typing import Any

import pytest
from django.utils import timezone

from tests.dashboard.conftest import Visitor, filled
from tests.fakes.service import Answer, Request
from tests.unit.cli.fake_api import FLAVOR, Api, error, flavor, listing, reservation, series
from warre_blazar.dashboard.project.series import rules

SERIES = "/project/reservation_series/"
ONE = f"{SERIES}{series()['id']}/"
LINE = f"/v2/series/{series()['id']}"
FIRST, SECOND = (each["id"] for each in series()["reservations"])
HOSTILE = "<script>alert(1)</script>"
AJAX = {"HTTP_X_REQUESTED_WITH": "XMLHttpRequest"}
REFUSED = {
    "start": "2026-12-08T09:00:00+00:00",
    "end": "2026-12-08T11:00:00+00:00",
    "code": "slots_exhausted",
    "message": f"No capacity {HOSTILE}",
    "detail": {},
    "next_start": "2026-12-09T12:00:00+00:00",
}
MISSING = {
    **series()["missing"][0],
    "start": "2099-12-15T09:00:00+00:00",
    "end": "2099-12-15T11:00:00+00:00",
}
TIMES = [
    {"start": "2026-12-01T09:00:00+00:00", "end": "2026-12-01T11:00:00+00:00"},
    {"start": REFUSED["start"], "end": REFUSED["end"]},
]


FITS = Answer(200, {"bookable": True, "occurrences": TIMES, "refused": []})


@pytest.fixture(autouse=True)
def answers(api: Api) -> None:
    api.answers["GET /v2/series"] = listing(series())
    api.answers[f"GET {LINE}"] = Answer(200, series(missing=[MISSING]))
    foreseen = {"bookable": True, "occurrences": TIMES, "refused": [REFUSED]}
    api.answers["POST /v2/series"] = Answer(200, foreseen)
    api.answers[f"GET /v2/reservations/{FIRST}"] = Answer(200, reservation())
    api.answers[f"DELETE /v2/reservations/{FIRST}"] = Answer(204)
    api.answers[f"DELETE {LINE}"] = Answer(204)


def values(**more: Any) -> dict[str, Any]:
    given = {"flavor": FLAVOR.id, "count": "1", "start": "2026-12-01T10:00", "hours": "2"}
    return {
        **given,
        "timezone": "Europe/Berlin",
        "repeat": "weekly",
        "ends": "after",
        "times": "3",
        **more,
    }


def sent(api: Api) -> list[Any]:
    return [request for request in api.seen if request.method != "GET"]


def test_thousand_series_are_paged(member: Visitor, api: Api) -> None:
    api.answers["GET /v2/series"] = listing(series(), total=1000)
    assert "Page 2 of 50, 1000 in all" in member.sees(f"{SERIES}?page=2")
    assert [request.line for request in api.seen] == ["GET /v2/series"]


def test_series_shows_its_reservations_and_how_many_are_missing(member: Visitor) -> None:
    page = member.sees(ONE)
    assert "2026-12-01 10:00 Europe/Berlin" in page and "every week, 3 times" in page
    assert f"{ONE}drop/{FIRST}/" in page and f"{ONE}drop/{SECOND}/" in page
    assert "Planned, but not there" in page and "Flavor is not available" in page
    assert f"{ONE}missing/" in page


def test_what_is_missing_can_be_waited_for(member: Visitor) -> None:
    (where,) = re.findall(r'href="(/project/reservation_waits/create/.*?)"', member.sees(ONE))
    given = dict(urllib.parse.parse_qsl(html.unescape(where).partition("?")[2]))
    assert given["what"] == f"flavor:{FLAVOR.id}" and given["hours"] == "2"
    assert [given[name] for name in ("earliest", "latest")] == [
        MISSING[name][:16] for name in ("start", "end")
    ]


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("FREQ=WEEKLY;COUNT=1", "every week, 1 time"),
        (
            "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE",
            "every two weeks, Monday, Wednesday",
        ),
        ("FREQ=DAILY;UNTIL=20270131", "every day, until Jan. 31, 2027"),
        ("FREQ=MONTHLY", "every month, on the same day of the month"),
        ("FREQ=MONTHLY;BYDAY=MO", "FREQ=MONTHLY;BYDAY=MO"),
        ("FREQ=WEEKLY;BYDAY=1MO", "FREQ=WEEKLY;BYDAY=1MO"),
        ("FREQ=WEEKLY;BYHOUR=9", "FREQ=WEEKLY;BYHOUR=9"),
    ],
)
def test_simple_rules_are_said_in_words(rule: str, words: str) -> None:
    assert rules.words(rule) == words


def test_what_is_missing_is_booked(member: Visitor, api: Api) -> None:
    foreseen = {"bookable": True, "occurrences": TIMES[:1], "refused": []}
    api.answers[f"PATCH {LINE}"] = [Answer(200, foreseen)] * 2 + [Answer(200, series(refused=[]))]
    assert "1 reservation, which starts on Tue 2026-12-01 09:00" in member.sees(f"{ONE}missing/")
    member.sends(f"{ONE}missing/", {"book": "1"})
    assert [(r.query, r.body) for r in sent(api)] == [
        ({"dry_run": "true"}, {"missing": True}),
        ({"dry_run": "true"}, {"missing": True}),
        ({}, {"missing": True}),
    ]


def test_dropped_lesson_is_not_offered_again(member: Visitor, api: Api) -> None:
    missing = {**series()["missing"][0], "state": "dropped", "code": None, "message": None}
    dropped = {**missing, "deleted_at": "2026-11-20T10:00:00+00:00", "deleted_by": "user-1"}
    api.answers[f"GET {LINE}"] = Answer(200, series(missing=[dropped]))
    page = member.sees(ONE)
    assert "dropped, Fri 2026-11-20 10:00" in page and f"{ONE}missing/" not in page


def test_series_that_fits_in_part_is_booked_after_a_question(member: Visitor, api: Api) -> None:
    text = member.sends(f"{SERIES}create/", values(book="1"), 200).content.decode()
    assert "Book 1 of 2" in text and 'name="all_but" value="1"' in text
    assert [request.query for request in sent(api)] == [{"dry_run": "true"}]
    foreseen = {"bookable": True, "occurrences": TIMES, "refused": [REFUSED]}
    api.answers["POST /v2/series"] = [Answer(200, foreseen), Answer(200, series(refused=[REFUSED]))]
    member.sends(f"{SERIES}create/", values(all_but="1"))
    assert [request.query for request in sent(api)][1:] == [{"dry_run": "true"}, {}]


def test_reservation_that_runs_can_not_be_dropped(member: Visitor, api: Api) -> None:
    running = [{**each, "status": "ACTIVE"} for each in series()["reservations"]]
    api.answers[f"GET {LINE}"] = Answer(200, series(reservations=running))
    assert f"{ONE}drop/" not in member.sees(ONE)


def test_check_shows_each_reservation_and_why_not(member: Visitor, api: Api) -> None:
    text = member.sends(f"{SERIES}create/", values(check="1"), 200).content.decode()
    assert "This can be done, except for 1 reservation." in text
    assert "Tue 2026-12-01 09:00" in text and "Possible from Wed 2026-12-09 12:00." in text
    assert "No capacity &lt;script&gt;" in text and HOSTILE not in text
    (asked,) = sent(api)
    assert asked.query == {"dry_run": "true"}


def test_typing_gets_the_answer_alone(member: Visitor) -> None:
    text = member.sends(f"{SERIES}create/", values(), 200, **AJAX).content.decode()
    assert "This can be done" in text and "<html" not in text


def test_answer_to_a_script_is_in_the_zone_of_the_user(member: Visitor) -> None:
    member.browser.cookies["django_timezone"] = "Asia/Tokyo"
    timezone.activate("America/Lima")  # An earlier request of the same thread.
    text = member.sends(f"{SERIES}create/", values(), 200, **AJAX).content.decode()
    assert "<td>Tue 2026-12-01 18:00</td>" in text


def test_series_is_booked_at_local_times(member: Visitor, api: Api) -> None:
    # The user's own zone doesn't matter.
    member.browser.cookies["django_timezone"] = "Asia/Tokyo"
    api.answers["POST /v2/series"] = [FITS, Answer(200, series(refused=[REFUSED]))]
    given = values(days=["TU", "TH"], all_or_none="on", name="course", affinity="different")
    answer = member.sends(f"{SERIES}create/", given)
    assert answer["Location"].endswith(ONE)
    foreseen, asked = sent(api)
    assert (foreseen.query, asked.query) == ({"dry_run": "true"}, {})
    assert (
        asked.body
        == foreseen.body
        == {
            "flavor_id": FLAVOR.id,
            "start": "2026-12-01T10:00",
            "timezone": "Europe/Berlin",
            "hours": 2.0,
            "rrule": "FREQ=WEEKLY;BYDAY=TU,TH;COUNT=3",
            "instance_count": 1,
            "all_or_none": True,
            "name": "course",
            "affinity": False,
        }
    )
    assert "1 reservation couldn&#x27;t be booked: Tue 2026-12-08 18:00." in member.sees(ONE)


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"repeat": "daily", "days": ["MO"]}, "FREQ=DAILY;COUNT=3"),
        ({"repeat": "fortnightly"}, "FREQ=WEEKLY;INTERVAL=2;COUNT=3"),
        (
            {"repeat": "monthly", "ends": "on", "until": "2027-06-30"},
            "FREQ=MONTHLY;UNTIL=20270630",
        ),
        ({"repeat": "own", "rule": "FREQ=YEARLY;COUNT=2"}, "FREQ=YEARLY;COUNT=2"),
    ],
)
def test_rule_is_made_of_the_choices(
    given: dict[str, Any], rule: str, member: Visitor, api: Api
) -> None:
    member.sends(f"{SERIES}create/", values(check="1", **given), 200)
    assert sent(api)[-1].body["rrule"] == rule


def test_days_are_left_out(member: Visitor, api: Api) -> None:
    given = values(check="1", exdates="2026-12-08, 2026-12-24 2026-12-31")
    member.sends(f"{SERIES}create/", given, 200)
    days = ["2026-12-08", "2026-12-24", "2026-12-31"]
    assert sent(api)[-1].body["exdates"] == days
    text = member.sends(f"{SERIES}create/", {**given, "exdates": "Christmas"}, 200)
    assert "Write days such as" in text.content.decode() and len(sent(api)) == 1


def test_series_is_extended_until_a_day(member: Visitor, api: Api) -> None:
    api.answers[f"PATCH {LINE}"] = [FITS, FITS, Answer(200, series(refused=[]))]
    given = {"more": "", "until": "2027-02-01", "exdates": "2026-12-24"}
    member.sends(f"{ONE}extend/", {**given, "check": "1"}, 200)
    member.sends(f"{ONE}extend/", given)
    until = {"until": "2027-02-01T23:59", "exdates": ["2026-12-24"]}
    assert [request.body for request in sent(api)[-2:]] == [until, until]


@pytest.mark.parametrize("given", [{}, {"more": "2", "until": "2027-02-01"}])
def test_series_is_extended_by_a_number_or_until_a_day(
    given: dict[str, str], member: Visitor, api: Api
) -> None:
    text = member.sends(f"{ONE}extend/", given, 200).content.decode()
    assert "Say a number or the last day" in text and sent(api) == []


def test_own_rule_has_to_be_written(member: Visitor, api: Api) -> None:
    text = member.sends(f"{SERIES}create/", values(repeat="own"), 200).content.decode()
    assert "Write the rule" in text and sent(api) == []


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"times": ""}, "Say how many times"),
        ({"ends": "on"}, "Say the last day"),
        ({"until": "2027-06-30"}, "Leave this empty, or choose that it ends on a day."),
        ({"ends": ""}, "This field is required."),
    ],
)
def test_series_needs_one_end(given: dict[str, str], text: str, member: Visitor, api: Api) -> None:
    for button in ("check", "book"):
        page = member.sends(f"{SERIES}create/", values(**given, **{button: "1"}), 200)
        assert text in page.content.decode()
    assert sent(api) == []


def test_series_ends_after_twelve_times_unless_something_else_is_said(
    member: Visitor, api: Api
) -> None:
    api.answers["POST /v2/series"] = [FITS, Answer(200, series(refused=[]))]
    first = {"start": "2026-12-01T10:00", "book": "1"}
    member.sends(f"{SERIES}create/", {**filled(member.sees(f"{SERIES}create/")), **first})
    assert sent(api)[-1].body["rrule"] == "FREQ=WEEKLY;COUNT=12"
    said = "It has 2 reservations. The last one starts on Tue 2026-12-08 09:00."
    assert said in member.sees(ONE)


def test_check_says_how_many_reservations_there_are_and_when_the_last_one_starts(
    member: Visitor,
) -> None:
    text = member.sends(f"{SERIES}create/", values(), 200, **AJAX).content.decode()
    assert "2 reservations. The last one starts on Tue 2026-12-08 09:00." in text


def test_own_rule_without_an_end_is_refused_at_its_field(member: Visitor, api: Api) -> None:
    api.answers["POST /v2/series"] = error(
        422, "rrule: expected an end", "invalid_field", field="rrule"
    )
    given = values(repeat="own", rule="FREQ=YEARLY")
    text = member.sends(f"{SERIES}create/", given, 200).content.decode()
    at_field = text[text.index('id="field_rule"') :]
    assert "<p>expected an end</p>" in at_field[: at_field.index('<div class="form-group')]


def test_series_of_an_older_release_is_shown_as_cut_off(member: Visitor, api: Api) -> None:
    endless = series(rrule="FREQ=DAILY", cut_off=True, planned=60, unbooked=2)
    api.answers["GET /v2/series"] = listing(endless, series())
    api.answers[f"GET {LINE}"] = Answer(200, endless)
    page = member.sees(SERIES)
    assert "every day (cut off)" in page
    assert re.findall('<td data-label="State">(.*?)</td>', page) == ["booked, 2 missing", "booked"]
    assert "It has no end, so it was cut off after 60 reservations." in member.sees(ONE)
    api.answers[f"GET {LINE}"] = Answer(200, series())
    assert "cut off" not in member.sees(ONE)


def test_refused_series_says_which_reservations(member: Visitor, api: Api) -> None:
    api.answers["POST /v2/series"] = error(
        409, "nothing was booked", "series_refused", refused=[REFUSED], asked=2
    )
    text = member.sends(f"{SERIES}create/", values(), 200).content.decode()
    assert "nothing was booked" in text and "Possible from Wed 2026-12-09 12:00." in text


def test_series_is_extended(member: Visitor, api: Api) -> None:
    api.answers[f"PATCH {LINE}"] = [FITS, FITS, Answer(200, series(refused=[]))]
    assert "every week, 3 times" in member.sees(f"{ONE}extend/")
    member.sends(f"{ONE}extend/", {"more": "4"})
    assert [(r.query, r.body) for r in sent(api)] == [
        ({"dry_run": "true"}, {"more": 1}),
        ({"dry_run": "true"}, {"more": 4}),
        ({}, {"more": 4}),
    ]


@pytest.mark.parametrize(("page", "given"), [("extend", {"more": "10"}), ("missing", {})])
def test_form_that_is_sent_again_after_a_lost_answer_extends_once(
    member: Visitor, api: Api, monkeypatch: pytest.MonkeyPatch, page: str, given: dict[str, str]
) -> None:
    others, keys = api.answer, []

    def answer(request: Request) -> Answer:
        if request.method != "PATCH":
            return others(request)
        if "dry_run" in request.query:
            return FITS
        keys.append(request.headers["idempotency-key"])
        return Answer(200, series(refused=[]))

    monkeypatch.setattr(api, "answer", answer)
    path = f"{ONE}{page}/"
    values = {**filled(member.sees(path)), **given}
    for _ in range(2):
        # The answer to the first one, with the cookie of the session, has not arrived.
        member.browser.cookies.clear()
        assert member.sends(path, values)["Location"] == ONE
    assert len(keys) == 2 and len(set(keys)) == 1
    member.sends(path, {**filled(member.sees(path)), **given})
    assert len(set(keys)) == 2


@pytest.mark.parametrize(("form", "query"), [({}, {}), ({"running": "on"}, {"running": "true"})])
def test_rest_is_ended(
    form: dict[str, str], query: dict[str, str], member: Visitor, api: Api
) -> None:
    assert "haven&#x27;t begun are deleted" in member.sees(f"{ONE}end/")
    member.sends(f"{ONE}end/", form)
    assert [(request.line, request.query) for request in sent(api)] == [(f"DELETE {LINE}", query)]


def test_one_reservation_is_dropped_after_a_question(member: Visitor, api: Api) -> None:
    question = member.sees(f"{ONE}drop/{FIRST}/")
    assert "from Tue 2026-12-01 09:00 to Tue 2026-12-01 11:00" in question
    assert "Times are in the zone UTC." in question
    answer = member.sends(f"{ONE}drop/{FIRST}/", {})
    assert answer["Location"].endswith(ONE)
    assert [request.line for request in sent(api)] == [f"DELETE /v2/reservations/{FIRST}"]


def test_names_are_escaped(member: Visitor, api: Api) -> None:
    named = {"id": FLAVOR.id, "name": HOSTILE}
    hostile = series(name=HOSTILE, note=HOSTILE, rrule=HOSTILE, flavor=named)
    api.answers["GET /v2/series"] = listing(hostile)
    api.answers[f"GET {LINE}"] = Answer(200, hostile)
    api.answers["GET /v2/flavors"] = listing(flavor(name=HOSTILE))
    for path in (SERIES, ONE, f"{ONE}end/", f"{ONE}extend/", f"{SERIES}create/"):
        page = member.sees(path)
        assert HOSTILE not in page, path
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page, path


def test_reader_sees_no_button_that_changes(reader: Visitor) -> None:
    assert f"{SERIES}create/" not in reader.sees(SERIES)
    page = reader.sees(ONE)
    assert not [name for name in ("drop", "end", "extend") if f"{ONE}{name}/" in page]
    for path in (f"{ONE}drop/{FIRST}/", f"{ONE}end/", f"{ONE}extend/", f"{SERIES}create/"):
        reader.sends(path, {}, 403)


def test_reservation_leads_to_its_series(member: Visitor, api: Api) -> None:
    found = reservation(series_id=series()["id"], log=[])
    api.answers[f"GET /v2/reservations/{FIRST}"] = Answer(200, found)
    api.answers["GET /v2/shares"] = listing()
    assert f'href="{ONE}"' in member.sees(f"/project/flavor_reservations/{FIRST}/")


def test_form_for_booking_leads_to_the_form_for_a_series(member: Visitor, api: Api) -> None:
    api.answers[f"GET /v2/flavors/{FLAVOR.id}"] = Answer(200, flavor())
    page = member.sees(
        f"/project/find_reservations/book/{FLAVOR.id}/?hours=3&start=2099-12-01T09:00"
    )
    address = f"{SERIES}create/?flavor={FLAVOR.id}&amp;start=2099-12-01T09%3A00&amp;hours=3"
    assert address in page
