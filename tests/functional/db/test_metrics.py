"""What metrics are read from the database, beside what bookings and free slots say."""

import contextlib
import datetime
import math
import random
import uuid

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api
from oslo_utils import timeutils

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from tests.functional.db.managers import Manager
from tests.functional.db.notices import waiting
from tests.functional.db.outage import fail
from tests.functional.db.test_statements import counted
from tests.functional.db.test_staying import gpu
from warre_blazar import times
from warre_blazar.db import maintenance, session, tables
from warre_blazar.db.messages import deliveries, outbox
from warre_blazar.db.records import metrics as tallies
from warre_blazar.db.running import executions, leases
from warre_blazar.domain.flavors.capacity import SlotUse
from warre_blazar.domain.flavors.devices import NO_DEVICES
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.maintenance import MaintenanceWindow
from warre_blazar.domain.messages.notices import Kind, News
from warre_blazar.domain.records.tallies import Name
from warre_blazar.domain.running import lease_states
from warre_blazar.domain.running.execution import END, LEAD, START
from warre_blazar.domain.running.lease_states import Age
from warre_blazar.domain.slots import free_time
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.plugins import flavor_slot
from warre_blazar.services.hosts.host_status import HostState
from warre_blazar.services.records import history, metrics
from warre_blazar.services.records.metrics import BookedAmount, NamedFlavor, Queue, Site
from warre_blazar.services.running import backing, repair
from warre_blazar.services.slots import free_slots

pytestmark = pytest.mark.usefixtures("database")

DAY = 24
MINUTE = datetime.timedelta(minutes=1)
SECOND = datetime.timedelta(seconds=1)
SPAN = world.hours(1, 3)


def read(
    now: datetime.datetime = world.NOW, cleaning: datetime.timedelta = world.NO_CLEANING
) -> Site:
    return metrics.read(now, cleaning, NO_DEVICES)


def name(flavor: Flavor) -> NamedFlavor:
    return NamedFlavor(flavor.id, flavor.name)


def free(flavor: Flavor, at: datetime.datetime, cleaning: datetime.timedelta) -> int:
    """How many instances free slots offers for a minute, by asking for each number."""
    question = {"project_id": None, "everything": True, "now": world.NOW, "cleaning": cleaning}
    return max(
        count
        for count in range(flavor.slots + 1)
        if not count
        or free_slots.find(
            free_time.Question(flavor.id, count=count, window=Span(at, at + MINUTE), **question)
        )
    )


def offer(cloud: Cloud) -> list[Flavor]:
    """Flavors that share hosts, of which one has GPUs that instances can't change."""
    world.add_host(cloud, "a", vcpus=8, children=(gpu("plain"), gpu("special", "CUSTOM_X")))
    world.add_host(cloud, "b", vcpus=6)
    world.add_host(cloud, "c", vcpus=4, zone="other")
    gpus = {"resources1:CUSTOM_GPU": "1"}
    return [
        world.add_flavor(slots=7),
        world.add_flavor(slots=3, vcpu=3, availability_zone="other"),
        world.add_flavor(slots=5, extra_specs=gpus),
        world.add_flavor(slots=5, extra_specs={**gpus, "trait1:CUSTOM_X": "required"}),
    ]


def close(span: Span, flavor: Flavor) -> None:
    """Add a maintenance window, whatever is booked."""
    window = MaintenanceWindow(uuid.uuid4().hex, span, "note", ((flavor.id, flavor.name),))
    session.change(maintenance.insert, window, world.NOW)


@pytest.mark.same_logic
@pytest.mark.parametrize("seed", range(6))
def test_free_slots_are_those_that_can_be_booked(cloud: Cloud, seed: int):
    dice = random.Random(seed)
    cleaning = dice.choice([0, 40]) * MINUTE
    offered = offer(cloud)
    for _ in range(40):
        start = dice.choice(times.SLOT_USE_DAYS) * DAY + dice.choice([-2, -1, 0, 1])
        span = world.hours(start, start + dice.choice([1, 2, 30]) + dice.choice([0, 0.5]))
        wanted = world.request(dice.choice(offered), span, dice.randint(1, 2), cleaning=cleaning)
        with contextlib.suppress(exceptions.WarreError):
            world.plan(wanted)
    closed = dice.choice(offered)
    close(world.hours(20, 80), closed)
    uses = read(cleaning=cleaning).slot_uses
    for flavor in offered:
        for days in times.SLOT_USE_DAYS:
            at = world.hours(days * DAY, 999).start
            assert uses[name(flavor), days].free == free(flavor, at, cleaning), (flavor.name, days)


