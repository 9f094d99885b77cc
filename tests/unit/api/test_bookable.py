"""Flavors that no host could hold: how they are marked, and how their booking is refused."""

import pytest
import sqlalchemy as sa

from tests.functional.db import world
from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import Site
from warre_blazar.db import session
from warre_blazar.db.tables import (
    compute_hosts,
    extra_capabilities,
    host_inventories,
    host_traits,
)

GPU = '["==", "$gpu", "a100"]'

#: Values of flavors that the site's only host, with 16 vCPUs in az1, can't hold.
UNBOOKABLE = {
    "typo in a property": {"properties": '["==", "$gpuu", "a100"]'},
    "unknown zone": {"availability_zone": "nowhere"},
    "more than any host has": {"vcpu": 100},
    "trait that no host has": {"extra_specs": {"trait:CUSTOM_X": "required"}},
    "class that no host has": {"extra_specs": {"resources:VGPU": "1"}},
}


@pytest.fixture(autouse=True)
def elsewhere(site: Site) -> None:
    """Another host has what Blazar's hosts lack."""
    site.cloud.add_elsewhere("CUSTOM_X", classes=["VGPU"])


@pytest.mark.parametrize("terms", UNBOOKABLE.values(), ids=UNBOOKABLE)
def test_flavor_that_no_host_can_hold_is_marked(admin: Person, alpha: Person, terms: dict):
    made = things.add_flavor(admin, **terms)
    assert (made["bookable"], made["bookable_hosts"]) == (False, 0)
    path = f"flavors/{made['id']}"
    flavor = things.without_warnings(made)
    assert things.shown(admin, path) == flavor
    assert admin.get("flavors").json["results"] == [flavor]
    for shown in (alpha.get(path).json, *alpha.get("flavors").json["results"]):
        assert shown["bookable"] is False
        assert "bookable_hosts" not in shown


def test_bookable_hosts_are_those_that_match_and_are_large_enough(site: Site, admin: Person):
    for name, vcpus, properties in (
        ("small", 1, {"gpu": "a100"}),
        ("right", 2, {"gpu": "a100"}),
        ("large", 16, {"gpu": "a100"}),
        ("other", 16, {"gpu": "h100"}),
        ("failed", 16, {"gpu": "a100"}),
    ):
        reservable = name != "failed"
        world.add_host(site.cloud, name, vcpus=vcpus, properties=properties, reservable=reservable)
    made = things.add_flavor(admin, properties=GPU)
    assert (made["bookable"], made["bookable_hosts"]) == (True, 2)
    changed = admin.patch(f"flavors/{made['id']}", {"availability_zone": "nowhere"}).json
    assert (changed["bookable"], changed["bookable_hosts"]) == (False, 0)
    changed = admin.patch(f"flavors/{made['id']}", {"availability_zone": None}).json
    assert (changed["bookable"], changed["bookable_hosts"]) == (True, 2)


def test_flavor_whose_hosts_are_full_is_still_bookable(admin: Person, alpha: Person):
    made = things.add_flavor(admin, slots=8)
    things.book(alpha, made, instance_count=8)
    assert admin.get(f"flavors/{made['id']}").json["bookable_hosts"] == 1


def test_without_any_host_warning_and_refusal_say_so(site: Site, admin: Person, alpha: Person):
    # A host that isn't reservable has been registered all the same.
    with session.writer() as db:
        db.execute(sa.update(compute_hosts).values(reservable=False))
    made = things.add_flavor(admin)
    assert (made["bookable"], made["warnings"]) == (False, [])
    with session.writer() as db:
        for table in (extra_capabilities, host_inventories, host_traits, compute_hosts):
            db.execute(sa.delete(table))
    changed = admin.patch(f"flavors/{made['id']}", {"slots": 7}).json
    (warning,) = changed["warnings"]
    assert warning["code"] == "no_hosts"
    assert "openstack reservation host create" in warning["message"]
    answer = alpha.post("reservations", things.booking(made))
    assert answer.status_int == 409
    assert answer.json["code"] == "no_host_matches"
    assert answer.json["error_message"] == (
        "No host matches this flavor: Blazar has no host yet; ask the operator to register hosts "
        "(openstack reservation host create)"
    )


