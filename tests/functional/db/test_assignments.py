"""Booked instances are assigned to the resource providers of their hosts."""

import dataclasses
import datetime

import pytest
import sqlalchemy as sa

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from tests.functional.db.test_statements import counted
from warre_blazar.db import session, tables
from warre_blazar.db.booking import reservations
from warre_blazar.db.hosts import allocations, kept_hosts
from warre_blazar.domain.flavors.devices import NO_DEVICES
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.hosts.providers import Inventory, Provider
from warre_blazar.domain.slots.free_time import ChangedReservation, Question
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import admission
from warre_blazar.services.hosts import unassigned
from warre_blazar.services.slots import extension, free_slots

pytestmark = pytest.mark.usefixtures("database")

GPUS = ("gpu-1", "gpu-2")


def gpu(name: str, amount: int = 2, host: str = "a") -> Provider:
    return Provider(name, name, host, {"CUSTOM_GPU": Inventory(amount)}, frozenset())


@pytest.fixture
def host_id(cloud: Cloud) -> str:
    """A host with two GPUs, which flavors could share."""
    return world.add_host(cloud, "a", children=tuple(map(gpu, GPUS)))


@pytest.fixture
def flavor(host_id: str) -> Flavor:
    return world.add_flavor(slots=9, extra_specs={"resources1:CUSTOM_GPU": "2"})


def assigned(lease: world.Lease) -> list[tuple[str, str, int]]:
    """What the instances of a reservation take of which provider."""
    columns = tables.assignments.c
    query = (
        sa.select(columns.provider_id, columns.resource_class, columns.amount)
        .join(tables.allocations, tables.allocations.c.id == columns.allocation_id)
        .where(tables.allocations.c.reservation_id == lease.reservation_id)
        .order_by(columns.provider_id)
    )
    with session.reader() as db:
        return [tuple(row) for row in db.execute(query)]


def gpus(*leases: world.Lease) -> list[str]:
    """The GPU of each of some reservations, which have one each."""
    return [name for lease in leases for name, _, _ in assigned(lease)]


def forget(lease: world.Lease) -> None:
    """Remove the assignments of a reservation, as if another package had booked it."""
    ids = sa.select(tables.allocations.c.id).where(
        tables.allocations.c.reservation_id == lease.reservation_id
    )
    with session.writer() as db:
        db.execute(tables.assignments.delete().where(tables.assignments.c.allocation_id.in_(ids)))
        world.outdate_hosts(db)


def put(lease: world.Lease, provider_id: str) -> None:
    """Let a reservation of one GPU have this one."""
    with session.writer() as db:
        ids = sa.select(tables.allocations.c.id).where(
            tables.allocations.c.reservation_id == lease.reservation_id
        )
        db.execute(
            tables.assignments.update()
            .where(tables.assignments.c.allocation_id.in_(ids))
            .values(provider_id=provider_id)
        )
        world.outdate_hosts(db)


def asking(flavor: Flavor, window: Span) -> Question:
    return Question(flavor.id, None, True, 1, window, world.NOW, datetime.timedelta(0))


def free(flavor: Flavor, window: Span) -> list[Span]:
    return free_slots.find(asking(flavor, window))


def test_each_instance_has_a_provider_of_its_own(flavor: Flavor):
    lease = world.book(world.request(flavor, world.hours(1, 2), 2))
    assert assigned(lease) == [("gpu-1", "CUSTOM_GPU", 2), ("gpu-2", "CUSTOM_GPU", 2)]
    with pytest.raises(exceptions.HostsExhausted):
        world.book(world.request(flavor, world.hours(1, 2)))


@pytest.mark.parametrize("amounts", [(4,), (1, 1)])
def test_only_classes_whose_providers_matter_are_assigned(cloud: Cloud, amounts: tuple[int, ...]):
    """One GPU for all, or two that are only taken whole."""
    gpus = (gpu(name, amount) for name, amount in zip(GPUS, amounts, strict=False))
    world.add_host(cloud, "a", children=tuple(gpus))
    share = str(min(2, *amounts)) if len(amounts) > 1 else "2"
    alone = world.add_flavor(slots=9, extra_specs={"resources1:CUSTOM_GPU": share})
    assert assigned(world.book(world.request(alone, world.hours(1, 2), 2))) == []