def test_slots_are_booked_free_or_closed(cloud: Cloud):
    world.add_host(cloud, "a")
    flavor = world.add_flavor(slots=4)
    inactive = world.add_flavor(slots=4, active=False)
    world.book(world.request(flavor, world.hours(0, 2), 3))
    world.book(world.request(flavor, world.hours(23, 25)))
    close(world.hours(24, 48), flavor)
    site = read()
    assert site.slots == {name(flavor): 4, name(inactive): 4}
    uses = site.slot_uses
    assert [uses[name(flavor), days] for days in times.SLOT_USE_DAYS] == [
        SlotUse(booked=3, free=1, closed=0),
        SlotUse(booked=1, free=0, closed=3),
        SlotUse(booked=0, free=4, closed=0),
        SlotUse(booked=0, free=4, closed=0),
    ]
    assert uses[name(inactive), 0] == SlotUse(booked=0, free=0, closed=4)


def test_slots_are_closed_outside_of_the_flavors_validity(cloud: Cloud):
    world.add_host(cloud, "a")
    valid = world.hours(DAY, 3 * DAY)
    flavor = world.add_flavor(slots=1, start=valid.start, end=valid.end)
    uses = read().slot_uses
    assert [uses[name(flavor), days].closed for days in times.SLOT_USE_DAYS] == [1, 0, 1, 1]


def test_cleaning_time_makes_slots_neither_booked_nor_free(cloud: Cloud):
    world.add_host(cloud, "a")
    flavor = world.add_flavor(slots=2)
    hour = datetime.timedelta(hours=1)
    world.plan(world.request(flavor, world.hours(-2, -0.5), cleaning=hour, now=world.LONG_AGO))
    assert read(cleaning=hour).slot_uses[name(flavor), 0] == SlotUse(0, free=1, closed=0)


def test_host_must_stay_empty_for_the_cleaning_time(cloud: Cloud):
    world.add_host(cloud, "a", vcpus=2)
    flavor = world.add_flavor(slots=5)
    hour = datetime.timedelta(hours=1)
    world.plan(world.request(flavor, world.hours(DAY + 0.5, DAY + 2), cleaning=hour))
    assert read().slot_uses[name(flavor), 1].free == 1
    assert read(cleaning=hour).slot_uses[name(flavor), 1].free == 0
    assert free(flavor, world.hours(DAY, 99).start, hour) == 0


def test_device_on_which_a_later_booking_keeps_another_one_is_not_free(cloud: Cloud):
    """At the moment, only one GPU is in use. But it must be the one with the trait."""
    _, _, any_gpu, special = offer(cloud)
    world.plan(world.request(special, world.hours(DAY + 2, DAY + 3)))
    world.plan(world.request(any_gpu, world.hours(DAY + 0.5, DAY + 3)))
    world.plan(world.request(any_gpu, world.hours(DAY - 1, DAY + 1)))
    uses = read().slot_uses
    assert (uses[name(special), 1].free, uses[name(any_gpu), 1].free) == (0, 1)
    assert free(special, world.hours(DAY, 99).start, world.NO_CLEANING) == 0


def test_flavor_without_a_host_has_no_free_slots(database):
    flavor = world.add_flavor(slots=2)
    assert read().slot_uses[name(flavor), 0] == SlotUse(booked=0, free=0, closed=0)


def test_reservations_are_counted_by_flavor_and_state(cloud: Cloud):
    world.add_host(cloud, "a", vcpus=99)
    flavor, other = world.add_flavor(slots=9), world.add_flavor(slots=9)
    world.book(world.request(flavor, SPAN, 2))
    world.begin(world.book(world.request(flavor, SPAN, 3)))
    failed = world.book(world.request(flavor, SPAN))
    world.set_status(failed, "ERROR")
    over = world.book(world.request(flavor, SPAN))
    world.begin(over)
    world.finish(over)
    changing = world.book(world.request(other, SPAN))
    world.write_lease(changing.id, {"status": "UPDATING"})
    world.add_lease(SPAN, resource_type="virtual:instance", status="ACTIVE")
    assert read().reservations == {
        (name(flavor), "PENDING_CREATE"): BookedAmount(0, 0),
        (name(flavor), "ALLOCATED"): BookedAmount(1, 2),
        (name(flavor), "ACTIVE"): BookedAmount(1, 3),
        (name(flavor), "ERROR"): BookedAmount(1, 1),
        (name(other), "PENDING_CREATE"): BookedAmount(0, 0),
        (name(other), "ALLOCATED"): BookedAmount(1, 1),
        (name(other), "ACTIVE"): BookedAmount(0, 0),
        (name(other), "ERROR"): BookedAmount(0, 0),
    }


def test_reservations_of_a_deleted_flavor_are_counted(cloud: Cloud):
    world.add_host(cloud, "a")
    flavor = world.add_flavor()
    world.book(world.request(flavor, SPAN))
    with session.writer() as db:
        same = tables.flavors.c.id == flavor.id
        db.execute(tables.flavors.update().where(same).values(deleted=flavor.id))
    site = read()
    assert site.reservations[name(flavor), "ALLOCATED"] == BookedAmount(1, 1)
    assert site.slots == {}


