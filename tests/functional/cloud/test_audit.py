"""The audit on a real cloud: it finds and mends what somebody has broken by hand."""

import json
import os
import subprocess
import uuid
from typing import Any

import pytest

from tests.functional.cloud import devcloud, world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.records import Records
from tests.functional.cloud.waiting import until

#: Kinds of differences that other tests on the same cloud may leave, and no test here causes.
_NOT_OURS = {"trusts-unused", "trust-gone", "notices-lost"}


def audit(*words: str) -> tuple[int, list[dict[str, Any]]]:
    """The exit status and the differences of an audit. With ``--fix``, those that are left."""
    config = devcloud.home() / "etc" / "blazar" / "blazar.conf"
    program = devcloud.home() / "venv" / "bin" / "warre-blazar-manage"
    command = [program, "--config-file", config, "audit", "--json", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ})
    assert done.stdout, done.stderr
    document = json.loads(done.stdout)
    assert document["away"] == {}
    return done.returncode, document["differences"]


def found(*words: str) -> set[str]:
    """The kinds of differences that an audit finds, without those that other tests leave."""
    return {difference["kind"] for difference in audit(*words)[1]} - _NOT_OURS


@pytest.fixture(scope="module")
def reservations(alpha: Person, shared_offer: Offer, records: Records) -> dict[str, dict[str, Any]]:
    """A running reservation with a server, and a waiting one. Each test leaves both intact."""
    # A cloud that ran tests before may have what Blazar's own plugin leaves of a failed booking.
    audit("--fix", "--yes")
    flavor = shared_offer(slots=3)
    running = world.booked_now(alpha, flavor, 2)
    # Near enough for its backing to be made, and far enough not to start during the tests.
    waiting = world.booked(alpha, flavor, world.from_now().moved(start=0.15))
    running = world.becomes(alpha, running, "ACTIVE")
    server = alpha.boots(running["compute_flavor"], "functional-audit")
    settled = until("a server", lambda: alpha.server_settles(server))
    assert settled.status == "ACTIVE", settled.fault
    waits = {"reservation_id": waiting["id"], "phase": "made"}
    until("the waiting one to be made", lambda: records.rows("warre_backings", **waits))
    until("the managers to have tidied up", lambda: not found())
    return {"running": running, "waiting": waiting, "server": {"id": server.id}}


def reservation_id(records: Records, reservation: dict[str, Any]) -> str:
    """The id of a reservation in Blazar's table."""
    (row,) = records.rows("reservations", lease_id=reservation["lease_id"])
    return str(row["id"])


def resource_class(reservation: str) -> str:
    return "CUSTOM_RESERVATION_" + reservation.upper().replace("-", "_")


def delete_aggregate(admin: Person, name: str) -> None:
    compute = admin.cloud.compute
    aggregate = next(a for a in compute.aggregates() if a.name == name)
    for host in aggregate.hosts:
        compute.remove_host_from_aggregate(aggregate, host)
    compute.delete_aggregate(aggregate)


def add_orphans(admin: Person) -> str:
    """Make a flavor, an aggregate and a class for an unknown reservation. Return its id."""
    orphan = str(uuid.uuid4())
    compute, placement = admin.cloud.compute, admin.cloud.placement
    compute.create_flavor(
        id=orphan.replace("-", ""),
        name=f"reservation:{orphan}",
        vcpus=1,
        ram=1,
        disk=1,
        is_public=False,
    )
    aggregate = compute.create_aggregate(name=orphan)
    compute.set_aggregate_metadata(aggregate, {"reservation": orphan})
    compute.add_host_to_aggregate(aggregate, "cmp1")
    placement.put(f"/resource_classes/{resource_class(orphan)}", microversion="1.29")
    return orphan


def test_what_is_missing_is_made_again_and_what_is_left_over_goes(
    admin: Person, alpha: Person, records: Records, reservations: dict[str, dict[str, Any]]
):
    """Each audit compares the whole cloud, which takes long, so one test has both."""
    waiting = reservations["waiting"]
    its_id = reservation_id(records, waiting)
    compute = admin.cloud.compute
    delete_aggregate(admin, its_id)
    compute.delete_flavor(its_id.replace("-", ""))
    admin.cloud.placement.delete(f"/resource_classes/{resource_class(its_id)}", microversion="1.29")
    orphan = add_orphans(admin)
    status, differences = audit()
    assert status == 1
    kinds = {difference["kind"] for difference in differences} - _NOT_OURS
    assert kinds == {"aggregate-missing", "flavor-missing", "class-missing", "leftover"}
    assert found("--fix") == {"leftover"}
    assert found("--fix", "--yes") == set()
    assert found() == set()
    assert orphan not in {aggregate.name for aggregate in compute.aggregates()}
    assert f"reservation:{orphan}" not in {f.name for f in compute.flavors(is_public=None)}
    # The reservations have lost nothing.
    assert world.show(alpha, waiting)["status"] == "ALLOCATED"
    assert alpha.cloud.compute.get_server(reservations["server"]["id"]).status == "ACTIVE"


@pytest.mark.whole
def test_removed_events_are_made_again(
    admin: Person, alpha: Person, records: Records, reservations: dict[str, dict[str, Any]]
):
    """Either a manager or the audit makes the events again, whichever comes first."""
    lease_id = reservations["waiting"]["lease_id"]
    records.delete("events", lease_id=lease_id)
    assert found("--fix", "--yes") == set()
    until("the events", lambda: len(records.rows("events", lease_id=lease_id)) == 2)
    assert found() == set()


@pytest.mark.whole
def test_away_service_is_named(admin: Person):
    config = devcloud.home() / "etc" / "blazar" / "blazar.conf"
    program = devcloud.home() / "venv" / "bin" / "warre-blazar-manage"
    with devcloud.away("placement"):
        done = subprocess.run(
            [program, "--config-file", config, "audit"], capture_output=True, text=True, check=False
        )
    assert done.returncode == 2, done.stdout
    assert "Placement could not be compared" in done.stdout
