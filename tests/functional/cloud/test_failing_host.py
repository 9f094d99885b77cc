"""A compute stops: what is booked on it goes on elsewhere. Then the host is drained and deleted.

Blazar's own host monitor finds the failure, by Nova's view of the compute.
"""

import collections
import contextlib
import dataclasses
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from tests.functional.cloud import devcloud, world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.records import Records
from tests.functional.cloud.waiting import LONG, until
from tests.functional.db import oversold

#: The compute that stops, and the only other one that its reservations may be on.
FAILING, OTHER = "cmp3", "cmp2"
#: Seconds between two looks of Blazar's monitor, and minutes that it looks ahead.
MONITOR = {"enable_polling_monitor": "True", "polling_interval": "3", "healing_interval": "60"}
#: Seconds until Nova takes a silent compute for down; its option service_down_time is 60.
NOVA_NOTICES = 120
#: Flavors that only the two computes match.
PROPERTIES = json.dumps(["!=", "$hypervisor_hostname", "cmp1"])


class Judge:
    """A thread that looks every second whether anything is oversold, by a count of its own."""

    def __init__(self) -> None:
        self._engine = sa.create_engine(devcloud.database_url(), poolclass=sa.NullPool)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.found = collections.Counter[str]()
        self.looks = 0
        self._thread.start()

    def _run(self) -> None:
        while not self._over.wait(1):
            self.found.update(oversold.find(self._engine))
            self.looks += 1

    def stop(self) -> None:
        self._over.set()
        self._thread.join()


@contextlib.contextmanager
def judged() -> Iterator[None]:
    """Judge while the block runs."""
    judge = Judge()
    try:
        yield
    finally:
        judge.stop()
    assert judge.found == {}
    assert judge.looks > 10


def row_of(records: Records) -> dict[str, Any] | None:
    """The row of the host that fails, in Blazar's table; None: the host was deleted."""
    rows = records.rows("computehosts", hypervisor_hostname=FAILING)
    return rows[0] if rows else None


def is_reservable(records: Records) -> bool:
    row = row_of(records)
    return row is not None and bool(row["reservable"])


@pytest.fixture
def restored(admin: Person, records: Records) -> Iterator[None]:
    """After the test, the compute runs, and Blazar has its host and may book it."""
    yield
    devcloud.start(f"nova-compute-{FAILING}")
    if row_of(records) is None:
        until(f"{FAILING} to be registered", lambda: _registered(admin))
        # For five minutes it would ask Placement for the provider that went with the host, get 404,
        # and fail to boot (doc/source/nova-options.rst, resource_provider_association_refresh).
        devcloud.restart(f"nova-compute-{FAILING}")
    elif not is_reservable(records):
        with devcloud.manager_options("physical:host", MONITOR):
            until(f"{FAILING} to be reservable", lambda: is_reservable(records))
    assert devcloud.manage_host("drain", FAILING, "--undo")[0] == 0


def _registered(admin: Person) -> bool:
    return admin.ask("POST", "/v1/os-hosts", {"name": FAILING}).status_code == 201


def hosts_of(records: Records, reservation: dict[str, Any]) -> dict[str, int]:
    """The instances of a reservation by the name of the host."""
    names = {h["id"]: h["hypervisor_hostname"] for h in records.rows("computehosts")}
    rows = records.rows("computehost_allocations", reservation_id=reservation["id"])
    return dict(collections.Counter(names[row["compute_host_id"]] for row in rows))


def boots(who: Person, admin: Person, reservation: dict[str, Any]) -> Any:
    """Boot a server on a reservation, and return it as the operator sees it."""
    server = who.boots(reservation["compute_flavor"], world.unique("failing"))
    shown = until("the server to settle", lambda: who.server_settles(server), LONG)
    assert shown.status == "ACTIVE", shown
    return admin.cloud.compute.get_server(server.id)


def is_down(admin: Person) -> bool:
    services = admin.cloud.compute.services(host=FAILING, binary="nova-compute")
    return all(service.state == "down" for service in services)


@dataclasses.dataclass(frozen=True)
class Booked:
    """What is booked on the host before it fails."""

    flavor: dict[str, Any]
    #: It has a server.
    running: dict[str, Any]
    #: It starts within the healing interval.
    soon: dict[str, Any]
    #: It starts after the healing interval.
    later: dict[str, Any]
    #: These can only be on this host: one runs, and one is at the time of ``later``. They make the
    #: host the fuller one, which the others choose.
    fillers: list[dict[str, Any]]