def test_assignments_go_with_the_host_allocations(database: sa.Engine, flavor: Flavor):
    lease = world.book(world.request(flavor, world.hours(1, 2)))
    world.begin(lease)
    world.finish(lease)
    assert assigned(lease) == []
    query = sa.select(sa.func.count()).select_from(tables.assignments)
    with session.reader() as db:
        # SQLite doesn't delete what refers to a deleted row, unless it is told to.
        assert database.dialect.name == "sqlite" or db.scalar(query) == 0


def test_time_is_free_if_and_only_if_it_can_be_booked(flavor: Flavor):
    """One day each, on one GPU each: no GPU is free on both days."""
    first, second = (world.book(world.request(flavor, world.hours(n, n + 1))) for n in (1, 2))
    put(first, "gpu-1")
    put(second, "gpu-2")
    assert free(flavor, world.hours(1, 3)) == [world.hours(1, 2), world.hours(2, 3)]
    with pytest.raises(exceptions.HostsExhausted):
        world.book(world.request(flavor, world.hours(1, 3)))
    world.book(world.request(flavor, world.hours(1, 2)))
    world.book(world.request(flavor, world.hours(2, 3)))
    assert free(flavor, world.hours(1, 3)) == []


def test_extension_keeps_the_device(flavor: Flavor):
    lease = world.book(world.request(flavor, world.hours(1, 2)))
    put(lease, "gpu-2")
    world.move(lease, world.hours(1, 4))
    assert gpus(lease) == ["gpu-2"]


def test_extension_of_a_running_reservation_needs_its_own_device(flavor: Flavor):
    """The other GPU is free, but the server has this one."""
    running = world.book(world.request(flavor, world.hours(1, 2)))
    follows = world.book(world.request(flavor, world.hours(2, 3)))
    put(running, "gpu-1")
    put(follows, "gpu-1")
    world.begin(running)
    with pytest.raises(exceptions.HostsExhausted):
        world.move(running, world.hours(1, 3))
    put(follows, "gpu-2")
    world.move(running, world.hours(1, 3))
    assert gpus(running, follows) == ["gpu-1", "gpu-2"]


def test_extension_that_is_shown_needs_the_same_device(flavor: Flavor):
    running = world.book(world.request(flavor, world.hours(1, 2)))
    follows = world.book(world.request(flavor, world.hours(4, 5)))
    put(running, "gpu-1")
    put(follows, "gpu-1")
    world.begin(running)
    assert longest(running, flavor) == follows.span.start
    put(follows, "gpu-2")
    assert longest(running, flavor) > follows.span.end


def longest(lease: world.Lease, flavor: Flavor) -> datetime.datetime:
    """The latest end that is shown for a reservation."""
    with session.reader() as db:
        reservation = reservations.require(db, lease.reservation_id)
    return extension.find(reservation, flavor, world.conditions(), world.NOW).end


def test_other_time_that_is_shown_needs_one_device_for_both_times(flavor: Flavor):
    """Until the new time is written, the present one counts too."""
    lease, other = (world.book(world.request(flavor, world.hours(1, 2))) for _ in range(2))
    later = world.book(world.request(flavor, world.hours(5, 6)))
    for each, name in ((lease, "gpu-1"), (other, "gpu-2"), (later, "gpu-1")):
        put(each, name)
    with session.reader() as db:
        own = ChangedReservation(reservations.require(db, lease.reservation_id))
    question = dataclasses.replace(asking(flavor, world.hours(3, 8)), own=own)
    assert free_slots.find(question) == [world.hours(3, 5), world.hours(6, 8)]
    with pytest.raises(exceptions.HostsExhausted):
        world.move(lease, world.hours(5, 6))
    world.move(lease, world.hours(6, 7))
    assert gpus(lease, later) == ["gpu-1", "gpu-1"]


def test_other_number_of_instances_keeps_the_devices_of_the_rest(flavor: Flavor):
    lease = world.book(world.request(flavor, world.hours(1, 2), 2))
    world.move(lease, world.hours(1, 2), count=1)
    (kept,) = gpus(lease)
    (other,) = set(GPUS) - {kept}
    assert gpus(world.book(world.request(flavor, world.hours(1, 2)))) == [other]
    world.move(lease, world.hours(5, 6))
    world.move(lease, world.hours(5, 6), count=2)
    assert sorted(gpus(lease)) == list(GPUS)


