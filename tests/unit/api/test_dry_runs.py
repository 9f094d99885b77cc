"""Dry runs: what a booking or a change would do. They write nothing."""

from typing import Any

import pytest

from tests.unit.api import identity, things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import Site
from tests.unit.api.test_changes import CHANGES
from tests.unit.api.things import at, booking
from warre_blazar import times
from warre_blazar.openstack import manager

DRY = "reservations?dry_run=true"


@pytest.fixture
def flavor(site: Site, admin: Person) -> dict:
    """A flavor with three slots, for at most 48 hours, which can be booked from day 1 to 20."""
    return things.add_flavor(admin, start=at(1), end=at(20), slots=3)


@pytest.fixture(autouse=True)
def limits(site: Site) -> dict:
    """Alpha's project may have 5 reservations and 100 hours."""
    alpha = identity.project_id("alpha")
    site.cloud.keystone.limits.update({(alpha, "reservation"): 5, (alpha, "hours"): 100})
    return site.cloud.keystone.limits


def foreseen(person: Person, flavor: dict, **changes: Any) -> dict[str, Any]:
    answer = person.post(DRY, booking(flavor, **changes))
    assert answer.status_int == 200, answer
    return answer.json


def codes(document: dict[str, Any]) -> list[str]:
    return [each["code"] for each in document["refusals"]]


def test_booking_that_fits(site: Site, alpha: Person, flavor):
    before = site.rows()
    document = foreseen(alpha, flavor, instance_count=2)
    assert site.rows() == before
    assert document == {
        "bookable": True,
        "refusals": [],
        "warnings": [],
        "flavor": things.plain(flavor),
        "instance_count": 2,
        "affinity": None,
        "before_end": "nothing",
        "start": at(2, 9),
        "end": at(2, 11),
        "quota": {"reservations": {"cost": 1, "left": 4}, "hours": {"cost": 4, "left": 96}},
        "next_start": at(2, 9),
        "longest_hours": 48,
        "wait_start": None,
        "most_instances": 3,
        "own": [],
    }


def test_dry_run_needs_no_manager(site: Site, alpha: Person, flavor, monkeypatch):
    booked = things.book(alpha, flavor)
    monkeypatch.delattr(manager, "create_lease")
    monkeypatch.delattr(manager, "update_lease")
    assert foreseen(alpha, flavor)["bookable"]
    answer = alpha.patch(f"reservations/{booked['id']}?dry_run=true", {"instance_count": 2})
    assert (answer.status_int, answer.json["bookable"]) == (200, True)


def test_only_operators_see_hosts(alpha: Person, admin: Person, flavor):
    assert "hosts" not in foreseen(alpha, flavor)
    assert foreseen(admin, flavor)["hosts"] == [{"name": "host-1", "instances": 1}]


def test_every_rule_that_refuses_is_named_in_the_order_of_a_booking(
    admin: Person, alpha: Person, beta: Person, flavor
):
    things.book(beta, flavor, instance_count=3)
    things.add_window(admin, flavor, start=at(3), end=at(4))
    wanted = {"start": at(2, 9), "end": at(5, 9), "instance_count": 2}
    document = foreseen(alpha, flavor, **wanted)
    assert codes(document) == ["too_long", "maintenance", "slots_exhausted", "quota_exceeded"]
    assert not document["bookable"]
    assert document["quota"]["hours"] == {"cost": 144, "left": -44}
    assert document["refusals"][0]["detail"] == {"max_length_hours": 48}
    refused = alpha.post("reservations", booking(flavor, **wanted))
    assert refusal(refused) == (400, "too_long")
    assert refused.json["detail"]["max_length_hours"] == 48


def test_alternatives_of_a_time_that_is_taken(alpha: Person, beta: Person, flavor):
    things.book(beta, flavor, instance_count=2)
    document = foreseen(alpha, flavor, start=at(2, 8), end=at(2, 10), instance_count=2)
    assert codes(document) == ["slots_exhausted"]
    assert document["next_start"] == at(2, 11)
    assert document["longest_hours"] == 1
    assert document["most_instances"] == 1
    # What is said to be possible is accepted.
    ways = (
        {"start": at(2, 11), "end": at(2, 13), "instance_count": 2},
        {"start": at(2, 8), "end": at(2, 9), "instance_count": 2},
        {"start": at(2, 8), "end": at(2, 10), "instance_count": 1},
    )
    assert [foreseen(alpha, flavor, **way)["bookable"] for way in ways] == [True] * 3


INSTEAD = ("next_start", "longest_hours", "most_instances")


