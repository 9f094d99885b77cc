"""Fixtures for the tests of the pages: Horizon with a user who is logged in, and a fake API."""

import datetime
import html.parser
import os
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.dashboard import chromium
from tests.fakes.service import Answer
from tests.unit.cli.fake_api import Api, flavor, listing, reservation

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.dashboard.settings"

import django

django.setup()

from django.contrib.staticfiles.handlers import StaticFilesHandler  # noqa: E402
from django.test import Client  # noqa: E402
from django.test.testcases import LiveServerThread  # noqa: E402
from openstack_auth import user as auth_user  # noqa: E402
from openstack_auth import utils as auth_utils  # noqa: E402

PROJECT, USER = "project-1", "user-1"
#: Milliseconds. On a busy machine, Horizon takes long for its first pages.
_TIMEOUT = 60_000
expect.set_options(timeout=_TIMEOUT)


def _token(endpoint: str, roles: list[str]) -> Any:
    token = auth_user.Token()
    token.id, token.unscoped_token = "a-token", "an-unscoped-token"
    token.user = {"id": USER, "name": "ada", "password_expires_at": None}
    token.user_domain_id, token.user_domain_name = "default", "Default"
    token.expires = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=8)
    token.project = token.tenant = {
        "id": PROJECT,
        "name": "lab",
        "is_admin_project": False,
        "domain_id": "default",
    }
    token.domain = {"id": None, "name": None}
    token.is_federated = token.system_scoped = False
    token.roles = [{"name": role} for role in roles]
    token.serviceCatalog = [
        {
            "type": kind,
            "name": kind,
            "endpoints": [
                {"interface": "public", "url": url, "region": "RegionOne", "region_id": "RegionOne"}
            ],
        }
        for kind, url in (
            ("reservation", f"{endpoint}/v1"),
            *((other, "http://127.0.0.1:1/") for other in ("compute", "identity", "image")),
        )
    ]
    return token


class _Fields(html.parser.HTMLParser):
    """Reads what a browser sends if nobody changes a field of a form of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, Any] = {}
        self._name: str | None = None

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        given = dict(attrs)
        name = given.get("name")
        if tag == "input" and name and given.get("type") != "submit":
            is_box = given.get("type") in ("checkbox", "radio")
            if not is_box or "checked" in given:
                self.values[name] = given.get("value", "on" if is_box else "")
        elif tag in ("select", "textarea") and name:
            self._name = name
            self.values[name] = [] if "multiple" in given else None
        elif tag == "option" and self._name:
            value, chosen = self.values[self._name], "selected" in given
            if isinstance(value, list):
                value += [given["value"]] if chosen else []
            elif chosen or value is None:  # Without a chosen one, browsers take the first.
                self.values[self._name] = given["value"]

    def handle_data(self, data: str) -> None:
        if self._name and self.lasttag == "textarea":
            self.values[self._name] = data.removeprefix("\n").replace("\n", "\r\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("select", "textarea") and self._name:
            if self.values[self._name] is None:
                self.values[self._name] = ""
            self._name = None


def filled(page: str) -> dict[str, Any]:
    """The values of the form of a page, as a browser sends them."""
    fields = _Fields()
    start = page.index('<form method="post"', page.index('class="flavor-reservations'))
    fields.feed(page[start : page.index("</form>", start)])
    return fields.values


class Visitor:
    """A user who is logged in, and the browser of the user."""

    def __init__(self, endpoint: str, roles: list[str]) -> None:
        self.roles, self._endpoint = roles, endpoint
        self.browser = Client(enforce_csrf_checks=False)

    def user(self, request: Any) -> Any:
        token = _token(self._endpoint, self.roles)
        user = auth_user.create_user_from_token(request, token, "http://127.0.0.1:1/v3")
        user.authorized_tenants = []
        user._is_system_user = False
        return user

    def sees(self, path: str, status: int = 200, **headers: str) -> str:
        """The page at a path, which is answered with ``status``."""
        answer = self.browser.get(path, **headers)
        text = answer.content.decode()
        assert answer.status_code == status, text[-3000:]
        return text

    def sends(self, path: str, values: dict[str, Any], status: int = 302, **headers: str) -> Any:
        """The answer to a form, which has ``status``."""
        answer = self.browser.post(path, values, **headers)
        assert answer.status_code == status, answer.content.decode()[-3000:]
        return answer


@pytest.fixture
def api() -> Iterator[Api]:
    """The fake API, with a flavor and a reservation."""
    fake = Api()
    fake.answers["GET /v2/flavors"] = listing(flavor())
    fake.answers["GET /v2/reservations"] = listing(reservation(), total=1)
    fake.answers["GET /v2/messages"] = Answer(200, {"enabled": True})
    fake.answers["GET /v2/maintenancewindows"] = listing()
    yield fake
    fake.stop()


def _visitor(api: Api, monkeypatch: pytest.MonkeyPatch, *roles: str) -> Visitor:
    visitor = Visitor(api.url, list(roles))
    monkeypatch.setattr(auth_utils, "get_user", visitor.user)
    # Horizon's menu asks Keystone for its version.
    keystone = "openstack_dashboard.api.keystone.get_identity_api_version"
    monkeypatch.setattr(keystone, lambda _: (3, 14))
    monkeypatch.setattr("warre_blazar.dashboard.servers.of", lambda *_: [])
    monkeypatch.setattr("warre_blazar.dashboard.names.projects", lambda _: {PROJECT: "lab"})
    monkeypatch.setattr("warre_blazar.dashboard.names.users", lambda _: {USER: "ada"})
    return visitor


@pytest.fixture
def member(api: Api, monkeypatch: pytest.MonkeyPatch) -> Visitor:
    """A member of a project."""
    return _visitor(api, monkeypatch, "member", "reader")


@pytest.fixture
def operator(api: Api, monkeypatch: pytest.MonkeyPatch) -> Visitor:
    """An operator."""
    return _visitor(api, monkeypatch, "admin", "member", "reader")


@pytest.fixture
def reader(api: Api, monkeypatch: pytest.MonkeyPatch) -> Visitor:
    """A reader of a project."""
    return _visitor(api, monkeypatch, "reader")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A real browser."""
    with chromium.started() as started:
        yield started


@pytest.fixture(scope="session")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """The browser's memory, with Horizon's scripts. Horizon runs in a thread of this process."""
    server = LiveServerThread("127.0.0.1", StaticFilesHandler)
    server.daemon = True
    server.start()
    server.is_ready.wait()
    assert server.error is None, server.error
    url = f"http://127.0.0.1:{server.port}"
    context = browser.new_context(base_url=url, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(_TIMEOUT)
    yield context
    context.close()
    server.terminate()


@pytest.fixture
def page(context: BrowserContext, api: Api) -> Iterator[Page]:
    """A tab of the browser. Its user is the visitor of the test."""
    context.clear_cookies()
    page = context.new_page()
    yield page
    page.close()
