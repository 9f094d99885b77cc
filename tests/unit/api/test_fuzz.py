"""schemathesis asks what the OpenAPI document allows, and what it doesn't, of the real application.

No answer is a 5xx, none is outside the document, and what the document doesn't allow is refused.
Ids and names of what is there are put in, so that much of it gets past the first look. The same
requests every time.
"""

import json
from typing import Any

import hypothesis
import pytest
import schemathesis
from hypothesis import strategies as st
from schemathesis import checks
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi import checks as openapi_checks

from tests.unit.api import contract, identity, things
from tests.unit.api.people import Person
from tests.unit.api.site import Site
from warre_blazar.api import openapi

pytestmark = pytest.mark.slow
#: Half as many as other properties get, because there are about 90 operations and modes.
EXAMPLES = hypothesis.settings.default.max_examples // 2
CHECKS = [
    checks.not_a_server_error,
    openapi_checks.status_code_conformance,
    openapi_checks.content_type_conformance,
    openapi_checks.response_schema_conformance,
    openapi_checks.response_headers_conformance,
    openapi_checks.negative_data_rejection,
]


@pytest.fixture
def known(site: Site, admin: Person, alpha: Person) -> dict[str, list[str]]:
    """Ids and names of what is there, by the parameters and fields that take them."""

    def make() -> dict[str, list[str]]:
        flavor = things.add_flavor(admin, slots=8)
        private = things.add_flavor(admin, name="private", is_public=False)
        booked = [
            things.book(alpha, flavor, start=things.at(n), end=things.at(n + 1)) for n in (2, 4)
        ]
        return {
            "flavor_id": [flavor["id"], flavor["name"], private["id"]],
            "flavorproject_id": [things.grant(admin, private, alpha.project_id)["id"]],
            "reservation_id": [b["id"] for b in booked],
            "calendar_id": [things.made(alpha.post("calendars", {"name": "GPUs"}))["id"]],
            "share_id": [things.share(alpha, booked[0], admin.project_id)["id"]],
            "window_id": [things.add_window(admin, flavor)["id"]],
            "series_id": [things.add_series(alpha, flavor)["id"]],
            "wait_id": [things.add_wait(alpha, flavor)["id"]],
            "project_id": [alpha.project_id, admin.project_id],
            "start": [things.at(n) for n in (6, 7)],
            "end": [things.at(n, 5) for n in (6, 7)],
        }

    return site.remembered(make)


def operations() -> list[Any]:
    """As schemathesis knows them."""
    document = json.loads(json.dumps(contract.document()))
    del document["security"]  # it would spend half of its requests on tokens that are none
    schema = schemathesis.openapi.from_dict(document)
    return [found.ok() for found in schema.get_all_operations()]


def put_in(case: Any, known: dict[str, list[str]], choose: Any) -> None:
    """Some of what is there in place of what was made up; a body's optional fields stay out."""
    body = case.body if isinstance(case.body, dict) else {}
    for values in (case.path_parameters or {}, case.query or {}, body):
        for name in sorted(set(values) & set(known)):
            if choose(st.booleans()):
                values[name] = choose(st.sampled_from(known[name]))


def modes() -> list[Any]:
    """Each operation with each mode. A request that takes no values can't have bad ones."""
    return [
        pytest.param(each, mode, id=f"{each.label.replace(' /', '-')}-{mode.value}")
        for each in operations()
        for mode in GenerationMode
        if mode is GenerationMode.POSITIVE or each.body or list(each.iter_parameters())
    ]


@pytest.mark.parametrize(("operation", "mode"), modes())
def test_every_answer_is_in_the_openapi_document(site: Site, known, operation, mode):
    roots = list(openapi.SERVERS)

    @hypothesis.settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[hypothesis.Phase.generate],
    )
    @hypothesis.given(data=st.data())
    def run(data: st.DataObject) -> None:
        case = data.draw(operation.as_strategy(generation_mode=mode))
        if mode is GenerationMode.POSITIVE:
            put_in(case, known, data.draw)
        who = data.draw(st.sampled_from(["admin", "alpha", "reader"]))
        headers = {"X-Auth-Token": identity.token(who)}
        base = f"http://localhost{data.draw(st.sampled_from(roots))}"
        operation.app = site.app
        case.call_and_validate(base_url=base, headers=headers, checks=CHECKS)

    run()
