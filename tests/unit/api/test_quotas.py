"""Quotas under /v2 and Warre's path: refusals say what is used, and change nothing."""

from typing import Any

import pytest

from tests.unit.api import things
from tests.unit.api.people import Answer, Person, refusal
from tests.unit.api.site import Site
from tests.unit.api.things import at


@pytest.fixture
def flavor(admin: Person) -> dict[str, Any]:
    return things.add_flavor(admin, slots=9)


def limit(site: Site, person: Person, **limits: int) -> None:
    site.cloud.keystone.limits = {(person.project_id, n): value for n, value in limits.items()}


def exceeded(answer: Answer) -> list[dict[str, Any]]:
    """The exceeded limits in a refusal."""
    assert refusal(answer) == (413, "quota_exceeded")
    assert answer.json["error_name"] == "REQUEST_ENTITY_TOO_LARGE"
    found = answer.json["detail"]["exceeded"]
    for each in found:
        told = "{resource}: {asked} asked, {used} of {limit} used".format(**each)
        assert told in answer.json["error_message"]
    return found


@pytest.mark.parametrize("root", ["/v2", "/v2/warre/v1"])
def test_booking_over_the_limits_is_refused(
    site: Site, alpha: Person, beta: Person, flavor, root: str
):
    limit(site, alpha, reservation=1, hours=3)
    things.book(alpha, flavor)
    before = site.rows()
    alpha.root = root
    body = things.booking(flavor, start=at(4, 9), end=at(4, 11))
    assert exceeded(alpha.post("reservations", body)) == [
        {"resource": "reservation", "limit": 1, "used": 1, "asked": 1},
        {"resource": "hours", "limit": 3, "used": 2, "asked": 2},
    ]
    assert site.rows() == before
    things.book(beta, flavor)


@pytest.mark.parametrize("allowed", [-1, 0, 4])
def test_booking_is_refused_only_by_an_hours_limit_below_it(
    site: Site, alpha: Person, flavor, allowed: int
):
    limit(site, alpha, hours=allowed)
    answer = alpha.post("reservations", things.booking(flavor, instance_count=2))
    assert answer.status_int == (413 if allowed == 0 else 200)


def test_extension_over_the_limit_is_refused(site: Site, alpha: Person, flavor):
    made = things.book(alpha, flavor, instance_count=2)
    limit(site, alpha, reservation=0, hours=7)
    before = site.rows()
    path = f"reservations/{made['id']}"
    assert exceeded(alpha.patch(path, {"end": at(2, 13)})) == [
        {"resource": "hours", "limit": 7, "used": 4, "asked": 4}
    ]
    assert site.rows() == before
    assert alpha.patch(path, {"end": at(2, 12)}).status_int == 200
    assert alpha.patch(path, {"end": at(2, 10)}).status_int == 200
    assert alpha.get("limits").json["absolute"]["totalHoursUsed"] == 2


def test_extension_counts_for_the_owners_project(site: Site, admin: Person, alpha: Person, flavor):
    made = things.book(alpha, flavor)
    path = f"reservations/{made['id']}"
    limit(site, admin, hours=0)
    assert admin.patch(path, {"end": at(2, 12)}).status_int == 200
    limit(site, alpha, hours=3)
    assert exceeded(admin.patch(path, {"end": at(2, 13)}))


def test_nothing_is_written_while_limits_are_unavailable(site: Site, alpha: Person, flavor):
    made = things.book(alpha, flavor)
    before = site.rows()
    site.cloud.keystone.fail(match="limits", status=503)
    refused = alpha.post("reservations", things.booking(flavor))
    assert refusal(refused) == (503, "service_unavailable")
    assert "Keystone" in refused.json["error_message"]
    refused = alpha.patch(f"reservations/{made['id']}", {"end": at(2, 12)})
    assert refusal(refused) == (503, "service_unavailable")
    assert site.rows() == before
    site.cloud.mend()
    things.book(alpha, flavor)


def test_booking_without_registered_limit_is_refused(site: Site, alpha: Person, flavor):
    del site.cloud.keystone.registered["hours"]
    refused = alpha.post("reservations", things.booking(flavor))
    assert refusal(refused) == (503, "limits_not_registered")
    assert "hours" in refused.json["error_message"]


def test_limits_of_all_projects_are_listed_in_pages(
    site: Site, admin: Person, alpha: Person, beta: Person, flavor
):
    limit(site, beta, hours=5)
    things.book(alpha, flavor)
    expected = {
        alpha.project_id: (1000, 1, 100000, 2),
        beta.project_id: (1000, 0, 5, 0),
    }
    found = admin.get("limits?all_projects=true").json
    assert found["total"] == len(expected)
    names = ("maxReservations", "totalReservationsUsed", "maxHours", "totalHoursUsed")
    assert {
        each["project_id"]: tuple(each["absolute"][name] for name in names)
        for each in found["results"]
    } == expected
    first = admin.get("limits?all_projects=true&limit=1").json
    second = admin.get(first["next"]).json
    assert first["results"] + second["results"] == found["results"]
    assert refusal(alpha.get("limits?all_projects=true")) == (403, "forbidden")