def test_starts_and_ends_are_overdue_after_a_minute(cloud: Cloud):
    world.add_host(cloud, "a", vcpus=99)
    flavor = world.add_flavor(slots=9)
    world.book(world.request(flavor, SPAN))
    world.begin(world.book(world.request(flavor, world.hours(0, 2))))
    assert read(SPAN.start + MINUTE).overdue == {START: 0, END: 0}
    assert read(SPAN.start + MINUTE + SECOND).overdue == {START: 1, END: 0}
    assert read(world.hours(2, 3).start + MINUTE + SECOND).overdue == {START: 1, END: 1}


def test_hosts_are_shown_with_their_state_and_their_use(cloud: Cloud):
    a = world.add_host(cloud, "a")
    b = world.add_host(cloud, "b")
    world.book(world.request(world.add_flavor(slots=9), world.hours(0, 2), 3))
    fail(b if read().hosts[0].uses[0].now else a)
    full, empty = sorted(read().hosts, key=lambda status: status.state.value)
    assert (full.state, empty.state) == (HostState.BOOKABLE, HostState.FAILED)
    assert {use.resource_class: (use.now, use.capacity) for use in full.uses} == {
        "DISK_GB": (60, 1000),
        "MEMORY_MB": (6144, 65536),
        "VCPU": (6, 16),
    }
    assert {use.now for use in empty.uses} == {0}


def test_managers_count_as_alive_by_their_heartbeats(database):
    for number, silent in (("1", 0), ("2", 500), ("3", 3000)):
        manager_host = "old" if number == "3" else "new"
        session.change(executions.beat, number, manager_host)
        with session.writer() as db:
            same = tables.managers.c.id == number
            # The database's present time has no fractions of a second.
            then = timeutils.utcnow().replace(microsecond=0) - datetime.timedelta(seconds=silent)
            db.execute(tables.managers.update().where(same).values(heartbeat=then))
    site = read()
    assert site.managers_alive == 1
    assert site.silences.keys() == {"new", "old"}
    assert 0 <= site.silences["new"] < 500 <= site.silences["old"]


def test_outbox_is_shown_by_channel(cloud: Cloud):
    session.change(deliveries.set_channels, {"mail": False})
    world.add_host(cloud, "a")
    lease = world.book(world.request(world.add_flavor(), SPAN))
    of_lease = outbox.of_lease(lease.id)
    for minutes in (3, 9):
        news = News(Kind.STARTED, world.NOW - minutes * MINUTE)
        session.change(outbox.add, of_lease, news)
    lost, *_ = waiting("mail")
    given_up = deliveries.Outcomes(given_up=[(lost, "no address")])
    session.change(deliveries.write, given_up, world.NOW)
    assert read().outbox == {
        outbox.LEASES: Queue(0, datetime.timedelta(0), 0),
        "mail": Queue(1, 9 * MINUTE, 1),
    }


def test_empty_database_has_zeros(database):
    site = read()
    assert (site.reservations, site.slots, site.slot_uses, site.hosts) == ({}, {}, {}, [])
    assert site.overdue == {START: 0, END: 0}
    assert site.repairs == dict.fromkeys(lease_states.REPAIRS, 0)
    assert {h.buckets[-1] for h in site.delays.values()} == {(math.inf, 0)}
    assert (site.managers_alive, site.silences) == (0, {})


# What is counted.


def delays(action: str) -> tuple[dict[float, int], float]:
    histogram = read().delays[action]
    return dict(histogram.buckets), histogram.total


def test_delays_of_starts_and_ends_are_counted(cloud: Cloud):
    world.add_host(cloud, "a")
    flavor = world.add_flavor(slots=2)
    leases_made = [world.book(world.request(flavor, SPAN)) for _ in range(2)]
    manager = Manager()
    manager.run(SPAN.start - LEAD[START])
    assert delays(START) == (dict.fromkeys(times.DELAY_BUCKETS, 0), 0.0)
    manager.run(SPAN.start + 4 * SECOND)
    buckets, total = delays(START)
    assert (buckets[2.5], buckets[5.0], buckets[math.inf], total) == (0, 2, 2, 8.0)
    manager.run(SPAN.end + 90 * SECOND)
    buckets, total = delays(END)
    assert (buckets[60.0], buckets[300.0], buckets[math.inf], total) == (0, 2, 2, 180.0)
    assert len(leases_made) == 2


