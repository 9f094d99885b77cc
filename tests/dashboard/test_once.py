"""Forms that are carried out only once, also if the browser's Back button brings them back."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.dashboard import site
from tests.dashboard.conftest import Visitor
from tests.fakes.service import Answer, Request
from tests.unit.cli.fake_api import FLAVOR, Api, error, foreseen, reservation, wait
from warre_blazar.dashboard import once, pages

BOOK = f"/project/find_reservations/book/{FLAVOR.id}/"
BOOKED = f"/project/flavor_reservations/{site.RESERVATION}/"
WAITS = "/project/reservation_waits/"
VALUES = {"start": "2099-12-01T09:00", "hours": "2", "count": "1", "book": "1"}
OTHER = {**VALUES, "hours": "3"}
REFUSED = ("slots_exhausted", "all are taken", {})


@pytest.fixture(autouse=True)
def answers(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """The API has room for one instance, but not for two."""
    site.fill(api, monkeypatch)
    others = api.answer

    def answer(request: Request) -> Answer:
        if request.line != "POST /v2/reservations":
            return others(request)
        is_refused = request.body["instance_count"] > 1
        if "dry_run" in request.query:
            return foreseen(REFUSED) if is_refused else foreseen()
        return error(400, *reversed(REFUSED[:2])) if is_refused else Answer(200, reservation())

    monkeypatch.setattr(api, "answer", answer)


def keys(api: Api) -> list[str]:
    """The idempotency keys of all requests that create something."""
    made = [each for each in api.seen if each.method == "POST" and "dry_run" not in each.query]
    return [each.headers["idempotency-key"] for each in made]


def key_of(page: str) -> str:
    return site.hidden(page)[once.FIELD]


def test_each_form_that_makes_something_has_a_key_of_its_own(operator: Visitor) -> None:
    forms = [(path, view) for path, view in site.pages() if issubclass(view, pages.FormView)]
    making = [path for path, view in forms if view.only_once]
    assert {BOOK, f"{WAITS}create/"} < set(making) and len(making) >= 7
    found = [key_of(operator.sees(path)) for path in making * 2]
    assert len(set(found)) == len(found)
    for path, view in forms:
        assert view.only_once or once.FIELD not in operator.sees(path)


def test_second_sending_leads_to_what_the_first_has_made(member: Visitor, api: Api) -> None:
    values = {**VALUES, once.FIELD: key_of(member.sees(BOOK))}
    for _ in range(2):
        assert member.sends(BOOK, values)["Location"] == BOOKED
    assert len(keys(api)) == 1
    assert "You have already sent this form" in member.sees(BOOKED)


def test_forms_that_are_sent_at_the_same_moment_have_the_same_key(
    member: Visitor, api: Api
) -> None:
    values = {**VALUES, once.FIELD: key_of(member.sees(BOOK))}
    for _ in range(2):
        # The answer to the first one, with its cookies, has not arrived.
        member.browser.cookies.clear()
        assert member.sends(BOOK, values)["Location"] == BOOKED
    assert len(keys(api)) == 2 and len(set(keys(api))) == 1


def test_other_values_are_booked_only_if_they_are_sent_again(member: Visitor, api: Api) -> None:
    key = key_of(member.sees(BOOK))
    member.sends(BOOK, {**VALUES, once.FIELD: key})
    page = member.sends(BOOK, {**OTHER, once.FIELD: key}, 200).content.decode()
    assert "You have already sent this form with other values." in page
    assert f'href="{BOOKED}"' in site.ours(page) and 'value="3"' in page
    assert "This can be done." in page and "alert-danger" not in site.ours(page)
    assert len(keys(api)) == 1
    member.sends(BOOK, {**OTHER, once.FIELD: key_of(page)})
    assert len(set(keys(api))) == 2


def test_form_that_was_refused_can_be_changed_and_sent(member: Visitor, api: Api) -> None:
    key = key_of(member.sees(BOOK))
    page = member.sends(BOOK, {**VALUES, "count": "2", once.FIELD: key}, 200).content.decode()
    assert "all are taken" in page and key_of(page) != key
    # Back leads to the first page and its key.
    assert member.sends(BOOK, {**VALUES, once.FIELD: key})["Location"] == BOOKED
    assert len(set(keys(api))) == 2


def test_check_is_no_sending(member: Visitor, api: Api) -> None:
    key = key_of(member.sees(BOOK))
    member.sends(BOOK, {**VALUES, once.FIELD: key})
    for values in (VALUES, OTHER):
        answer = member.sends(BOOK, {**values, "check": "1", once.FIELD: key}, 200)
        assert "already sent" not in answer.content.decode()


def test_key_that_the_api_knows_with_another_request(member: Visitor, api: Api) -> None:
    """The start of the form is empty, so what it asks for has changed after a minute."""
    api.answers["POST /v2/waits"] = [
        error(422, "this key was sent with another request", "idempotency_key_reused"),
        Answer(201, wait()),
    ]
    values = {"what": f"flavor:{FLAVOR.id}", "hours": "24", "count": "2", "mode": "book"}
    key = key_of(member.sees(f"{WAITS}create/"))
    page = member.sends(f"{WAITS}create/", {**values, once.FIELD: key}, 200).content.decode()
    assert "may have been carried out" in page
    member.sends(f"{WAITS}create/", {**values, once.FIELD: key_of(page)})


def test_server_is_launched_once(
    member: Visitor, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nova knows no keys."""
    running = Answer(200, reservation(status="ACTIVE"))
    api.answers[f"GET /v2/reservations/{site.RESERVATION}"] = running
    launched = []
    create = "openstack_dashboard.api.nova.server_create"
    monkeypatch.setattr(create, lambda _request, name, *_, **__: launched.append(name))
    path = f"{BOOKED}launch/"
    values = {
        "name": "worker",
        "image": "1",
        "network": "1",
        "count": "1",
        **site.hidden(member.sees(path)),
    }
    for _ in range(2):
        assert member.sends(path, values)["Location"] == BOOKED
    assert launched == ["worker"]


