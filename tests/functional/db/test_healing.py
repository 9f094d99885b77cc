"""Failed hosts: what hasn't begun moves, what runs gets other hosts, and the rest is flagged."""

import dataclasses
import datetime

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api
from blazar.plugins.oshosts.host_plugin import PhysicalHostMonitorPlugin
from oslo_utils import timeutils

from tests.fakes.cloud import Cloud
from tests.fakes.service import Request
from tests.functional.db import oversold, world
from tests.functional.db.managers import Manager, state
from tests.functional.db.outage import (
    ALL_TIME,
    book_on,
    fail,
    flags,
    heal,
    hosts_of,
    recover,
)
from warre_blazar.db import session, tables
from warre_blazar.db.hosts import host_marks
from warre_blazar.db.running import backings, executions
from warre_blazar.domain.running import backing_names
from warre_blazar.errors import exceptions
from warre_blazar.plugins.flavor_slot import FlavorSlotPlugin
from warre_blazar.services.booking import admission, changing, lookup
from warre_blazar.services.moves import failed_hosts
from warre_blazar.services.running import backing

pytestmark = pytest.mark.usefixtures("database")

hours = world.hours
WELL, MISSING, CHANGED = (False, False, False), (True, False, True), (False, True, True)


@pytest.fixture
def pair(cloud: Cloud) -> tuple[str, str]:
    """Two hosts with room for two instances each."""
    return world.add_host(cloud, "a", vcpus=4), world.add_host(cloud, "b", vcpus=4)


@pytest.fixture
def flavor(pair):
    return world.add_flavor(slots=9)


def reason(lease: world.Lease) -> str | None:
    return lookup.get(lease.reservation_id, None)[0].status_reason


def test_unbegun_reservation_moves_where_there_is_room(database: sa.Engine, pair, flavor):
    a, b = pair
    lease = book_on(a, flavor, hours(1, 3), 2)
    fail(a)
    heal()
    assert hosts_of(lease) == {b: 2}
    assert flags(lease) == WELL
    assert oversold.find(database) == []
    with pytest.raises(exceptions.HostsExhausted):
        admission.check(world.request(flavor, hours(1, 3)))


def test_row_that_stock_plugins_read_follows_the_move(cloud: Cloud, pair, flavor):
    """Two instances on two hosts become two instances on one, with twice the amount."""
    a, b = pair
    others = [world.add_stock([h], hours(1, 3), "virtual:instance") for h in pair]
    lease = world.book(world.request(flavor, hours(1, 3), 2))
    assert hosts_of(lease) == {a: 1, b: 1}
    for other in others:
        db_api.lease_destroy(other.id)
    fail(a)
    heal()
    resource_id = db_api.reservation_get(lease.reservation_id)["resource_id"]
    row = db_api.instance_reservation_get(resource_id)
    assert hosts_of(lease) == {b: 2}
    assert (row["vcpus"], row["memory_mb"], row["disk_gb"]) == (4, 4096, 40)


def test_reservation_without_room_stays_and_is_flagged(pair, flavor):
    a, b = pair
    lease = book_on(a, flavor, hours(1, 3), 2)
    world.add_stock([b], hours(2, 9), "physical:host")
    fail(a)
    for _ in range(2):
        heal()
        assert hosts_of(lease) == {a: 2}
        assert flags(lease) == MISSING


def test_flagged_reservation_moves_once_there_is_room(pair, flavor):
    a, b = pair
    lease = book_on(a, flavor, hours(1, 3), 2)
    obstacle = world.add_stock([b], hours(2, 9), "physical:host")
    fail(a)
    heal()
    db_api.lease_destroy(obstacle.id)
    heal()
    assert hosts_of(lease) == {b: 2}
    assert flags(lease) == WELL


def test_as_many_instances_move_as_there_is_room_for(database: sa.Engine, pair, flavor):
    a, b = pair
    lease = book_on(a, flavor, hours(1, 3), 2)
    book_on(b, flavor, hours(1, 3), 1)
    fail(a)
    heal()
    assert hosts_of(lease) == {a: 1, b: 1}
    assert flags(lease) == MISSING
    assert oversold.find(database) == []


