"""Moving a reservation: the slots and hosts that it needs, and the times that count meanwhile."""

import contextlib
import datetime

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api

from tests.fakes.cloud import Cloud
from tests.functional.db import databases, oversold, world
from tests.functional.db.outage import hosts_of
from warre_blazar.db import session
from warre_blazar.db.running import executions
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import admission, changing, lookup
from warre_blazar.services.flavors import flavors
from warre_blazar.services.running import repair

pytestmark = [pytest.mark.usefixtures("database"), pytest.mark.every_kind]

hours = world.hours


@pytest.fixture
def flavor(cloud: Cloud):
    """A flavor with one slot, on one host that has room for more instances."""
    world.add_host(cloud, "a")
    return world.add_flavor()


MOVES = {
    "longer": hours(1, 4),
    "earlier too": hours(0, 3),
    "shorter": hours(1, 2),
    "later, overlapping": hours(2, 4),
    "elsewhere": hours(10, 12),
    "touching": hours(3, 5),
}


@pytest.mark.parametrize("span", MOVES.values(), ids=[n.replace(" ", "-") for n in MOVES])
def test_move_to_a_free_time_is_accepted(flavor, span):
    lease = world.book(world.request(flavor, hours(1, 3)))
    moved = world.move(lease, span)
    assert lookup.get(lease.reservation_id, None)[0].span == span
    # The old time is free again, and the new time is taken.
    with pytest.raises(exceptions.SlotsExhausted):
        admission.check(world.request(flavor, moved.span))
    if not span.overlaps(hours(1, 2)):
        admission.check(world.request(flavor, hours(1, 2)))


@pytest.mark.parametrize("status", ["PENDING", "ACTIVE"])
@pytest.mark.parametrize(
    ("slots", "code"), [(1, "slots_exhausted"), (9, "hosts_exhausted")], ids=["slots", "hosts"]
)
def test_extension_into_a_booked_time_is_refused(
    database: sa.Engine, cloud: Cloud, slots, code, status
):
    world.add_host(cloud, "a", vcpus=2)
    flavor = world.add_flavor(slots=slots)
    lease = world.book(world.request(flavor, hours(1, 3)))
    world.set_status(lease, status)
    world.book(world.request(flavor, hours(4, 5)))
    world.set_status(lease, "UPDATING")
    before = databases.dump(database)
    with pytest.raises(exceptions.WarreError) as refused:
        changing.move(lease.reservation_id, hours(1, 5), world.conditions(), world.NOW)
    assert refused.value.code == code
    assert databases.dump(database) == before
    world.set_status(lease, status)
    world.move(lease, hours(1, 4))
    assert oversold.find(database) == []


RULES = {
    "too long": ({"max_length_hours": 2}, hours(1, 4), "too_long"),
    "after the flavor's end": ({"end": hours(1, 3).end}, hours(1, 4), "after_flavor_end"),
    "before the flavor's start": ({"start": hours(1, 3).start}, hours(0, 3), "before_flavor_start"),
    "inactive": ({"active": False}, hours(1, 4), "flavor_inactive"),
    "reversed": ({}, hours(3, 1), "invalid_period"),
}


@pytest.mark.parametrize("case", RULES, ids=[name.replace(" ", "-") for name in RULES])
def test_move_against_the_flavors_terms_is_refused(database: sa.Engine, flavor, case):
    terms, span, code = RULES[case]
    lease = world.book(world.request(flavor, hours(1, 3)))
    flavors.update(flavor.id, terms)
    before = databases.dump(database)["warre_reservations"]
    with pytest.raises(exceptions.WarreError) as refused:
        world.move(lease, span)
    assert refused.value.code == code
    assert databases.dump(database)["warre_reservations"] == before
    # A shorter time is always allowed.
    world.move(lease, hours(1, 2))


def test_move_of_unknown_reservation_is_refused(flavor):
    with pytest.raises(exceptions.ReservationNotFound):
        changing.move("nonesuch", hours(1, 3), world.conditions(), world.NOW)


def test_move_of_complete_reservation_is_refused(flavor):
    lease = world.book(world.request(flavor, hours(1, 3)))
    world.begin(lease)
    world.finish(lease)
    with pytest.raises(exceptions.InvalidState):
        changing.move(lease.reservation_id, hours(1, 4), world.conditions(), world.NOW)


