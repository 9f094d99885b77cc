"""Users wait for room, and book series, in a browser."""

import datetime
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
WAITS = f"{URL}/project/reservation_waits/"
SERIES = f"{URL}/project/reservation_series/"
HOUR = datetime.timedelta(hours=1)
DAY = datetime.timedelta(days=1)
HOSTILE = "<script>document.title='owned'</script>"


@pytest.fixture(scope="module")
def single(offer: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    """A flavor with one slot."""
    return offer("gpu.single", slots=1, category="waiting", max_length_hours=72)


def taken(who: Person, flavor: dict[str, Any]) -> dict[str, Any]:
    """Book all of a flavor for the next days."""
    start = world.now() + 2 * HOUR
    return world.booked(who, flavor, world.Period(start, start + 70 * HOUR))


def test_wait_and_be_booked_when_room_appears(
    login: Login, single: dict[str, Any], people: dict[str, Person], picture: Picture
) -> None:
    beta = taken(people["beta"], single)
    start = world.now() + 5 * HOUR
    page = login("alpha")
    page.goto(f"{FIND}book/{single['id']}/?start={local(start)}&hours=4")
    expect(page.get_by_text("This can't be done.")).to_be_visible()
    page.get_by_role("link", name="Wait for exactly this time").click()
    expect(page.locator("[name=what]")).to_have_value(f"flavor:{single['id']}")
    expect(page.get_by_label("Not before")).to_have_value(local(start))
    expect(page.get_by_label("Done by")).to_have_value(local(start + 4 * HOUR))
    page.fill("[name=name]", HOSTILE)
    picture(page, "wait-form")
    no_serious_faults(page)
    page.get_by_role("button", name="Wait", exact=True).click()
    expect(page.locator("h2").first).to_have_text(HOSTILE)
    expect(page.locator("dt", has_text="Position in line")).to_be_visible()
    assert "owned" not in page.title().split("<")[0]
    picture(page, "wait")
    no_serious_faults(page)
    page.goto(WAITS)
    expect(page.get_by_role("link", name=HOSTILE)).to_be_visible()
    picture(page, "waits")
    no_serious_faults(page)
    page.get_by_role("link", name=HOSTILE).click()
    world.delete_lease(people["admin"], beta["lease_id"])
    shown = page.get_by_role("link", name="Show the reservation")

    def is_booked() -> bool:
        page.reload()
        return shown.count() > 0

    until("the wait is booked", is_booked)
    picture(page, "wait-booked")
    shown.click()
    expect(page.locator("h2").first).to_have_text(HOSTILE)
    expect(page.get_by_text("booked", exact=True)).to_be_visible()
    page.goto(f"{WAITS}?part=over")
    expect(page.get_by_role("row").filter(has_text=single["name"])).to_contain_text("booked")


def test_what_is_never_free_is_waited_for_from_the_calendar_and_canceled(
    login: Login, offer: Callable[..., dict[str, Any]], people: dict[str, Person]
) -> None:
    end = (world.now() + 60 * HOUR).isoformat()
    flavor = offer("gpu.full", slots=1, category="full", max_length_hours=72, end=end)
    start = world.now() + HOUR
    world.booked(people["beta"], flavor, world.Period(start, world.now() + 59 * HOUR))
    page = login("alpha")
    page.goto(f"{FIND}?category=full&hours=4")
    page.get_by_role("link", name=f"Wait for it {flavor['name']}").click()
    page.select_option("[name=mode]", "tell")
    page.get_by_role("button", name="Wait", exact=True).click()
    expect(page.get_by_text("kept for your project for ten minutes")).to_be_visible()
    page.get_by_role("link", name="Cancel the wait").click()
    page.get_by_role("button", name="Cancel the wait").click()
    expect(page.get_by_text("The wait is canceled.")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text=flavor["name"])).to_have_count(0)


@pytest.fixture(scope="module")
def course(offer: Callable[..., dict[str, Any]], people: dict[str, Person]) -> dict[str, Any]:
    """A flavor whose only slot is taken at noon in two days."""
    flavor = offer("gpu.course", slots=1, category="course", max_length_hours=24)
    noon = at_noon(2)
    world.booked(people["beta"], flavor, world.Period(noon - HOUR, noon + HOUR))
    return flavor


def at_noon(days: int) -> datetime.datetime:
    return world.now().replace(hour=12, minute=0, second=0, microsecond=0) + days * DAY


def test_series_is_booked_and_one_reservation_dropped(
    login: Login, course: dict[str, Any], picture: Picture
) -> None:
    page = login("alpha")
    page.goto(f"{FIND}book/{course['id']}/?start={local(at_noon(1))}&hours=2")
    page.get_by_role("link", name="Book it regularly").click()
    expect(page.locator("[name=start]")).to_have_value(local(at_noon(1)))
    page.select_option("[name=repeat]", "daily")
    page.fill("[name=name]", HOSTILE)
    page.fill("[name=times]", "3")
    expect(page.get_by_text("This can be done, except for 1 reservation.")).to_be_visible()
    expect(page.locator("#verdict tbody tr")).to_have_count(3)
    picture(page, "series-form")
    no_serious_faults(page)
    page.get_by_role("button", name="Book the series").click()
    # Not all of them can be booked, so the page asks.
    page.get_by_role("button", name="Book 2 of 3").click()
    expect(page.get_by_text("The series is booked.")).to_be_visible()
    expect(page.get_by_text("1 reservation couldn't be booked")).to_be_visible()
    expect(page.locator("h2").first).to_have_text(HOSTILE)
    assert "owned" not in page.title().split("<")[0]
    booked = page.get_by_role("region", name="Reservations", exact=True)
    rows = booked.locator("tbody tr")
    expect(rows).to_have_count(2)
    picture(page, "series")
    no_serious_faults(page)
    page.get_by_role("link", name=re.compile("^Drop")).first.click()
    expect(page.get_by_text("The others stay.")).to_be_visible()
    page.get_by_role("button", name="Drop it").click()
    expect(page.get_by_text("The reservation is dropped from the series.")).to_be_visible()
    expect(rows).to_have_count(1)
    page.get_by_role("link", name="End the series").click()
    page.get_by_role("button", name="End the series").click()
    expect(page.get_by_text(re.compile("The series is (being )?ended"))).to_be_visible()
    page.goto(SERIES)
    expect(page.get_by_role("link", name=HOSTILE).first).to_be_visible()
    picture(page, "all-series")
    no_serious_faults(page)


def test_waits_and_series_work_without_javascript(login: Login, course: dict[str, Any]) -> None:
    page = login("alpha", java_script_enabled=False)
    page.goto(f"{SERIES}create/?flavor={course['id']}&start={local(at_noon(10))}")
    page.fill("[name=times]", "2")
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_text("This can be done.")).to_be_visible()
    page.get_by_role("button", name="Book the series").click()
    expect(page.get_by_text("The series is booked.")).to_be_visible()
    page.goto(f"{WAITS}create/?what=flavor:{course['id']}&hours=24")
    page.fill("[name=earliest]", local(at_noon(2) - 12 * HOUR))
    page.fill("[name=latest]", local(at_noon(2) + 12 * HOUR))
    page.get_by_role("button", name="Wait", exact=True).click()
    expect(page.get_by_text(re.compile("You wait for"))).to_be_visible()
