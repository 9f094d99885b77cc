"""Users find, book, change and end reservations in a browser, and an operator runs the service."""

import datetime
import os
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.functional.cloud import world
from tests.functional.cloud.people import Person
from tests.functional.cloud.waiting import until
from tests.functional.dashboard.conftest import URL, local
from tests.functional.dashboard.no_faults import no_serious_faults

Login = Callable[..., Page]
Picture = Callable[[Page, str], None]
FIND = f"{URL}/project/find_reservations/"
MINE = f"{URL}/project/flavor_reservations/"
HOUR = datetime.timedelta(hours=1)
#: A name that no reservation of an earlier run has.
TRAINING = world.unique("Training run")
HOSTILE = "<script>document.title='owned'</script>"


@pytest.fixture(scope="module")
def gpu(offer: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    """A flavor with two slots."""
    return offer("gpu.browser", slots=2, category="browser", max_length_hours=48)


@pytest.mark.short
def test_find_by_clicks_and_book(login: Login, gpu: dict[str, Any], picture: Picture) -> None:
    page = login("alpha")
    # A run that was killed leaves its flavors behind.
    row = page.locator("table.calendar tbody tr").filter(has_text=gpu["name"])
    page.goto(f"{FIND}?category=browser&hours=4")
    expect(page.get_by_role("heading", name="Free instances by day")).to_be_visible()
    picture(page, "find")
    no_serious_faults(page)
    row.locator("td a").nth(2).click()
    expect(page.get_by_role("heading", name="Free instances by hour")).to_be_visible()
    picture(page, "hours")
    row.locator("td a").nth(9).click()
    expect(page.get_by_text("This can be done.")).to_be_visible()
    page.fill("[name=count]", "3")
    expect(page.get_by_text("This can't be done.")).to_be_visible()
    picture(page, "refused")
    page.fill("[name=count]", "1")
    page.fill("[name=name]", HOSTILE)
    expect(page.get_by_text("This can be done.")).to_be_visible()
    picture(page, "book")
    no_serious_faults(page)
    page.get_by_role("button", name="Book", exact=True).click()
    expect(page.get_by_text(re.compile("is booked from"))).to_be_visible()
    expect(page.locator("h2").first).to_have_text(HOSTILE)
    assert "owned" not in page.title().split("<")[0]
    no_serious_faults(page)


@pytest.mark.short
def test_error_is_seen_at_its_field(login: Login, gpu: dict[str, Any], picture: Picture) -> None:
    page = login("alpha")
    page.goto(f"{FIND}book/{gpu['id']}/")
    page.get_by_label("Hours").fill("0")
    # The browser's own checks aren't those of the server.
    page.evaluate("for (const form of document.forms) form.noValidate = true")
    page.get_by_role("button", name="Book", exact=True).click()
    error = page.locator("#field_hours_error")
    expect(error).to_contain_text("A reservation is at least one minute long.")
    expect(error).to_be_visible()
    expect(error).to_be_in_viewport()
    expect(page.get_by_label("Hours")).to_be_focused()
    picture(page, "field-error")
    no_serious_faults(page)


@pytest.mark.short
def test_back_and_book_books_once(
    login: Login, gpu: dict[str, Any], people: dict[str, Person], picture: Picture
) -> None:
    page, start = login("alpha"), world.now() + 40 * HOUR
    page.goto(f"{FIND}book/{gpu['id']}/?start={local(start)}&hours=9")
    page.get_by_label("Hours").fill("2")
    page.get_by_role("button", name="Book", exact=True).click()
    expect(page.get_by_text(re.compile("is booked from"))).to_be_visible()
    booked = page.url
    page.go_back()
    expect(page.get_by_label("Hours")).to_have_value("2")
    page.get_by_role("button", name="Book", exact=True).click()
    expect(page.get_by_text("You have already sent this form")).to_be_visible()
    assert page.url == booked
    page.go_back()
    page.get_by_label("Hours").fill("3")
    page.get_by_role("button", name="Book", exact=True).click()
    expect(page.get_by_text("You have already sent this form with other values")).to_be_visible()
    picture(page, "sent-before")
    no_serious_faults(page)
    page.get_by_role("link", name="See what came of it").click()
    page.wait_for_url(booked)
    listed = people["alpha"].asks("GET", f"/v2/reservations/?flavor_id={gpu['id']}")["results"]
    assert [datetime.datetime.fromisoformat(each["start"]) for each in listed].count(start) == 1


def test_button_after_the_end_of_the_session(login: Login) -> None:
    page = login("alpha")
    page.goto(MINE)
    # Horizon asks for its header later, and the answer would set the session's cookie again.
    page.wait_for_load_state("networkidle")
    # The form's own cookie stays.
    page.context.clear_cookies(name="sessionid")
    page.get_by_role("button", name=re.compile("Turn messages")).click()
    page.fill("#id_username", "alpha")
    page.fill("#id_password", os.environ["OS_PASSWORD"])
    page.click("#loginBtn")
    expect(page.get_by_text("Press the button again.")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("Turn messages"))).to_be_visible()
    assert page.url == MINE