def test_what_blazars_own_executor_starts_and_ends_is_counted(cloud: Cloud):
    """It comes first if a lease is booked for now, just before Blazar looks for events."""
    world.add_host(cloud, "a")
    flavor = world.add_flavor(slots=2)
    ended, deleted = (world.book(world.request(flavor, SPAN)) for _ in range(2))
    timeutils.set_time_override(SPAN.end + 4 * SECOND)
    plugin = flavor_slot.FlavorSlotPlugin()
    try:
        for lease, status in ((ended, "TERMINATING"), (deleted, "DELETING")):
            resource_id = db_api.reservation_get(lease.reservation_id)["resource_id"]
            plugin.on_start(resource_id)
            world.write_lease(lease.id, {"status": status})
            plugin.on_end(resource_id)
    finally:
        timeutils.clear_time_override()
    length = (SPAN.end - SPAN.start).total_seconds()
    counted = {action: (delays(action)[0][math.inf], delays(action)[1]) for action in (START, END)}
    assert counted == {START: (2, 2 * (length + 4)), END: (1, 4.0)}


def test_start_that_is_completed_later_is_overdue_until_then(cloud: Cloud):
    world.add_host(cloud, "a")
    world.book(world.request(world.add_flavor(), SPAN))
    manager = Manager()
    cloud.nova.stop()
    manager.run(SPAN.start)
    cloud.nova.start()
    assert delays(START)[0][math.inf] == 0
    late = SPAN.start + 3 * MINUTE
    assert read(late).overdue == {START: 1, END: 0}
    timeutils.set_time_override(late)
    try:
        backing.reconcile()
    finally:
        timeutils.clear_time_override()
    assert read(late).overdue == {START: 0, END: 0}
    assert delays(START)[1] == 180.0


def test_end_that_a_repair_requests_early_is_not_counted(cloud: Cloud):
    world.add_host(cloud, "a")
    lease = world.book(world.request(world.add_flavor(), SPAN))
    world.begin(lease)
    with session.writer() as db:
        executions.request(db, lease.id, END)
    Manager().run(world.hours(2, 3).start)
    assert delays(END)[0][math.inf] == 0


def test_repair_is_counted_once_by_its_row(cloud: Cloud):
    world.add_host(cloud, "a")
    lease = world.book(world.request(world.add_flavor(), SPAN))
    world.set_status(lease, "ERROR")
    with session.reader() as db:
        (found,) = leases.read(db, [lease.id])
    decision = lease_states.decide(found.state(world.NOW, Age.STUCK))
    assert repair.act_on_unchanged(found, decision)
    assert not repair.act_on_unchanged(found, decision)
    assert {row: n for row, n in read().repairs.items() if n} == {"contradiction": 1}


def rows() -> int:
    with session.reader() as db:
        return db.execute(sa.select(sa.func.count()).select_from(tables.tallies)).scalar_one()


def note(*labels: str) -> None:
    for label in labels:
        session.change(tallies.add_tally, Name.START_DELAY, label, 0.5)


def test_merged_tallies_have_the_same_sums(database, monkeypatch):
    monkeypatch.setattr(tallies, "_BATCH", 7)
    note(*["0.5"] * 20, "inf")
    with session.reader() as db:
        before = tallies.tallies(db)
    assert rows() == 21
    metrics.merge_tallies()
    with session.reader() as db:
        assert tallies.tallies(db) == before
    assert rows() <= 7
    note("0.5")
    metrics.merge_tallies()
    with session.reader() as db:
        assert tallies.tallies(db)["start_delay", "0.5"].count == 21


def test_purge_lets_no_counter_fall(cloud: Cloud):
    note("0.5")
    with session.writer() as db:
        tallies.add_tally(db, Name.REPAIR, "contradiction")
    world.add_host(cloud, "a")
    over = world.book(world.request(world.add_flavor(), SPAN))
    world.begin(over)
    world.finish(over)
    before = read()
    history.purge(world.hours(9999, 10000).start, 1)
    after = read()
    assert (after.delays, after.repairs) == (before.delays, before.repairs)


def fill(cloud: Cloud, offered: list[Flavor], count: int) -> None:
    for number in range(count):
        world.add_host(cloud, f"more-{number}-{len(cloud.placement.providers)}", vcpus=100)
        flavor = world.add_flavor(slots=50)
        world.plan(world.request(flavor, SPAN))
        world.plan(world.request(flavor, world.hours(70, 75), 3))
        close(world.hours(20, 80), flavor)
        note(str(number))


def test_statements_do_not_grow_with_rows(database: sa.Engine, cloud: Cloud):
    offered = offer(cloud)
    fill(cloud, offered, 2)
    read()
    with counted(database) as few:
        read()
    fill(cloud, offered, 30)
    read()  # A process reads the providers of new hosts once, in one more statement.
    with counted(database) as many:
        read()
    assert len(many) == len(few)
    assert len(few) < 20
