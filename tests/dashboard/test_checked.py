"""The pages that say what the API would answer to their form."""

from typing import Any

import pytest

from tests.dashboard import site
from tests.dashboard.conftest import Visitor
from tests.dashboard.site import ours
from tests.unit.cli.fake_api import FLAVOR, Api, foreseen
from warre_blazar.dashboard import pages

BOOK = f"/project/find_reservations/book/{FLAVOR.id}/"
CHANGE = f"/project/flavor_reservations/{site.RESERVATION}/change/"
SERIES = "/project/reservation_series/create/"
AJAX = {"HTTP_X_REQUESTED_WITH": "XMLHttpRequest"}
#: The only alert that a page may show for a form that nobody has filled in.
CAN = "This can be done."
CANT = "This can&#x27;t be done."


@pytest.fixture(autouse=True)
def answers(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    site.fill(api, monkeypatch)


def test_no_checked_page_opens_with_a_refusal(operator: Visitor) -> None:
    checked = [path for path, view in site.pages() if issubclass(view, pages.CheckedFormView)]
    assert {BOOK, CHANGE, SERIES} <= set(checked)
    for path in checked:
        page = ours(operator.sees(path))
        assert "alert-danger" not in page and "alert-warning" not in page, path


def test_change_opens_with_nothing_changed(member: Visitor, api: Api) -> None:
    assert "Nothing is changed yet." in member.sees(CHANGE)
    assert {request.method for request in api.seen} == {"GET"}


@pytest.mark.parametrize(
    ("refusals", "shown"), [([], CAN), ([("slots_exhausted", "no", {})], CANT)]
)
def test_change_by_a_link_is_judged_at_once(
    refusals: list[Any], shown: str, member: Visitor, api: Api
) -> None:
    api.answers[f"PATCH /v2/reservations/{site.RESERVATION}"] = foreseen(*refusals)
    page = ours(member.sees(f"{CHANGE}?count=1"))
    assert shown in page.replace("can't", "can&#x27;t")
    (asked,) = [request for request in api.seen if request.method == "PATCH"]
    assert (asked.query, asked.body) == ({"dry_run": "true"}, {"instance_count": 1})


@pytest.mark.parametrize("path", [BOOK, CHANGE])
def test_bad_value_of_a_link_is_named(path: str, member: Visitor, api: Api) -> None:
    page = ours(member.sees(f"{path}?count=0"))
    assert "Instances: Ensure this value is greater than or equal to 1." in page
    assert 'id="field_count_error"' in page
    assert "alert-danger" not in page
    assert [request for request in api.seen if request.method != "GET"] == []


def test_link_with_some_fields_complains_of_no_others(member: Visitor) -> None:
    page = ours(member.sees(f"{SERIES}?flavor={FLAVOR.id}&start=2099-12-01T09:00"))
    assert "This field is required" not in page and "alert" not in page


@pytest.mark.parametrize("headers", [{}, AJAX])
def test_invalid_form_is_no_refusal(headers: dict[str, str], member: Visitor) -> None:
    for path, values in ((BOOK, {"hours": "0"}), (SERIES, {"until": "x"}), (CHANGE, {"count": ""})):
        sent = {**site.hidden(member.sees(path)), **values, "check": "1"}
        answer = member.sends(path, sent, 200, **headers)
        page = answer.content.decode() if headers else ours(answer.content.decode())
        assert "alert-danger" not in page and "alert-warning" in page, path
