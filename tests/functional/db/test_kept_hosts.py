"""What a process keeps of the hosts: only what has changed is read again, and nothing is missed.

In each test of this directory, what is kept is compared with the tables after each transaction
(``kept_beside_fresh``). Here are the cases in which more can go wrong.
"""

import contextlib
import json
import random
import threading
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api
from sqlalchemy.orm import Session

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from warre_blazar.db import generations, session, tables
from warre_blazar.db.hosts import allocations, kept_hosts, reservable_hosts
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.errors import exceptions
from warre_blazar.plugins import lease_guard
from warre_blazar.services.booking import admission
from warre_blazar.services.hosts import host_refresh

pytestmark = pytest.mark.usefixtures("database")

SPAN = world.hours(1, 3)


@pytest.fixture
def flavor(cloud: Cloud) -> Flavor:
    return world.add_flavor(slots=10**6)


@pytest.fixture
def host_ids(cloud: Cloud) -> list[str]:
    return [world.add_host(cloud, name, vcpus=8) for name in ("a", "b", "c")]


def room(flavor: Flavor, span=SPAN) -> int:
    """The most instances that can be booked at once."""
    with pytest.raises(exceptions.HostsExhausted) as refused:
        admission.check(world.request(flavor, span, 999))
    return refused.value.detail["free"]


