"""The hosts of a booking's instances, by the request's affinity and the site's host choice."""

import dataclasses

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api

from tests.fakes.cloud import Cloud
from tests.functional.db import databases, oversold, world
from warre_blazar.db import session
from warre_blazar.db.hosts import allocations
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import lookup

pytestmark = pytest.mark.usefixtures("database")

SPAN = world.hours(1, 3)


@pytest.fixture
def flavor(cloud: Cloud):
    """A flavor with two hosts that have room for two instances each, and one with room for one."""
    for name, room in {"a": 2, "b": 2, "c": 1}.items():
        world.add_host(cloud, name, vcpus=2 * room)
    return world.add_flavor(slots=9)


def wanted(flavor, count, affinity=None, spread=False):
    request = world.request(flavor, SPAN, count)
    return dataclasses.replace(
        request,
        affinity=affinity,
        conditions=dataclasses.replace(request.conditions, spread=spread),
    )


def on_hosts(lease: world.Lease) -> dict[str, int]:
    """The numbers of instances by the names of their hosts."""
    with session.reader() as db:
        allocated = allocations.allocated(db, lease.reservation_id)
    return {db_api.host_get(h)["hypervisor_hostname"]: n for h, n in allocated.items()}


PLACED = {
    "on one": (2, True, False, {"a": 2}),
    "on one where others spread": (2, True, True, {"a": 2}),
    "each on its own": (3, False, False, {"a": 1, "b": 1, "c": 1}),
    "wherever": (3, None, False, {"a": 2, "b": 1}),
    "spread": (3, None, True, {"a": 1, "b": 1, "c": 1}),
    "spread, then around again": (4, None, True, {"a": 2, "b": 1, "c": 1}),
}


@pytest.mark.parametrize("case", PLACED)
def test_booking_is_placed_by_affinity_and_host_choice(flavor, case):
    count, affinity, spread, expected = PLACED[case]
    lease = world.book(wanted(flavor, count, affinity, spread))
    assert on_hosts(lease) == expected
    assert lookup.get(lease.reservation_id, None)[0].affinity is affinity


@pytest.mark.parametrize(("count", "affinity", "room"), [(3, True, 2), (4, False, 3)])
def test_booking_without_room_for_its_affinity_is_refused(
    database: sa.Engine, flavor, count, affinity, room
):
    before = databases.dump(database)
    with pytest.raises(exceptions.HostsExhausted) as refused:
        world.book(wanted(flavor, count, affinity))
    assert refused.value.detail["free"] == room
    assert databases.dump(database) == before


@pytest.mark.parametrize("affinity", [True, False])
def test_moved_reservation_keeps_its_affinity(database: sa.Engine, flavor, affinity):
    """One of the reservation's hosts is taken during its new time."""
    lease = world.book(wanted(flavor, 2, affinity))
    (taken, *_) = on_hosts(lease)
    host_id = next(h["id"] for h in db_api.host_list() if h["hypervisor_hostname"] == taken)
    world.add_stock([host_id], world.hours(3, 4), "physical:host")
    world.move(lease, world.hours(1, 4))
    assert taken not in on_hosts(lease)
    assert sorted(on_hosts(lease).values()) == ([2] if affinity else [1, 1])
    assert oversold.find(database) == []


def test_running_reservation_is_extended_on_its_hosts(flavor):
    lease = world.book(wanted(flavor, 2, True))
    before = on_hosts(lease)
    world.begin(lease)
    world.move(lease, world.hours(1, 5))
    assert on_hosts(lease) == before
