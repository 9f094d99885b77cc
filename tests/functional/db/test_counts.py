"""Changing a reservation's number of instances: slots, hosts, quotas and Placement."""

import collections
import contextlib
import dataclasses
import random

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api

from tests.fakes.cloud import Cloud
from tests.fakes.service import Refusal
from tests.functional.db import databases, oversold, races, world
from tests.functional.db.outage import hosts_of
from warre_blazar.db import session
from warre_blazar.db.running import backings
from warre_blazar.domain.booking.quota import Amount
from warre_blazar.domain.running import backing_names
from warre_blazar.errors import exceptions
from warre_blazar.openstack import limits
from warre_blazar.services.booking import admission, changing, lookup
from warre_blazar.services.flavors import flavors
from warre_blazar.services.running import backing

pytestmark = pytest.mark.usefixtures("database")

hours = world.hours
SPAN = hours(1, 3)


def count_of(lease: world.Lease) -> int:
    """The reservation's number of instances, on which all tables must agree."""
    count = lookup.get(lease.reservation_id, None)[0].instance_count
    resource_id = db_api.reservation_get(lease.reservation_id)["resource_id"]
    row = db_api.instance_reservation_get(resource_id)
    assert row["amount"] == count == sum(hosts_of(lease).values())
    return count


def resize(lease: world.Lease, count: int, span: world.Span | None = None, **more) -> world.Lease:
    return world.move(lease, span or lease.span, count=count, **more)


@pytest.fixture
def flavor(cloud: Cloud):
    """A flavor with four slots, on two hosts with room for two instances each."""
    for name in ("a", "b"):
        world.add_host(cloud, name, vcpus=4)
    return world.add_flavor(slots=4)


def test_growth_takes_slots_and_hosts(database: sa.Engine, flavor):
    lease = world.book(world.request(flavor, SPAN, 1))
    resize(lease, 3)
    assert count_of(lease) == 3
    admission.check(world.request(flavor, SPAN, 1))
    with pytest.raises(exceptions.SlotsExhausted):
        admission.check(world.request(flavor, SPAN, 2))
    assert oversold.find(database) == []


def test_shrinking_gives_slots_and_a_whole_host_back(flavor):
    lease = world.book(world.request(flavor, SPAN, 3))
    resize(lease, 2)
    assert count_of(lease) == 2
    assert list(hosts_of(lease).values()) == [2]
    admission.check(world.request(flavor, SPAN, 2))


@pytest.mark.parametrize(
    ("slots", "code"), [(3, "slots_exhausted"), (9, "hosts_exhausted")], ids=["slots", "hosts"]
)
@pytest.mark.parametrize("span", [SPAN, hours(1, 4), hours(5, 6)], ids=["same", "longer", "later"])
def test_refused_growth_changes_nothing(
    database: sa.Engine, cloud: Cloud, slots: int, code: str, span: world.Span
):
    world.add_host(cloud, "a", vcpus=6)
    flavor = world.add_flavor(slots=slots)
    lease = world.book(world.request(flavor, SPAN, 1))
    world.book(world.request(flavor, hours(2, 6), 1))
    world.set_status(lease, "UPDATING")
    before = databases.dump(database)
    with pytest.raises(exceptions.WarreError) as refused:
        changing.move(lease.reservation_id, span, world.conditions(), world.NOW, 3)
    assert refused.value.code == code
    assert databases.dump(database) == before
    world.set_status(lease, "PENDING")
    resize(lease, 2, span)
    assert oversold.find(database) == []


def test_growth_counts_in_the_old_time_until_blazar_writes_the_new_time(
    database: sa.Engine, flavor
):
    lease = world.book(world.request(flavor, SPAN, 1))
    world.set_status(lease, "UPDATING")
    changing.move(lease.reservation_id, hours(5, 6), world.conditions(), world.NOW, 4)
    for span in (SPAN, hours(5, 6)):
        with pytest.raises(exceptions.SlotsExhausted):
            admission.check(world.request(flavor, span))
    assert oversold.find(database) == []


def test_reservation_of_unbookable_flavor_shrinks_but_does_not_grow(database: sa.Engine, flavor):
    lease = world.book(world.request(flavor, SPAN, 2))
    flavors.update(flavor.id, {"active": False})
    before = databases.dump(database)["warre_reservations"]
    with pytest.raises(exceptions.FlavorNotBookable):
        resize(lease, 3)
    assert databases.dump(database)["warre_reservations"] == before
    resize(lease, 1)
    assert count_of(lease) == 1


