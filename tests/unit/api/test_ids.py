"""Reservations with an id that isn't that of Blazar's reservation, such as those from Warre."""

import pytest
import sqlalchemy as sa

from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import Site
from tests.unit.api.things import at
from warre_blazar.db import session, tables

FOREIGN_ID = "0f4d7f4c-6a27-4d49-9f0e-5f6a3a0f7c11"


@pytest.fixture
def booked(admin: Person, alpha: Person) -> dict:
    """From 9 to 11, as the booking answered it."""
    return things.book(alpha, things.add_flavor(admin))


@pytest.fixture
def shown(booked: dict) -> dict:
    """The same after the id was changed, as the API has to show it."""
    table = tables.bookings
    with session.writer() as db:
        db.execute(
            sa.update(table).where(table.c.reservation_id == booked["id"]).values(id=FOREIGN_ID)
        )
    return {**booked, "id": FOREIGN_ID}


@pytest.mark.parametrize("kind", ["own", "of Blazar"])
def test_reservation_is_found_by_either_id_and_shows_its_own(alpha: Person, booked, shown, kind):
    asked = FOREIGN_ID if kind == "own" else booked["id"]
    assert alpha.get(f"reservations/{asked}").json == shown
    assert alpha.get("reservations").json["results"] == [shown]


def test_reservation_is_changed_started_and_deleted_by_its_own_id(site: Site, alpha: Person, shown):
    path = f"reservations/{FOREIGN_ID}"
    longer = {**shown, "end": at(2, 12)}
    assert alpha.patch(path, {"end": at(2, 12)}).json == longer
    site.set_time(things.moment(2, 9))
    site.execute()
    zone = {"availability_zone": "az1"}
    assert alpha.get(path).json == {**longer, "status": "ACTIVE", **zone}
    assert alpha.delete(path).status_int == 204
    assert refusal(alpha.get(path)) == (404, "reservation_not_found")
    assert site.cloud.is_clean()


def test_reservation_with_an_id_of_its_own_holds_its_slots(admin: Person, alpha: Person, shown):
    flavor = shown["flavor"]
    refused = alpha.post("reservations", things.booking(flavor, instance_count=flavor["slots"]))
    assert refusal(refused) == (400, "slots_exhausted")
