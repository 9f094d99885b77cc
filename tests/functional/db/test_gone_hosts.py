"""Hosts that leave Nova: they count as failed, and come back only if they are in the freepool."""

import datetime

import pytest
from blazar.db import api as db_api
from oslo_utils import timeutils

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from tests.functional.db.outage import book_on, fail, flags, hosts_of, recover
from warre_blazar.db import session, tables
from warre_blazar.db.hosts import host_marks
from warre_blazar.domain.audit.differences import DifferenceKind, Needs
from warre_blazar.domain.hosts.host_marks import HostState
from warre_blazar.domain.running import backing_names
from warre_blazar.errors import exceptions
from warre_blazar.plugins.flavor_slot import FlavorSlotPlugin
from warre_blazar.services.audit import Audit, looking
from warre_blazar.services.booking import admission
from warre_blazar.services.hosts import host_refresh

pytestmark = pytest.mark.usefixtures("database")

hours = world.hours
BOOKABLE, GONE, FAILED = HostState.BOOKABLE, HostState.GONE, HostState.FAILED


@pytest.fixture
def pair(cloud: Cloud) -> tuple[str, str]:
    """Two hosts with room for two instances each, in the freepool."""
    cloud.add_freepool("a", "b")
    return world.add_host(cloud, "a", vcpus=4), world.add_host(cloud, "b", vcpus=4)


@pytest.fixture
def flavor(pair):
    return world.add_flavor(slots=9)


def state(host_id: str) -> HostState:
    with session.reader() as db:
        return host_marks.every(db)[host_id].state


def look_later() -> None:
    """Read all hosts, long after they were read before."""
    marks = tables.host_generations
    with session.writer() as db:
        missing = marks.c.missing_since.is_not(None)
        db.execute(marks.update().where(missing).values(missing_since=world.LONG_AGO))
    host_refresh.refresh()


def lose(cloud: Cloud, name: str = "a") -> dict[str, dict[str, int]]:
    """Delete a host's service, and read all hosts twice. Return what the host had."""
    inventories = dict(cloud.placement.named(name)["inventories"])
    cloud.delete_service(name)
    host_refresh.refresh()
    look_later()
    return inventories


def soon() -> world.Span:
    """A span that begins in half an hour by the clock by which managers look."""
    now = timeutils.utcnow().replace(second=0, microsecond=0)
    return world.Span(now + datetime.timedelta(hours=0.5), now + datetime.timedelta(hours=3))


def offered(cloud: Cloud, lease: world.Lease) -> dict[str, int]:
    cls = backing_names.resource_class(lease.reservation_id)
    return {n: t[cls] for n, t in cloud.placement.offered().items() if cls in t}


def test_deleted_service_is_gone_after_two_looks(cloud: Cloud, pair, flavor):
    cloud.delete_service("a")
    host_refresh.refresh()
    host_refresh.refresh()
    assert state(pair[0]) is BOOKABLE, "two managers have looked at almost the same moment"
    look_later()
    assert (state(pair[0]), state(pair[1])) == (GONE, BOOKABLE)
    assert hosts_of(world.book(world.request(flavor, hours(1, 3), 2))) == {pair[1]: 2}
    with pytest.raises(exceptions.HostsExhausted):
        admission.check(world.request(flavor, hours(1, 3)))


def test_missed_host_is_looked_for_again_soon(cloud: Cloud, pair):
    cloud.delete_service("a")
    host_refresh.refresh()
    cloud.placement.requests.clear()
    host_refresh.refresh_settling()
    assert cloud.placement.requests == ["GET /resource_providers"], "the other host isn't read"


@pytest.mark.parametrize("status", [404, 503])
def test_placement_that_fails_takes_no_host_away(cloud: Cloud, pair, status):
    cloud.placement.fail(status=status)
    host_refresh.refresh()
    look_later()
    assert (state(pair[0]), state(pair[1])) == (BOOKABLE, BOOKABLE)


def test_reservations_leave_a_host_that_is_gone_without_a_host_monitor(cloud: Cloud, pair, flavor):
    a, b = pair
    lease = book_on(a, flavor, hours(1, 3), 2)
    world.write_dates(lease, soon())
    lose(cloud)
    FlavorSlotPlugin().monitor.poll()
    assert hosts_of(lease) == {b: 2}
    assert flags(lease) == (False, False, False)


def test_healing_tries_again_to_move_reservations_off_a_gone_host(cloud: Cloud, pair, flavor):
    a, b = pair
    lease = book_on(a, flavor, hours(1, 3), 2)
    world.write_dates(lease, soon())
    obstacle = world.add_stock([b], world.Span(soon().start, hours(0, 99).end), "physical:host")
    lose(cloud)
    plugin = FlavorSlotPlugin()
    plugin.monitor.poll()
    assert (hosts_of(lease), flags(lease)) == ({a: 2}, (True, False, True))
    db_api.lease_destroy(obstacle.id)
    # Blazar's monitor calls this, and knows of no failed host.
    plugin._failures.heal([], timeutils.utcnow(), datetime.date.max)
    assert (hosts_of(lease), flags(lease)) == ({b: 2}, (False, False, False))