def test_shrinking_needs_no_room_on_hosts(database: sa.Engine, flavor):
    lease = world.book(world.request(flavor, SPAN, 3))
    with database.begin() as connection:
        connection.execute(sa.text("UPDATE computehosts SET reservable = false"))
    resize(lease, 1)
    assert count_of(lease) == 1


@pytest.mark.parametrize("count", [1, 2])
def test_change_to_a_past_start_is_refused(database: sa.Engine, flavor, count: int):
    lease = world.book(world.request(flavor, SPAN))
    before = databases.dump(database)["warre_reservations"]
    with pytest.raises(exceptions.InvalidPeriod):
        resize(lease, count, hours(-1, 3))
    assert databases.dump(database)["warre_reservations"] == before


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit the project to six hours in all."""
    monkeypatch.setattr(limits, "of_project", lambda *_: Amount(10, 6))


@pytest.mark.usefixtures("limited")
def test_growth_needs_quota_for_the_added_hours_only(flavor):
    lease = world.book(world.request(flavor, SPAN, 2, rule=world.QUOTA))
    with pytest.raises(exceptions.QuotaExceeded) as refused:
        resize(lease, 4, rule=world.QUOTA)
    (exceeded,) = refused.value.detail["exceeded"]
    assert (exceeded["asked"], exceeded["used"], exceeded["limit"]) == (4, 4, 6)
    resize(lease, 3, rule=world.QUOTA)
    # More instances for a shorter time may take fewer hours.
    resize(lease, 4, hours(1, 2), rule=world.QUOTA)
    assert count_of(lease) == 4


def test_shrinking_needs_no_quota(flavor, monkeypatch: pytest.MonkeyPatch):
    lease = world.book(world.request(flavor, SPAN, 3))

    def never(*_: object) -> None:
        raise AssertionError("Keystone was asked")

    monkeypatch.setattr(limits, "of_project", never)
    resize(lease, 2, rule=world.QUOTA)
    resize(lease, 1, hours(1, 2), rule=world.QUOTA)
    assert count_of(lease) == 1


def test_changed_reservation_keeps_its_affinity(cloud: Cloud):
    for name in ("a", "b"):
        world.add_host(cloud, name, vcpus=8)
    flavor = world.add_flavor(slots=9)
    wanted = world.request(flavor, SPAN, 1)
    together = world.book(dataclasses.replace(wanted, affinity=True))
    resize(together, 3)
    assert list(hosts_of(together).values()) == [3]
    with pytest.raises(exceptions.HostsExhausted):
        resize(together, 5)
    apart = world.book(dataclasses.replace(wanted, affinity=False))
    with pytest.raises(exceptions.HostsExhausted):
        resize(apart, 3)
    resize(apart, 2)
    assert sorted(hosts_of(apart).values()) == [1, 1]
    resize(together, 2)
    assert list(hosts_of(together).values()) == [2]


# Reservations that are running.


def boot(cloud: Cloud, lease: world.Lease, host: str, servers: int = 1) -> None:
    if servers:
        cls = backing_names.resource_class(lease.reservation_id)
        cloud.placement.use(f"blazar_{host}", cls, servers)


def offered(cloud: Cloud) -> dict[str, int]:
    """By host, the inventory of the only reservation's resource class."""
    offers = cloud.placement.offered()
    return {name.removeprefix("blazar_"): sum(each.values()) for name, each in offers.items()}


@pytest.fixture
def running(cloud: Cloud, flavor) -> world.Lease:
    """A running reservation of four instances, two on each of the hosts a and b."""
    lease = world.book(world.request(flavor, SPAN, 4))
    world.begin(lease)
    assert offered(cloud) == {"a": 2, "b": 2}
    return lease


def test_running_reservation_does_not_grow(database: sa.Engine, cloud: Cloud):
    world.add_host(cloud, "a")
    lease = world.book(world.request(world.add_flavor(slots=9), SPAN, 1))
    world.begin(lease)
    before = databases.dump(database)["warre_reservations"]
    with pytest.raises(exceptions.InvalidState, match="has begun, so it can have fewer"):
        resize(lease, 2)
    assert databases.dump(database)["warre_reservations"] == before
    assert offered(cloud) == {"a": 1}


#: Servers on hosts a and b; the new count; the hosts' inventories then, or None if it is refused.
SHRINKS = {
    "no servers": ((0, 0), 2, {"a": 2}),
    "both have one": ((1, 1), 2, {"a": 1, "b": 1}),
    "one host full": ((0, 2), 3, {"a": 1, "b": 2}),
    "to one host": ((0, 1), 1, {"b": 1}),
    "too many": ((2, 1), 2, None),
    "too many of one": ((0, 2), 1, None),
    "to all that are used": ((2, 1), 3, {"a": 2, "b": 1}),
}


