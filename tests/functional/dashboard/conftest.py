"""Fixtures for the tests of the pages in a real browser, on a dev cloud that runs Horizon."""

import datetime
import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.dashboard import chromium
from tests.functional.cloud import world
from tests.functional.cloud.people import Person

#: The address of Horizon.
URL = os.environ.get("WARRE_DASHBOARD_URL", "http://127.0.0.1:28080")
#: Where screenshots go. Without it, none are made.
PICTURES = os.environ.get("WARRE_DASHBOARD_PICTURES")
#: Milliseconds. On a busy machine, Horizon takes long for its first pages.
_TIMEOUT = 60_000
expect.set_options(timeout=_TIMEOUT)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium."""
    with chromium.started() as browser:
        yield browser


@pytest.fixture(scope="session")
def people() -> dict[str, Person]:
    """The users, as they send requests without a browser."""
    return {name: Person(name) for name in ("admin", "alpha", "beta")}


@pytest.fixture(scope="session")
def login(browser: Browser) -> Callable[..., Page]:
    """A function that returns the page of a user who has logged in."""
    states: dict[str, Any] = {}

    def log_in(name: str, **options: Any) -> Page:
        if name not in states:
            context = browser.new_context()
            page = context.new_page()
            page.set_default_timeout(_TIMEOUT)
            page.goto(f"{URL}/auth/login/")
            page.fill("#id_username", name)
            page.fill("#id_password", os.environ["OS_PASSWORD"])
            page.click("#loginBtn")
            page.wait_for_url(lambda url: "login" not in url)
            states[name] = context.storage_state()
            context.close()
        made = browser.new_context(
            storage_state=states[name], viewport={"width": 1280, "height": 900}, **options
        )
        page = made.new_page()
        page.set_default_timeout(_TIMEOUT)
        return page

    return log_in


@pytest.fixture(scope="module")
def offer(people: dict[str, Person]) -> Iterator[Callable[..., dict[str, Any]]]:
    """A function that makes a flavor. It and its reservations are deleted after the module."""
    made = []

    def create(name: str, **values: Any) -> dict[str, Any]:
        body = world.flavor_body(name=f"{name}-{uuid.uuid4().hex[:4]}", **values)
        made.append(people["admin"].asks("POST", "/v2/flavors/", body, want=202))
        return made[-1]

    yield create
    admin = people["admin"]
    for flavor in made:
        query = f"/v2/reservations/?all_projects=true&flavor_id={flavor['id']}"
        for lease in {item["lease_id"] for item in admin.asks("GET", query)["results"]}:
            world.delete_lease(admin, lease)
        admin.ask("DELETE", f"/v2/flavors/{flavor['id']}/")


@pytest.fixture
def picture() -> Callable[[Page, str], None]:
    """A function that makes screenshots of a page: wide and narrow, light and dark."""

    def take(page: Page, name: str) -> None:
        if not PICTURES:
            return
        Path(PICTURES).mkdir(parents=True, exist_ok=True)
        for width, scheme in ((400, "dark"), (400, "light"), (1280, "dark"), (1280, "light")):
            page.set_viewport_size({"width": width, "height": 900})
            # Horizon's menu stays at the top of what is shown, which may be in the page's middle.
            page.evaluate("window.scrollTo(0, 0)")
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            page.screenshot(path=f"{PICTURES}/{name}-{width}-{scheme}.png", full_page=True)

    return take


def local(moment: datetime.datetime) -> str:
    """A moment as a browser's field takes it. The dashboard's zone is UTC."""
    return moment.strftime("%Y-%m-%dT%H:%M")
