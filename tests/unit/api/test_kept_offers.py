"""What a wait was told is kept for its project for some minutes, in all views and decisions."""

import datetime

import pytest

from tests.functional.db import world
from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import NOW, Site
from tests.unit.api.test_waits import serve
from tests.unit.api.things import at
from warre_blazar import times

#: The only time for which the tests wait.
DAY = {"from": at(1), "to": at(2), "hours": 24}


def free(person: Person, flavor: dict, count: int = 1) -> bool:
    """Whether all views say that instances can be booked for the day, or all say they can't."""
    ref, when = flavor["id"], f"{at(1)[:16]}&end={at(2)[:16]}"
    slots = person.get(f"flavors/{ref}/freeslots?start={when}&count={count}&hours=24").json
    offers = person.get(
        f"offers?from={at(1)[:16]}&to={at(2)[:16]}&hours=24&count={count}&flavor={ref}"
    ).json
    booking = {"flavor_id": ref, "start": at(1), "end": at(2), "instance_count": count}
    foreseen = person.post("reservations?dry_run=true", booking).json
    said = {bool(slots), bool(offers["results"]), foreseen["bookable"]}
    assert len(said) == 1, (slots, offers, foreseen)
    return said.pop()


@pytest.fixture(params=["slots", "hosts"])
def flavor(request: pytest.FixtureRequest, admin: Person) -> dict:
    """A flavor for two instances at a time, by its slots or by its host."""
    terms = {"slots": 2} if request.param == "slots" else {"slots": 9, "vcpu": 8}
    return things.add_flavor(admin, **terms)


@pytest.fixture
def told(site: Site, alpha: Person, beta: Person, flavor: dict) -> dict:
    """A wait of beta's for one instance that was told, after alpha gave back both."""
    taken = things.book(alpha, flavor, start=at(1), end=at(2), instance_count=2)
    made = things.add_wait(beta, flavor, mode="tell", **DAY)
    alpha.delete(f"reservations/{taken['id']}")
    serve(site)
    assert beta.get(f"waits/{made['id']}").json["status"] == "TOLD"
    return made


def test_offer_is_kept_from_others_in_all_views(alpha: Person, beta: Person, flavor, told):
    assert [free(beta, flavor, count) for count in (1, 2)] == [True, True]
    assert [free(alpha, flavor, count) for count in (1, 2)] == [True, False]
    body = things.booking(flavor, start=at(1), end=at(2))
    things.made(alpha.post("reservations", body))
    refused = alpha.post("reservations", body)
    assert refusal(refused) == (400, "slots_exhausted")
    assert refused.json["error_message"] == (
        "Until 2100-01-01 12:10 UTC, the room at this time is kept for a project that has waited "
        "for it"
    )
    assert refused.json["detail"]["most_instances"] == 0
    assert things.made(alpha.post("reservations", things.booking(flavor, start=at(2), end=at(3))))
    things.made(beta.post("reservations", body))


def test_later_wait_does_not_get_what_was_offered_in_the_same_second(
    site: Site, alpha: Person, beta: Person, flavor
):
    taken = things.book(alpha, flavor, start=at(1), end=at(2), instance_count=2)
    tell = things.add_wait(beta, flavor, mode="tell", instance_count=2, **DAY)
    book = things.add_wait(alpha, flavor, **DAY)
    alpha.delete(f"reservations/{taken['id']}")
    serve(site)
    states = [p.get(f"waits/{w['id']}").json["status"] for p, w in ((beta, tell), (alpha, book))]
    assert states == ["TOLD", "WAITING"]
    site.set_time(NOW + times.TOLD_FIRST_FOR)
    serve(site)
    assert alpha.get(f"waits/{book['id']}").json["status"] == "BOOKED"


def test_offer_ends_after_some_minutes_or_when_it_is_booked(
    site: Site, alpha: Person, beta: Person, flavor, told
):
    assert not free(alpha, flavor, 2)
    booked = things.book(beta, flavor, start=at(1), end=at(2))
    assert [free(alpha, flavor, count) for count in (1, 2)] == [True, False]
    beta.delete(f"reservations/{booked['id']}")
    site.set_time(NOW + times.TOLD_FIRST_FOR - datetime.timedelta(seconds=1))
    assert free(alpha, flavor, 2)