def test_refusal_says_what_could_be_booked_instead(alpha: Person, beta: Person, flavor):
    things.book(beta, flavor, instance_count=2)
    wanted = {"start": at(2, 8), "end": at(2, 10), "instance_count": 2}
    document = foreseen(alpha, flavor, **wanted)
    refused = alpha.post("reservations", booking(flavor, **wanted)).json
    assert {name: refused["detail"][name] for name in INSTEAD} == {
        name: document[name] for name in INSTEAD
    }
    assert refused["detail"]["free"] == 1
    mine = things.book(alpha, flavor, start=at(2, 7), end=at(2, 8), instance_count=2)
    path, later = f"reservations/{mine['id']}", {"end": at(2, 10)}
    document = alpha.patch(f"{path}?dry_run=true", later).json
    refused = alpha.patch(path, later).json
    assert {name: refused["detail"][name] for name in INSTEAD} == {
        name: document[name] for name in INSTEAD
    }
    assert document["longest_hours"] == 2


def test_quota_limits_the_alternatives(alpha: Person, flavor, limits):
    limits[identity.project_id("alpha"), "hours"] = 6
    document = foreseen(alpha, flavor, instance_count=2)
    assert (document["longest_hours"], document["most_instances"]) == (3, 3)
    document = foreseen(alpha, flavor, instance_count=2, end=at(2, 14))
    assert codes(document) == ["quota_exceeded"]
    assert (document["next_start"], document["most_instances"]) == (None, 1)


def test_lowered_quota_is_seen_at_once(alpha: Person, flavor, limits, monkeypatch):
    monkeypatch.setattr(times, "LIMITS_CACHED_FOR", 30)
    mine = things.book(alpha, flavor)
    limits[identity.project_id("alpha"), "hours"] = 100
    assert codes(foreseen(alpha, flavor)) == []
    limits[identity.project_id("alpha"), "hours"] = 2
    assert codes(foreseen(alpha, flavor)) == ["quota_exceeded"]
    longer = alpha.patch(f"reservations/{mine['id']}?dry_run=true", {"end": at(2, 14)}).json
    assert codes(longer) == ["quota_exceeded"]


def test_time_that_is_not_valid(alpha: Person, flavor):
    document = foreseen(alpha, flavor, end=at(2, 9))
    assert codes(document) == ["invalid_period"]
    assert (document["next_start"], document["most_instances"]) == (None, 0)
    past = foreseen(alpha, flavor, start=at(0, 11), end=at(0, 12))
    assert codes(past) == ["invalid_period", "before_flavor_start"]


ERRORS = {
    "unknown field": ({"colour": 1}, (422, "invalid_field")),
    "bad field": ({"instance_count": 0}, (422, "invalid_field")),
    "unknown flavor": ({"flavor_id": "nonesuch"}, (404, "flavor_not_found")),
}


@pytest.mark.parametrize("case", ERRORS, ids=[name.replace(" ", "-") for name in ERRORS])
def test_bad_field_is_an_error_as_in_a_booking(alpha: Person, flavor, case):
    changes, expected = ERRORS[case]
    assert refusal(alpha.post(DRY, booking(flavor, **changes))) == expected
    assert refusal(alpha.post("reservations", booking(flavor, **changes))) == expected


def test_bad_value_of_the_parameter_is_refused(alpha: Person, flavor):
    answer = alpha.post("reservations?dry_run=perhaps", booking(flavor))
    assert refusal(answer) == (422, "invalid_field")
    assert answer.json["detail"]["field"] == "dry_run"


def test_readers_and_strangers_may_not_ask(reader: Person, beta: Person, alpha: Person, flavor):
    booked = things.book(alpha, flavor)
    assert refusal(reader.post(DRY, booking(flavor)))[0] == 403
    answer = beta.patch(f"reservations/{booked['id']}?dry_run=true", {"end": at(2, 12)})
    assert refusal(answer) == (404, "reservation_not_found")


@pytest.mark.parametrize("case", CHANGES, ids=[name.replace(" ", "-") for name in CHANGES])
def test_dry_run_of_a_change_says_what_the_change_does(
    site: Site, alpha: Person, beta: Person, flavor, case
):
    booked = things.book(alpha, flavor, instance_count=2)
    things.book(beta, flavor, start=at(2, 14), end=at(2, 15))
    changes, _ = CHANGES[case]
    path = f"reservations/{booked['id']}"
    before = site.rows()
    dry = alpha.patch(f"{path}?dry_run=true", changes)
    assert site.rows() == before
    done = alpha.patch(path, changes)
    if done.status_int >= 400 and dry.status_int >= 400:
        assert refusal(dry) == refusal(done)
    elif done.status_int >= 400:
        first = dry.json["refusals"][0]
        assert not dry.json["bookable"]
        assert (first["code"], first["message"]) == (done.json["code"], done.json["error_message"])
    else:
        assert dry.json["bookable"], dry
        kept = ("start", "end", "instance_count")
        assert [dry.json[name] for name in kept] == [done.json[name] for name in kept]


