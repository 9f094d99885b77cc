"""Who holds the room of reservations: moves that nobody has confirmed, and shelved servers."""

from typing import Any

import pytest

from tests.functional.cloud import nova_side, world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.waiting import until

pytestmark = pytest.mark.together


def _running(who: Person, offer: Offer, host: str, count: int = 1) -> dict[str, Any]:
    mine = world.booked_now(who, offer(properties=world.on_host(host)), count)
    return world.becomes(who, mine, "ACTIVE")


def _booted(who: Person, reservation: dict[str, Any], name: str) -> Any:
    server = who.boots(reservation["compute_flavor"], name)
    settled = until("a server", lambda: who.server_settles(server))
    assert settled.status == "ACTIVE", settled.fault
    return server


def _is(who: Person, server: Any, status: str) -> None:
    get = who.cloud.compute.get_server
    until(f"a server in {status}", lambda: get(server.id).status == status)


@pytest.mark.whole
def test_unconfirmed_resize_out_does_not_keep_the_room(
    admin: Person, alpha: Person, offer: Offer
) -> None:
    left, kept = (_running(alpha, offer, host) for host in ("cmp1", "cmp2"))
    server = _booted(alpha, left, "functional-resized")
    alpha.cloud.compute.resize_server(server, kept["compute_flavor"])
    _is(alpha, server, "VERIFY_RESIZE")
    world.delete_lease(alpha, left["lease_id"])
    until("nothing to be left", lambda: not nova_side.leftovers(admin, left["id"]))
    _is(alpha, server, "ACTIVE")
    world.delete_lease(alpha, kept["lease_id"])
    until("nothing to be left", lambda: not nova_side.leftovers(admin, kept["id"], [server.id]))


@pytest.mark.whole
def test_unconfirmed_migration_goes_with_its_server(
    admin: Person, alpha: Person, offer: Offer
) -> None:
    mine = world.booked_now(alpha, offer(slots=3), 2, affinity=False)
    mine = world.becomes(alpha, mine, "ACTIVE")
    server = _booted(alpha, mine, "functional-migrated")
    admin.cloud.compute.migrate_server(server.id)
    _is(alpha, server, "VERIFY_RESIZE")
    refused = alpha.ask("PATCH", f"/v2/reservations/{mine['id']}", {"instance_count": 1})
    assert refused.status_code == 409
    assert refused.json()["detail"]["names"] == ["functional-migrated (VERIFY_RESIZE)"]
    world.delete_lease(alpha, mine["lease_id"])
    until("nothing to be left", lambda: not nova_side.leftovers(admin, mine["id"], [server.id]))


@pytest.mark.whole
def test_shelved_server_keeps_its_place(alpha: Person, offer: Offer) -> None:
    mine = _running(alpha, offer, "cmp1", 2)
    shelved = _booted(alpha, mine, "functional-shelved")
    _booted(alpha, mine, "functional-running")
    alpha.cloud.compute.shelve_server(shelved)
    _is(alpha, shelved, "SHELVED_OFFLOADED")
    refused = alpha.ask("PATCH", f"/v2/reservations/{mine['id']}", {"instance_count": 1})
    assert (refused.status_code, refused.json()["code"]) == (409, "invalid_state")
    assert "functional-shelved (SHELVED_OFFLOADED)" in refused.json()["detail"]["names"]
    alpha.cloud.compute.unshelve_server(shelved)
    _is(alpha, shelved, "ACTIVE")


def test_server_that_was_moved_out_is_listed_until_that_is_confirmed(
    alpha: Person, offer: Offer
) -> None:
    left, kept = (_running(alpha, offer, host) for host in ("cmp1", "cmp2"))
    server = _booted(alpha, left, "functional-moved")
    alpha.cloud.compute.resize_server(server, kept["compute_flavor"])
    _is(alpha, server, "VERIFY_RESIZE")
    assert _servers(alpha, left) == [("functional-moved", True)]
    assert _servers(alpha, kept) == [("functional-moved", False)]
    alpha.cloud.compute.confirm_server_resize(server)
    until("nothing to be left of it", lambda: not _servers(alpha, left))
    assert _servers(alpha, kept) == [("functional-moved", False)]


def _servers(who: Person, reservation: dict[str, Any]) -> list[tuple[str, bool]]:
    answer = who.ask("GET", f"/v2/reservations/{reservation['id']}?detail=servers")
    return [(each["name"], each["moved_out"]) for each in answer.json()["servers"]]
