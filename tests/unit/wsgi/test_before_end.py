"""What is done with servers before the end, chosen in leases over Blazar's v1 API."""

from typing import Any

import pytest

from tests.unit.api import things
from tests.unit.api.people import Person
from tests.unit.api.site import Site
from tests.unit.wsgi import sending
from warre_blazar.services.booking import lookup


def ask(site: Site, flavor: dict[str, Any], value: object) -> Any:
    lease = sending.lease(sending.slot(flavor, before_end=value))
    return sending.send(site.app, "POST", "/v1/leases", lease)


def test_lease_can_choose(site: Site, admin: Person):
    flavor = things.add_flavor(admin, before_end_choice=True)
    made = ask(site, flavor, "snapshot")
    assert made.status_int == 201
    booked = lookup.get_by_lease(made.json["lease"]["id"])
    assert booked and booked.before_end == "snapshot"


def test_flavor_that_allows_no_choice_refuses_one(site: Site, admin: Person):
    flavor = things.add_flavor(admin)
    before = site.rows()
    refused = ask(site, flavor, "snapshot")
    assert refused.status_int == 400
    assert "before_end" in refused.json["error_message"]
    assert site.rows() == before


@pytest.mark.parametrize("value", [7, "", "default", "Snapshot", ["snapshot"], {"a": 1}, True])
def test_bad_value_is_refused(site: Site, admin: Person, value: object):
    flavor = things.add_flavor(admin, before_end_choice=True)
    before = site.rows()
    refused = ask(site, flavor, value)
    assert refused.status_int == 400
    assert "before_end" in refused.json["error_message"]
    assert site.rows() == before
