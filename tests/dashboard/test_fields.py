"""The fields of the forms, in a browser that runs Horizon's scripts too."""

import re

import pytest

from tests.dashboard.conftest import Visitor
from tests.fakes.service import Answer
from tests.unit.cli.fake_api import FLAVOR, Api, flavor, foreseen
from warre_blazar.api import openapi
from warre_blazar.dashboard.admin.flavors.editing import FlavorForm


@pytest.fixture(autouse=True)
def answers(api: Api) -> None:
    api.answers[f"GET /v2/flavors/{FLAVOR.id}"] = Answer(200, flavor())
    api.answers["POST /v2/reservations"] = foreseen()
    api.answers["GET /v2/hosts"] = Answer(200, {"results": []})


def test_form_of_flavors_has_each_field_of_the_api() -> None:
    known = openapi.request_schema("FlavorCreate")["properties"]
    assert set(FlavorForm.base_fields) == set(known)


@pytest.mark.parametrize(
    "path",
    [
        "/admin/maintenance_windows/create/",
        "/admin/reservable_flavors/create/",
        f"/project/find_reservations/book/{FLAVOR.id}/",
    ],
)
def test_no_script_of_horizon_takes_a_field(path: str, operator: Visitor) -> None:
    # Horizon makes each field with the id "id_start" or "id_end" a date picker of its own, which
    # empties a field for a date and a time.
    page = operator.sees(path)
    ids = re.findall(r'<(?:input|select|textarea)[^>]* id="([^"]+)"', page)
    assert "field_start" in ids
    assert not [each for each in ids if each.startswith("id_")]