def booked_with(affinity: bool, flavor, count: int) -> world.Lease:
    request = world.request(flavor, hours(1, 3), count)
    return world.book(dataclasses.replace(request, affinity=affinity))


@pytest.mark.parametrize(("count", "moves"), [(1, True), (2, False)])
def test_instances_that_belong_together_move_together(pair, flavor, count, moves):
    a, b = pair
    book_on(b, flavor, hours(1, 3))
    fail(b)
    lease = booked_with(True, flavor, count)
    recover(b)
    fail(a)
    heal()
    assert hosts_of(lease) == {(b if moves else a): count}
    assert flags(lease) == (WELL if moves else MISSING)


def test_instances_that_belong_apart_stay_apart(cloud: Cloud, pair, flavor):
    a, b = pair
    lease = booked_with(False, flavor, 2)
    assert hosts_of(lease) == {a: 1, b: 1}
    fail(a)
    heal()
    assert (hosts_of(lease), flags(lease)) == ({a: 1, b: 1}, MISSING)
    c = world.add_host(cloud, "c")
    heal()
    assert (hosts_of(lease), flags(lease)) == ({b: 1, c: 1}, WELL)


def test_healing_keeps_promises_of_updates(database: sa.Engine, pair, flavor):
    """Blazar may still write the promised dates, so the new host needs room for them, too."""
    a, b = pair
    lease = book_on(a, flavor, hours(1, 3), 2)
    world.set_status(lease, "UPDATING")
    changing.move(lease.reservation_id, hours(5, 6), world.conditions(), world.NOW)
    world.set_status(lease, "PENDING")
    assert hosts_of(lease) == {a: 2}
    world.add_stock([b], hours(5, 6), "physical:host")
    fail(a)
    heal()
    assert hosts_of(lease) == {a: 2}
    world.write_dates(lease, hours(5, 6))
    assert oversold.find(database) == []


def test_only_leases_of_the_interval_are_healed(pair, flavor):
    a, b = pair
    soon, later = (book_on(a, flavor, span) for span in (hours(1, 2), hours(10, 12)))
    fail(a)
    heal(hours(0, 1.5))
    assert (hosts_of(soon), hosts_of(later)) == ({b: 1}, {a: 1})
    assert flags(later) == WELL


@pytest.fixture
def running(cloud: Cloud, pair, flavor) -> world.Lease:
    """A running reservation of two instances on the first host, with a server on one of them."""
    lease = book_on(pair[0], flavor, hours(1, 3), 2)
    world.begin(lease)
    cloud.placement.use("blazar_a", backing_names.resource_class(lease.reservation_id), 1)
    cloud.nova.boot(backing_names.nova_flavor_id(lease.reservation_id), world.PROJECT)
    return lease


def aggregate_hosts(cloud: Cloud, lease: world.Lease) -> set[str]:
    (found,) = (a for a in cloud.nova.aggregates.values() if a["name"] == lease.reservation_id)
    return set(found["hosts"])


def offered(cloud: Cloud, lease: world.Lease) -> dict[str, int]:
    cls = backing_names.resource_class(lease.reservation_id)
    return {n: t[cls] for n, t in cloud.placement.offered().items() if cls in t}


def test_running_reservation_is_opened_on_other_hosts(cloud: Cloud, pair, running):
    a, b = pair
    fail(a)
    heal()
    assert hosts_of(running) == {b: 2}
    assert flags(running) == CHANGED
    assert aggregate_hosts(cloud, running) == {"b"}
    # The server on the failed host keeps what it uses, and nothing more can be booted there.
    assert offered(cloud, running) == {"blazar_a": 1, "blazar_b": 2}
    with session.reader() as db:
        assert backings.get(db, running.reservation_id).phase == "open"


def test_end_removes_what_was_left_on_the_failed_host(cloud: Cloud, pair, running):
    fail(pair[0])
    heal()
    cloud.placement.allocations.clear()
    world.finish(running)
    assert cloud.is_clean()


