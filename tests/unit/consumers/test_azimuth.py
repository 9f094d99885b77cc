"""What Azimuth's schedule operator sends and reads, in own words.

It looks for its lease by the name in the list, books it, looks at the list until the lease is
ACTIVE, and then maps the ids and names of what was asked for to those of what boots.
"""

import json
from typing import Any

import pytest

from tests.unit.api import identity, things
from tests.unit.api.people import Person
from tests.unit.consumers.site import NOW, ExactSite, instance
from tests.unit.wsgi import sending
from warre_blazar import times
from warre_blazar.services.flavors import shown_in_nova
from warre_blazar.services.running import backing

PROJECT = identity.project_id("alpha")
#: All statuses that the operator knows.
STATUSES = "PENDING ACTIVE TERMINATED ERROR CREATING STARTING UPDATING TERMINATING DELETING UNKNOWN"
HEADERS = {"X-OpenStack-Nova-API-Version": "2.61", "Accept": "*/*"}


class Operator:
    """Books for a platform, and maps its sizes."""

    def __init__(self, site: ExactSite) -> None:
        self._site = site

    def _send(self, method: str, path: str = "", body: Any = b"") -> Any:
        return sending.send(self._site.app, method, f"/v1/leases{path}", body, **HEADERS)

    def book(self, *sizes: dict[str, Any]) -> Any:
        """Send the booking. It begins now, and doesn't end on a full hour."""
        return self._send(
            "POST",
            body={
                "name": "az-kube-demo",
                "start_date": "now",
                "end_date": "2100-01-01 17:23",
                "reservations": list(sizes),
                "events": [],
                "before_end_date": None,
            },
        )

    def found(self) -> dict[str, Any] | None:
        """The lease as it is in the list."""
        leases = self._send("GET").json["leases"]
        lease = next((each for each in leases if each["name"] == "az-kube-demo"), None)
        assert lease is None or lease["status"] in STATUSES.split()
        return lease

    def delete(self, lease: dict[str, Any]) -> int:
        return int(self._send("DELETE", f"/{lease['id']}").status_int)

    @staticmethod
    def sizes(lease: dict[str, Any]) -> dict[str, str]:
        """The ids of what boots by the ids of what was asked for."""
        return {
            json.loads(each["resource_properties"])["id"]: each["id"]
            for each in lease["reservations"]
            if each["resource_type"] == "flavor:instance"
        }

    def names(self, lease: dict[str, Any]) -> dict[str, str]:
        """The same by their names, of flavors that Nova lists to the project."""
        flavors = self._site.cloud.nova.flavors
        visible = {
            flavor_id: flavor["name"]
            for flavor_id, flavor in flavors.items()
            if flavor["os-flavor-access:is_public"] or PROJECT in flavor["access"]
        }
        pairs = self.sizes(lease).items()
        return {visible[a]: visible[b] for a, b in pairs if a in visible and b in visible}


@pytest.fixture
def operator(site: ExactSite) -> Operator:
    site.cloud.nova.flavors["plain"]["os-flavor-access:is_public"] = True
    return Operator(site)


@pytest.fixture
def size(operator: Operator, admin: Person) -> dict[str, Any]:
    """A flavor that Nova shows."""
    flavor = things.add_flavor(admin, show_in_nova=True, slots=4)
    shown_in_nova.look()
    return flavor


def test_platform_is_booked_booted_and_deleted(
    site: ExactSite, operator: Operator, size: dict[str, Any]
):
    assert operator.found() is None
    booked = operator.book(instance(size["id"], 3), instance("plain"))
    assert (booked.status_int, booked.headers["Content-Type"]) == (201, "application/json")
    lease = operator.found()
    assert lease is not None
    while lease["status"] != "ACTIVE":
        site.go_to(NOW)
        lease = operator.found()
        assert lease is not None
    sizes = operator.sizes(lease)
    assert sizes.keys() == {size["id"], "plain"}
    assert operator.names(lease) == {
        size["name"]: f"reservation:{sizes[size['id']]}",
        "plain": f"reservation:{sizes['plain']}",
    }
    for flavor_id in sizes.values():
        site.cloud.nova.boot(flavor_id, PROJECT)
    assert operator.delete(lease) == 204
    assert operator.found() is None
    assert operator.delete(lease) == 404
    assert set(site.cloud.nova.flavors) == {size["id"], "plain"}


def test_lease_is_never_active_before_its_flavors_can_be_used(
    site: ExactSite, operator: Operator, size: dict[str, Any]
):
    operator.book(instance(size["id"]), instance("plain"))
    seen = []
    for _ in range(3):
        lease = operator.found()
        assert lease is not None
        seen.append(lease["status"])
        assert (lease["status"] == "ACTIVE") == (len(operator.names(lease)) == 2)
        site.executor.beat()
        site.executor.claim(NOW + len(seen) * times.SECOND)
        site.executor.begin_due(NOW + len(seen) * times.SECOND)
    assert seen[-1] == "ACTIVE"


def test_lease_is_shown_as_starting_as_long_as_nova_is_away(
    site: ExactSite, operator: Operator, size: dict[str, Any]
):
    """The operator would go on with the sizes that boot nothing outside of a reservation."""
    operator.book(instance(size["id"]), instance("plain"))
    site.cloud.nova.fail(match="POST /v2.1/flavors", status=503)
    site.go_to(NOW)
    lease = operator.found()
    assert lease is not None
    assert (lease["status"], operator.names(lease)) == ("STARTING", {})
    assert site.lease(lease["id"])["status"] == "STARTING"
    site.cloud.nova.mend()
    backing.reconcile()
    lease = operator.found()
    assert lease is not None
    assert lease["status"] == "ACTIVE"
    assert len(operator.names(lease)) == 2


def test_deleted_platform_has_no_lease_although_nova_is_away(
    site: ExactSite, operator: Operator, size: dict[str, Any]
):
    """The operator deletes it again and again for as long as it is in the list."""
    operator.book(instance(size["id"]), instance("plain"))
    site.go_to(NOW)
    lease = operator.found()
    assert lease is not None
    site.cloud.nova.fail(match="/v2.1/", status=503)
    assert operator.delete(lease) == 204
    assert operator.found() is None
    site.cloud.nova.mend()
    backing.reconcile()
    assert set(site.cloud.nova.flavors) == {size["id"], "plain"}


def test_refused_platform_leaves_no_lease(
    site: ExactSite, operator: Operator, size: dict[str, Any]
):
    refused = operator.book(instance(size["id"], 5), instance("plain"))
    assert refused.status_int == 400
    assert "slots" in refused.json["error_message"]
    assert operator.found() is None
