"""What people see of the errors in their forms, with Horizon's scripts."""

import pytest
from playwright.sync_api import Page, expect

from tests.dashboard import site
from tests.dashboard.conftest import Visitor
from tests.unit.cli.fake_api import FLAVOR, Api
from warre_blazar.dashboard import pages

PROJECT, ADMIN = "/project", "/admin"
TOO_SMALL = "Ensure this value is greater than or equal to"
TOO_SHORT = "A reservation is at least one minute long."
REQUIRED = "This field is required."
SPECS = "foo has no value after a =."


#: The address of each form, what is typed at a label, the button, and the error.
FORMS = [
    (f"{PROJECT}/find_reservations/book/{FLAVOR.id}/", "Hours", "0", "Book", TOO_SHORT),
    (f"{PROJECT}/reservation_series/create/", "Hours", "0", "Book the series", REQUIRED),
    (
        f"{PROJECT}/reservation_series/{site.SERIES}/extend/",
        *("Further reservations", "0", "Extend", TOO_SMALL),
    ),
    (f"{PROJECT}/reservation_waits/create/", "Hours", "0", "Wait", TOO_SHORT),
    (
        f"{PROJECT}/flavor_reservations/{site.RESERVATION}/change/",
        *("Instances", "0", "Change", TOO_SMALL),
    ),
    (
        f"{ADMIN}/all_flavor_reservations/{site.RESERVATION}/change/",
        *("Instances", "0", "Change", TOO_SMALL),
    ),
    (f"{PROJECT}/flavor_reservations/calendars/", "Name", "", "Make an address", REQUIRED),
    (
        f"{PROJECT}/flavor_reservations/{site.RESERVATION}/share/",
        *("Id of a project", "", "Let it boot servers", REQUIRED),
    ),
    (
        f"{PROJECT}/flavor_reservations/{site.RESERVATION}/launch/",
        *("Name", "", "Launch a Server", REQUIRED),
    ),
    (f"{ADMIN}/reservable_flavors/create/", "Extra specs", "foo", "Create", REQUIRED),
    (f"{ADMIN}/reservable_flavors/{FLAVOR.id}/edit/", "Extra specs", "foo", "Change", SPECS),
    (f"{ADMIN}/maintenance_windows/create/", "Reason", "disks", "Save", REQUIRED),
    (f"{ADMIN}/maintenance_windows/{site.WINDOW['id']}/edit/", "Start", "", "Save", REQUIRED),
    (f"{ADMIN}/all_reservation_usage/", "To", "2001-01-01", "Show", "This day is before"),
    (f"{ADMIN}/reservation_plan/", "From", "", "Show", REQUIRED),
]


@pytest.fixture(autouse=True)
def answers(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    site.fill(api, monkeypatch)


def sees_error(page: Page, text: str) -> None:
    """Check that the field that has the focus has an error, and that both are in sight."""
    focused = page.locator(":focus")
    expect(focused).to_be_in_viewport()
    described = (focused.get_attribute("aria-describedby") or "nothing").split()
    error = page.locator(",".join(f"#{each}" for each in described)).filter(has_text=text)
    expect(error).to_be_visible()
    expect(error).to_be_in_viewport()


def test_each_form_that_can_be_invalid_is_tried() -> None:
    forms = {path: view for path, view in site.pages() if issubclass(view, pages.FormView)}
    left = forms.keys() - {path for path, *_ in FORMS}
    assert {name for path in left for name in forms[path].form_class.base_fields} == {"running"}


@pytest.mark.parametrize(("path", "label", "value", "button", "text"), FORMS)
def test_error_is_seen_at_its_field(
    path: str, label: str, value: str, button: str, text: str, operator: Visitor, page: Page
) -> None:
    page.goto(path)
    page.get_by_label(label).first.fill(value)
    # The browser's own checks aren't those of the server.
    page.evaluate("for (const form of document.forms) form.noValidate = true")
    page.get_by_role("button", name=button, exact=True).click()
    sees_error(page, text)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (f"{PROJECT}/find_reservations/?count=0", TOO_SMALL),
        (f"{PROJECT}/find_reservations/book/{FLAVOR.id}/?hours=0", TOO_SHORT),
        (f"{ADMIN}/all_flavor_reservations/?flavor=none", "Select a valid choice."),
    ],
)
def test_error_in_an_address_is_seen_at_its_field(
    path: str, text: str, operator: Visitor, page: Page
) -> None:
    page.goto(path)
    sees_error(page, text)


def test_error_far_below_is_seen(operator: Visitor, page: Page) -> None:
    page.goto(f"{PROJECT}/reservation_series/create/")
    page.set_viewport_size({"width": 400, "height": 500})
    page.get_by_label("First start").fill("2099-12-01T09:00")
    page.get_by_label("Repeat").select_option("by my own rule")
    page.get_by_role("button", name="Book the series").click()
    sees_error(page, "Write the rule, or choose how it repeats.")
