"""The page that finds free instances, and the page that books them."""

import dataclasses
import datetime
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.dashboard.conftest import Visitor
from tests.fakes.service import Answer
from tests.unit.cli.fake_api import FLAVOR, Api, error, flavor, foreseen, reservation
from warre_blazar import texts
from warre_blazar.api import slot_views
from warre_blazar.domain.slots.offers import FlavorOffer, NotOffered
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.services.slots.availability import FreeInstances
from warre_blazar.services.slots.offers import Found

FIND = "/project/find_reservations/"
BOOK = f"{FIND}book/{FLAVOR.id}/"
TODAY = datetime.datetime.now(datetime.UTC).replace(hour=0, minute=0, second=0, microsecond=0)
DAY = datetime.timedelta(days=1)
AJAX = {"HTTP_X_REQUESTED_WITH": "XMLHttpRequest"}


def days(count: int) -> list[Span]:
    start = TODAY.replace(tzinfo=None)
    return [Span(start + number * DAY, start + (number + 1) * DAY) for number in range(count)]


def available(*free: int, flavors: int = 1) -> Answer:
    parts = list(zip(days(len(free)), free, strict=True))
    named = [dataclasses.replace(FLAVOR, name=f"gpu.{number:03}") for number in range(flavors)]
    return Answer(200, slot_views.availability([FreeInstances(each, parts) for each in named]))


def found(*offers: FlavorOffer) -> Answer:
    return Answer(200, slot_views.offers(Found(offers, len(offers), ())))


def offer() -> FlavorOffer:
    return FlavorOffer(FLAVOR, Span(days(3)[2].start, days(6)[5].start), 1)


@pytest.fixture(autouse=True)
def answers(api: Api) -> None:
    api.answers["GET /v2/availability"] = available(2, 0, 1)
    api.answers["GET /v2/offers"] = found(offer())
    api.answers[f"GET /v2/flavors/{FLAVOR.id}"] = Answer(200, flavor())
    api.answers["POST /v2/reservations"] = foreseen()


def lines(api: Api) -> list[str]:
    return [request.line for request in api.seen]


def test_calendar_has_numbers_and_words_for_each_cell(member: Visitor) -> None:
    page = member.sees(FIND)
    day = f"{TODAY + DAY:%Y-%m-%d}"
    assert f"gpu.000, {TODAY + DAY:%a} {day}: 0 of 2 free" in page
    assert "level0" in page and "level4" in page


@pytest.mark.parametrize("can_wait", [True, False])
def test_page_says_why_a_flavor_is_never_free(member: Visitor, api: Api, can_wait: bool) -> None:
    start = TODAY.replace(tzinfo=None) if can_wait else None
    missing = NotOffered(FLAVOR, exceptions.NoHostMatches(1, 0), None, None, start)
    api.answers["GET /v2/availability"] = Answer(200, slot_views.availability([], [missing]))
    api.answers["GET /v2/offers"] = Answer(200, slot_views.offers(Found([], 0, [missing])))
    page = member.sees(FIND)
    assert page.count(texts.BRIEF["no_host_matches"].sentence({})) == 2
    assert ("Wait for it" in page) == ("Wait until something is free" in page) == can_wait


def test_calendar_asks_once_for_the_slots(member: Visitor, api: Api) -> None:
    api.answers["GET /v2/availability"] = available(*[1] * 30, flavors=100)
    member.sees(f"{FIND}?days=30")
    assert lines(api).count("GET /v2/availability") == 1
    assert sorted(set(lines(api))) == ["GET /v2/availability", "GET /v2/flavors", "GET /v2/offers"]
    assert len(api.seen) == 3


def test_day_leads_to_its_hours_and_an_hour_to_booking(member: Visitor, api: Api) -> None:
    day = (TODAY + DAY).date().isoformat()
    assert f"day={day}" in member.sees(FIND)
    page = member.sees(f"{FIND}?count=2&hours=5&day={day}")
    (asked,) = [r for r in api.seen if r.line == "GET /v2/availability" and "hour" in str(r.query)]
    assert asked.query["from"].startswith(day)
    assert f"{BOOK}?start={day}" in page.replace("%3A", ":")


def test_offer_leads_to_booking(member: Visitor) -> None:
    assert f"{BOOK}?start={days(3)[2].start:%Y-%m-%d}" in member.sees(FIND)


@pytest.mark.parametrize("query", ["count=0", "hours=x", "start=tomorrow", "days=7", "category=no"])
def test_nonsense_is_named_and_nothing_is_asked(query: str, member: Visitor, api: Api) -> None:
    assert "has-error" in member.sees(f"{FIND}?{query}")
    assert "GET /v2/availability" not in lines(api)


