"""/flavors/ID?detail=capacity: how much a flavor's hosts hold, and how much is booked."""

import pytest

from tests.functional.db import world
from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import NOW, Site


def capacity(person: Person, flavor: dict, query: str = "") -> dict:
    answer = person.get(f"flavors/{flavor['name']}?detail=capacity{query}")
    assert answer.status_int == 200, answer
    shown = {k: v for k, v in answer.json.items() if k != "limits"}
    flavor = things.without_warnings(flavor)
    assert shown == {**flavor, "capacity": answer.json["capacity"]}
    return answer.json["capacity"]


def window(start: str, end: str) -> str:
    return f"&start={start}&end={end}".replace("+", "%2B")


def test_flavor_without_bookings_shows_its_hosts_and_no_use(admin: Person):
    flavor = things.add_flavor(admin)
    found = capacity(admin, flavor)
    assert found == {
        "start": "2100-01-01T12:00:00+00:00",
        "end": "2100-01-31T12:00:00+00:00",
        "hosts": [{"name": "host-1", "instances": 8}],
        "instances": 8,
        "bookable_instances": 2,
        "booked_now": 0,
        "booked_peak": 0,
        "utilisation": 0,
        "sharing": [],
    }


@pytest.mark.parametrize("root", ["/v2", "/v2/warre/v1"])
def test_bookings_count_in_peak_and_utilisation(site: Site, alpha: Person, root: str):
    admin = Person(site.app, "admin", root)
    flavor = things.add_flavor(admin, slots=4)
    # Of 24 hours, 2 are booked with 1 instance, and 4 with 3 instances.
    things.book(alpha, flavor, start=things.at(2, 9), end=things.at(2, 11))
    things.book(alpha, flavor, start=things.at(2, 11), end=things.at(2, 15), instance_count=3)
    found = capacity(admin, flavor, window(things.at(2), things.at(3)))
    assert (found["booked_now"], found["booked_peak"]) == (0, 3)
    assert found["utilisation"] == pytest.approx((2 + 12) / (4 * 24))
    # One hour of the second reservation.
    found = capacity(admin, flavor, window(things.at(2, 14), things.at(2, 16)))
    assert found["utilisation"] == pytest.approx(3 / (4 * 2))
    site.set_time(things.moment(2, 10))
    assert capacity(admin, flavor, window(things.at(7), things.at(8)))["booked_now"] == 1


def test_complete_reservation_counts_for_its_time(site: Site, admin: Person, alpha: Person):
    flavor = things.add_flavor(admin)
    site.set_time(things.moment(2, 8))
    things.book(alpha, flavor)
    for hour in (9, 11):
        site.set_time(things.moment(2, hour))
        site.run_events()
    found = capacity(admin, flavor, window(things.at(2), things.at(3)))
    assert found["utilisation"] == pytest.approx(2 / (2 * 24))
    assert (found["booked_now"], found["booked_peak"]) == (0, 1)


def test_other_flavors_on_the_same_hosts_are_listed(site: Site, admin: Person):
    world.add_host(site.cloud, "host-2", vcpus=4, properties={"gpu": "a100"})
    flavor = things.add_flavor(admin)
    gpu = things.add_flavor(admin, name="gpu", properties='["==", "$gpu", "a100"]')
    hidden = things.add_flavor(admin, name="hidden", vcpu=16, is_public=False, active=False)
    things.add_flavor(admin, name="lost", properties='["==", "$gpu", "h100"]')
    assert capacity(admin, flavor)["sharing"] == [
        {"id": gpu["id"], "name": "gpu", "hosts": ["host-2"]},
        {"id": hidden["id"], "name": "hidden", "hosts": ["host-1"]},
    ]
    found = capacity(admin, gpu)
    assert (found["instances"], found["bookable_instances"]) == (2, 2)
    assert [s["name"] for s in found["sharing"]] == [flavor["name"]]


def test_flavor_without_matching_host_has_no_capacity(admin: Person):
    flavor = things.add_flavor(admin, properties='["==", "$gpu", "h100"]')
    found = capacity(admin, flavor)
    assert (found["hosts"], found["bookable_instances"], found["utilisation"]) == ([], 0, None)


def test_capacity_is_forbidden_to_users(admin: Person, alpha: Person):
    flavor = things.add_flavor(admin)
    assert refusal(alpha.get(f"flavors/{flavor['id']}?detail=capacity")) == (403, "forbidden")
    assert refusal(admin.get("flavors/nonesuch?detail=capacity")) == (404, "flavor_not_found")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("detail=all", "detail"),
        ("start=2100-01-01", "start"),
        ("end=2100-01-01", "end"),
        ("detail=capacity&start=2100-01-02&end=2100-01-02", "end"),
        (f"detail=capacity&end={NOW:%Y-%m-%d}", "end"),
        ("detail=capacity&start=soon", "start"),
        ("detail=capacity&count=1", "count"),
    ],
)
def test_bad_query_is_refused_with_its_parameter(admin: Person, query: str, field: str):
    flavor = things.add_flavor(admin)
    answer = admin.get(f"flavors/{flavor['id']}?{query}")
    assert refusal(answer) == (422, "invalid_field")
    assert answer.json["detail"]["field"] == field
