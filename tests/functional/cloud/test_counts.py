"""Changes of a reservation's number of instances, before its start and while servers use it."""

import json

import pytest

from tests.functional.cloud import world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.records import Records
from tests.functional.cloud.waiting import until

pytestmark = pytest.mark.together


def _amounts(who: Person, path: str, reservation_id: str, amount: int) -> None:
    """Change the number of instances over v1."""
    who.asks("PUT", path, {"reservations": [{"id": reservation_id, "amount": amount}]})


def test_count_follows_what_is_asked_and_servers_stay(
    admin: Person, alpha: Person, beta: Person, offer: Offer, records: Records
) -> None:
    flavor = offer(slots=3, properties=json.dumps(["==", f"${world.PROPERTY}", "pair"]))
    mine = world.booked(alpha, flavor, world.from_now(2).moved(start=0.1))
    path = f"/v2/reservations/{mine['id']}"
    lease = f"/v1/leases/{mine['lease_id']}"
    assert alpha.asks("PATCH", path, {"instance_count": 3})["instance_count"] == 3
    refused = alpha.ask("PATCH", path, {"instance_count": 4})
    assert (refused.status_code, refused.json()["code"]) == (400, "slots_exhausted")
    _amounts(alpha, lease, mine["id"], 2)
    assert world.show(alpha, mine)["instance_count"] == 2
    alpha.asks("PATCH", path, {"instance_count": 3})

    records.start_now([mine["lease_id"]])
    world.becomes(alpha, mine, "ACTIVE")
    servers = [alpha.boots(mine["compute_flavor"], f"functional-{n}") for n in range(2)]
    for server in servers:
        settled = until("a server", lambda s=server: alpha.server_settles(s))
        assert settled.status == "ACTIVE", settled.fault
    for count, status, code in ((4, 409, "invalid_state"), (1, 409, "invalid_state")):
        refused = alpha.ask("PATCH", path, {"instance_count": count})
        assert (refused.status_code, refused.json()["code"]) == (status, code), refused.text
    assert alpha.asks("PATCH", path, {"instance_count": 2})["instance_count"] == 2
    # Another project can book what was given up at once, and no third server finds room.
    world.booked_now(beta, flavor, 1)
    third = alpha.boots(mine["compute_flavor"], "functional-2")
    assert until("a server", lambda: alpha.server_settles(third)).status == "ERROR"

    alpha.cloud.compute.delete_server(servers[0].id)
    alpha.cloud.compute.wait_for_delete(servers[0])
    until(
        "Placement to be told",
        lambda: alpha.ask("PATCH", path, {"instance_count": 1}).status_code == 200,
    )
    left = admin.cloud.compute.get_server(servers[1].id)
    assert left.status == "ACTIVE"


def test_start_and_end_move_together(alpha: Person, offer: Offer) -> None:
    flavor = offer()
    mine = world.booked(alpha, flavor, world.from_now(2).moved(start=0.1))
    later = world.Period.of(mine).moved(start=5, end=6)
    changed = alpha.asks("PATCH", f"/v2/reservations/{mine['id']}", later.v2)
    assert {name: changed[name] for name in later.v2} == later.v2
