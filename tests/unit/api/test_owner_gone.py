"""Reservations whose creator is disabled, deleted or without a role in the project."""

import pytest
from blazar.db import api as db_api

from tests.unit.api import identity, things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import Site
from tests.unit.api.things import at

LONGER = {"end": at(2, 12)}


@pytest.fixture
def booked(site: Site, admin: Person, alpha: Person) -> dict:
    """A reservation of alpha's."""

    def make() -> dict:
        return things.book(alpha, things.add_flavor(admin))

    return site.remembered(make)


@pytest.fixture
def path(booked: dict) -> str:
    return f"reservations/{booked['id']}"


@pytest.fixture(params=["pending", "running"])
def status(site: Site, booked: dict, request: pytest.FixtureRequest) -> str:
    """The reservation's state. The reservation has a server if it is running."""
    if request.param == "pending":
        return "ALLOCATED"

    def boot() -> None:
        start(site, booked)
        site.cloud.nova.boot(booked["compute_flavor"], booked["project_id"])

    site.remembered(boot)
    site.set_time(things.moment(2, 9))
    return "ACTIVE"


def start(site: Site, booked: dict) -> None:
    site.set_time(things.moment(2, 9))
    site.execute()
    assert lease_of(booked)["status"] == "ACTIVE"


def lease_of(booked: dict) -> dict:
    return db_api.lease_get(booked["lease_id"])


@pytest.mark.parametrize("who", ["colleague", "admin"])
@pytest.mark.parametrize("how", identity.REFUSALS)
def test_everyone_allowed_may_change_the_reservation(site: Site, booked, path, status, how, who):
    site.cloud.keystone.lose("alpha", how)
    person = Person(site.app, who)
    changed = person.patch(path, LONGER)
    assert (changed.status_int, changed.json["end"]) == (200, at(2, 12))
    zone = {"availability_zone": "az1"} if status == "ACTIVE" else {}
    assert person.get(path).json == {**booked, **zone, "status": status, "end": at(2, 12)}
    assert lease_of(booked)["user_id"] == booked["user_id"]


@pytest.mark.parametrize("how", identity.REFUSALS)
@pytest.mark.parametrize("who", ["colleague", "admin"])
def test_everyone_allowed_may_delete_the_reservation(site: Site, booked, path, status, how, who):
    site.cloud.keystone.lose("alpha", how)
    person = Person(site.app, who)
    assert person.delete(path).status_int == 204
    assert refusal(person.get(path)) == (404, "reservation_not_found")
    assert lease_of(booked) is None
    assert site.cloud.is_clean()


def test_start_and_end_need_no_creator(site: Site, colleague: Person, booked, path):
    site.cloud.keystone.lose("alpha", "deleted")
    start(site, booked)
    assert colleague.get(path).json["status"] == "ACTIVE"
    site.set_time(things.moment(2, 11))
    site.execute()
    assert colleague.get(path).json["status"] == "COMPLETE"