def test_running_reservation_without_room_keeps_its_host(cloud: Cloud, pair, running):
    a, b = pair
    world.add_stock([b], hours(2, 9), "physical:host")
    fail(a)
    heal()
    assert hosts_of(running) == {a: 2}
    assert flags(running) == MISSING
    assert offered(cloud, running) == {"blazar_a": 2}
    assert reason(running) == "2 of 2 places can't be used yet: the operator was told"
    recover(a)
    heal()
    assert (flags(running), reason(running)) == (WELL, None)


def test_running_reservation_needs_no_room_in_the_past(pair, flavor):
    a, b = pair
    lease = book_on(a, flavor, hours(1, 9), 2)
    world.begin(lease)
    world.write_dates(lease, hours(-5, 9))
    world.add_stock([b], hours(-5, 0), "physical:host")
    fail(a)
    heal()
    assert hosts_of(lease) == {b: 2}


def test_running_reservation_is_opened_later_if_nova_is_away(cloud: Cloud, pair, running):
    a, b = pair
    fail(a)
    cloud.nova.stop()
    heal()
    assert hosts_of(running) == {b: 2}
    cloud.nova.start()
    backing.reconcile()
    assert aggregate_hosts(cloud, running) == {"b"}
    assert offered(cloud, running) == {"blazar_a": 1, "blazar_b": 2}


def test_opening_that_began_on_the_failed_host_is_done_again(cloud: Cloud, pair, flavor):
    """A manager prepares a host; another moves the reservation; the first then goes on."""
    a = pair[0]
    lease = book_on(a, flavor, hours(1, 3))
    prepared = backing.prepare(lease.reservation_id)
    fail(a)
    heal()
    backing.grant(lease.reservation_id, prepared)
    world.set_status(lease, "ACTIVE")
    assert offered(cloud, lease) == {"blazar_a": 1}
    backing.reconcile()
    assert offered(cloud, lease) == {"blazar_b": 1}
    assert aggregate_hosts(cloud, lease) == {"b"}


def test_opening_that_is_overtaken_by_a_move_is_done_again(cloud: Cloud, pair, flavor):
    """A manager reads the hosts; another moves the reservation and opens it; the first goes on."""
    a, _ = pair
    lease = book_on(a, flavor, hours(1, 3))

    def moved(_: Request) -> None:
        fail(a)
        heal()
        backing.open_to_project(lease.reservation_id)

    world.set_status(lease, "ACTIVE")
    cloud.placement.fail(match="POST .*inventories", times=1, then=moved)
    backing.open_to_project(lease.reservation_id)
    backing.reconcile()
    assert offered(cloud, lease) == {"blazar_b": 1}
    assert aggregate_hosts(cloud, lease) == {"b"}


def test_flag_goes_when_the_host_recovers(pair, flavor):
    a, b = pair
    lease = book_on(a, flavor, hours(1, 3), 2)
    world.add_stock([b], hours(2, 9), "physical:host")
    fail(a)
    heal()
    recover(a)
    heal()
    assert hosts_of(lease) == {a: 2}
    assert flags(lease) == WELL


def test_running_reservation_stays_flagged_as_changed(pair, running):
    a, b = pair
    fail(a)
    heal()
    recover(a)
    heal()
    assert hosts_of(running) == {b: 2}
    assert flags(running) == CHANGED


def test_recovered_host_is_not_booked_until_its_servers_are_gone(
    cloud: Cloud, pair, flavor, running
):
    """The tables no longer know of the servers that were left on it, but Placement does."""
    a, b = pair
    fail(a)
    heal()
    recover(a)
    wish = world.request(flavor, hours(1, 3))
    for _ in range(2):
        failed_hosts.take_back_hosts()
        with pytest.raises(exceptions.HostsExhausted):
            admission.check(wish)
    cloud.placement.allocations.clear()
    with pytest.raises(exceptions.HostsExhausted):
        admission.check(wish)
    failed_hosts.take_back_hosts()
    assert hosts_of(world.book(wish)) == {a: 1}
    assert hosts_of(running) == {b: 2}