@contextlib.contextmanager
def folded(monkeypatch: pytest.MonkeyPatch, by: str = "_read") -> Iterator[list[set[str]]]:
    """The ids of the hosts that are read in the context, by reading.

    :param by: the name of the function that reads them.
    """
    found: list[set[str]] = []
    read = getattr(kept_hosts, by)

    def noted(db, ids, *rest):
        # The comparison of each transaction has a connection of its own.
        if isinstance(db.get_bind(), sa.Engine):
            found.append(set(ids))
        return read(db, ids, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(kept_hosts, by, noted)
        yield found


def test_only_changed_hosts_are_read_again(flavor, host_ids, monkeypatch: pytest.MonkeyPatch):
    # What Placement says of new hosts is read.
    host_refresh.refresh()
    assert room(flavor) == 12
    with folded(monkeypatch) as readings:
        assert room(flavor) == 12
        assert readings == []
        lease = world.book(world.request(flavor, SPAN))
        (host_id,) = db_api.host_allocation_get_all_by_values(reservation_id=lease.reservation_id)
        assert room(flavor) == 11
        assert readings == []
        db_api.lease_destroy(lease.id)
        assert room(flavor) == 12
        assert readings == [{host_id["compute_host_id"]}]


def test_own_bookings_are_not_read_again(flavor, host_ids, monkeypatch: pytest.MonkeyPatch):
    host_refresh.refresh()
    world.book(world.request(flavor, SPAN, 12))
    later = world.hours(5, 7)
    assert room(flavor, later) == 12
    with folded(monkeypatch) as readings:
        for booked in range(3):
            world.book(world.request(flavor, later, 2))
            assert room(flavor, later) == 10 - 2 * booked
        assert readings == []
        with session.reader() as db:
            read = kept_hosts.read(db, flavor_ids=None)
        assert sum(len(host.holdings) for host in read.hosts) == 18
        assert read.taken[flavor.id].left_of(18).lowest(later) == 12
        assert readings == []


def release(lease: world.Lease) -> None:
    session.change(allocations.release, lease.reservation_id)


def test_hosts_of_own_releases_are_not_read_again(
    flavor, host_ids, monkeypatch: pytest.MonkeyPatch
):
    host_refresh.refresh()
    leases = [world.book(world.request(flavor, SPAN, 5)) for _ in range(2)]
    assert room(flavor) == 2
    with folded(monkeypatch) as readings:
        for left, lease in ((7, leases[0]), (12, leases[1])):
            release(lease)
            assert room(flavor) == left
        assert readings == []
        with session.reader() as db:
            read = kept_hosts.read(db, flavor_ids=None)
        assert sum(len(host.holdings) for host in read.hosts) == 0
        assert read.taken[flavor.id].left_of(12).lowest(SPAN) == 12
        assert readings == []


def test_release_that_is_rolled_back_is_not_kept(flavor, host_ids):
    host_refresh.refresh()
    lease = world.book(world.request(flavor, SPAN, 12))
    later = world.hours(5, 7)
    assert room(flavor, later) == 12
    with session.undone() as db:
        allocations.release(db, lease.reservation_id)
    # Another process gives the hosts the same generation as the release that was rolled back.
    with session.writer() as db:
        generations.outdate(db, host_ids)
    with pytest.raises(exceptions.HostsExhausted):
        admission.check(world.request(flavor, SPAN))


def test_generation_that_changes_beside_a_release_is_increased_all_the_same(
    flavor, host_ids, database: sa.Engine
):
    lease = world.book(world.request(flavor, SPAN, 12))
    of_lease = tables.reservations.c.id == lease.reservation_id

    def versions() -> dict[str, int]:
        with session.reader() as db:
            return {i: v.generation for i, v in reservable_hosts.versions(db).items()}

    changes = [f"UPDATE warre_hosts SET generation = {10**6} WHERE host_id = '{host_ids[0]}'"]

    def change(connection: sa.Connection, _cursor, statement: str, *_) -> None:
        if statement.startswith("UPDATE") and changes:
            connection.exec_driver_sql(changes.pop())

    before = versions()
    sa.event.listen(database, "before_cursor_execute", change)
    with session.writer() as db:
        assert generations.outdate_known(db, of_lease) == {}
    sa.event.remove(database, "before_cursor_execute", change)
    after = versions()
    assert after[host_ids[0]] > 10**6
    assert all(after[i] > before[i] for i in host_ids[1:])


def test_booking_that_somebody_has_read_before_it_is_kept_counts_once(
    flavor, host_ids, monkeypatch: pytest.MonkeyPatch
):
    """Where each statement sees all that was committed, rows may be newer than generations."""
    host_refresh.refresh()
    world.book(world.request(flavor, SPAN, 12))
    later, keep = world.hours(5, 7), kept_hosts._keep
    assert room(flavor, later) == 12

    def read() -> None:
        with session.reader() as db:
            now = reservable_hosts.versions(db)
            before = {i: v._replace(generation=v.generation - 1) for i, v in now.items()}
            with monkeypatch.context() as patched:
                patched.setattr(reservable_hosts, "versions", lambda _: before)
                patched.setattr(kept_hosts._Store, "known", lambda *_: {})
                kept_hosts.read(db)

    def read_first(db: Session) -> None:
        other = threading.Thread(target=read)
        other.start()
        other.join()
        keep(db)

    monkeypatch.setattr(kept_hosts, "_keep", read_first)
    world.book(world.request(flavor, later, 4))
    assert room(flavor, later) == 8


def test_booking_that_is_rolled_back_is_not_kept(flavor, host_ids):
    host_refresh.refresh()
    world.book(world.request(flavor, SPAN, 12))
    later = world.hours(5, 7)
    assert room(flavor, later) == 12
    lease = world.add_lease(later)
    with session.undone() as db:
        admission.claim(world.request(flavor, later, 4), db, lease.reservation_id, None)
    # Another process gives the hosts the same generation as the booking that was rolled back.
    with session.writer() as db:
        generations.outdate(db, host_ids)
    assert room(flavor, later) == 12


@pytest.mark.uncompared  # The comparison keeps hosts, too.
def test_hosts_without_what_is_booked_are_the_kept_ones(
    flavor, host_ids, monkeypatch: pytest.MonkeyPatch
):
    host_refresh.refresh()

    def empty() -> list[BookableHost]:
        with session.reader() as db:
            found, fresh = kept_hosts.empty(db), reservable_hosts.empty(db)
        bare = [host.holding(()) for host in sorted(found, key=lambda host: host.id)]
        assert bare == [host.holding(()) for host in sorted(fresh, key=lambda host: host.id)]
        return found

    with folded(monkeypatch, "_empty") as readings:
        empty()
        empty()
        assert readings == [set(host_ids)]
        room(flavor)  # Reads the hosts with what is booked on them.
        empty()
        assert readings == [set(host_ids)] * 2
        db_api.host_update(host_ids[0], {"reservable": False})
        assert {host.id for host in empty()} == set(host_ids[1:])
        with session.writer() as db:
            generations.outdate(db, host_ids[:2])
        empty()
        assert readings[2:] == [{host_ids[1]}]


def test_nothing_of_a_transaction_that_is_rolled_back_is_kept(flavor, host_ids):
    lease = world.book(world.request(flavor, SPAN, 4))
    assert room(flavor) == 8
    with session.undone() as db:
        db.execute(tables.allocations.delete())
        world.outdate_hosts(db)
        assert sum(len(host.holdings) for host in kept_hosts.read(db).hosts) == 0
    # The same generations as those that were rolled back, with something else.
    world.write_lease(lease.id, {"end_date": world.hours(1, 2).end})
    assert (room(flavor, world.hours(1, 2)), room(flavor, world.hours(2, 3))) == (8, 12)


def test_host_that_is_registered_again_is_not_the_former_one(flavor, host_ids):
    """Its generation is counted anew, and could be one that is kept."""
    lease = world.book(world.request(flavor, SPAN))
    with session.reader() as db:
        before = {h.id: h.generation for h in kept_hosts.read(db).hosts if h.holdings}
    (host_id,) = before
    db_api.lease_destroy(lease.id)
    with session.writer() as db:
        row = db.execute(sa.select(tables.host_generations)).mappings().first()
        assert row is not None
        db.execute(tables.host_generations.delete())
        generations.outdate(db, [host_id])
        after = db.scalar(sa.select(tables.host_generations.c.generation))
    assert after != before[host_id]


@pytest.mark.parametrize("resource_type", ["physical:host", "virtual:instance", "flavor:instance"])
def test_what_blazars_own_types_book_change_and_delete_is_seen(
    flavor, host_ids, resource_type: str, monkeypatch: pytest.MonkeyPatch
):
    # Without the exact plugins, which other tests may have enabled.
    monkeypatch.setattr(lease_guard, "_guarded", {})
    sizes = {"vcpus": 2, "ram": 2048, "disk": 20, "OS-FLV-EXT-DATA:ephemeral": 0}
    source = json.dumps({**sizes, "extra_specs": {}})
    assert room(flavor) == 12
    lease = world.add_stock(host_ids[:1], SPAN, resource_type, source=source)
    taken = room(flavor)
    assert taken < 12
    later = world.hours(5, 6)
    db_api.lease_update(lease.id, {"start_date": later.start, "end_date": later.end})
    assert (room(flavor), room(flavor, later)) == (12, taken)
    allocation = db_api.host_allocation_get_all_by_values(reservation_id=lease.reservation_id)[0]
    db_api.host_allocation_update(allocation["id"], {"compute_host_id": host_ids[1]})
    assert room(flavor, later) == taken
    db_api.host_allocation_destroy(allocation["id"])
    assert room(flavor, later) == 12


def test_hosts_that_blazar_changes_are_seen(flavor, host_ids):
    with_gpu = world.add_flavor(slots=10**6, properties='["==", "$gpu", "yes"]')
    assert room(flavor) == 12
    db_api.host_update(host_ids[0], {"reservable": False})
    assert room(flavor) == 8
    db_api.host_update(host_ids[0], {"reservable": True})
    db_api.host_extra_capability_create(
        {"computehost_id": host_ids[1], "property_name": "gpu", "capability_value": "yes"}
    )
    assert room(with_gpu) == 4


@pytest.mark.every_kind
@pytest.mark.same_logic
@pytest.mark.parametrize("seed", range(4))
def test_random_operations_leave_kept_what_is_in_the_tables(flavor, host_ids, seed: int):
    """The comparison is made after each transaction."""
    dice, booked = random.Random(seed), []
    for _ in range(25):
        start = dice.randrange(1, 20)
        span = world.hours(start, start + dice.randint(1, 4))
        with contextlib.suppress(exceptions.WarreError):
            match dice.choice(["book", "book", "delete", "release", "move", "stock", "drain"]):
                case "book":
                    booked.append(world.book(world.request(flavor, span, dice.randint(1, 4))))
                case "delete" if booked:
                    db_api.lease_destroy(booked.pop(dice.randrange(len(booked))).id)
                case "release" if booked:
                    release(booked.pop(dice.randrange(len(booked))))
                case "move" if booked:
                    world.move(dice.choice(booked), span, count=dice.randint(1, 4))
                case "stock":
                    world.add_stock([dice.choice(host_ids)], span, "virtual:instance")
                case "drain":
                    drained, is_drained = dice.choice(host_ids), dice.random() < 0.3
                    with session.writer() as db:
                        generations.outdate_host(db, drained, draining=is_drained)


def test_number_of_kept_instances_is_bounded(flavor, host_ids, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(kept_hosts, "MOST_INSTANCES", 4)
    for _ in range(3):
        world.book(world.request(flavor, SPAN, 3))
    assert room(flavor) == 3
    (store,) = (s for name, s in next(iter(kept_hosts._stores.values())).items() if name != "tests")
    assert store._instances <= 4
    assert room(flavor) == 3