@pytest.mark.parametrize("case", [pytest.param(c, id=c.replace(" ", "-")) for c in SHRINKS])
def test_running_reservation_shrinks_to_its_servers(
    database: sa.Engine, cloud: Cloud, flavor, running: world.Lease, case: str
):
    servers, count, left = SHRINKS[case]
    for host, number in zip("ab", servers, strict=True):
        boot(cloud, running, host, number)
    if left is None:
        with pytest.raises(exceptions.InvalidState, match=r"servers.*delete \d of them first"):
            resize(running, count)
        assert (count_of(running), offered(cloud)) == (4, {"a": 2, "b": 2})
    else:
        resize(running, count)
        assert (count_of(running), offered(cloud)) == (count, left)
        (aggregate,) = cloud.nova.aggregates.values()
        assert set(aggregate["hosts"]) == left.keys()
        admission.check(world.request(flavor, hours(2, 3), 4 - count))
    with session.reader() as db:
        note = backings.get(db, running.reservation_id)
    assert note is not None and note.phase == "open"
    assert oversold.find(database) == []
    cloud.placement.allocations.clear()
    world.finish(running)
    assert cloud.placement.offered() == {}


def test_shelved_server_keeps_its_place(cloud: Cloud, running: world.Lease):
    """It uses nothing in Placement, but its owner wants to unshelve it."""
    flavor_id = backing_names.nova_flavor_id(running.reservation_id)
    servers = [cloud.nova.boot(flavor_id, world.PROJECT, name, host="a") for name in "ab"]
    cloud.nova.shelve(servers[0])
    with pytest.raises(exceptions.InvalidState) as refused:
        resize(running, 1)
    assert refused.value.detail["names"] == ["a (SHELVED_OFFLOADED)", "b"]
    assert "2 servers (a (SHELVED_OFFLOADED), b)" in refused.value.message
    resize(running, 2)
    assert (count_of(running), offered(cloud)) == (2, {"a": 2})


def test_server_that_found_no_host_keeps_no_place(cloud: Cloud, running: world.Lease):
    flavor_id = backing_names.nova_flavor_id(running.reservation_id)
    cloud.nova.boot(flavor_id, world.PROJECT, "a", host="a")
    failed = cloud.nova.boot(flavor_id, world.PROJECT, "b")
    cloud.nova.servers[failed]["status"] = "ERROR"
    resize(running, 1)
    assert (count_of(running), offered(cloud)) == (1, {"a": 1})


def test_server_whose_migration_is_not_confirmed_holds_two_places(cloud: Cloud, running):
    flavor_id = backing_names.nova_flavor_id(running.reservation_id)
    server = cloud.nova.boot(flavor_id, world.PROJECT, "s1", host="a")
    cloud.nova.move(server, "b")
    with pytest.raises(exceptions.InvalidState) as refused:
        resize(running, 1)
    assert (refused.value.detail["servers"], refused.value.detail["names"]) == (
        2,
        ["s1 (VERIFY_RESIZE)"],
    )


def test_server_that_was_resized_out_and_not_confirmed_is_named(cloud: Cloud, running):
    cloud.add_host("other", inventories={"VCPU": {"total": 4}})
    flavor_id = backing_names.nova_flavor_id(running.reservation_id)
    servers = [cloud.nova.boot(flavor_id, world.PROJECT, f"s{n}", host="a") for n in range(2)]
    cloud.nova.move(servers[0], "other", cloud.nova.make_flavor("m1"))
    with pytest.raises(exceptions.InvalidState) as refused:
        resize(running, 1)
    assert refused.value.detail["names"] == ["s0 (VERIFY_RESIZE)", "s1"]


def test_running_reservation_shrinks_and_is_extended_at_once(cloud: Cloud, flavor, running):
    world.book(world.request(flavor, hours(3, 6), 2))
    with pytest.raises(exceptions.SlotsExhausted):
        resize(running, 3, hours(1, 5))
    assert (count_of(running), offered(cloud)) == (4, {"a": 2, "b": 2})
    with contextlib.suppress(exceptions.HostsExhausted):
        resize(running, 2, hours(1, 5))
    assert sum(offered(cloud).values()) == count_of(running)