def test_change_that_is_refused_offers_a_way(alpha: Person, beta: Person, flavor):
    booked = things.book(alpha, flavor, instance_count=2)
    things.book(beta, flavor, start=at(2, 14), end=at(2, 15), instance_count=2)
    path = f"reservations/{booked['id']}?dry_run=true"
    document = alpha.patch(path, {"end": at(2, 15)}).json
    assert codes(document) == ["slots_exhausted"]
    assert document["quota"]["hours"] == {"cost": 8, "left": 88}
    # It can be extended until the other begins. For all of that time there is one slot.
    assert (document["longest_hours"], document["most_instances"]) == (5, 1)
    assert document["next_start"] == at(2, 15)
    assert alpha.patch(path, {"end": at(2, 14)}).json["bookable"]


def test_reservation_that_has_begun(site: Site, alpha: Person, flavor):
    booked = things.book(alpha, flavor, instance_count=2)
    site.set_time(things.moment(2, 9, 30))
    site.execute()
    path = f"reservations/{booked['id']}"
    assert alpha.get(path).json["status"] == "ACTIVE"
    extended = alpha.patch(f"{path}?dry_run=true", {"end": at(2, 12)}).json
    assert extended["bookable"]
    assert (extended["longest_hours"], extended["most_instances"]) == (48, 2)
    for changes, code in (
        ({"start": at(2, 10)}, "invalid_state"),
        ({"instance_count": 3}, "invalid_state"),
        ({"end": at(2, 9, 20)}, "refused"),
    ):
        document = alpha.patch(f"{path}?dry_run=true", changes).json
        refused = alpha.patch(path, changes).json
        first = document["refusals"][0]
        assert first["code"] == refused["code"] == code
        assert first["message"] == refused["error_message"]
    fewer = alpha.patch(f"{path}?dry_run=true", {"instance_count": 1}).json
    assert fewer["bookable"]
    ((provider, offers),) = site.cloud.placement.offered().items()
    site.cloud.placement.use(provider, *offers, 2)
    fewer = alpha.patch(f"{path}?dry_run=true", {"instance_count": 1}).json
    assert "has 2 servers" in fewer["refusals"][0]["message"]
    site.cloud.placement.allocations.clear()


def test_names_and_notes_are_checked_too(alpha: Person, flavor):
    booked = things.book(alpha, flavor)
    path = f"reservations/{booked['id']}"
    document = alpha.patch(f"{path}?dry_run=true", {"name": "mine"}).json
    assert (document["bookable"], document["most_instances"]) == (True, 1)
    assert alpha.get(path).json["name"] is None
    assert refusal(alpha.patch(f"{path}?dry_run=true", {"name": ""})) == (400, "invalid_field")


def test_reservation_that_is_over(site: Site, alpha: Person, flavor):
    booked = things.book(alpha, flavor)
    path = f"reservations/{booked['id']}"
    site.set_time(things.moment(2, 9, 30))
    site.execute()
    site.set_time(things.moment(2, 11, 30))
    site.execute()
    assert alpha.get(path).json["status"] == "COMPLETE"
    for changes in ({"end": at(2, 12)}, {"start": at(3), "end": at(2)}):
        document = alpha.patch(f"{path}?dry_run=true", changes).json
        refused = alpha.patch(path, changes).json
        assert document["refusals"][0]["message"] == refused["error_message"]
    assert alpha.patch(f"{path}?dry_run=true", {"name": "mine"}).json["bookable"]
    assert alpha.patch(path, {"name": "mine"}).status_code == 200


def test_deleted_reservation_is_not_found(alpha: Person, flavor):
    booked = things.book(alpha, flavor)
    path = f"reservations/{booked['id']}"
    alpha.delete(path)
    answer = alpha.patch(f"{path}?dry_run=true", {"end": at(2, 12)})
    assert refusal(answer) == (404, "reservation_not_found")


def test_warres_path_has_no_dry_run(alpha: Person, flavor):
    answer = alpha.post("warre/v1/reservations/?dry_run=true", booking(flavor))
    assert refusal(answer) == (422, "invalid_field")