def test_old_and_new_time_count_while_the_lease_is_updating(flavor):
    lease = world.book(world.request(flavor, hours(1, 2)))
    world.set_status(lease, "UPDATING")
    changing.move(lease.reservation_id, hours(5, 6), world.conditions(), world.NOW)
    for span in (hours(1, 2), hours(5, 6)):
        with pytest.raises(exceptions.SlotsExhausted):
            admission.check(world.request(flavor, span))
    admission.check(world.request(flavor, hours(2, 5)))


def test_overlapping_times_count_once(cloud: Cloud):
    world.add_host(cloud, "a", vcpus=4)
    flavor = world.add_flavor(slots=2)
    lease = world.book(world.request(flavor, hours(1, 3)))
    world.set_status(lease, "UPDATING")
    changing.move(lease.reservation_id, hours(1, 5), world.conditions(), world.NOW)
    admission.check(world.request(flavor, hours(1, 5)))


@pytest.mark.parametrize("status", ["PENDING", "ACTIVE", "ERROR"])
def test_promise_counts_until_its_update_is_over(flavor, status):
    """Blazar tells the plugin nothing of an update that failed or was overtaken by another."""
    lease = world.book(world.request(flavor, hours(1, 2)))
    world.set_status(lease, "UPDATING")
    changing.move(lease.reservation_id, hours(5, 6), world.conditions(), world.NOW)
    repairer = repair.Repairer(lambda count: 600 * count)
    for late in (0, 500):
        world.age_promise(lease, late)
        repairer.look(world.NOW)
        with pytest.raises(exceptions.SlotsExhausted):
            admission.check(world.request(flavor, hours(5, 6)))
    world.set_status(lease, status)
    repairer.look(world.NOW)
    admission.check(world.request(flavor, hours(5, 6)))
    with pytest.raises(exceptions.SlotsExhausted):
        admission.check(world.request(flavor, hours(1, 2)))


def test_second_update_keeps_the_promise_to_the_first(database: sa.Engine, cloud: Cloud):
    """Blazar accepts both, so neither time may be sold, whichever update writes its dates last."""
    world.add_host(cloud, "a")
    flavor = world.add_flavor(slots=1)
    lease = world.book(world.request(flavor, hours(1, 2)))
    world.set_status(lease, "UPDATING")
    changing.move(lease.reservation_id, hours(1, 9), world.conditions(), world.NOW)
    changing.move(lease.reservation_id, hours(1, 4), world.conditions(), world.NOW)
    # The second update finishes first, and Blazar sets the status back.
    world.write_dates(lease, hours(1, 4))
    world.set_status(lease, "PENDING")
    with pytest.raises(exceptions.SlotsExhausted):
        admission.check(world.request(flavor, hours(5, 6)))
    world.write_dates(lease, hours(1, 9))
    assert oversold.find(database) == []


def test_shortening_an_extended_lease_frees_the_time_at_once(flavor):
    lease = world.move(world.book(world.request(flavor, hours(1, 2))), hours(1, 9))
    lease = world.move(lease, hours(1, 4))
    admission.check(world.request(flavor, hours(5, 6)))


def test_move_of_claimed_lease_is_refused(flavor):
    lease = world.book(world.request(flavor, hours(1, 2)))
    with session.writer() as db:
        executions.beat(db, "manager", "host")
        executions.claim(db, [lease.id], "start", "manager")
    world.set_status(lease, "UPDATING")
    with pytest.raises(exceptions.InvalidState, match="being started or ended"):
        changing.move(lease.reservation_id, hours(1, 3), world.conditions(), world.NOW)


@pytest.fixture
def two_hosts(cloud: Cloud):
    """Two hosts with room for one instance each. The lease's host is taken from 3 to 4."""
    for name in ("a", "b"):
        world.add_host(cloud, name, vcpus=2)
    flavor = world.add_flavor(slots=9)
    lease = world.book(world.request(flavor, hours(1, 3)))
    (host_id,) = hosts_of(lease)
    world.add_stock([host_id], hours(3, 4), "physical:host")
    return flavor, lease, host_id