@pytest.mark.short
def test_refused_user_takes_the_proposed_time(
    login: Login, gpu: dict[str, Any], people: dict[str, Person], picture: Picture
) -> None:
    period = world.Period(world.now() + 100 * HOUR, world.now() + 104 * HOUR)
    world.booked(people["beta"], gpu, period, 2)
    page = login("alpha")
    page.goto(f"{FIND}book/{gpu['id']}/?start={local(period.start)}&hours=2")
    expect(page.get_by_text("This can't be done.")).to_be_visible()
    page.get_by_role("link", name=re.compile("^Start at")).click()
    expect(page.get_by_text("This can be done.")).to_be_visible()
    page.get_by_role("button", name="Book", exact=True).click()
    expect(page.get_by_text(re.compile("is booked from"))).to_be_visible()
    # Nothing of another project is visible.
    listed = people["alpha"].asks("GET", f"/v2/reservations/?flavor_id={gpu['id']}")["results"]
    page.goto(MINE)
    rows = page.locator("tbody tr")
    expect(rows.filter(has_text=gpu["name"])).to_have_count(
        len([item for item in listed if item["status"] != "COMPLETE"])
    )


@pytest.mark.short
def test_run_extend_launch_and_give_back(
    login: Login, gpu: dict[str, Any], people: dict[str, Person], picture: Picture
) -> None:
    made = world.booked_now(people["alpha"], gpu, 2, hours=3, name=TRAINING)
    world.becomes(people["alpha"], made, "ACTIVE")
    page = login("alpha")
    page.goto(MINE)
    expect(page.get_by_role("link", name=TRAINING, exact=True)).to_be_visible()
    picture(page, "mine")
    no_serious_faults(page)
    page.set_viewport_size({"width": 400, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") == 400
    row = page.get_by_role("row").filter(has_text=TRAINING)
    button = row.get_by_role("link", name=re.compile("^Extend or change")).bounding_box()
    assert button is not None and button["x"] + button["width"] <= 400
    page.goto(f"{MINE}{made['id']}/change/")
    page.locator("#slider").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("This can be done.")).to_be_visible()
    picture(page, "extend")
    no_serious_faults(page)
    page.get_by_role("button", name="Change", exact=True).click()
    expect(page.get_by_text("The reservation is changed.")).to_be_visible()
    end = datetime.datetime.fromisoformat(world.show(people["alpha"], made)["end"])
    assert end == datetime.datetime.fromisoformat(made["end"]) + HOUR
    page.get_by_role("link", name="Launch a server").click()
    page.fill("[name=name]", "worker")
    page.get_by_role("button", name="Launch a Server").click()
    expect(page.get_by_text("Nova starts the server worker.")).to_be_visible()
    alpha = people["alpha"].cloud.compute
    until(
        "the server",
        lambda: [s for s in alpha.servers() if s.name == "worker" and s.status == "ACTIVE"],
    )
    page.reload()
    expect(page.get_by_role("link", name="worker")).to_be_visible()
    picture(page, "reservation")
    page.get_by_role("link", name="Give back one instance").click()
    page.get_by_role("button", name="Change", exact=True).click()
    expect(page.get_by_text("The reservation is changed.")).to_be_visible()
    page.get_by_role("link", name="End now").click()
    expect(page.get_by_text("worker")).to_be_visible()
    picture(page, "end")
    page.get_by_role("button", name="End it now").click()
    expect(page.get_by_text(re.compile("The reservation is (being )?deleted"))).to_be_visible()


def test_limits_and_usage(login: Login, picture: Picture) -> None:
    page = login("alpha")
    page.goto(f"{URL}/project/reservation_usage/")
    expect(page.get_by_role("heading", name="Limits of your project")).to_be_visible()
    picture(page, "limits")
    no_serious_faults(page)


def test_booking_works_without_javascript(login: Login, gpu: dict[str, Any]) -> None:
    page = login("alpha", java_script_enabled=False)
    page.goto(f"{FIND}?category=browser")
    page.locator(".offers a").first.press("Enter")
    page.fill("[name=hours]", "1")
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_text("This can be done.")).to_be_visible()
    page.get_by_role("button", name="Book", exact=True).click()
    expect(page.get_by_text(re.compile("is booked from"))).to_be_visible()