@pytest.fixture
def booked(admin: Person, alpha: Person, offer: Offer, records: Records) -> Booked:
    """Reservations on the host that is to fail."""
    flavor = offer(properties=PROPERTIES)
    sole = offer(properties=world.on_host(FAILING), memory_mb=2048)
    in_two_days = world.from_now().moved(48, 48)
    fillers = [world.booked_now(alpha, sole, hours=3), world.booked(alpha, sole, in_two_days)]
    made = Booked(
        flavor,
        running=world.booked_now(alpha, flavor),
        soon=world.booked(alpha, flavor, world.from_now().moved(0.5, 0.5)),
        later=world.booked(alpha, flavor, in_two_days),
        fillers=fillers,
    )
    for each in (made.running, made.soon, made.later, *fillers):
        assert hosts_of(records, each) == {FAILING: 1}
    world.becomes(alpha, made.running, "ACTIVE")
    assert boots(alpha, admin, made.running).compute_host == FAILING
    return made


@pytest.mark.usefixtures("clean", "restored")
def test_reservations_on_a_failed_host_go_on_elsewhere(
    admin: Person, alpha: Person, records: Records, booked: Booked
) -> None:
    with devcloud.manager_options("physical:host", MONITOR), judged():
        devcloud.stop(f"nova-compute-{FAILING}", kill=True)
        until("Nova to notice", lambda: is_down(admin), NOVA_NOTICES)
        noticed = time.monotonic()
        for each in (booked.soon, booked.running):
            until("healing", lambda r=each: hosts_of(records, r) == {OTHER: 1})
        print(f"healed {time.monotonic() - noticed:.0f} s after Nova had noticed")
        assert hosts_of(records, booked.later) == {FAILING: 1}
        flags = ("missing_resources", "resources_changed")
        shown = [world.show(alpha, r) for r in (booked.soon, booked.running, booked.fillers[0])]
        found = [tuple(each[flag] for flag in flags) for each in shown]
        assert found == [(False, False), (False, True), (True, False)]
        until("the offer", lambda: _offers(admin, OTHER, booked.running))
        # The host joins the aggregate beside the offer.
        until("the move to be done", lambda: records.phase(booked.running) == "open")
        assert boots(alpha, admin, booked.running).compute_host == OTHER
        records.start_now([booked.soon["lease_id"]])
        world.becomes(alpha, booked.soon, "ACTIVE")
        assert boots(alpha, admin, booked.soon).compute_host == OTHER

        devcloud.start(f"nova-compute-{FAILING}")
        until("recovery", lambda: is_reservable(records))
        filler = booked.fillers[0]
        until("no flag", lambda: not world.show(alpha, filler)["missing_resources"])
        _drain_and_delete(admin, alpha, records, booked)


def _offers(admin: Person, name: str, reservation: dict[str, Any]) -> bool:
    cls = "CUSTOM_RESERVATION_" + reservation["id"].replace("-", "_").upper()
    found = admin.cloud.session.get(
        f"/resource_providers?resources={cls}:1",
        endpoint_filter={"service_type": "placement"},
        microversion="1.29",
        raise_exc=False,
    )
    listed = found.json().get("resource_providers", [])
    return f"blazar_{name}" in {provider["name"] for provider in listed}


def _drain_and_delete(admin: Person, alpha: Person, records: Records, booked: Booked) -> None:
    """Drain a host on which something is booked. Then Blazar deletes it."""
    row = row_of(records)
    assert row is not None
    path = f"/v1/os-hosts/{row['id']}"
    assert admin.ask("DELETE", path).status_code == 409
    assert devcloud.manage_host("drain", FAILING)[0] == 1, "the fillers are left"
    assert hosts_of(records, booked.later) == {OTHER: 1}
    for each in (booked.running, *booked.fillers):
        assert alpha.ask("DELETE", f"/v2/reservations/{each['id']}/").status_code in (202, 204)
    until("nothing to be left", _drained)
    more = world.booked(alpha, booked.flavor, world.Period.of(booked.later))
    assert hosts_of(records, more) == {OTHER: 1}
    # Blazar refuses as long as servers are being deleted on the host.
    until("the host's deletion", lambda: admin.ask("DELETE", path).ok)
    assert row_of(records) is None


def _drained() -> bool:
    status, document = devcloud.manage_host("drain", FAILING, "--json")
    assert status in (0, 1), document
    return status == 0
