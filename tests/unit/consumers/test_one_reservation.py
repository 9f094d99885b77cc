"""A reservation of ``flavor:instance`` that names a flavor of this package."""

import json
from typing import Any

import pytest
from blazar.db import api as db_api

from tests.unit.api import identity, things
from tests.unit.api.people import Person
from tests.unit.consumers import forms
from tests.unit.consumers.site import END, NOW, ODD, START, ExactSite, body, instance

PROJECT = identity.project_id("alpha")
#: What Nova has without any reservation.
FURNISHED = {"flavors": ["plain"], "aggregates": ["freepool"]}


@pytest.fixture
def flavor(admin: Person) -> dict[str, Any]:
    return things.add_flavor(admin)


def sole(lease: dict[str, Any]) -> dict[str, Any]:
    """The only reservation of a lease."""
    (reservation,) = lease["reservations"]
    return dict(reservation)


@pytest.mark.parametrize("by", ["id", "name"])
def test_reservation_is_booked_as_one_of_the_flavor(
    site: ExactSite, alpha: Person, flavor: dict[str, Any], by: str
):
    shown = sole(site.book(instance(flavor[by], 2)))
    assert json.loads(shown["resource_properties"])["id"] == flavor[by]
    (ours,) = alpha.get("reservations").json["results"]
    assert (ours["id"], ours["flavor"]["id"], ours["instance_count"]) == (
        shown["id"],
        flavor["id"],
        2,
    )
    assert ours["compute_flavor"] == shown["flavor_id"] == shown["id"]


def test_lease_has_stocks_form_from_its_booking_to_its_end(site: ExactSite, flavor: dict[str, Any]):
    site.set_time(ODD)
    made = site.book(instance(flavor["id"], 2))
    assert forms.of_lease(made) == []
    assert sole(made) | {"vcpus": 2, "memory_mb": 2048, "disk_gb": 20} == sole(made)
    for now, status in ((NOW, "PENDING"), (START, "ACTIVE"), (END, "TERMINATED")):
        site.go_to(now)
        (listed,) = site.send("GET").json["leases"]
        assert forms.of_lease(listed) == []
        assert listed == site.lease(made["id"])
        assert listed["status"] == status
        if status == "ACTIVE":
            assert type(sole(listed)["aggregate_id"]) is int


def test_lease_of_a_plain_nova_flavor_stays_as_it_is(site: ExactSite, flavor: dict[str, Any]):
    made = site.book(instance("plain"))
    shown = sole(made)
    assert json.loads(shown["resource_properties"])["id"] == "plain"
    assert type(shown["aggregate_id"]) is int
    for now, status in ((START, "ACTIVE"), (END, "TERMINATED")):
        site.go_to(now)
        assert site.lease(made["id"])["status"] == status


def test_lease_as_heat_books_it_stays_as_it_is(site: ExactSite):
    """Heat's own resource knows only types of Blazar, and sends what its users leave out."""
    size = {"amount": 2, "vcpus": 4, "memory_mb": 8192, "disk_gb": 20}
    empty = {"resource_properties": None, "affinity": False}
    made = site.book({"resource_type": "virtual:instance", **size, **empty})
    assert sole(made).items() >= {"resource_type": "virtual:instance", **size}.items()
    attributes = {"start_date", "end_date", "created_at", "updated_at", "status", "degraded"}
    attributes |= {"name", "user_id", "project_id", "trust_id", "reservations", "events"}
    assert attributes <= site.lease(made["id"]).keys()
    assert site.send("DELETE", f"/{made['id']}").status_int == 204
    assert site.send("DELETE", f"/{made['id']}").status_int == 404


def test_reservation_of_a_client_of_ours_stays_as_it_is(site: ExactSite, flavor: dict[str, Any]):
    slot = {"resource_type": "flavor:slot", "flavor_id": flavor["id"], "amount": 1}
    shown = sole(site.book(slot))
    assert shown["resource_type"] == "flavor:slot"
    assert shown["flavor_id"] == shown["id"].replace("-", "")