def test_past_day_is_refused_in_words(member: Visitor) -> None:
    assert "This time has passed" in member.sees(f"{FIND}?start=2001-01-01")


def test_form_shows_at_once_what_booking_would_do(member: Visitor, api: Api) -> None:
    page = member.sees(f"{BOOK}?hours=2&count=1")
    assert "This can be done." in page
    (asked,) = [request for request in api.seen if request.method == "POST"]
    assert asked.query == {"dry_run": "true"}


def test_refusal_names_reason_and_what_to_do_instead(member: Visitor, api: Api) -> None:
    api.answers["POST /v2/reservations"] = foreseen(
        ("slots_exhausted", "No capacity: 2 asked", {}),
        next_start=TODAY.replace(tzinfo=None) + 9 * DAY,
        longest=datetime.timedelta(hours=1),
        most=1,
    )
    page = member.sees(f"{BOOK}?hours=2&count=2&name=mine")
    assert "This can't be done." in page and "No capacity: 2 asked" in page
    assert "Book only 1 hours" in page and "Book only 1 instance" in page
    assert f"Start at {TODAY + 9 * DAY:%a %Y-%m-%d}" in page
    assert "name=mine" in page


def values(**more: Any) -> dict[str, Any]:
    return {"start": "2099-12-01T09:00", "hours": "2", "count": "1", **more}


def test_typing_gets_the_answer_alone(member: Visitor) -> None:
    text = member.sends(BOOK, values(), 200, **AJAX).content.decode()
    assert "This can be done." in text and "<html" not in text


def test_checked_form_can_be_booked_without_javascript(member: Visitor, api: Api) -> None:
    page = member.sends(BOOK, values(check="1"), 200).content.decode()
    assert "This can be done." in page
    # The button that books sends the form to the address that the button Check has led to.
    assert "formaction" not in page
    assert [request.query for request in api.seen if request.method == "POST"] == [
        {"dry_run": "true"}
    ]


def test_booking_goes_to_the_reservation(member: Visitor, api: Api) -> None:
    api.answers["POST /v2/reservations"] = Answer(200, reservation())
    answer = member.sends(BOOK, values(name="mine", book="1", affinity="different"))
    assert answer["Location"].endswith(f"/project/flavor_reservations/{reservation()['id']}/")
    (sent,) = [request for request in api.seen if request.method == "POST"]
    assert sent.query == {}
    assert sent.body == {
        "flavor_id": FLAVOR.id,
        "start": "2099-12-01T09:00:00+00:00",
        "end": "2099-12-01T11:00:00+00:00",
        "instance_count": 1,
        "affinity": False,
        "name": "mine",
        "timezone": "UTC",
    }


def test_lost_booking_shows_the_next_offers_in_place(member: Visitor, api: Api) -> None:
    api.answers["POST /v2/reservations"] = [
        error(400, "somebody was faster", "slots_exhausted"),
        foreseen(("slots_exhausted", "somebody was faster", {})),
    ]
    text = member.sends(BOOK, values(book="1"), 200).content.decode()
    assert "somebody was faster" in text and "The next offers of this kind" in text


def test_times_are_in_the_zone_of_the_user(member: Visitor, api: Api) -> None:
    member.browser.cookies["django_timezone"] = "Asia/Tokyo"
    api.answers["POST /v2/reservations"] = [foreseen(), Answer(200, reservation())]
    assert "Asia/Tokyo" in member.sees(f"{BOOK}?hours=2")
    member.sends(BOOK, values(book="1"))
    assert api.seen[-1].body["start"] == "2099-12-01T00:00:00+00:00"


def test_hundred_flavors_over_thirty_days_have_all_cells(
    member: Visitor, api: Api, record_property: Callable[[str, object], None]
) -> None:
    api.answers["GET /v2/availability"] = available(*[1] * 30, flavors=100)
    # The first page of a process makes what all pages share.
    member.sees(FIND)
    started, used = time.perf_counter(), time.process_time()
    page = member.sees(f"{FIND}?days=30")
    # Nothing is judged by these figures. They are in the report, and shown by pytest -s.
    figures = {"seconds": time.perf_counter() - started, "processor": time.process_time() - used}
    for name, value in figures.items():
        record_property(name, f"{value:.2f}")
    print("Find with 100 flavors over 30 days:", figures)
    assert page.count('<td class="level') == 3000


def test_without_a_project_role_nothing_is_shown(member: Visitor, api: Api) -> None:
    member.roles = []
    member.sees(FIND, 403)
    assert api.seen == []


def test_reader_may_look_but_not_book(reader: Visitor) -> None:
    reader.sees(FIND)
    reader.sees(BOOK, 403)