def test_property_that_no_host_has_is_told_from_one_that_differs(site: Site, admin: Person):
    world.add_host(site.cloud, "other", properties={"gpu_model": "h100"}, reservable=False)
    differs = things.add_flavor(admin, properties='["==", "$gpu_model", "a100"]')
    assert (differs["bookable"], differs["warnings"]) == (False, [])
    typo = '["and", ["==", "$gpu_modle", "h100"], ["!=", "$gpu_modle", "x"], [">", "$zzz", "1"]]'
    made = things.add_flavor(admin, name="typo", properties=typo)
    changed = admin.patch(f"flavors/{differs['id']}", {"properties": typo}).json
    for flavor in (made, changed):
        assert [(each["code"], each["message"]) for each in flavor["warnings"]] == [
            (
                "unknown_property",
                "No host in Blazar has a property gpu_modle, so nobody can book the flavor; the "
                "most similar property is gpu_model",
            ),
            (
                "unknown_property",
                "No host in Blazar has a property zzz, so nobody can book the flavor",
            ),
        ]


def test_zone_that_no_host_is_in_is_told_with_those_that_there_are(site: Site, admin: Person):
    world.add_host(site.cloud, "other", zone="az2", reservable=False)
    made = things.add_flavor(admin, availability_zone="Nova")
    other = things.add_flavor(admin, name="other", availability_zone="az2")
    changed = admin.patch(f"flavors/{other['id']}", {"availability_zone": "Nova"}).json
    assert other["warnings"] == []
    for flavor in (made, changed):
        assert [(each["code"], each["message"]) for each in flavor["warnings"]] == [
            (
                "unknown_zone",
                "No host in Blazar is in the availability zone Nova, so nobody can book the "
                "flavor; its hosts are in az1, az2",
            )
        ]


@pytest.mark.parametrize("terms", UNBOOKABLE.values(), ids=UNBOOKABLE)
def test_booking_of_flavor_that_no_host_can_hold_is_refused(
    site: Site, admin: Person, alpha: Person, terms: dict
):
    made = things.add_flavor(admin, **terms)
    before = site.rows()
    answer = alpha.post("reservations", things.booking(made, instance_count=2))
    assert refusal(answer) == (409, "no_host_matches")
    assert answer.json["error_message"].startswith("No host matches this flavor: ")
    matching = 1 if "vcpu" in terms or "resources:VGPU" in str(terms) else 0
    why = {"reason": "too_small"} if matching else {}
    detail = {"asked": 2, "free": 0, "matching": matching, **why}
    nothing_else = {"next_start": None, "longest_hours": 0.0, "most_instances": 0}
    nothing_else |= {"wait_start": None, "category": None, "own": []}
    assert answer.json["detail"] == detail | nothing_else
    assert site.rows() == before


def test_booking_without_matching_host_is_refused_with_no_host_matches_first(
    admin: Person, alpha: Person
):
    made = things.add_flavor(admin, availability_zone="nowhere")
    answer = alpha.post("reservations", things.booking(made, instance_count=9))
    assert refusal(answer) == (409, "no_host_matches")


def test_extension_is_refused_once_no_host_matches(site: Site, admin: Person, alpha: Person):
    made = things.add_flavor(admin)
    booked = things.book(alpha, made)
    with site.engine.begin() as connection:
        connection.exec_driver_sql("update computehosts set reservable = 0")
    answer = alpha.patch(f"reservations/{booked['id']}", {"end": things.at(2, 13)})
    assert refusal(answer) == (409, "no_host_matches")
    assert alpha.get(f"reservations/{booked['id']}").json == booked


