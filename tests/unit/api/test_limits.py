"""/limits: a project's limits in Keystone, and how much of them it has booked."""

import pytest

from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import Site
from tests.unit.api.things import at
from warre_blazar import times


def limits(person: Person, query: str = "") -> tuple[int, int, int, int]:
    """How many reservations are allowed and booked, and how many hours."""
    answer = person.get(f"limits{query}")
    assert answer.status_int == 200, answer
    names = ("maxReservations", "totalReservationsUsed", "maxHours", "totalHoursUsed")
    found = answer.json["absolute"]
    assert set(found) == {*names, "own"}
    return tuple(found[name] for name in names)


def test_limits_and_use_are_shown(site: Site, alpha: Person, beta: Person, admin: Person):
    flavor = things.add_flavor(admin)
    site.cloud.keystone.limits = {
        (alpha.project_id, "reservation"): 5,
        (alpha.project_id, "hours"): -1,
    }
    # A started hour counts as a whole hour, and each instance counts.
    things.book(alpha, flavor, end=at(2, 10, 1), instance_count=2)
    done = things.book(alpha, flavor, start=at(1), end=at(1, 3))
    assert limits(alpha) == (5, 2, -1, 2 * 2 + 3)
    assert limits(beta, "/") == (1000, 0, 100000, 0)
    site.set_time(things.moment(1))
    site.run_events()
    assert limits(alpha) == (5, 2, -1, 7)
    assert alpha.delete(f"reservations/{done['id']}").status_int == 204
    assert limits(alpha) == (5, 1, -1, 4)


def test_limits_of_the_projects_own_are_named(site: Site, admin: Person, alpha: Person):
    assert alpha.get("limits").json["absolute"]["own"] == []
    site.cloud.keystone.limits = {
        (alpha.project_id, "hours"): 100000,
        (alpha.project_id, "cores"): 1,
    }
    assert alpha.get("limits").json["absolute"]["own"] == ["hours"]
    (listed,) = admin.get("limits?all_projects=true").json["results"]
    assert (listed["project_id"], listed["absolute"]["own"]) == (alpha.project_id, ["hours"])
    assert "own" not in alpha.get("warre/v1/limits").json["absolute"]


def test_keystone_is_asked_once_if_cached_limits_refuse_a_booking(
    site: Site, admin: Person, alpha: Person, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(times, "LIMITS_CACHED_FOR", 30)
    keystone = site.cloud.keystone
    keystone.limits = {(alpha.project_id, "hours"): 1}
    wanted = things.booking(things.add_flavor(admin))
    asked = 0
    for _ in range(2):
        asked = len(keystone.requests)
        assert refusal(alpha.post("reservations", wanted)) == (413, "quota_exceeded")
    assert len([line for line in keystone.requests[asked:] if line.endswith("/limits")]) == 1


def test_complete_reservation_does_not_count(site: Site, alpha: Person, admin: Person):
    things.book(alpha, things.add_flavor(admin), start=at(1), end=at(1, 3))
    for hour in (0, 3):
        site.set_time(things.moment(1, hour))
        site.run_events()
    assert alpha.get("reservations").json["results"][0]["status"] == "COMPLETE"
    assert limits(alpha) == (1000, 0, 100000, 0)


def test_limits_of_another_project_are_for_operators(
    site: Site, admin: Person, alpha: Person, beta: Person
):
    flavor = things.add_flavor(admin)
    things.book(beta, flavor)
    assert limits(admin, f"?project_id={beta.project_id}") == (1000, 1, 100000, 2)
    assert limits(beta, f"?project_id={beta.project_id}") == (1000, 1, 100000, 2)
    refused = alpha.get(f"limits?project_id={beta.project_id}")
    assert refusal(refused) == (403, "forbidden")
    assert limits(admin, "?project_id=another") == (1000, 0, 100000, 0)


@pytest.mark.parametrize("root", ["/v2", "/v2/warre/v1"])
def test_project_that_keystone_does_not_have_gets_no_limits(admin: Person, root: str):
    admin.root = root
    answer = admin.get("limits?project_id=nobodys")
    assert answer.status_int in (400, 422)
    assert "project_id: expected the id of a project that Keystone has" in answer.text


def test_what_a_deleted_project_has_booked_counts(site: Site, admin: Person, beta: Person):
    things.book(beta, things.add_flavor(admin))
    site.cloud.keystone.fail(match="/v3/projects/", status=404)
    assert limits(admin, f"?project_id={beta.project_id}") == (1000, 1, 100000, 2)


def test_keystone_is_asked_once_for_a_project(site: Site, admin: Person, beta: Person):
    for _ in range(3):
        limits(admin, f"?project_id={beta.project_id}")
        limits(admin, f"?project_id={admin.project_id}")
        admin.get("limits?project_id=nobodys")
    asked = [line for line in site.cloud.keystone.requests if "/v3/projects/" in line]
    assert asked == [f"GET /v3/projects/{name}" for name in (beta.project_id, "nobodys")]


def test_members_limits_are_as_old_as_those_of_a_booking(
    site: Site, alpha: Person, admin: Person, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(times, "LIMITS_CACHED_FOR", 30)
    keystone = site.cloud.keystone
    assert limits(alpha)[0] == 1000
    keystone.limits = {(alpha.project_id, "reservation"): 5}
    before = len(keystone.requests)
    assert limits(alpha)[0] == 1000
    assert keystone.requests[before:] == []
    assert limits(admin, f"?project_id={alpha.project_id}")[0] == 5
    assert limits(alpha)[0] == 5


def test_limits_of_another_project_are_unavailable_while_keystone_is(
    site: Site, admin: Person, beta: Person
):
    site.cloud.keystone.fail(match="/v3/projects/", status=503)
    answer = admin.get(f"limits?project_id={beta.project_id}")
    assert refusal(answer) == (503, "service_unavailable")
    assert limits(admin) == (1000, 0, 100000, 0)


def test_user_without_role_is_forbidden(nobody: Person):
    assert refusal(nobody.get("limits")) == (403, "forbidden")


@pytest.mark.parametrize("missing", ["hours", "reservation"])
def test_unregistered_limit_is_reported_as_the_operators_mistake(
    site: Site, alpha: Person, missing: str
):
    del site.cloud.keystone.registered[missing]
    answer = alpha.get("limits")
    assert refusal(answer) == (503, "limits_not_registered")
    assert missing in answer.json["error_message"]
    assert int(answer.headers["Retry-After"]) > 0


def test_limits_are_unavailable_while_keystone_is(site: Site, alpha: Person):
    site.cloud.keystone.fail(match="limits", status=503)
    assert refusal(alpha.get("limits")) == (503, "service_unavailable")
    site.cloud.mend()
    assert limits(alpha) == (1000, 0, 100000, 0)
