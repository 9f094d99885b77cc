"""What python-chi sends and reads, in own words. It sends through python-blazarclient."""

import datetime
from typing import Any

import pytest

from tests.unit.api import identity, things
from tests.unit.api.people import Person
from tests.unit.consumers.site import NOW, ODD, ExactSite
from warre_blazar.services.flavors import shown_in_nova

PROJECT = identity.project_id("alpha")
DATE = "%Y-%m-%dT%H:%M:%S.%f"
CREATED = "%Y-%m-%d %H:%M:%S"
KEY = "aggregate_instance_extra_specs:reservation"


@pytest.fixture
def flavor(site: ExactSite, admin: Person) -> dict[str, Any]:
    """A flavor that Nova shows, because python-chi asks Nova for a flavor by its name."""
    made = things.add_flavor(admin, show_in_nova=True)
    shown_in_nova.look()
    return made


def submitted(site: ExactSite, flavor_id: str) -> dict[str, Any]:
    """Look for the lease by its name where an id belongs, and book it, from now to an odd time."""
    assert site.send("GET", "/exp-1").status_int == 404
    assert site.send("GET").json == {"leases": []}
    site.set_time(ODD)
    reservation = {
        "resource_type": "flavor:instance",
        "flavor_id": flavor_id,
        "amount": 2,
        "affinity": None,
    }
    answer = site.send(
        "POST",
        body={
            "name": "exp-1",
            "start_date": "now",
            "end_date": "2100-01-01 17:07",
            "reservations": [reservation],
            "events": [],
            "before_end_date": None,
        },
    )
    assert answer.status_int == 201, answer
    return dict(answer.json["lease"])


def visible(site: ExactSite) -> dict[str, Any]:
    """The Nova flavors that the project can list."""
    known = site.cloud.nova.flavors
    return {
        flavor_id: each
        for flavor_id, each in known.items()
        if each.get("os-flavor-access:is_public") or PROJECT in each["access"]
    }


def test_lease_is_read_polled_and_deleted(site: ExactSite, flavor: dict[str, Any]):
    made = submitted(site, flavor["id"])
    for _ in range(3):
        (listed,) = site.send("GET").json["leases"]
        for lease in (listed, site.lease(made["id"])):
            datetime.datetime.strptime(lease["start_date"], DATE)
            datetime.datetime.strptime(lease["end_date"], DATE)
            datetime.datetime.strptime(lease["created_at"], CREATED)
        site.go_to(NOW)
    assert listed["status"] == "ACTIVE"
    (reservation,) = listed["reservations"]
    assert (reservation["resource_type"], reservation["amount"]) == ("flavor:instance", 2)
    reserved = [
        each for each in visible(site).values() if each["extra_specs"].get(KEY) == reservation["id"]
    ]
    assert [each["id"] for each in reserved] == [reservation["flavor_id"]]
    assert site.send("DELETE", f"/{made['id']}").status_int == 204


def test_flavor_is_found_by_its_name_among_the_reservable_ones(
    site: ExactSite, flavor: dict[str, Any]
):
    reservable = [
        each["id"]
        for each in visible(site).values()
        if not any(key.startswith("resources:CUSTOM_RESERVATION_") for key in each["extra_specs"])
        and each["name"] == flavor["name"]
    ]
    assert reservable == [flavor["id"]]
    submitted(site, reservable[0])