def test_recovered_host_from_which_a_part_was_moved_waits_too(cloud: Cloud, pair, flavor):
    """Two servers are left on it, and the tables know of one."""
    a, b = pair
    book_on(b, flavor, hours(1, 3))
    lease = book_on(a, flavor, hours(1, 3), 2)
    world.begin(lease)
    cls = backing_names.resource_class(lease.reservation_id)
    cloud.placement.use("blazar_a", cls, 2)
    fail(a)
    heal()
    assert (hosts_of(lease), flags(lease)) == ({a: 1, b: 1}, (True, True, True))
    recover(a)
    heal()
    assert flags(lease) == CHANGED
    for is_back in (False, True):
        failed_hosts.take_back_hosts()
        with session.reader() as db:
            assert (host_marks.abandoned(db) == []) is is_back
        cloud.placement.free(next(iter(cloud.placement.allocations)))


def test_host_offers_less_as_servers_leave_it(cloud: Cloud, pair, flavor):
    """An operator migrates the servers one after the other. Nothing of them stays in Placement."""
    lease = book_on(pair[0], flavor, hours(1, 3), 2)
    world.begin(lease)
    cls = backing_names.resource_class(lease.reservation_id)
    cloud.placement.use("blazar_a", cls, 2)
    fail(pair[0])
    heal()
    recover(pair[0])
    servers = list(cloud.placement.allocations)
    for left in ({"blazar_a": 2}, {"blazar_a": 1}, {}):
        failed_hosts.take_back_hosts()
        assert offered(cloud, lease) == {**left, "blazar_b": 2}
        if servers:
            cloud.placement.free(servers.pop())
    with session.reader() as db:
        assert host_marks.abandoned(db) == []


def test_host_that_keeps_a_part_still_offers_it_when_it_is_taken_back(cloud: Cloud, pair, flavor):
    a, b = pair
    book_on(b, flavor, hours(1, 3))
    lease = book_on(a, flavor, hours(1, 3), 2)
    world.begin(lease)
    cloud.placement.use("blazar_a", backing_names.resource_class(lease.reservation_id), 2)
    fail(a)
    heal()
    recover(a)
    for server in list(cloud.placement.allocations):
        cloud.placement.free(server)
    failed_hosts.take_back_hosts()
    assert offered(cloud, lease) == {"blazar_a": 1, "blazar_b": 1}


def test_host_that_failed_again_is_not_taken_back(cloud: Cloud, pair, running):
    fail(pair[0])
    heal()
    recover(pair[0])
    with session.reader() as db:
        (read,) = host_marks.abandoned(db)
    with session.writer() as db:
        host_marks.abandon(db, pair[0])
    with session.writer() as db:
        assert not host_marks.take_back(db, read)


def test_flag_of_another_reservation_keeps_the_lease_degraded(pair, flavor):
    a, b = pair
    lease = book_on(a, flavor, hours(1, 3), 2)
    values = {"lease_id": lease.id, "resource_type": "virtual:instance", "status": "pending"}
    stock = db_api.reservation_create({**values, "missing_resources": True})
    obstacle = world.add_stock([b], hours(2, 9), "physical:host")
    fail(a)
    heal()
    db_api.lease_destroy(obstacle.id)
    heal()
    rows = {r["id"]: r["missing_resources"] for r in db_api.lease_get(lease.id)["reservations"]}
    assert rows == {lease.reservation_id: False, stock["id"]: True}
    assert db_api.lease_get(lease.id)["degraded"]


@pytest.mark.parametrize("status", ["UPDATING", "STARTING", "DELETING", "TERMINATING"])
def test_lease_that_is_being_changed_is_healed_afterwards(pair, flavor, status):
    a, b = pair
    lease = book_on(a, flavor, hours(1, 3))
    world.set_status(lease, status)
    fail(a)
    heal()
    assert hosts_of(lease) == {a: 1}
    assert flags(lease) == WELL
    world.set_status(lease, "PENDING")
    heal()
    assert hosts_of(lease) == {b: 1}


def test_running_reservation_of_a_lease_in_error_moves(pair, running):
    """The lease may stay in ERROR, for example because another of its reservations has failed."""
    a, b = pair
    world.write_lease(running.id, {"status": "ERROR"})
    fail(a)
    heal()
    assert hosts_of(running) == {b: 2}
    assert flags(running) == CHANGED


