"""One unchanged command boots a server in each of consecutive reservations with a handle."""

import json
import os
from typing import Any

import pytest

from tests.functional.cloud import devcloud, world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.records import Records
from tests.functional.cloud.waiting import LONG, until

#: How many reservations follow each other.
OCCURRENCES = int(os.environ.get("WARRE_HANDLE_OCCURRENCES", "3"))
#: The computes on which they are in turn, and the reservation in which its compute stops.
COMPUTES, FAILS_IN = ("cmp3", "cmp2"), OCCURRENCES // 2 - 1


def _command(project_id: str) -> list[str]:
    """The same words for each reservation."""
    flavor = f"reservation:nightly@{project_id}"
    return [
        *("openstack", "server", "create", "--flavor", flavor, "--image", "tiny"),
        *("--network", "shared", "--wait", "-f", "json", "handled"),
    ]


def _tried(command: list[str]) -> dict[str, Any] | None:
    """The server that a command has made. None: there is no such flavor yet."""
    try:
        made: dict[str, Any] = json.loads(devcloud.run(*command, user="alpha"))
    except AssertionError as refusal:
        assert "No Flavor found" in str(refusal), refusal
        return None
    return made


def _host(admin: Person, server: dict[str, Any]) -> str:
    shown: str = admin.cloud.compute.get_server(server["id"]).compute_host
    return shown


@pytest.mark.whole
@pytest.mark.usefixtures("clean")
def test_one_command_boots_in_each_reservation_back_to_back(
    admin: Person, alpha: Person, records: Records, offer: Offer
):
    """A server runs at each change, and the compute of one reservation stops."""
    flavors = [offer(properties=world.on_host(name)) for name in COMPUTES]
    first = world.far()
    booked = [
        world.book(alpha, flavors[n % 2], first.moved(n, n), handle="nightly").json()
        for n in range(OCCURRENCES)
    ]
    assert len({each["compute_flavor"] for each in booked}) == 1, booked
    overlapping = world.book(alpha, flavors[0], first.moved(0.5, 0.5), handle="nightly")
    assert overlapping.json()["code"] == "handle_taken"
    command = _command(booked[0]["project_id"])
    assert _tried(command) is None, "before the start"
    booted: list[dict[str, Any]] = []
    for n, each in enumerate(booked):
        # The one before ends at the moment at which this one begins.
        if n:
            records.end_now([booked[n - 1]["lease_id"]], ahead=8)
        records.start_now([each["lease_id"]], ahead=8)
        world.becomes(alpha, each, "ACTIVE")
        server = until(f"a server in reservation {n}", lambda: _tried(command), LONG)
        compute = COMPUTES[n % 2]
        assert (server["status"], _host(admin, server)) == ("ACTIVE", compute)
        booted.append(server)
        if n == FAILS_IN:
            devcloud.stop(f"nova-compute-{compute}", kill=True)
        elif n == FAILS_IN + 1:
            devcloud.start(f"nova-compute-{COMPUTES[FAILS_IN % 2]}")
        print(f"reservation {n}: server {server['id']} is ACTIVE on {compute}")
    left = {server.id for server in alpha.cloud.compute.servers()}
    assert booted[-1]["id"] in left
    until("earlier servers to go", lambda: _gone(alpha, booted[:-1]), LONG)
    assert world.show(alpha, booked[-1])["status"] == "ACTIVE"
    assert alpha.cloud.compute.get_server(booted[-1]["id"]).status == "ACTIVE"


def _gone(who: Person, servers: list[dict[str, Any]]) -> bool:
    there = {server.id for server in who.cloud.compute.servers()}
    return there.isdisjoint(server["id"] for server in servers)


@pytest.mark.usefixtures("clean")
def test_visible_nova_flavor_leaves_servers_in_error(alpha: Person, offer: Offer):
    """That is why it isn't visible unless it is asked for."""
    booked = world.book(
        alpha, offer(), world.far(), handle="planned", visible_before_start=True
    ).json()
    name = f"reservation:planned@{booked['project_id']}"
    until("the Nova flavor", lambda: alpha.cloud.compute.find_flavor(name), LONG)
    server = alpha.boots(booked["compute_flavor"], world.unique("early"))
    assert until("a server", lambda: alpha.server_settles(server)).status == "ERROR"
    assert alpha.ask("DELETE", f"/v2/reservations/{booked['id']}/").status_code in (202, 204)
    until("the server to go", lambda: _gone(alpha, [{"id": server.id}]), LONG)
