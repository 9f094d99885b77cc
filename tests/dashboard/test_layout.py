"""How pages look in a browser: with long names, on narrow screens, and by keyboard."""

import datetime
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.dashboard import site, test_find
from tests.dashboard.conftest import Visitor
from tests.fakes.service import Answer
from tests.unit.cli.fake_api import FLAVOR, Api, foreseen, listing, reservation, series

FIND = test_find.FIND
#: The length of the longest text that the API allows in each of these fields.
LONGEST = {"name": 64, "note": 255, "description": 255, "status_reason": 255, "category": 64}
#: Pages without a layout: files and buttons.
_OTHERS = ("/calendar.ics", "/messages/", "/zone/", "/revoke/", "/access/")


@pytest.fixture(autouse=True)
def answers(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    site.fill(api, monkeypatch)
    api.answers["GET /v2/availability"] = test_find.available(*[2, 0, 1] * 5, flavors=3)
    api.answers["GET /v2/offers"] = test_find.found(test_find.offer())
    api.answers["GET /v2/reservations"] = Answer(
        200, {"results": [reservation(), reservation(status="ACTIVE")], "total": 2}
    )


def with_long_texts(value: Any) -> Any:
    """An answer of the API in which each text is as long as it may be, without a blank."""
    if isinstance(value, list):
        return [with_long_texts(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: "w" * LONGEST[key] if key in LONGEST else with_long_texts(each)
        for key, each in value.items()
    }


def test_no_page_is_wider_than_the_window(operator: Visitor, page: Page, api: Api) -> None:
    api.answers |= {
        line: Answer(answer.status, with_long_texts(answer.body))
        for line, answer in api.answers.items()
        if isinstance(answer, Answer)
    }
    too_wide = {}
    for path, _view in site.pages():
        if path.endswith(_OTHERS):
            continue
        page.goto(path)
        # Loading a page takes a second, and another width next to nothing.
        for width in (400, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            wide = page.evaluate("document.documentElement.scrollWidth")
            if wide > width:
                too_wide[path, width] = wide
    assert not too_wide, "\n".join(map(str, too_wide.items()))


def test_calendar_shows_the_names_of_flavors_on_a_narrow_screen(
    member: Visitor, page: Page
) -> None:
    page.set_viewport_size({"width": 400, "height": 900})
    page.goto(FIND)
    name = page.locator(".calendar tbody th").nth(0).bounding_box()
    assert name is not None and 96 <= name["width"] <= 140


#: The words in the tables of a page that are on several lines.
BROKEN = """() => {
  const found = [];
  document.querySelectorAll(".flavor-reservations .table :is(th, td)").forEach(cell => {
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const text = texts.currentNode;
      for (const word of text.data.matchAll(/[^\\s/-]+/g)) {
        const range = document.createRange();
        range.setStart(text, word.index);
        range.setEnd(text, word.index + word[0].length);
        const lines = new Set(Array.from(range.getClientRects(), part => part.top));
        if (lines.size > 1 && !text.parentNode.closest(".sr-only")) found.push(word[0]);
      }
    }
  });
  return found;
}"""


def test_tables_break_no_word(member: Visitor, page: Page, api: Api) -> None:
    named = {"id": FLAVOR.id, "name": "course.gpu"}
    long = series(name="Name " * 51, flavor=named)
    api.answers["GET /v2/series"] = listing(long, series(timezone="Australia/Melbourne"))
    held = reservation(status="ACTIVE")
    held["flavor"] = {**held["flavor"], "name": "course.gpu"}
    api.answers["GET /v2/reservations"] = listing(held)
    own = "/project/flavor_reservations/"
    for path in (own, f"{own}calendars/", "/project/reservation_series/"):
        page.goto(path)
        assert page.evaluate(BROKEN) == [], path
    assert page.get_by_role("link", name="Name Name").inner_text() == f"{'Name ' * 8}"[:39] + "…"


# By keyboard.


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.textContent.trim()"))


def test_calendar_is_one_stop_of_the_tab_key(member: Visitor, page: Page) -> None:
    page.goto(FIND)
    page.get_by_role("button", name="Find", exact=True).focus()
    stops = 0
    while not focused(page).startswith("Book"):
        page.keyboard.press("Tab")
        stops += 1
        assert stops < 20


def test_arrow_keys_lead_through_the_calendar(member: Visitor, page: Page) -> None:
    page.goto(FIND)
    cells = page.locator(".calendar tbody tr").nth(0).locator("a")
    cells.nth(0).focus()
    for key, row, column in (
        *(("ArrowRight", 0, 1), ("ArrowDown", 1, 1), ("End", 1, 14), ("ArrowRight", 1, 14)),
        *(("Home", 1, 0), ("ArrowUp", 0, 0), ("ArrowUp", 0, 0)),
    ):
        page.keyboard.press(key)
        cell = page.locator(".calendar tbody tr").nth(row).locator("a").nth(column)
        expect(cell).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Back to the days")).to_be_visible()


# While a form is filled in.


def test_verdict_about_other_values_says_so(member: Visitor, page: Page) -> None:
    page.goto(f"{test_find.BOOK}?hours=2")
    old = page.get_by_text("Not checked yet.")
    expect(page.get_by_text("This can be done.")).to_be_visible()
    expect(old).to_be_hidden()
    page.route("**/book/**", lambda route: route.abort())
    with page.expect_event("requestfailed"):
        page.get_by_label("Hours").fill("3")
        expect(old).to_be_visible()
    expect(old).to_be_visible()
    page.unroute("**/book/**")
    page.get_by_label("Hours").fill("4")
    expect(old).to_be_hidden()


def test_proposal_keeps_what_was_typed(member: Visitor, page: Page, api: Api) -> None:
    refusal = ("slots_exhausted", "No capacity", {"asked": 1})
    later = datetime.datetime(2099, 12, 1, 10)
    api.answers["POST /v2/reservations"] = foreseen(refusal, next_start=later)
    page.goto(f"{test_find.BOOK}?hours=2&start=2099-12-01T09:00")
    name = page.get_by_label("Name")
    page.get_by_role("link", name="Start at").wait_for()
    # The form isn't checked again before the click.
    page.evaluate("document.querySelector('[name=name]').value = 'training'")
    page.get_by_role("link", name="Start at").click()
    page.wait_for_url("**10%3A00**")
    expect(name).to_have_value("training")


def test_slider_follows_an_end_that_is_typed(member: Visitor, page: Page) -> None:
    page.goto(f"/project/flavor_reservations/{site.RESERVATION}/change/")
    shown = page.locator("output")
    expect(shown).to_have_text("0")
    page.get_by_label("End").fill("2026-12-01T09:30")
    expect(shown).to_have_text("-1.5")
    page.get_by_label("End").fill("2026-12-02T12:00")
    expect(shown).to_have_text("+25")


def test_zone_of_the_computer_is_one_click_away(
    member: Visitor, browser: Browser, context: BrowserContext, page: Page
) -> None:
    page.goto(FIND)
    here = page.url.split("/project")[0]
    abroad = browser.new_context(base_url=here, timezone_id="Australia/Melbourne")
    visit = abroad.new_page()
    visit.goto(f"{test_find.BOOK}?hours=2")
    visit.get_by_label("Name").fill("training")
    visit.get_by_role("button", name="Australia/Melbourne").click()
    expect(visit.get_by_text("Times are in the zone Australia/Melbourne.")).to_be_visible()
    expect(visit.get_by_role("button", name="Australia/Melbourne")).to_be_hidden()
    expect(visit.get_by_label("Name")).to_have_value("training")
    expect(visit.get_by_label("Hours")).to_have_value("2")
    abroad.close()


@pytest.mark.parametrize(
    ("chosen", "then"), [("UTC", "Australia/Melbourne"), ("Asia/Tokyo", "Asia/Tokyo")]
)
def test_start_of_a_series_follows_the_zone_unless_another_was_chosen(
    chosen: str, then: str, member: Visitor, browser: Browser, context: BrowserContext, page: Page
) -> None:
    page.goto(FIND)
    here = page.url.split("/project")[0]
    abroad = browser.new_context(base_url=here, timezone_id="Australia/Melbourne")
    visit = abroad.new_page()
    visit.goto("/project/reservation_series/create/?timezone=UTC")
    zone = visit.get_by_label("Time zone of the start")
    zone.select_option(chosen)
    visit.get_by_role("button", name="Australia/Melbourne").click()
    expect(visit.get_by_text("Times are in the zone Australia/Melbourne.")).to_be_visible()
    expect(zone).to_have_value(then)
    abroad.close()


@pytest.mark.parametrize(
    ("zone", "back", "where", "is_set"),
    [
        ("Asia/Tokyo", f"{FIND}?days=30", f"{FIND}?days=30", True),
        (
            "Asia/Tokyo",
            f"{FIND}?start=2099-12-01T09:00&days=7",
            f"{FIND}?start=2099-12-01T18%3A00&days=7",
            True,
        ),
        ("Asia/Tokyo", f"{FIND}?start=2099-12-01", f"{FIND}?start=2099-12-01", True),
        ("Asia/Tokyo", f"{FIND}?end=9999-12-31T23:59", f"{FIND}?end=9999-12-31T23%3A59", True),
        (
            "Asia/Tokyo",
            "/x/?timezone=UTC&start=2099-12-01T09:00",
            "/x/?timezone=UTC&start=2099-12-01T09%3A00",
            True,
        ),
        ("Asia/Tokyo", "https://elsewhere.example/", FIND, True),
        ("Nowhere/At/All", FIND, FIND, False),
    ],
)
def test_zone_switch(zone: str, back: str, where: str, is_set: bool, member: Visitor) -> None:
    answer = member.sends(f"{FIND}zone/", {"zone": zone, "next": back})
    assert answer["Location"] == where
    assert ("django_timezone" in answer.cookies) == is_set