@pytest.mark.short
def test_beta_sees_nothing_of_alpha(
    login: Login, gpu: dict[str, Any], people: dict[str, Person]
) -> None:
    period = world.Period(world.now() + 20 * HOUR, world.now() + 21 * HOUR)
    made = world.booked(people["alpha"], gpu, period)
    page = login("beta")
    answer = page.goto(f"{MINE}{made['id']}/")
    assert answer is not None and answer.status == 404
    answer = page.goto(f"{URL}/admin/all_flavor_reservations/")
    assert answer is not None and answer.status in (302, 403, 404)
    expect(page.get_by_text(made["id"])).to_have_count(0)


def test_operator_makes_a_private_flavor_and_grants_it(
    login: Login, people: dict[str, Person], picture: Picture
) -> None:
    page = login("admin")
    page.goto(f"{URL}/admin/reservable_flavors/create/")
    name = world.unique("private")
    for field, value in (("name", name), ("vcpu", "1"), ("memory_mb", "128"), ("disk_gb", "1")):
        page.fill(f"[name={field}]", value)
    page.fill("[name=slots]", "1")
    page.uncheck("[name=is_public]")
    no_serious_faults(page)
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_text("The flavor is made.")).to_be_visible()
    assert people["beta"].ask("GET", f"/v2/flavors/{name}/").status_code == 404
    page.select_option("#project", label="beta")
    page.get_by_role("button", name="Let it book the flavor").click()
    expect(page.get_by_text("The project may book the flavor now.")).to_be_visible()
    assert people["beta"].ask("GET", f"/v2/flavors/{name}/").status_code == 200
    picture(page, "admin-flavor")
    no_serious_faults(page)
    page.get_by_role("link", name="Revoke beta").click()
    expect(page.get_by_text(f"Let beta no longer book {name}?")).to_be_visible()
    no_serious_faults(page)
    page.get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("The project can't book the flavor any more.")).to_be_visible()
    assert people["beta"].ask("GET", f"/v2/flavors/{name}/").status_code == 404
    page.get_by_role("link", name="Delete").click()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("The flavor is deleted.")).to_be_visible()


def test_field_for_a_time_keeps_what_was_typed(login: Login, gpu: dict[str, Any]) -> None:
    page = login("alpha")
    page.goto(f"{FIND}book/{gpu['id']}/?hours=2")
    wanted = local(world.now() + 30 * HOUR)
    page.click("[name=start]")
    page.fill("[name=start]", wanted)
    page.click("[name=hours]")
    expect(page.locator("[name=start]")).to_have_value(wanted)
    expect(page.locator(".datepicker:visible")).to_have_count(0)


def test_operator_sees_whom_a_window_meets(
    login: Login, gpu: dict[str, Any], people: dict[str, Person], picture: Picture
) -> None:
    period = world.Period(world.now() + 200 * HOUR, world.now() + 204 * HOUR)
    made = world.booked(people["beta"], gpu, period)
    page = login("admin")
    page.goto(f"{URL}/admin/maintenance_windows/create/")
    page.fill("[name=start]", local(period.start))
    page.fill("[name=end]", local(period.end))
    page.get_by_label(gpu["name"], exact=True).check()
    page.select_option("[name=bookings]", "move")
    page.get_by_role("button", name="Show whom it meets").click()
    link = page.locator(f"a[href$='/{made['id']}/']")
    expect(link).to_be_visible()
    expect(page.get_by_role("row").filter(has=link)).to_contain_text("stays: ")
    picture(page, "admin-window")
    no_serious_faults(page)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("reservable_flavors/", "admin-flavors"),
        ("maintenance_windows/", "admin-windows"),
        ("all_flavor_reservations/", "admin-reservations"),
        ("all_flavor_reservations/?show=idle", "admin-idle"),
        ("reservation_plan/", "admin-plan"),
        ("reservation_plan/?by=flavor&days=14", "admin-plan-flavors"),
        ("all_reservation_usage/", "admin-usage"),
        ("reservation_quotas/", "admin-quotas"),
        ("refused_requests/", "admin-refusals"),
        ("reservation_audit/", "admin-audit"),
    ],
)
def test_operators_page_is_shown(
    path: str, name: str, login: Login, gpu: dict[str, Any], picture: Picture
) -> None:
    page = login("admin")
    answer = page.goto(f"{URL}/admin/{path}")
    assert answer is not None and answer.status == 200
    picture(page, name)
    no_serious_faults(page)
