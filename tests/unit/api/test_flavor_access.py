"""/flavorprojects: which projects have access to which private flavors."""

import pytest

from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import Site


@pytest.fixture
def flavor(admin: Person) -> dict:
    return things.add_flavor(admin, is_public=False)


def test_project_books_private_flavor_until_access_is_removed(
    admin: Person, alpha: Person, beta: Person, flavor
):
    right = things.grant(admin, flavor, alpha.project_id)
    assert right == {"id": right["id"], "flavor": flavor["id"], "project_id": alpha.project_id}
    assert admin.get(f"flavorprojects/{right['id']}").json == right
    things.book(alpha, flavor)
    refused = beta.post("reservations", things.booking(flavor))
    assert refusal(refused) == (404, "flavor_not_found")

    assert admin.delete(f"flavorprojects/{right['id']}/").status_int == 204
    refused = alpha.post("reservations", things.booking(flavor))
    assert refusal(refused) == (404, "flavor_not_found")
    # The reservation stays.
    assert alpha.get("reservations").json["total"] == 1
    for send in (admin.get, admin.delete):
        assert refusal(send(f"flavorprojects/{right['id']}")) == (404, "access_not_found")


def test_bad_requests_are_refused(admin: Person, alpha: Person, flavor):
    right = things.grant(admin, flavor, "p")
    again = {"flavor_id": flavor["id"], "project_id": "p"}
    assert refusal(admin.post("flavorprojects/", again)) == (409, "access_exists")
    by_name = {"flavor_id": flavor["name"], "project_id": "p"}
    assert refusal(admin.post("flavorprojects", by_name)) == (409, "access_exists")
    assert refusal(alpha.post("flavorprojects", again)) == (403, "forbidden")
    assert refusal(alpha.get("flavorprojects")) == (403, "forbidden")
    for send in (alpha.get, alpha.delete):
        assert refusal(send(f"flavorprojects/{right['id']}")) == (404, "access_not_found")


def test_project_that_keystone_does_not_have_gets_no_access(
    site: Site, admin: Person, alpha: Person, flavor
):
    body = {"flavor_id": flavor["id"], "project_id": "nobodys"}
    answer = admin.post("flavorprojects", body)
    assert refusal(answer) == (422, "invalid_field")
    assert answer.json["detail"]["field"] == "project_id"
    site.cloud.keystone.fail(match="/v3/projects/", drop=True)
    body["project_id"] = alpha.project_id
    assert refusal(admin.post("flavorprojects", body)) == (503, "service_unavailable")
    assert admin.get("flavorprojects").json["total"] == 0


def test_listing_is_filtered_by_flavor_and_project(admin: Person, flavor):
    other = things.add_flavor(admin, name="other")
    made = [things.grant(admin, f, p) for f in (flavor, other) for p in ("p", "q")]

    def listed(query: str = "") -> list[dict]:
        return admin.get(f"flavorprojects?{query}").json["results"]

    def among(**wanted: str) -> list[dict]:
        found = [a for a in made if wanted.items() <= a.items()]
        return sorted(found, key=lambda a: (a["flavor"], a["project_id"]))

    assert listed() == among()
    assert listed(f"flavor_id={other['id']}") == among(flavor=other["id"])
    assert listed("project_id=q") == among(project_id="q")
    both = f"flavor_id={other['id']}&project_id=p"
    assert listed(both) == among(flavor=other["id"], project_id="p")
    assert listed("project_id=nope") == []