def test_response_to_an_earlier_request_takes_nothing_away(member: Visitor) -> None:
    """Horizon sets the cookie of the session with every response, as it was at the request."""
    values = {**VALUES, once.FIELD: key_of(member.sees(BOOK))}
    session = member.browser.cookies["sessionid"].value
    member.sends(BOOK, values)
    member.browser.cookies["sessionid"] = session
    member.sends(BOOK, values)
    assert "You have already sent this form" in member.sees(BOOKED)


def test_no_more_than_a_few_keys_are_remembered(member: Visitor) -> None:
    sent = [{**VALUES, once.FIELD: once.new_key()} for _ in range(12)]
    for values in sent:
        member.sends(BOOK, values)
    cookie = member.browser.cookies[once.COOKIE]
    assert [each[once.FIELD] in cookie.value for each in sent] == [False] * 2 + [True] * 10
    # Browsers keep no larger one.
    assert len(cookie.OutputString()) < 4096
    member.sends(BOOK, {**sent[-1], "hours": "9"}, 200)


@pytest.mark.parametrize("forged", ["", "[]", "nonsense", '[["key", "values", "http://evil"]]:1'])
def test_forged_cookie_is_ignored(member: Visitor, api: Api, forged: str) -> None:
    values = {**VALUES, once.FIELD: key_of(member.sees(BOOK))}
    member.browser.cookies[once.COOKIE] = forged
    assert member.sends(BOOK, values)["Location"] == BOOKED
    assert len(keys(api)) == 1


def panel(page: Page) -> Any:
    return page.locator("section").filter(has=page.get_by_role("heading", name="What the booking"))


def test_back_and_book_books_once(member: Visitor, api: Api, page: Page) -> None:
    page.goto(f"{BOOK}?hours=24&count=2")
    expect(panel(page).get_by_text("This can't be done.")).to_be_visible()
    page.get_by_label("Hours").fill("2")
    page.get_by_label("Instances").last.fill("1")
    expect(panel(page).get_by_text("This can be done.")).to_be_visible()
    page.get_by_role("button", name="Book", exact=True).click()
    page.wait_for_url(f"**{BOOKED}")
    for _ in range(2):
        page.go_back()
        expect(page.get_by_label("Hours")).to_have_value("2")
        # The panel speaks of what is in the form, not of what the address says.
        expect(panel(page).get_by_text("This can be done.")).to_be_visible()
        page.get_by_role("button", name="Book", exact=True).click()
        page.wait_for_url(f"**{BOOKED}")
        expect(page.get_by_text("You have already sent this form")).to_be_visible()
    assert len(keys(api)) == 1
    page.go_back()
    page.get_by_label("Hours").fill("3")
    page.get_by_role("button", name="Book", exact=True).click()
    expect(page.get_by_text("You have already sent this form with other values.")).to_be_visible()
    expect(page.get_by_role("link", name="See what came of it.")).to_be_visible()
    assert len(keys(api)) == 1
    page.get_by_role("button", name="Book", exact=True).click()
    page.wait_for_url(f"**{BOOKED}")
    assert len(set(keys(api))) == 2


def test_form_that_is_opened_anew_is_another(member: Visitor, api: Api, page: Page) -> None:
    for number in (1, 2):
        page.goto(f"{BOOK}?hours=2&count=1")
        page.get_by_role("button", name="Book", exact=True).click()
        page.wait_for_url(f"**{BOOKED}")
        assert len(set(keys(api))) == number