def settle() -> None:
    unassigned.assign(datetime.timedelta(0), NO_DEVICES)


def test_reservation_without_assignments_gets_some_when_hosts_are_read(flavor: Flavor):
    """Until then it counts on both GPUs, and no booking assigns it."""
    lease, later = (world.book(world.request(flavor, world.hours(n, n + 2))) for n in (1, 2))
    forget(lease)
    put(later, "gpu-1")
    assert free(flavor, world.hours(0, 6)) == [world.hours(0, 1), world.hours(3, 6)]
    world.book(world.request(flavor, world.hours(5, 6)))
    assert gpus(lease) == []
    settle()
    assert gpus(lease) == ["gpu-2"]
    assert world.hours(0, 2) in free(flavor, world.hours(0, 6))


def test_reservation_whose_device_is_gone_gets_another(cloud: Cloud, flavor: Flavor, host_id: str):
    lease = world.book(world.request(flavor, world.hours(1, 2)))
    put(lease, "gone")
    assert free(flavor, world.hours(0, 3)) == [world.hours(0, 1), world.hours(2, 3)]
    settle()
    assert set(gpus(lease)) < set(GPUS)
    world.book(world.request(flavor, world.hours(1, 3)))
    with pytest.raises(exceptions.HostsExhausted):
        world.book(world.request(flavor, world.hours(1, 3)))


def test_reading_hosts_writes_nothing_if_all_are_assigned(database: sa.Engine, flavor: Flavor):
    world.book(world.request(flavor, world.hours(1, 2)))
    with counted(database) as statements:
        settle()
    assert all(str(each).lstrip().upper().startswith("SELECT") for each in statements)


def test_moved_reservation_keeps_the_devices_of_instances_that_stay(cloud: Cloud, flavor: Flavor):
    lease = world.book(world.request(flavor, world.hours(1, 2), 2))
    other = world.add_host(cloud, "b", children=(gpu("gpu-3", host="b"), gpu("gpu-4", host="b")))
    with session.writer() as db:
        (present,) = allocations.allocated(db, lease.reservation_id)
        allocations.reallocate(db, lease.reservation_id, {present: 1, other: 1})
    assert len(assigned(lease)) == 1
    settle()
    assert len(assigned(lease)) == 2
    world.book(world.request(flavor, world.hours(1, 2), 2))


def test_booking_and_what_is_moved_to_make_room_for_it_are_assigned(cloud: Cloud, flavor: Flavor):
    world.add_host(cloud, "b", children=(gpu("gpu-3", host="b"), gpu("gpu-4", host="b")))
    apart = [booked_apart(flavor) for _ in range(2)]
    wanted = world.request(flavor, world.hours(1, 2), 2)
    moving = dataclasses.replace(wanted.conditions, moves=5)
    both = world.book(dataclasses.replace(wanted, conditions=moving, affinity=True))
    taken = gpus(*apart, both)
    assert sorted(taken) == [f"gpu-{n}" for n in range(1, 5)]
    assert {*gpus(both)} in ({"gpu-1", "gpu-2"}, {"gpu-3", "gpu-4"})


def booked_apart(flavor: Flavor) -> world.Lease:
    """A reservation of one GPU, on the emptiest host."""
    wanted = world.request(flavor, world.hours(1, 2))
    spread = dataclasses.replace(wanted.conditions, spread=True)
    return world.book(dataclasses.replace(wanted, conditions=spread))


def test_statements_of_a_booking_of_devices_do_not_grow_with_rows(
    database: sa.Engine, flavor: Flavor
):
    def statements(booked: Flavor = flavor) -> tuple[int, int]:
        kept_hosts.forget()
        with counted(database) as checking:
            admission.check(world.request(booked, world.hours(1, 2)))
        with counted(database) as booking:
            world.plan(world.request(booked, world.hours(1, 2)))
        return len(checking), len(booking)

    plain = world.add_flavor(slots=9)
    world.plan(world.request(flavor, world.hours(3, 4)))
    few = statements()
    for number in range(10):
        world.plan(world.request(flavor, world.hours(5 + number, 7 + number)))
    assert statements() == few
    # The providers are read with the hosts, and written in one statement.
    checked, booked = statements(plain)
    assert few == (checked, booked + 1)