def test_running_reservation_is_opened_elsewhere(cloud: Cloud, pair, flavor):
    a, b = pair
    lease = book_on(a, flavor, hours(1, 3), 2)
    world.begin(lease)
    world.write_dates(lease, soon())
    lose(cloud)
    FlavorSlotPlugin().monitor.poll()
    assert hosts_of(lease) == {b: 2}
    assert offered(cloud, lease) == {"blazar_b": 2}


def test_host_that_comes_back_is_bookable_once_it_is_in_the_freepool(cloud: Cloud, pair, flavor):
    inventories = lose(cloud)
    cloud.start_service("a", pair[0], inventories)
    host_refresh.refresh()
    assert state(pair[0]) is GONE
    cloud.nova.aggregates[1000]["hosts"].append("a")
    host_refresh.refresh()
    assert state(pair[0]) is BOOKABLE


def test_audit_puts_a_host_back_before_anybody_can_book_it(cloud: Cloud, pair, flavor):
    a, b = pair
    world.add_stock([b], world.Span(soon().start, hours(0, 99).end), "physical:host")
    lease = book_on(a, flavor, hours(1, 3), 2)
    world.begin(lease)
    world.write_dates(lease, soon())
    inventories = lose(cloud)
    monitor = FlavorSlotPlugin().monitor
    monitor.poll()
    assert (hosts_of(lease), flags(lease)) == ({a: 2}, (True, False, True))
    assert found() >= {DifferenceKind.HOST_GONE, DifferenceKind.HOST_NOT_RESERVABLE}
    cloud.start_service("a", a, inventories)
    assert DifferenceKind.HOST_OUTSIDE_FREEPOOL in found()
    with pytest.raises(exceptions.HostsExhausted):
        admission.check(world.request(flavor, hours(5, 6)))
    assert found(frozenset({Needs.FIX})) <= {DifferenceKind.NOT_OPENED}
    assert "a" in cloud.nova.aggregates[1000]["hosts"]
    assert state(a) is BOOKABLE
    # What Nova and Placement had for the running reservation is made anew.
    monitor.poll()
    assert offered(cloud, lease) == {"blazar_a": 2}
    assert flags(lease) == (False, False, False)
    assert found() == set()


def found(allowed: frozenset[Needs] = frozenset()) -> set[DifferenceKind]:
    """What an audit finds, and leaves."""
    audit = Audit(
        patience=lambda _: 60.0,
        server_patience=0.1,
        trust_grace=0.0,
        neighbors=looking.StockTypes(lambda _: 60.0, are_exact=False),
        delete_lease=lambda _: None,
        now=timeutils.utcnow,
        sleep=lambda _: None,
    )
    kinds = {difference.kind for difference in audit.run(allowed).left}
    return kinds - {DifferenceKind.TRUST_GONE, DifferenceKind.TRUSTS_UNUSED}


def test_host_that_comes_back_between_two_looks_needs_the_freepool(cloud: Cloud, pair):
    inventories = dict(cloud.placement.named("a")["inventories"])
    for in_time in (True, False):
        cloud.delete_service("a")
        host_refresh.refresh()
        cloud.start_service("a", pair[0], inventories)
        if in_time:
            cloud.nova.aggregates[1000]["hosts"].append("a")
        look_later()
        assert state(pair[0]) is (BOOKABLE if in_time else GONE)


def test_failed_host_that_leaves_nova_needs_the_freepool_too(cloud: Cloud, pair, flavor):
    """Blazar's monitor sees it again first."""
    fail(pair[0])
    assert state(pair[0]) is FAILED
    inventories = lose(cloud)
    assert state(pair[0]) is GONE
    cloud.start_service("a", pair[0], inventories)
    recover(pair[0])
    host_refresh.refresh()
    assert state(pair[0]) is GONE
    assert hosts_of(world.book(world.request(flavor, hours(1, 3), 2))) == {pair[1]: 2}
    cloud.nova.aggregates[1000]["hosts"].append("a")
    host_refresh.refresh()
    assert state(pair[0]) is BOOKABLE


def test_host_that_blazar_deletes_while_it_is_gone_is_forgotten(cloud: Cloud, pair):
    lose(cloud)
    db_api.host_destroy(pair[0])
    again = world.add_host(cloud, "a")
    assert state(again) is BOOKABLE


def test_well_hosts_cost_nova_no_more_than_one_request_for_aggregates(cloud: Cloud, pair):
    """Those of the site decide which flavors hosts match, so each refresh reads them."""
    cloud.nova.requests.clear()
    host_refresh.refresh()
    assert len([line for line in cloud.nova.requests if "aggregates" in line]) == 1
