"""Bookings that place others again, at the same time as bookings, starts and extensions."""

import dataclasses
from collections.abc import Callable

import pytest
import sqlalchemy as sa

from tests.fakes.cloud import Cloud
from tests.functional.db import oversold, races, world
from tests.functional.db.outage import hosts_of
from warre_blazar.db import session
from warre_blazar.db.hosts import allocations
from warre_blazar.services.booking import changing
from warre_blazar.services.running import executor_transactions

pytestmark = [pytest.mark.usefixtures("database", "cloud"), pytest.mark.every_kind]

HOSTS = 6
SPAN = world.hours(1, 3)
MOVING = dataclasses.replace(world.conditions(), moves=10)


@pytest.fixture
def scattered(cloud: Cloud) -> list[world.Lease]:
    """Hosts that are each half full of a small reservation."""
    ids = [world.add_host(cloud, f"host{number}", vcpus=4) for number in range(HOSTS)]
    small = world.add_flavor(name="small", vcpu=2, slots=100)
    leases = [world.plan(world.request(small, SPAN)) for _ in ids]
    with session.writer() as db:
        for lease, host_id in zip(leases, ids, strict=True):
            allocations.reallocate(db, lease.reservation_id, {host_id: 1})
    return leases


def large_jobs(count: int) -> list[races.Job]:
    """Bookings of whole hosts. Half of the hosts can be emptied for them."""
    large = world.add_flavor(name="large", vcpu=4, slots=100)
    request = dataclasses.replace(world.request(large, SPAN), conditions=MOVING)
    return [races.Job(world.add_lease(SPAN), request, whole=False) for _ in range(count)]


def check(database: sa.Engine, leases: list[world.Lease]) -> None:
    """Nothing is oversold, and each reservation has all of its instances."""
    assert oversold.find(database) == []
    assert [sum(hosts_of(lease).values()) for lease in leases] == [1] * len(leases)


def test_processes_that_move_the_same_reservations_do_not_oversell(
    database: sa.Engine, cloud: Cloud, scattered
):
    jobs = large_jobs(12)
    url = database.url.render_as_string(hide_password=False)
    result = races.in_processes([jobs[::2], jobs[1::2]], url, cloud.options())
    assert result.outcomes == {"held": HOSTS // 2, "hosts_exhausted": 12 - HOSTS // 2}
    check(database, scattered)


def start(lease: world.Lease, claimed: dict[world.Lease, dict[str, int]]) -> Callable[[], None]:
    """Claim a lease for its start, and note the hosts that it has then."""

    def job() -> None:
        if executor_transactions.claim([lease.id], "start", "manager", SPAN.start, False):
            claimed[lease] = hosts_of(lease)

    return job


def test_reservation_does_not_move_after_a_manager_has_begun_to_start_it(
    database: sa.Engine, monkeypatch: pytest.MonkeyPatch, scattered
):
    races.unlock(monkeypatch)
    claimed: dict[world.Lease, dict[str, int]] = {}
    starts = [start(lease, claimed) for lease in scattered]
    result = races.in_threads([*large_jobs(6), *starts])
    assert result.outcomes.keys() <= {"held", "hosts_exhausted"}
    assert claimed.keys() == set(scattered)
    assert {lease: hosts_of(lease) for lease in scattered} == claimed
    check(database, scattered)


def test_extensions_and_bookings_that_need_the_same_room_do_not_oversell(
    database: sa.Engine, monkeypatch: pytest.MonkeyPatch, scattered
):
    """Each extended reservation can be moved until its extension has begun."""
    races.unlock(monkeypatch)
    longer = world.hours(1, 5)
    extended = scattered[: HOSTS // 2]
    for lease in extended:
        world.set_status(lease, "UPDATING")

    def extend(lease: world.Lease) -> Callable[[], None]:
        return lambda: changing.move(lease.reservation_id, longer, MOVING, world.NOW)

    result = races.in_threads([*large_jobs(6), *(extend(lease) for lease in extended)])
    assert result.outcomes.keys() <= {"held", "hosts_exhausted"}
    assert result.outcomes["held"] >= len(extended)
    check(database, scattered)
