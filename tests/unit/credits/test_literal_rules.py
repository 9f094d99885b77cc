"""What breaks requests to credits services, by the services' own code.

Each test is named after what an implementation must not do.
"""

import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from blazar.db import api as db_api

from tests.fakes.chameleon_portal import ChameleonPortal
from tests.fakes.coral_credits import CoralCredits
from tests.functional.db import world
from tests.unit.api import identity, things
from tests.unit.api.people import Person, refusal
from tests.unit.credits.charged_site import ChargedSite, book, book_lease
from tests.unit.credits.test_chameleon_portal import start
from tests.unit.credits.test_coral_credits import change, delete, lease_of, left, taken

Configure = Callable[..., None]

VIRTUAL = {
    "resource_type": "virtual:instance",
    "amount": 2,
    "vcpus": 1,
    "memory_mb": 512,
    "disk_gb": 5,
    "affinity": None,
    "resource_properties": "",
}
OF_FLAVOR = {
    "resource_type": "flavor:instance",
    "amount": 3,
    "flavor_id": "plain",
    "affinity": "None",
}
WHOLE_HOSTS = {
    "resource_type": "physical:host",
    "min": 1,
    "max": 2,
    "hypervisor_properties": "",
    "resource_properties": "",
}


# Coral Credits


@pytest.mark.parametrize("slash", ["", "/"])
def test_addresses_have_no_slash_at_their_end(
    coral: CoralCredits, alpha: Person, flavor: dict[str, Any], configured: Configure, slash: str
):
    configured(credits_url=coral.url + slash)
    assert book(alpha, flavor).status_int == 200
    assert coral.requests == ["POST /consumer/check-create", "POST /consumer/create"]


def test_service_knows_who_asks_by_a_bearer_token(
    coral: CoralCredits, alpha: Person, flavor: dict[str, Any], configured: Configure
):
    configured(credits_token="another")
    assert refusal(book(alpha, flavor)) == (503, "service_unavailable")
    configured(credits_token=coral.token)
    assert book(alpha, flavor).status_int == 200


def test_lease_is_charged_by_the_id_that_it_gets(
    coral: CoralCredits, alpha: Person, flavor: dict[str, Any]
):
    lease = lease_of(book(alpha, flavor, "/v1"))
    assert [body["lease"]["id"] for _, body in coral.bodies] == [lease["id"]] * 2
    assert set(coral.consumers) == {uuid.UUID(lease["id"])}


def test_booking_is_committed_after_the_check(
    coral: CoralCredits, alpha: Person, flavor: dict[str, Any]
):
    book(alpha, flavor)
    assert coral.steps() == ["check-create", "create"]


def test_requests_are_for_the_whole_lease_and_not_by_reservation_or_hour(
    site: ChargedSite, coral: CoralCredits, alpha: Person
):
    lease = lease_of(book_lease(alpha, VIRTUAL, OF_FLAVOR))
    requests = coral.bodies[-1][1]["lease"]["resource_requests"]
    assert requests == {"VCPU": 2 + 3, "MEMORY_MB": 2 * 512 + 3 * 1024, "DISK_GB": 2 * 5 + 3 * 10}
    assert taken(coral, lease["id"]) == {name: 2 * amount for name, amount in requests.items()}
    site.look()
    delete(alpha, lease["id"], "/v1")
    site.look()
    assert left(coral, alpha)["VCPU"] == 100


def test_class_without_an_allocation_is_not_sent(
    coral: CoralCredits, alpha: Person, admin: Person, site: ChargedSite
):
    """The account has no credits of PGPU, and so PGPU costs nothing."""
    world.add_host(site.blazar.cloud, "gpu-1", zone="az1", more={"PGPU": {"total": 4}})
    flavor = things.add_flavor(admin, name="gpu", extra_specs={"resources:PGPU": "1"})
    lease = lease_of(book(alpha, flavor))
    assert taken(coral, lease["id"]) == {"VCPU": 4, "MEMORY_MB": 4096, "DISK_GB": 40}


def test_class_with_an_allocation_is_always_sent(
    coral: CoralCredits,
    alpha: Person,
    admin: Person,
    site: ChargedSite,
    configured: Configure,
    flavor: dict[str, Any],
):
    """The account has credits of PGPU. Without the class the service fails, with 0 it refuses."""
    configured(credits_resource_classes=["VCPU", "MEMORY_MB", "DISK_GB", "PGPU"])
    coral.grant(identity.project_id("alpha"), VCPU=100, MEMORY_MB=100_000, DISK_GB=99, PGPU=10)
    world.add_host(site.blazar.cloud, "gpu-1", zone="az1", more={"PGPU": {"total": 4}})
    gpu = things.add_flavor(admin, name="gpu", extra_specs={"resources:PGPU": "1"})
    without = lease_of(book(alpha, flavor))
    assert coral.steps() == ["check-create", "create", "update"]
    assert taken(coral, without["id"]) == {"VCPU": 4, "MEMORY_MB": 4096, "DISK_GB": 40, "PGPU": 0}
    assert book(alpha, gpu).status_int == 200
    site.look()
    assert left(coral, alpha)["PGPU"] == 8


def test_flavor_without_a_disk_can_be_booked(
    coral: CoralCredits, alpha: Person, admin: Person, site: ChargedSite
):
    flavor = things.add_flavor(admin, name="diskless", disk_gb=0)
    assert book(alpha, flavor).status_int == 200
    site.look()
    assert left(coral, alpha) == {"VCPU": 96, "MEMORY_MB": 100_000 - 4096, "DISK_GB": 1000}