def test_server_created_while_inventories_are_lowered_is_kept(
    cloud: Cloud, running, monkeypatch: pytest.MonkeyPatch
):
    """The server is created between the reads and a write, and both hosts stay as they were."""
    read = cloud.placement.show_usages
    reads = []

    def show_usages(request, provider_id):
        answer = read(request, provider_id)
        reads.append(provider_id)
        # Both hosts have been read, and the inventory of one is about to be lowered.
        if len(reads) == 3:
            for host in "ab":
                boot(cloud, running, host, 2)
        return answer

    monkeypatch.setattr(cloud.placement, "show_usages", show_usages)
    with pytest.raises(exceptions.InvalidState, match="at the same moment"):
        resize(running, 1)
    assert len(reads) == 4
    assert (count_of(running), offered(cloud)) == (4, {"a": 2, "b": 2})


# Nova is asked for shelved servers.
@pytest.mark.parametrize("service", ["nova", "placement"])
def test_shrinking_interrupted_by_a_failure_is_completed_or_undone(
    cloud: Cloud, flavor, running, service: str
):
    """The inventories are set to what the database says, by the poll at the latest."""
    fake = getattr(cloud, service)
    outcomes = []
    for number in range(1, 16):
        fake.fail(status=503, first=number)
        try:
            resize(running, count_of(running) - 1)
        except exceptions.ServiceUnavailable:
            outcomes.append("refused")
        else:
            outcomes.append("shrunk")
        cloud.mend()
        backing.reconcile()
        assert sum(offered(cloud).values()) == count_of(running)
        if count_of(running) == 1:
            break
    assert outcomes.count("shrunk") == 3
    assert "refused" in outcomes


def test_reconciler_leaves_the_backing_of_an_updating_lease_alone(cloud: Cloud, running):
    world.set_status(running, "UPDATING")
    with session.writer() as db:
        assert backings.half_close(db, running.reservation_id)
    provider = cloud.placement.named("blazar_a")
    assert provider is not None
    cls = backing_names.resource_class(running.reservation_id)
    provider["inventories"][cls] = {**provider["inventories"][cls], "total": 1}
    backing.reconcile()
    assert offered(cloud) == {"a": 1, "b": 2}
    # The lease as it is after the manager has died during the update.
    world.set_status(running, "ACTIVE")
    backing.reconcile()
    assert offered(cloud) == {"a": 2, "b": 2}


# Simultaneous changes.


def resizing(lease: world.Lease, count: int):
    return lambda: changing.move(lease.reservation_id, SPAN, world.conditions(), world.NOW, count)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("unlocked", [False, True], ids=["with-the-lock", "generations-alone"])
def test_simultaneous_changes_of_counts_never_oversell(
    kind, database: sa.Engine, cloud: Cloud, monkeypatch: pytest.MonkeyPatch, unlocked, seed
):
    """Bookings run beside the changes, and some changes are of the same lease, as Blazar allows."""
    if unlocked:
        races.unlock(monkeypatch)
    for name in ("a", "b"):
        world.add_host(cloud, name, vcpus=12)
    flavor = world.add_flavor(slots=10)
    leases = [world.book(world.request(flavor, SPAN, 2)) for _ in range(4)]
    chance = random.Random(seed)
    jobs = [resizing(chance.choice(leases), chance.randint(1, 5)) for _ in range(8)]
    request = world.request(flavor, SPAN, 2)
    jobs += [races.Job(world.add_lease(SPAN), request, whole=False) for _ in range(2)]
    for lease in leases:
        world.set_status(lease, "UPDATING")
    result = races.in_threads(jobs)
    print(f"\n{kind}: {dict(result.outcomes)}, {result.retries} retries")
    assert set(result.outcomes) <= {"held", "slots_exhausted", "hosts_exhausted", "try_again"}
    assert result.outcomes["held"]
    assert oversold.find(database) == []
    for lease in leases:
        count_of(lease)


def test_servers_booted_during_shrinking_always_have_room(cloud: Cloud, running):
    """Each server either is refused for want of room, or uses an instance that is left."""
    cls = backing_names.resource_class(running.reservation_id)
    booted = []

    def one(host: str) -> None:
        with contextlib.suppress(Refusal):
            boot(cloud, running, host)
            booted.append(host)

    world.set_status(running, "UPDATING")
    jobs = [lambda host=host: one(host) for host in "aabb"]
    races.in_threads([*jobs, resizing(running, 2), resizing(running, 1)])
    world.set_status(running, "ACTIVE")
    backing.reconcile()
    count = count_of(running)
    assert len(booted) <= count
    assert sum(offered(cloud).values()) == count
    names = {i: p["name"].removeprefix("blazar_") for i, p in cloud.placement.providers.items()}
    used = collections.Counter(
        (names[provider], held)
        for allocation in cloud.placement.allocations.values()
        for provider, amounts in allocation.items()
        for held in amounts
    )
    for (host, used_class), number in used.items():
        assert used_class == cls
        assert number <= offered(cloud)[host]
