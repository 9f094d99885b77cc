"""GET /reservations: filters, order, and who may use which filter."""

import pytest

from tests.functional.db import world
from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import Site


@pytest.fixture
def booked(site: Site, admin: Person, alpha: Person, beta: Person, colleague: Person) -> dict:
    """Reservations by name, of three people in two projects, on two hosts."""
    world.add_host(site.cloud, "host-2", vcpus=16, zone="az2")
    one = things.add_flavor(admin, name="one", slots=8, availability_zone="az1")
    two = things.add_flavor(admin, name="two", slots=8, availability_zone="az2")
    return {
        "a": things.book(alpha, one),
        "b": things.book(colleague, two, start=things.at(3), end=things.at(4)),
        "c": things.book(beta, one, start=things.at(1), end=things.at(2)),
        "d": things.book(alpha, two, start=things.at(2, 10), end=things.at(3, 10)),
    }


def listed(person: Person, booked: dict, query: str) -> str:
    """The names of the listed reservations, in their order."""
    answer = person.get(f"reservations?{query}")
    assert answer.status_int == 200, answer
    names = {reservation["id"]: name for name, reservation in booked.items()}
    found = "".join(names[reservation["id"]] for reservation in answer.json["results"])
    assert answer.json["total"] >= len(found)
    return found


def test_listing_is_filtered_and_sorted(site: Site, admin: Person, alpha: Person, booked: dict):
    expected = {
        ("alpha", ""): "adb",
        ("alpha", "sort=start:desc"): "bda",
        ("alpha", "sort=end"): "adb",
        ("alpha", "sort=start:asc&limit=1"): "a",
        ("alpha", "sort=start&limit=1&page=3"): "b",
        ("alpha", f"user_id={alpha.user_id}"): "ad",
        ("alpha", "user_id=user-colleague"): "b",
        ("alpha", "status=allocated"): "adb",
        ("alpha", "status=ACTIVE,ERROR"): "",
        ("alpha", "status=ACTIVE,ALLOCATED"): "adb",
        ("alpha", f"flavor_id={booked['b']['flavor']['id']}"): "db",
        ("alpha", "from=2100-01-04"): "db",
        ("alpha", "to=2100-01-03T10:30"): "ad",
        ("alpha", "from=2100-01-03T11:00&to=2100-01-04"): "d",
        ("alpha", "user_id=user-beta"): "",
        ("admin", "all_projects=true"): "cadb",
        ("admin", "all_projects=true&user_id=user-beta"): "c",
        ("admin", "all_projects=true&host=host-2"): "db",
        ("admin", "all_projects=true&host=host-1&to=2100-01-03"): "c",
        ("admin", "project_id=project-beta&host=host-1"): "c",
        ("admin", "all_projects=true&sort=project_id:desc"): "cbda",
    }
    for root in ("/v2", "/v2/warre/v1"):
        people = {name: Person(site.app, name, root) for name in ("admin", "alpha")}
        found = {(who, query): listed(people[who], booked, query) for who, query in expected}
        assert found == expected
    # On Warre's path a user gets the reservations of the user's project, whatever the query.
    assert listed(people["alpha"], booked, "all_projects=true&project_id=project-beta") == "adb"


def test_status_filter_follows_the_reservation(site: Site, alpha: Person, booked: dict):
    for minute, state in ((things.moment(2, 9), "ACTIVE"), (things.moment(2, 11), "COMPLETE")):
        site.set_time(minute)
        site.run_events()
        assert listed(alpha, booked, f"status={state}")[:1] == "a"
    assert listed(alpha, booked, "status=ALLOCATED") == "b"


def test_host_filter_is_for_operators(alpha: Person, admin: Person, booked: dict):
    assert refusal(alpha.get("reservations?host=host-1")) == (403, "forbidden")
    answer = admin.get("reservations?host=nonesuch")
    assert refusal(answer) == (422, "invalid_field")
    assert answer.json["detail"]["field"] == "host"


def test_link_to_the_next_page_keeps_the_filters(alpha: Person, booked: dict):
    answer = alpha.get("reservations?sort=start:desc&status=ALLOCATED&to=2100-01-08&limit=2")
    following = alpha.get(answer.json["next"])
    assert [r["id"] for r in following.json["results"]] == [booked["a"]["id"]]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("status=GONE", "status"),
        ("status=", "status"),
        ("status=ACTIVE,", "status"),
        ("sort=color", "sort"),
        ("sort=start:up", "sort"),
        ("from=soon", "from"),
        ("to=2100-13-01", "to"),
        ("from=2100-01-02&to=2100-01-02", "to"),
        ("limit=0", "limit"),
        ("user_id=", "user_id"),
        ("user=alpha", "user"),
    ],
)
def test_bad_query_is_refused_with_its_parameter(alpha: Person, query: str, field: str):
    answer = alpha.get(f"reservations?{query}")
    assert refusal(answer) == (422, "invalid_field")
    assert answer.json["detail"]["field"] == field
