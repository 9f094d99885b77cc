"""What is true of the address of every page."""

import re

import pytest

from tests.dashboard import site
from tests.dashboard.conftest import Visitor
from tests.unit.cli.fake_api import Api
from warre_blazar.dashboard.project.reservations.views import CalendarFilePage


@pytest.fixture(autouse=True)
def answers(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    site.fill(api, monkeypatch)


def test_each_address_can_be_opened_after_a_login(operator: Visitor, api: Api) -> None:
    """Horizon leads to the address of the request for which the session had ended."""
    addresses = [path for path, _view in site.pages()]
    assert len(addresses) > 30
    for path in addresses:
        answer = operator.browser.get(path, follow=True)
        assert answer.status_code == 200, (path, answer.status_code)
        is_led_on = answer.redirect_chain != []
        assert is_led_on == ("Press the button again." in answer.content.decode()), path
    changes = [each for each in api.seen if each.method != "GET" and "dry_run" not in each.query]
    assert changes == []


def test_nothing_is_deleted_without_a_question(operator: Visitor, api: Api) -> None:
    deleting = []
    for path, _view in site.pages():
        api.seen.clear()
        operator.browser.post(path, {})
        if any(each.method == "DELETE" for each in api.seen):
            deleting.append(path)
    assert len(deleting) >= 7
    for path, view in site.pages():
        if issubclass(view, CalendarFilePage):
            continue
        page = operator.browser.get(path, follow=True).content.decode()
        # A form that has an action is sent to another page than its own.
        assert not set(re.findall(r'action="([^"]+)"', page)) & set(deleting), path
        assert path not in deleting or '<form method="post"' in site.ours(page), path
