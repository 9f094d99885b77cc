"""Leases of ``flavor:instance`` that credits services charge, with flavors of both kinds in one."""

import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.fakes.chameleon_portal import ChameleonPortal
from tests.fakes.coral_credits import CoralCredits
from tests.unit.api import things
from tests.unit.api.people import Person
from tests.unit.consumers.site import ExactSite, body, instance
from tests.unit.credits import charged_site
from tests.unit.credits.charged_site import AUTH_URL, ChargedSite

Configure = Callable[..., None]


@pytest.fixture
def configured(site: ExactSite, monkeypatch: pytest.MonkeyPatch) -> Iterator[Configure]:
    """A function that enables the filter with options."""
    charged_site.prepare(monkeypatch)
    with charged_site.filtering(site) as configure:
        yield configure


@pytest.fixture
def charged(site: ExactSite, configured: Configure) -> ChargedSite:
    return ChargedSite(site)


@pytest.fixture
def coral(configured: Configure) -> Iterator[CoralCredits]:
    made = CoralCredits()
    configured(credits_url=made.url, credits_token=made.token)
    yield made
    made.stop()


@pytest.fixture
def portal(site: ExactSite, configured: Configure) -> Iterator[ChameleonPortal]:
    made = ChameleonPortal(site.cloud.keystone, AUTH_URL)
    configured(credits_api="chameleon-portal", credits_url=made.url)
    yield made
    made.stop()


def asked(admin: Person) -> list[dict[str, Any]]:
    """Reservations of both kinds, the plain one first."""
    return [instance("plain", 3), instance(things.add_flavor(admin)["id"], 2)]


def test_coral_charges_all_reservations_of_a_lease_and_gives_them_back(
    site: ExactSite, charged: ChargedSite, coral: CoralCredits, admin: Person
):
    alpha = Person(site.app, "alpha")
    coral.grant(alpha.project_id, VCPU=100, MEMORY_MB=100_000, DISK_GB=1000)
    lease = site.book(*asked(admin))
    charged.look()
    assert coral.steps() == ["check-create", "create"]
    wanted = {"VCPU": 3 + 2 * 2, "MEMORY_MB": 3 * 1024 + 2 * 2048, "DISK_GB": 3 * 10 + 2 * 20}
    assert coral.bodies[-1][1]["lease"]["resource_requests"] == wanted
    assert set(coral.consumers) == {uuid.UUID(lease["id"])}
    assert site.send("DELETE", f"/{lease['id']}").status_int == 204
    charged.look()
    assert coral.credits[uuid.UUID(alpha.project_id)]["VCPU"] == 100


def test_refusal_of_the_credits_service_is_one_that_azimuth_shows(
    site: ExactSite, coral: CoralCredits, admin: Person
):
    coral.grant(Person(site.app, "alpha").project_id, VCPU=1, MEMORY_MB=1, DISK_GB=1)
    refused = site.send("POST", body=body(*asked(admin)))
    assert refused.status_int == 400
    assert "Insufficient VCPU credits available" in refused.json["error_message"]
    assert site.send("GET").json == {"leases": []}


def test_portal_charges_each_reservation_by_the_flavor_that_was_named(
    site: ExactSite, portal: ChameleonPortal, admin: Person
):
    """It finds the charges by the ids of reservations, at each change and at the end."""
    wanted = asked(admin)
    lease = site.book(*wanted)
    ((_, told),) = portal.bodies
    sent = told["lease"]["reservations"]
    flavors = [json.loads(each["resource_properties"])["id"] for each in sent]
    assert flavors == [each["flavor_id"] for each in wanted]
    assert [(r["vcpus"], len(r["allocations"])) for r in sent] == [(1, 3), (2, 2)]
    booked = {r["id"]: json.loads(r["resource_properties"])["id"] for r in lease["reservations"]}
    assert {r["id"]: flavor for r, flavor in zip(sent, flavors, strict=True)} == booked
    assert [charge.resource_id for charge in portal.charges] == [each["id"] for each in sent]
