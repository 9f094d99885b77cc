"""Refusals of reservations of ``flavor:instance``.

Azimuth's operator shows its users the field ``error_message`` of answers with 400 and 500. After
any other error it tries again, and nobody learns why.
"""

from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.api import identity, things
from tests.unit.api.people import Person
from tests.unit.consumers.site import ExactSite, body, instance

PROJECT = identity.project_id("alpha")
JSON = "application/json"

Case = Callable[[ExactSite, Person], dict[str, Any]]


def _quota(site: ExactSite, admin: Person) -> dict[str, Any]:
    site.cloud.keystone.limits[PROJECT, "hours"] = 1
    return instance(things.add_flavor(admin)["id"])


def _term(site: ExactSite, admin: Person) -> dict[str, Any]:
    return instance(things.add_flavor(admin, max_length_hours=1)["id"])


def _inactive(site: ExactSite, admin: Person) -> dict[str, Any]:
    return instance(things.add_flavor(admin, active=False)["id"])


def _window(site: ExactSite, admin: Person) -> dict[str, Any]:
    flavor = things.add_flavor(admin)
    things.add_window(admin, flavor, start=things.at(2), end=things.at(4))
    return instance(flavor["id"])


def _slots(site: ExactSite, admin: Person) -> dict[str, Any]:
    return instance(things.add_flavor(admin)["id"], 3)


def _taken(site: ExactSite, admin: Person) -> dict[str, Any]:
    flavor = things.add_flavor(admin)
    site.book(instance(flavor["id"], 2))
    return instance(flavor["id"])


def _hosts(site: ExactSite, admin: Person) -> dict[str, Any]:
    return instance(things.add_flavor(admin, slots=100)["id"], 100)


def _no_host(site: ExactSite, admin: Person) -> dict[str, Any]:
    return instance(things.add_flavor(admin, properties='["==", "$gpu", "none"]')["id"])


def _ambiguous(site: ExactSite, admin: Person) -> dict[str, Any]:
    things.add_flavor(admin, vcpu=1)
    return instance(things.add_flavor(admin)["name"])


def _unknown(site: ExactSite, admin: Person) -> dict[str, Any]:
    return instance("5b9fa3c1-7e20-4d18-9c46-0e5d2f81b7aa")


def _hidden(site: ExactSite, admin: Person) -> dict[str, Any]:
    return instance(things.add_flavor(admin, is_public=False)["id"])


def _plain_full(site: ExactSite, admin: Person) -> dict[str, Any]:
    return instance("plain", 1000)


def _plain_affinity(site: ExactSite, admin: Person) -> dict[str, Any]:
    return instance("plain", affinity="True")


def _restricted(site: ExactSite, admin: Person) -> dict[str, Any]:
    """Keystone makes no trust for a user with a restricted application credential."""
    site.cloud.keystone.fail(match="POST /v3/OS-TRUST/trusts", status=403)
    return instance(things.add_flavor(admin)["id"])


def _no_amount(site: ExactSite, admin: Person) -> dict[str, Any]:
    return instance(things.add_flavor(admin)["id"], "")


def _unknown_key(site: ExactSite, admin: Person) -> dict[str, Any]:
    return instance(things.add_flavor(admin)["id"], "1,handle=h")


#: By what brings a refusal about: what its text has.
CASES: dict[Case, str] = {
    _quota: "hours",
    _term: "1 hour",
    _inactive: "not available",
    _window: "maintenance",
    _slots: "slots",
    _taken: "at most 0 of 2 slots are free",
    _hosts: "No capacity: 100 asked",
    _no_host: "No host matches",
    _ambiguous: "give the id of one",
    _unknown: "Flavor 5b9fa3c1-7e20-4d18-9c46-0e5d2f81b7aa does not exist",
    _hidden: "does not exist",
    _plain_full: "Not enough hosts",
    _plain_affinity: "Affinity",
    _restricted: "a trust for Blazar's user",
    _no_amount: "amount",
    _unknown_key: "amount",
}


@pytest.mark.parametrize("case", CASES, ids=[each.__name__[1:] for each in CASES])
def test_refusal_has_the_status_and_the_sentence_that_azimuth_shows(
    site: ExactSite, admin: Person, case: Case
):
    asked = case(site, admin)
    before = site.rows()
    refused = site.send("POST", body=body(asked))
    assert refused.status_int == 400, refused
    assert CASES[case] in refused.json["error_message"]
    assert refused.json["error_code"] == 400
    assert site.rows() == before


@pytest.mark.parametrize("start", ["2099-12-31 09:00", "2100-01-04 09:00"])
def test_impossible_time_is_refused_with_a_sentence(site: ExactSite, admin: Person, start: str):
    asked = instance(things.add_flavor(admin)["id"])
    refused = site.send("POST", body=body(asked, start_date=start))
    assert (refused.status_int, refused.headers["Content-Type"]) == (400, JSON)
    assert "date" in refused.json["error_message"]


def test_service_that_is_away_lets_azimuth_try_again(site: ExactSite, admin: Person):
    asked = instance(things.add_flavor(admin)["id"])
    site.cloud.keystone.fail(match="GET /v3/limits", status=503)
    assert site.send("POST", body=body(asked)).status_int == 503


@pytest.mark.parametrize("accepted", [JSON, "*/*"])
def test_answers_have_no_charset(site: ExactSite, admin: Person, accepted: str):
    """Azimuth's operator takes any other type for bytes."""
    asked = instance(things.add_flavor(admin)["id"])
    posted = [body(asked), body(_unknown(site, admin)), b"{}"]
    answers = [site.send("POST", body=each, Accept=accepted) for each in posted]
    answers += [site.send("GET", path, Accept=accepted) for path in ("", "/nonesuch")]
    assert {answer.headers["Content-Type"] for answer in answers} == {JSON}


@pytest.mark.parametrize("name", ["exp-1", "my lease", "gpu.large", "a" * 80])
def test_lease_is_not_found_by_its_name(site: ExactSite, name: str):
    assert site.send("GET", f"/{name}").status_int == 404


def test_flavor_whose_id_is_a_number_is_booked(site: ExactSite):
    """python-blazarclient sends whatever looks like a number as a number."""
    site.cloud.nova.flavors["42"] = {**site.cloud.nova.flavors["plain"], "id": "42", "name": "x"}
    (made,) = site.book(instance(42))["reservations"]
    assert '"id": "42"' in made["resource_properties"]
