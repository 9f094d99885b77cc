"""Which hosts a booking's instances are put on: as asked for, and as the site has it."""

import dataclasses

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api

from tests.fakes.cloud import Cloud
from tests.functional.db import databases, oversold, world
from warre_blazar import exceptions
from warre_blazar.db import hosts, session
from warre_blazar.services import reservations

pytestmark = pytest.mark.usefixtures("database")

SPAN = world.hours(1, 3)


@pytest.fixture
def flavor(cloud: Cloud):
    """Two hosts with room for two each, and one with room for one."""
    for name, room in {"a": 2, "b": 2, "c": 1}.items():
        world.add_host(cloud, name, vcpus=2 * room)
    return world.add_flavor(slots=9)


def wanted(flavor, count, affinity=None, spread=False):
    asked = world.request(flavor, SPAN, count)
    return dataclasses.replace(
        asked, affinity=affinity, terms=dataclasses.replace(asked.terms, spread=spread)
    )


def on_hosts(lease: world.Lease) -> dict[str, int]:
    """Instances by the hosts' names."""
    with session.reader() as db:
        found = hosts.allocated(db, lease.reservation_id)
    return {db_api.host_get(h)["hypervisor_hostname"]: n for h, n in found.items()}


PLACED = {
    "on one": (2, True, False, {"a": 2}),
    "on one where others spread": (2, True, True, {"a": 2}),
    "each on its own": (3, False, False, {"a": 1, "b": 1, "c": 1}),
    "wherever": (3, None, False, {"a": 2, "b": 1}),
    "spread": (3, None, True, {"a": 1, "b": 1, "c": 1}),
    "spread, then around again": (4, None, True, {"a": 2, "b": 1, "c": 1}),
}


@pytest.mark.parametrize("case", PLACED)
def test_placed(flavor, case):
    count, affinity, spread, expected = PLACED[case]
    lease = world.book(wanted(flavor, count, affinity, spread))
    assert on_hosts(lease) == expected
    assert reservations.get(lease.reservation_id, None)[0].affinity is affinity


@pytest.mark.parametrize(("count", "affinity", "room"), [(3, True, 2), (4, False, 3)])
def test_refused(database: sa.Engine, flavor, count, affinity, room):
    before = databases.dump(database)
    with pytest.raises(exceptions.HostsExhausted) as refused:
        world.book(wanted(flavor, count, affinity))
    assert refused.value.detail["free"] == room
    assert databases.dump(database) == before


@pytest.mark.parametrize("affinity", [True, False])
def test_a_move_keeps_to_it(database: sa.Engine, flavor, affinity):
    """One of its hosts is taken in the time that it moves to."""
    lease = world.book(wanted(flavor, 2, affinity))
    (taken, *_) = on_hosts(lease)
    host_id = next(h["id"] for h in db_api.host_list() if h["hypervisor_hostname"] == taken)
    world.add_stock([host_id], world.hours(3, 4), "physical:host")
    world.move(lease, world.hours(1, 4))
    assert taken not in on_hosts(lease)
    assert sorted(on_hosts(lease).values()) == ([2] if affinity else [1, 1])
    assert oversold.find(database) == []


def test_one_that_runs_is_extended_where_it_is(flavor):
    lease = world.book(wanted(flavor, 2, True))
    before = on_hosts(lease)
    world.begin(lease)
    world.move(lease, world.hours(1, 5))
    assert on_hosts(lease) == before