def test_pending_reservation_changes_hosts_if_it_must(database: sa.Engine, two_hosts):
    _, lease, host_id = two_hosts
    world.move(lease, hours(1, 4))
    assert host_id not in hosts_of(lease)
    assert sum(hosts_of(lease).values()) == 1
    assert oversold.find(database) == []


def test_pending_reservation_keeps_its_host_if_it_can(two_hosts):
    _, lease, _ = two_hosts
    before = hosts_of(lease)
    world.move(lease, hours(0, 3))
    assert hosts_of(lease) == before


def test_active_reservation_does_not_change_hosts(two_hosts):
    _, lease, _ = two_hosts
    world.begin(lease)
    before = hosts_of(lease)
    with pytest.raises(exceptions.HostsExhausted):
        world.move(lease, hours(1, 4))
    assert hosts_of(lease) == before


def test_new_host_is_held_in_the_old_time_if_the_update_fails_later(
    database: sa.Engine, cloud: Cloud
):
    """The lease keeps its dates, so the new hosts must have room for it at these dates, too."""
    a, b = (world.add_host(cloud, name, vcpus=2) for name in ("a", "b"))
    flavor = world.add_flavor(slots=9)
    lease = world.book(world.request(flavor, hours(1, 2)))
    own_host = a if a in hosts_of(lease) else b
    world.book(world.request(flavor, hours(1, 2)))  # This booking is on the other host.
    world.add_stock([own_host], hours(5, 6), "physical:host")
    world.set_status(lease, "UPDATING")
    with contextlib.suppress(exceptions.HostsExhausted):
        changing.move(lease.reservation_id, hours(5, 6), world.conditions(), world.NOW)
    # Another reservation of the lease is refused, and Blazar only sets the status back.
    assert oversold.find(database) == []
    world.set_status(lease, "PENDING")
    assert oversold.find(database) == []


def test_move_updates_the_row_that_stock_plugins_read(cloud: Cloud):
    """Two instances move from two hosts to one, whose row must then have twice the amount."""
    a, b = (world.add_host(cloud, name, vcpus=4) for name in ("a", "b"))
    flavor = world.add_flavor(slots=9)
    others = [world.add_stock([h], hours(1, 2), "virtual:instance") for h in (a, b)]
    lease = world.book(world.request(flavor, hours(1, 2), 2))
    assert hosts_of(lease) == {a: 1, b: 1}
    for other in others:
        db_api.lease_destroy(other.id)
    world.add_stock([a], hours(5, 6), "physical:host")
    world.move(lease, hours(5, 6))
    assert hosts_of(lease) == {b: 2}
    row = db_api.instance_reservation_get(
        db_api.reservation_get(lease.reservation_id)["resource_id"]
    )
    assert (row["vcpus"], row["memory_mb"], row["disk_gb"]) == (4, 4096, 40)


CLEANING = datetime.timedelta(minutes=30)


@pytest.mark.parametrize("cleaning", [world.NO_CLEANING, CLEANING], ids=["none", "30min"])
@pytest.mark.parametrize("what", ["slots", "hosts"])
def test_move_keeps_the_cleaning_time(cloud: Cloud, what, cleaning):
    """A move fits with exactly the cleaning time between, and not with a minute less."""
    world.add_host(cloud, "a", vcpus=2)
    flavor = world.add_flavor(slots=1 if what == "slots" else 9)
    world.book(world.request(flavor, hours(2, 3), cleaning=cleaning))
    minute = datetime.timedelta(minutes=1)
    end, start = hours(2, 3).end + cleaning, hours(2, 3).start - cleaning
    after, before = (end, hours(0, 4).end), (hours(0, 1).start, start)
    too_early, too_late = (end - minute, after[1]), (before[0], start + minute)
    for span in (too_early, too_late):
        with pytest.raises((exceptions.SlotsExhausted, exceptions.HostsExhausted)):
            admission.check(world.request(flavor, world.Span(*span), cleaning=cleaning))
    first = world.book(world.request(flavor, world.Span(*before), cleaning=cleaning))
    world.book(world.request(flavor, world.Span(*after), cleaning=cleaning))
    with pytest.raises((exceptions.SlotsExhausted, exceptions.HostsExhausted)):
        world.move(first, world.Span(before[0], start + minute), cleaning)
