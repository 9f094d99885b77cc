"""The servers in a reservation, which the answer about it has on request."""

from typing import Any

import pytest

from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import Site


@pytest.fixture
def booked(site: Site, admin: Person, alpha: Person) -> dict[str, Any]:
    """A running reservation of two instances, and a host without reservations."""
    provider = site.cloud.placement.named("host-1")
    assert provider is not None
    provider["inventories"]["VCPU"] = {"total": 9, "reserved": 0, "allocation_ratio": 1.0}
    site.cloud.add_host("other", inventories={"VCPU": {"total": 9}})
    flavor = things.add_flavor(admin)
    times = {"start": things.at(0, 12, 1), "end": things.at(1)}
    reservation = things.book(alpha, flavor, instance_count=2, **times)
    site.set_time(things.moment(0, 12, 1))
    site.run_events()
    return reservation


def shown(person: Person, reservation: dict[str, Any]) -> Any:
    document = things.made(person.get(f"reservations/{reservation['id']}?detail=servers"))
    assert "log" not in document
    return document["servers"]


def boot(site: Site, reservation: dict[str, Any], name: str, host: str | None = "host-1") -> str:
    flavor_id, project_id = reservation["compute_flavor"], reservation["project_id"]
    return site.cloud.nova.boot(flavor_id, project_id, name, host=host)


def names(servers: list[dict[str, Any]]) -> list[tuple[str, str, bool]]:
    return sorted((each["name"], each["status"], each["moved_out"]) for each in servers)


def test_servers_are_those_that_an_end_deletes_or_confirms(
    site: Site, alpha: Person, booked: dict[str, Any]
):
    nova = site.cloud.nova
    assert shown(alpha, booked) == []
    nova.shelve(boot(site, booked, "shelved"))
    nova.servers[boot(site, booked, "failed", None)]["status"] = "ERROR"
    moved = boot(site, booked, "moved")
    nova.move(moved, "other", nova.make_flavor("m1"))
    boot(site, booked, "usual")
    found = shown(alpha, booked)
    assert names(found) == [
        ("failed", "ERROR", False),
        ("moved", "VERIFY_RESIZE", True),
        ("shelved", "SHELVED_OFFLOADED", False),
        ("usual", "ACTIVE", False),
    ]
    assert moved in [each["id"] for each in found]
    alpha.delete(f"reservations/{booked['id']}")
    assert [server["name"] for server in nova.servers.values()] == ["moved"]


def test_servers_take_two_requests_if_they_hold_all_of_the_room(
    site: Site, alpha: Person, booked: dict[str, Any]
):
    boot(site, booked, "usual")
    shown(alpha, booked)
    nova, placement = site.cloud.nova, site.cloud.placement
    for service in (nova, placement):
        service.requests.clear()
    shown(alpha, booked)
    # A listing ends with an empty page.
    assert [r for r in nova.requests if "quota" not in r] == ["GET /v2.1/servers/detail"] * 2
    assert placement.requests == ["GET /usages"]


def test_only_a_request_for_servers_asks_for_them(
    site: Site, alpha: Person, booked: dict[str, Any]
):
    site.cloud.nova.requests.clear()
    document = alpha.get(f"reservations/{booked['id']}").json
    assert "servers" not in document
    assert not [line for line in site.cloud.nova.requests if "/servers" in line]


def test_reservation_that_has_not_begun_has_no_servers(site: Site, admin: Person, alpha: Person):
    later = things.book(alpha, things.add_flavor(admin))
    site.cloud.nova.fail(status=503)
    assert shown(alpha, later) == []


def test_servers_are_null_while_nova_is_away(site: Site, alpha: Person, booked: dict[str, Any]):
    boot(site, booked, "usual")
    site.cloud.nova.fail(status=503)
    assert shown(alpha, booked) is None


def test_servers_that_nova_lists_are_shown_while_placement_is_away(
    site: Site, alpha: Person, booked: dict[str, Any]
):
    boot(site, booked, "usual")
    site.cloud.placement.fail(status=503)
    assert names(shown(alpha, booked)) == [("usual", "ACTIVE", False)]


def test_warres_path_knows_no_servers(site: Site, booked: dict[str, Any]):
    warre = Person(site.app, "alpha", "/v2/warre/v1")
    answer = warre.get(f"reservations/{booked['id']}?detail=servers")
    assert refusal(answer)[0] in (400, 422)
