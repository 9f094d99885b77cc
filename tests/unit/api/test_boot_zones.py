"""The availability zone that a running reservation tells its users to boot servers in."""

from typing import Any

import pytest
import sqlalchemy as sa

from tests.unit.api import things
from tests.unit.api.people import Person
from tests.unit.api.site import Site
from warre_blazar.db import tables

_FIELD = "availability_zone"


@pytest.fixture
def booked(site: Site, admin: Person, alpha: Person) -> dict[str, Any]:
    return things.book(alpha, things.add_flavor(admin))


def set_zone(site: Site, registered: str, read: str | None = None) -> None:
    """Store the zone that all hosts had when they were registered, and the one that was read."""
    with site.engine.begin() as connection:
        connection.execute(sa.update(tables.compute_hosts).values(availability_zone=registered))
        connection.execute(sa.update(tables.host_providers).values(zone=read))


def start(site: Site) -> None:
    site.set_time(things.moment(2, 9))
    site.execute()


def test_running_reservation_names_the_zone_of_its_host(site: Site, alpha: Person, booked):
    set_zone(site, "az1")
    start(site)
    path = f"reservations/{booked['id']}"
    assert alpha.get(path).json[_FIELD] == "az1"
    assert _FIELD not in alpha.get(f"warre/v1/{path}").json
    (listed,) = alpha.get("reservations").json["results"]
    assert _FIELD not in listed


def test_zone_that_nova_tells_comes_before_the_one_at_the_registration(
    site: Site, alpha: Person, booked
):
    set_zone(site, "az1", "az2")
    start(site)
    assert alpha.get(f"reservations/{booked['id']}").json[_FIELD] == "az2"


def test_zone_that_is_not_known_is_null(site: Site, alpha: Person, booked):
    set_zone(site, "")
    start(site)
    assert alpha.get(f"reservations/{booked['id']}").json[_FIELD] is None


def test_reservation_that_has_not_begun_may_still_get_other_hosts(
    site: Site, alpha: Person, booked
):
    set_zone(site, "az1")
    assert _FIELD not in alpha.get(f"reservations/{booked['id']}").json