def test_ended_and_erroneous_reservations_are_left(pair, flavor):
    a, _ = pair
    broken = book_on(a, flavor, hours(1, 3))
    world.set_status(broken, "ERROR")
    db_api.reservation_update(broken.reservation_id, {"status": "error"})
    over = book_on(a, flavor, hours(1, 3))
    world.begin(over)
    world.finish(over)
    fail(a)
    heal()
    assert hosts_of(broken) == {a: 1}
    assert (flags(broken), flags(over)) == (WELL, WELL)


def test_start_that_is_prepared_while_its_host_fails_gets_another(cloud: Cloud, pair, flavor):
    """The claim protects the start from being moved half way; then it is healed as running."""
    a, b = pair
    lease = book_on(a, flavor, hours(1, 3))
    manager = Manager()
    start = lease.span.start
    manager.executor.beat()
    manager.executor.claim(start - datetime.timedelta(seconds=3))
    assert state(lease)[0] == "STARTING"
    fail(a)
    heal()
    assert hosts_of(lease) == {a: 1}
    manager.run(start)
    assert state(lease)[0] == "ACTIVE"
    heal()
    assert hosts_of(lease) == {b: 1}
    assert flags(lease) == CHANGED
    assert (offered(cloud, lease), aggregate_hosts(cloud, lease)) == ({"blazar_b": 1}, {"b"})


def test_start_that_was_postponed_is_prepared_on_the_new_host(cloud: Cloud, pair, flavor):
    lease = book_on(pair[0], flavor, hours(1, 3))
    backing.prepare(lease.reservation_id)  # An attempt at the start that failed after this.
    fail(pair[0])
    heal()
    manager = Manager()
    manager.run(lease.span.start)
    assert state(lease)[0] == "ACTIVE"
    assert (offered(cloud, lease), aggregate_hosts(cloud, lease)) == ({"blazar_b": 1}, {"b"})


def test_lease_claimed_without_its_status_is_left(pair, flavor):
    lease = book_on(pair[0], flavor, hours(1, 3))
    with session.writer() as db:
        executions.beat(db, "manager", "host")
        executions.claim(db, [lease.id], "start", "manager")
    fail(pair[0])
    heal()
    assert hosts_of(lease) == {pair[0]: 1}


# Blazar's own monitor.


@pytest.fixture
def blazars_monitor(cloud: Cloud, monkeypatch) -> PhysicalHostMonitorPlugin:
    """Blazar's host monitor, with the handler of our plugin alone."""
    monitor = PhysicalHostMonitorPlugin()
    monkeypatch.setattr(monitor, "healing_handlers", [])
    FlavorSlotPlugin()
    assert len(monitor.healing_handlers) == 1
    return monitor


def soon(hours_from_now: float) -> datetime.datetime:
    now = timeutils.utcnow().replace(second=0, microsecond=0)
    return now + datetime.timedelta(hours=hours_from_now)


@pytest.mark.parametrize("interval", [0, 60], ids=["infinite", "an-hour"])
def test_blazars_monitor_heals_by_our_handler(conf, blazars_monitor, pair, flavor, interval):
    """Without an interval, Blazar passes a date instead of a datetime."""
    conf.config(group="physical:host", healing_interval=interval)
    a, b = pair
    near, far = (book_on(a, flavor, hours(1, 3)) for _ in range(2))
    world.write_dates(near, world.Span(soon(0.5), soon(3)))
    blazars_monitor._handle_failures([db_api.host_get(a)])
    assert not db_api.host_get(a)["reservable"]
    assert hosts_of(near) == {b: 1}
    assert hosts_of(far) == ({b: 1} if interval == 0 else {a: 1})


def test_handler_takes_dates(blazars_monitor, pair, flavor):
    (handler,) = blazars_monitor.healing_handlers
    lease = book_on(pair[0], flavor, hours(1, 3))
    fail(pair[0])
    failed = [db_api.host_get(pair[0])]
    assert handler(failed, datetime.date(2000, 1, 1), datetime.date(2050, 1, 1)) == {}
    assert hosts_of(lease) == {pair[0]: 1}
    assert handler(failed, datetime.date(2000, 1, 1), datetime.date.max) == {}
    assert hosts_of(lease) == {pair[1]: 1}
    assert handler([], timeutils.utcnow(), datetime.date.max) == {}