def test_reservation_with_such_a_nova_flavor_stays_as_it_is(
    site: ExactSite, flavor: dict[str, Any]
):
    """Those that were imported from Warre have one."""
    slot = {"resource_type": "flavor:slot", "flavor_id": flavor["id"], "amount": 1}
    made = site.book(slot)
    row = {"flavor_id": sole(made)["id"]}
    db_api.instance_reservation_update(sole(made)["resource_id"], row)
    assert sole(site.lease(made["id"])) | {"resource_type": "flavor:slot", **row} == sole(
        site.lease(made["id"])
    )


def test_nova_has_what_programs_look_for_while_it_runs(site: ExactSite, flavor: dict[str, Any]):
    made = site.book(instance(flavor["id"], 2))
    reservation_id = sole(made)["id"]
    assert reservation_id not in site.cloud.nova.flavors
    site.go_to(START)
    assert site.lease(made["id"])["status"] == "ACTIVE"
    known = site.cloud.nova.flavors[reservation_id]
    assert known["name"] == f"reservation:{reservation_id}"
    assert (known["vcpus"], known["ram"], known["disk"]) == (2, 2048, 20)
    assert known["access"] == {PROJECT}
    assert known["extra_specs"]["aggregate_instance_extra_specs:reservation"] == reservation_id
    server = site.cloud.nova.boot(reservation_id, PROJECT)
    site.go_to(END)
    assert server not in site.cloud.nova.servers
    assert site.lease(made["id"])["status"] == "TERMINATED"
    assert site.cloud.leftovers() == FURNISHED


def test_extension_and_count_are_changed(site: ExactSite, alpha: Person, flavor: dict[str, Any]):
    made = site.book(instance(flavor["id"]))
    path, reservation_id = f"/{made['id']}", sole(made)["id"]
    longer = site.send("PUT", path, {"end_date": "2100-01-03 19:00"}).json["lease"]
    assert forms.of_lease(longer) == []
    assert longer["end_date"] == "2100-01-03T19:00:00.000000"
    for more in ({}, {"resource_type": "flavor:instance"}):
        amount = 2 - len(more)
        asked = {"reservations": [{"id": reservation_id, "amount": amount, **more}]}
        changed = site.send("PUT", path, asked)
        assert changed.status_int == 200, changed
        assert sole(changed.json["lease"])["amount"] == amount
    assert alpha.get(f"reservations/{reservation_id}").json["instance_count"] == 1


def test_other_type_in_a_change_is_refused(site: ExactSite, flavor: dict[str, Any]):
    made = site.book(instance(flavor["id"]))
    asked = {"id": sole(made)["id"], "resource_type": "virtual:instance"}
    refused = site.send("PUT", f"/{made['id']}", {"reservations": [asked]})
    assert (refused.status_int, refused.json["code"]) == (409, "fixed_value")


@pytest.mark.parametrize("moment", [NOW, START], ids=["before", "running"])
def test_deleted_lease_is_gone_with_all_that_it_had(
    site: ExactSite, flavor: dict[str, Any], moment: Any
):
    made = site.book(instance(flavor["id"]))
    site.go_to(moment)
    deleted = site.send("DELETE", f"/{made['id']}")
    assert (deleted.status_int, deleted.body) == (204, b"")
    assert site.send("GET").json == {"leases": []}
    assert site.cloud.leftovers() == FURNISHED


def test_quota_counts_it_as_one_of_ours(site: ExactSite, flavor: dict[str, Any]):
    site.cloud.keystone.limits[PROJECT, "reservation"] = 1
    site.book(instance(flavor["id"]))
    refused = site.send("POST", body=body(instance(flavor["id"])))
    assert refused.status_int == 400
    assert refused.json["error_message"].startswith("Quota exceeded for reservation")


def test_flavor_whose_name_is_a_number_is_booked(site: ExactSite, admin: Person, alpha: Person):
    """python-blazarclient sends whatever looks like a number as a number."""
    flavor = things.add_flavor(admin, name="42")
    shown = sole(site.book(instance(42)))
    assert json.loads(shown["resource_properties"])["id"] == "42"
    assert alpha.get(f"reservations/{shown['id']}").json["flavor"]["id"] == flavor["id"]


def test_client_can_not_say_what_it_has_sent(site: ExactSite, flavor: dict[str, Any]):
    slot = {"resource_type": "flavor:slot", "flavor_id": flavor["id"], "amount": 1}
    slot["sent_flavor"] = "x"
    assert site.send("POST", body=body(slot)).status_int == 400
