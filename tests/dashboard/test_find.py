"""The page that finds free instances, and the page that books them."""

import dataclasses
import datetime
import html
import re
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.dashboard import site
from tests.dashboard.conftest import Visitor
from tests.fakes.service import Answer
from tests.unit.cli.fake_api import FLAVOR, Api, error, flavor, foreseen, listing, reservation
from warre_blazar import texts
from warre_blazar.api import slot_views
from warre_blazar.domain.slots.offers import FlavorOffer, NotOffered
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.services.slots.availability import FreeInstances, PartOfTime
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
    spans = days(len(free))
    parts = [PartOfTime(spans[number], most) for number, most in enumerate(free)]
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


def cells(page: str) -> list[tuple[str, str, str]]:
    """The style, the words and the text of each cell of the calendar."""
    found = re.findall(r'<td class="(.*?)"><a href=".*?" title="(.*?)".*?>(.*?)</a>', page)
    return [(style, html.unescape(words), text) for style, words, text in found]


def test_cells_say_why_nothing_is_free_and_where_a_booking_can_begin(
    member: Visitor, api: Api
) -> None:
    codes = (None, "slots_exhausted", "maintenance", "too_far_ahead", "slots_exhausted")
    parts = [
        PartOfTime(span, 0 if code else 2, can_start=place in (0, 4), reason=code)
        for place, (span, code) in enumerate(zip(days(5), codes, strict=True))
    ]
    answer = slot_views.availability([FreeInstances(FLAVOR, parts)])
    api.answers["GET /v2/availability"] = Answer(200, answer)
    closed = {"start": days(3)[2].start, "end": days(3)[2].end}
    window = site.WINDOW | {name: f"{time.isoformat()}+00:00" for name, time in closed.items()}
    later = site.WINDOW | {"note": "another day"}
    api.answers["GET /v2/maintenancewindows"] = listing(window, later)
    shown = cells(member.sees(f"{FIND}?count=2&hours=48"))
    assert [(style, text) for style, _words, text in shown] == [
        ("level4 starts", "2"),
        ("level0", "0"),
        ("closed", "✕"),
        ("outside", "\N{EN DASH}"),
        ("level0 starts", "0"),
    ]
    said = [words.partition("; ")[2] for _style, words, _text in shown]
    assert said == [
        "your booking can begin then",
        texts.BRIEF["slots_exhausted"].sentence({}),
        f"{texts.BRIEF['maintenance'].sentence({})}; new disks",
        texts.BRIEF["too_far_ahead"].sentence({}),
        f"{texts.BRIEF['slots_exhausted'].sentence({})}; "
        "a part of this time has room, and your booking can begin in it",
    ]
    (asked,) = [request for request in api.seen if request.line == "GET /v2/availability"]
    assert (asked.query["count"], float(asked.query["hours"])) == ("2", 48)


def test_row_says_why_what_is_wanted_can_not_be_booked(member: Visitor, api: Api) -> None:
    why = exceptions.FlavorNotBookable(texts.refusals.TOO_LONG(max_length_hours=1))
    missing = NotOffered(FLAVOR, why, None, None)
    api.answers["GET /v2/offers"] = Answer(200, slot_views.offers(Found([], 0, [missing])))
    parts = [PartOfTime(span, 2, can_start=False) for span in days(3)]
    answer = slot_views.availability([FreeInstances(FLAVOR, parts)])
    api.answers["GET /v2/availability"] = Answer(200, answer)
    page = html.unescape(member.sees(FIND))
    assert f'<small class="why">{texts.BRIEF["too_long"].sentence({})}</small>' in page
    assert len(cells(page)) == 3


@pytest.mark.parametrize(
    ("query", "is_shown"),
    [
        ("words=LARGE", True),
        ("words=trait:b+large", True),
        ("words=a100", False),
        ("vcpu=4&memory=8", True),
        ("vcpu=5", False),
        ("memory=9", False),
    ],
)
def test_flavors_are_chosen_by_words_and_sizes(
    query: str, is_shown: bool, member: Visitor, api: Api
) -> None:
    parts = [PartOfTime(span, 2) for span in days(3)]
    answer = slot_views.availability([FreeInstances(FLAVOR, parts)])
    api.answers["GET /v2/availability"] = Answer(200, answer)
    page = member.sees(f"{FIND}?{query}")
    assert bool(cells(page)) == (f"{BOOK}?start=" in page) == is_shown


def test_each_flavor_has_one_line_even_if_others_have_many_offers(
    member: Visitor, api: Api
) -> None:
    other = dataclasses.replace(FLAVOR, id="22222222-2222-4222-8222-222222222222", name="rare")
    later = FlavorOffer(other, Span(days(3)[2].start, days(6)[5].start), 1)
    api.answers["GET /v2/flavors"] = listing(flavor(), flavor(id=other.id, name="rare"))
    found = Found([offer()] * 3, 4, (), [offer(), later])
    api.answers["GET /v2/offers"] = Answer(200, slot_views.offers(found))
    offers = member.sees(FIND).split('<ol class="offers">')[1].split("</ol>")[0]
    assert re.findall("<strong>(.*?)</strong>", offers) == [FLAVOR.name, "rare"]


def test_way_back_to_the_calendar_keeps_what_was_looked_for(member: Visitor) -> None:
    query = "count=2&hours=5.0&start=2099-12-01&days=30&words=large"
    page = member.sees(f"{FIND}?{query}")
    book = html.unescape(re.findall(rf'href="({BOOK}.*?)"', page)[0])
    sent = member.sends(book, values(check="1", back=query), 200).content.decode()
    for text in (member.sees(book), sent):
        (back,) = re.findall(rf'href="{FIND}\?(.*?)"', text)
        assert set(html.unescape(back).split("&")) >= set(query.split("&"))


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
    (asked,) = [r for r in api.seen if r.line == "GET /v2/availability" and r.query["by"] == "hour"]
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
    answer = member.sends(
        BOOK, values(name="mine", book="1", affinity="different", movable_hours="6")
    )
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
        "movable_hours": 6,
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
