"""What a wait was told is kept for its project for some minutes, in all views and decisions."""

import datetime

import pytest

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