def test_failure_of_our_handler_costs_other_plugins_no_flags(
    blazars_monitor, database: sa.Engine, monkeypatch: pytest.MonkeyPatch
):
    flag = {"reservation": {"missing_resources": True}}
    blazars_monitor.register_healing_handler(lambda *_: flag)
    with database.begin() as connection:
        connection.execute(sa.text("ALTER TABLE warre_reservations RENAME TO warre_hidden"))
    try:
        assert blazars_monitor.heal() == flag
    finally:
        with database.begin() as connection:
            connection.execute(sa.text("ALTER TABLE warre_hidden RENAME TO warre_reservations"))


def test_poll_heals_what_the_monitors_calls_left_out(conf, cloud: Cloud, pair, flavor):
    a, b = pair
    lease = book_on(a, flavor, hours(1, 3), 2)
    world.write_dates(lease, world.Span(soon(0.5), soon(3)))
    fail(a)
    plugin = FlavorSlotPlugin()
    plugin.monitor.poll()
    assert hosts_of(lease) == {a: 2}, "no monitor of hosts is enabled"
    conf.config(group="physical:host", enable_polling_monitor=True)
    plugin.monitor.poll()
    assert hosts_of(lease) == {b: 2}


def test_poll_leaves_flagged_reservations_to_the_healing_interval(conf, pair, flavor):
    a, b = pair
    lease = book_on(a, flavor, hours(1, 3), 2)
    world.write_dates(lease, world.Span(soon(0.5), soon(3)))
    obstacle = world.add_stock([b], world.Span(soon(0), soon(9)), "physical:host")
    fail(a)
    heal(ALL_TIME)
    db_api.lease_destroy(obstacle.id)
    conf.config(group="physical:host", enable_polling_monitor=True)
    FlavorSlotPlugin().monitor.poll()
    assert (hosts_of(lease), flags(lease)) == ({a: 2}, MISSING)


# A host that no longer matches.


def test_running_reservation_is_extended_on_a_host_that_no_longer_matches(
    database: sa.Engine, cloud: Cloud
):
    a = world.add_host(cloud, "a", vcpus=4, properties={"gpu": "yes"})
    flavor = world.add_flavor(slots=9, properties='["==", "$gpu", "yes"]')
    lease = world.book(world.request(flavor, hours(1, 3), 2))
    world.begin(lease)
    world.write_by_hand(sa.text("UPDATE computehost_extra_capabilities SET capability_value='no'"))
    world.move(lease, hours(1, 4))
    assert hosts_of(lease) == {a: 2}
    with pytest.raises(exceptions.NoHostMatches):
        admission.check(world.request(flavor, hours(5, 6)))
    world.add_stock([a], hours(5, 6), "physical:host")
    with pytest.raises(exceptions.HostsExhausted):
        world.move(lease, hours(1, 6))
    world.move(lease, hours(1, 5))
    assert oversold.find(database) == []


def test_unbegun_reservation_leaves_a_host_that_no_longer_matches(
    database: sa.Engine, cloud: Cloud
):
    a = world.add_host(cloud, "a", zone="one")
    b = world.add_host(cloud, "b", zone="two")
    flavor = world.add_flavor(slots=9, availability_zone="one")
    lease = world.book(world.request(flavor, hours(1, 3)))
    assert hosts_of(lease) == {a: 1}
    read = tables.host_providers
    world.write_by_hand(
        *(
            read.update().where(read.c.host_id == host_id).values(zone=zone)
            for host_id, zone in ((a, "two"), (b, "one"))
        )
    )
    world.move(lease, hours(1, 4))
    assert hosts_of(lease) == {b: 1}


def test_reservation_on_a_failed_host_is_not_extended_there(pair, flavor, running):
    world.add_stock([pair[1]], hours(2, 9), "physical:host")
    fail(pair[0])
    with pytest.raises(exceptions.HostsExhausted):
        world.move(running, hours(1, 4))
    world.move(running, hours(1, 2))