def test_running_reservation_is_not_extended_into_an_offer(
    site: Site, alpha: Person, beta: Person, admin: Person
):
    flavor = things.add_flavor(admin, slots=1)
    mine = things.book(alpha, flavor, start=at(0, 13), end=at(1))
    taken = things.book(alpha, flavor, start=at(1), end=at(2))
    things.add_wait(beta, flavor, mode="tell", **DAY)
    alpha.delete(f"reservations/{taken['id']}")
    serve(site)
    path = f"reservations/{mine['id']}"
    assert refusal(alpha.patch(path, {"end": at(1, 1)})) == (400, "slots_exhausted")
    assert alpha.get(f"{path}/extensions").json["latest_end"] == at(1)
    assert alpha.patch(path, {"end": at(0, 20)}).status_int == 200


def offered_again(site: Site, alpha: Person, beta: Person, flavor: dict) -> dict:
    """A second wait of beta's that is told a few minutes later."""
    site.set_time(NOW + times.TOLD_FIRST_FOR)
    taken = things.book(alpha, flavor, start=at(1), end=at(2), instance_count=2)
    made = things.add_wait(beta, flavor, mode="tell", **DAY)
    alpha.delete(f"reservations/{taken['id']}")
    serve(site)
    assert beta.get(f"waits/{made['id']}").json["status"] == "TOLD"
    return made


def test_room_is_not_kept_again_for_who_did_not_book_it(
    site: Site, alpha: Person, beta: Person, flavor, told
):
    """Otherwise a project could hold a flavor by one wait after the other."""
    offered_again(site, alpha, beta, flavor)
    assert free(alpha, flavor, 2)


def test_room_is_kept_again_for_who_booked_it(
    site: Site, alpha: Person, beta: Person, flavor, told
):
    mine = things.book(beta, flavor, start=at(1), end=at(2))
    beta.delete(f"reservations/{mine['id']}")
    offered_again(site, alpha, beta, flavor)
    assert not free(alpha, flavor, 2)


def test_told_wait_is_canceled_to_give_up_its_room(
    alpha: Person, beta: Person, flavor: dict, told: dict
):
    path = f"waits/{told['id']}"
    assert beta.delete(path).status_int == 204
    assert free(alpha, flavor, 2)
    assert beta.get(path).json["status"] == "TOLD"
    assert refusal(beta.delete(path)) == (409, "wait_over")


def test_booking_on_one_host_leaves_room_on_another(
    site: Site, alpha: Person, beta: Person, admin: Person
):
    world.add_host(site.cloud, "host-2", vcpus=16, zone="az1")
    flavor = things.add_flavor(admin, slots=9, vcpu=8)
    taken = things.book(alpha, flavor, start=at(1), end=at(2), instance_count=4)
    things.add_wait(beta, flavor, mode="tell", **DAY)
    alpha.delete(f"reservations/{taken['id']}")
    serve(site)
    assert [free(alpha, flavor, count) for count in (3, 4)] == [True, False]
    day = {"start": at(1), "end": at(2), "affinity": True}
    things.made(alpha.post("reservations", things.booking(flavor, instance_count=2, **day)))
    refused = alpha.post("reservations", things.booking(flavor, instance_count=2, **day))
    assert refused.json["detail"]["most_instances"] == 1


def test_running_reservation_is_not_extended_onto_hosts_that_are_offered(
    site: Site, alpha: Person, beta: Person, admin: Person
):
    flavor = things.add_flavor(admin, slots=9, vcpu=8)
    mine = things.book(alpha, flavor, start=at(0, 13), end=at(1), instance_count=2)
    site.set_time(NOW + datetime.timedelta(hours=1, minutes=1))
    site.run_events()
    taken = things.book(alpha, flavor, start=at(1), end=at(2), instance_count=2)
    things.add_wait(beta, flavor, mode="tell", **DAY)
    alpha.delete(f"reservations/{taken['id']}")
    serve(site)
    path = f"reservations/{mine['id']}"
    assert alpha.get(path).json["status"] == "ACTIVE"
    assert alpha.get(f"{path}/extensions").json["latest_end"] == at(1)
    assert refusal(alpha.patch(path, {"end": at(1, 1)})) == (400, "slots_exhausted")


def test_too_many_instances_are_refused_by_the_hosts(alpha: Person, admin: Person, flavor, told):
    """Once the room is kept no longer, they don't fit either."""
    body = things.booking(flavor, start=at(1), end=at(2), instance_count=5)
    refused = alpha.post("reservations", body).json
    assert "is kept" not in refused["error_message"]