def test_warres_path_answers_hosts_exhausted_instead_of_no_host_matches(site: Site, alpha: Person):
    admin = Person(site.app, "admin", "/v2/warre/v1")
    client = Person(site.app, "alpha", "/v2/warre/v1")
    made = things.add_flavor(admin, availability_zone="nowhere")
    listed = admin.get("flavors").json["results"]
    changed = admin.patch(f"flavors/{made['id']}", {"description": None}).json
    for shown in (made, changed, admin.get(f"flavors/{made['id']}").json, *listed):
        assert not {"bookable", "bookable_hosts"} & set(shown)
    answer = client.post("reservations", things.booking(made))
    assert refusal(answer) == (400, "hosts_exhausted")
    said = "No capacity: 1 asked, the 0 matching hosts have room for 0"
    assert answer.json["error_message"] == said
    assert refusal(alpha.post("reservations", things.booking(made))) == (409, "no_host_matches")


def test_flavor_in_reservation_has_no_bookable_field(admin: Person, alpha: Person):
    booked = things.book(alpha, things.add_flavor(admin))
    assert not {"bookable", "bookable_hosts"} & set(booked["flavor"])


def codes(flavor: dict) -> list[str]:
    return [warning["code"] for warning in flavor["warnings"]]


def test_inactive_flavor_is_not_bookable(admin: Person):
    made = things.add_flavor(admin, active=False)
    assert (made["bookable"], made["bookable_hosts"]) == (False, 1)


def test_fewer_slots_than_are_booked_are_a_warning(admin: Person, alpha: Person):
    made = things.add_flavor(admin, slots=4)
    things.book(alpha, made, instance_count=3)
    things.book(alpha, made, start=things.at(3), end=things.at(4))
    changed = admin.patch(f"flavors/{made['id']}", {"slots": 2}).json
    assert codes(changed) == ["slots_overbooked"]
    assert changed["warnings"][0]["message"] == (
        "Up to 3 instances are booked, and the flavor has 2 slots now; these reservations stay, "
        "the last of them until 2100-01-03 11:00 UTC"
    )
    assert codes(admin.patch(f"flavors/{made['id']}", {"slots": 3}).json) == []
    (warning,) = admin.patch(f"flavors/{made['id']}", {"slots": 1}).json["warnings"]
    assert "the flavor has 1 slot now" in warning["message"]
    assert codes(admin.patch(f"flavors/{made['id']}", {"category": "x"}).json) == []


def test_projects_that_hold_more_than_the_new_term_are_a_warning(
    admin: Person, alpha: Person, beta: Person
):
    made = things.add_flavor(admin, slots=4)
    path = f"flavors/{made['id']}"
    things.book(alpha, made, instance_count=2)
    things.book(alpha, made, start=things.at(3), end=things.at(4))
    assert codes(admin.patch(path, {"max_instances_per_project": 2}).json) == []
    changed = admin.patch(path, {"max_instances_per_project": 1}).json
    assert codes(changed) == ["projects_overbooked"]
    assert changed["warnings"][0]["message"] == (
        "1 project holds up to 2 instances at a time, and a project may hold at most 1 now; these "
        "reservations stay, the last of them until 2100-01-03 11:00 UTC"
    )
    assert codes(admin.patch(path, {"max_instances_per_project": None}).json) == []


def test_flavor_without_a_disk_can_be_booked_and_has_a_warning(
    site: Site, admin: Person, alpha: Person
):
    made = things.add_flavor(admin, disk_gb=0)
    assert codes(made) == ["volumes_only"]
    assert made["bookable_hosts"] == 1
    booked = things.book(alpha, made)
    site.set_time(things.moment(2, 9))
    site.execute()
    (nova_flavor,) = site.cloud.nova.flavors.values()
    assert booked["compute_flavor"] == nova_flavor["id"]
    assert nova_flavor["disk"] == 0


def test_more_slots_than_hosts_hold_are_a_warning(admin: Person):
    made = things.add_flavor(admin, slots=9)
    assert codes(made) == ["slots_exceed_hosts"]
    assert "9 slots, and its hosts hold only 8 instances" in made["warnings"][0]["message"]
    assert codes(admin.patch(f"flavors/{made['id']}", {"slots": 8}).json) == []