def test_reservation_of_ours_has_a_type_that_the_service_knows(
    coral: CoralCredits, alpha: Person, flavor: dict[str, Any]
):
    book(alpha, flavor)
    (reservation,) = coral.bodies[0][1]["lease"]["reservations"]
    assert reservation["resource_type"] == "flavor:instance"
    assert reservation["affinity"] == "None"
    assert all({"id", "hypervisor_hostname"} <= each.keys() for each in reservation["allocations"])


def test_user_from_ldap_can_book(
    coral: CoralCredits,
    alpha: Person,
    flavor: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
):
    """The service takes only UUIDs, and notes whose lease it is."""
    monkeypatch.setattr(identity, "user_id", lambda _: "a1" * 32)
    assert book(alpha, flavor).status_int == 200


def test_address_of_keystone_without_a_dot_counts_as_away(
    coral: CoralCredits, alpha: Person, flavor: dict[str, Any], configured: Configure
):
    configured(credits_auth_url="http://keystone:5000/v3")
    answer = book(alpha, flavor)
    assert refusal(answer) == (503, "service_unavailable")
    assert "its answer has the status 400" in answer.text


@pytest.mark.parametrize(
    "reservation", [VIRTUAL, OF_FLAVOR, WHOLE_HOSTS], ids=["virtual", "flavor", "host"]
)
@pytest.mark.parametrize("service", ["coral", "portal"])
def test_stock_leases_are_charged_and_given_back(
    request: pytest.FixtureRequest,
    site: ChargedSite,
    alpha: Person,
    reservation: dict[str, Any],
    service: str,
):
    fake = request.getfixturevalue(service)
    if service == "coral":
        fake.grant(alpha.project_id, VCPU=1000, MEMORY_MB=1_000_000, DISK_GB=10_000)
    lease = lease_of(book_lease(alpha, reservation))
    site.look()
    charged = "create" if service == "coral" else "check-create"
    assert fake.steps()[-1] == charged
    delete(alpha, lease["id"], "/v1")
    site.look()
    assert fake.steps()[-1] == "on-end"
    assert site.accounts() == 0


# Chameleon's portal


def test_reservation_of_a_flavor_has_its_vcpus(
    portal: ChameleonPortal, alpha: Person, flavor: dict[str, Any]
):
    assert book(alpha, flavor).status_int == 200
    assert book_lease(alpha, OF_FLAVOR).status_int == 201
    vcpus = [body["lease"]["reservations"][0]["vcpus"] for _, body in portal.bodies]
    assert vcpus == [2, 1]


def test_properties_are_never_null(portal: ChameleonPortal, alpha: Person, flavor: dict[str, Any]):
    assert book(alpha, flavor).status_int == 200
    assert book_lease(alpha, OF_FLAVOR).status_int == 201
    assert book_lease(alpha, {**VIRTUAL}).status_int == 201
    found = [body["lease"]["reservations"][0] for _, body in portal.bodies]
    ids = [json.loads(each["resource_properties"])["id"] for each in found[:2]]
    assert ids == [flavor["id"], "plain"]
    assert "resource_properties" not in found[2]


def test_each_of_several_reservations_has_its_own_allocations(
    portal: ChameleonPortal, alpha: Person
):
    """Blazar passes the hosts of the last one for each."""
    assert book_lease(alpha, {**OF_FLAVOR, "amount": 1}, OF_FLAVOR).status_int == 201
    ((_, body),) = portal.bodies
    assert [len(r["allocations"]) for r in body["lease"]["reservations"]] == [1, 3]


def test_allocations_are_counted_by_instance_after_the_booking_too(
    site: ChargedSite, portal: ChameleonPortal, alpha: Person, admin: Person
):
    flavor = things.add_flavor(admin, slots=3)
    lease = lease_of(book(alpha, flavor, instance_count=3))
    site.look()
    start(site)
    assert change(alpha, lease, "/v2", things.moment(2, 12)).status_int == 200
    site.blazar.set_time(things.moment(2, 10))
    delete(alpha, lease["id"], "/v2")
    site.look()
    assert portal.steps() == ["check-create", "check-update", "on-end"]
    for _, body in portal.bodies:
        for name in body.keys() & {"lease", "current_lease"}:
            assert len(body[name]["reservations"][0]["allocations"]) == 3


@pytest.mark.parametrize("service", ["coral", "portal"])
def test_dates_have_neither_microseconds_nor_a_zone_and_nothing_is_null(
    request: pytest.FixtureRequest,
    site: ChargedSite,
    alpha: Person,
    flavor: dict[str, Any],
    service: str,
):
    fake = request.getfixturevalue(service)
    lease = lease_of(book(alpha, flavor))
    site.look()
    start(site)
    site.pass_time(seconds=7, microseconds=5)
    assert change(alpha, lease, "/v2", things.moment(2, 12)).status_int == 200
    delete(alpha, lease["id"], "/v2")
    site.look()
    assert len(fake.bodies) > 2
    for _, body in fake.bodies:
        for name in body.keys() & {"lease", "current_lease"}:
            for date in ("start_date", "end_date"):
                assert len(body[name][date]) == len("2100-01-03T09:00:00")
            assert None not in body[name].values()
    assert db_api.lease_list() == []
