"""Leases with contradictory statuses are repaired: real rows, and managers that work on them."""

import contextlib
import datetime
import itertools
import random
from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa
from blazar import context
from blazar.db import api as db_api
from blazar.db.sqlalchemy import models
from oslo_db import exception as db_exc
from oslo_utils import timeutils

from tests.fakes.cloud import Cloud
from tests.functional.db import oversold, world
from tests.functional.db.managers import OVER, RUNNING, WAITING, Manager, state, told
from warre_blazar import times
from warre_blazar.db import session, tables
from warre_blazar.db.hosts import allocations
from warre_blazar.db.running import backings, executions, leases
from warre_blazar.domain.running import backing_names, lease_states
from warre_blazar.domain.running.lease_states import Age
from warre_blazar.plugins import lease_guard
from warre_blazar.plugins.blazar_work import LeaseWorks
from warre_blazar.services.running import backing, blazar_start_end, repair
from warre_blazar.services.running.repair import Repairer

pytestmark = pytest.mark.usefixtures("database")

SPAN = world.hours(1, 3)
BEFORE, DURING, AFTER = world.NOW, world.hours(2, 3).start, world.hours(4, 5).start
SECOND = datetime.timedelta(seconds=1)
STUCK = 600.0


class Clock:
    """A manager's clock, which a test sets."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class Keeper:
    """A manager with a repairer, and with an executor for what the repairer requests."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.repairer = Repairer(lambda count: STUCK * count, self.clock)
        self.manager = Manager()

    def look(self, now: datetime.datetime, after: float) -> None:
        """Let the repairer look twice, this many seconds apart."""
        self.repairer.look(now, thorough=True)
        self.clock.seconds += after
        self.repairer.look(now, thorough=True)
        self.manager.run(now)


@pytest.fixture
def keeper() -> Keeper:
    return Keeper()


@pytest.fixture
def lease(cloud: Cloud) -> world.Lease:
    world.add_host(cloud, "a")
    return world.book(world.request(world.add_flavor(), SPAN))


def running(lease: world.Lease) -> world.Lease:
    world.begin(lease)
    world.set_event(lease, "start_lease", "DONE")
    return lease


def add_reservation(lease: world.Lease) -> None:
    values = {"lease_id": lease.id, "resource_type": "flavor:slot", "status": "pending"}
    db_api.reservation_create(values)


@pytest.mark.parametrize("status", ["CREATING", "DELETING"])
def test_abandoned_creation_or_deletion_is_removed(
    keeper: Keeper, cloud: Cloud, lease: world.Lease, status: str
):
    world.set_status(lease, status)
    keeper.look(BEFORE, STUCK - 1)
    assert state(lease) is not None
    keeper.look(BEFORE, STUCK)
    assert state(lease) is None
    assert cloud.is_clean()
    # The filters are told of the end, and the notification is sent.
    assert keeper.manager.outside.ended == [lease.id]
    assert told() == [(lease.id, "delete")]


def test_abandoned_creation_without_reservations_is_removed(keeper: Keeper, lease: world.Lease):
    db_api.reservation_destroy(lease.reservation_id)
    world.set_status(lease, "CREATING")
    keeper.look(BEFORE, STUCK)
    assert db_api.lease_get(lease.id) is None


def test_age_of_a_lease_is_independent_of_other_clocks(keeper: Keeper, lease: world.Lease):
    """A manager whose clock is an hour slow is creating the lease."""
    world.set_status(lease, "CREATING")
    world.write_lease(lease.id, {"updated_at": world.LONG_AGO})
    keeper.look(BEFORE, times.QUIET_AFTER)
    assert state(lease) is not None


def test_patience_grows_with_the_number_of_reservations(keeper: Keeper, lease: world.Lease):
    """A lease with many reservations takes long to create."""
    add_reservation(lease)
    world.set_status(lease, "DELETING")
    keeper.look(BEFORE, STUCK * 1.5)
    assert db_api.lease_get(lease.id)["status"] == "DELETING"
    keeper.look(BEFORE, STUCK)
    assert db_api.lease_get(lease.id) is None


@pytest.mark.parametrize("before", ["PENDING", "ACTIVE"])
@pytest.mark.parametrize(("left", "after"), [("ERROR", times.QUIET_AFTER), ("UPDATING", STUCK)])
def test_interrupted_update_is_settled(
    keeper: Keeper, lease: world.Lease, before: str, left: str, after: float
):
    if before == "ACTIVE":
        running(lease)
    world.write_dates(lease, world.hours(1, 9))
    world.write_lease(lease.id, {"end_date": lease.span.end, "status": left})
    keeper.look(BEFORE, after - 1)
    assert state(lease)[0] == left
    keeper.look(BEFORE, after)
    assert state(lease)[0] == before
    assert event_times(lease) == [lease.span.start, lease.span.end]


def event_times(lease: world.Lease) -> list[datetime.datetime]:
    events = db_api.event_get_all_sorted_by_filters("time", "asc", {"lease_id": lease.id})
    return sorted(event["time"] for event in events)


def test_lease_whose_deletion_failed_at_keystone_runs_until_its_end(
    keeper: Keeper, cloud: Cloud, lease: world.Lease
):
    """Blazar takes the end event before it makes a context, and leaves it in progress."""
    running(lease)
    cloud.nova.boot(backing_names.nova_flavor_id(lease.reservation_id), world.PROJECT)
    world.set_event(lease, "end_lease", "IN_PROGRESS")
    world.write_lease(lease.id, {"status": "ERROR"})
    keeper.look(DURING, times.QUIET_AFTER)
    assert state(lease) == RUNNING
    keeper.manager.run(SPAN.end)
    assert state(lease) == OVER
    assert cloud.is_clean()


def test_end_left_in_progress_is_executed(keeper: Keeper, cloud: Cloud, lease: world.Lease):
    running(lease)
    world.set_event(lease, "end_lease", "IN_PROGRESS")
    world.write_lease(lease.id, {"status": "ERROR"})
    keeper.look(AFTER, times.QUIET_AFTER)
    assert state(lease) == OVER


@pytest.mark.parametrize("event", ["ERROR", "IN_PROGRESS", "UNDONE"])
def test_overwritten_start_event_of_running_lease_is_settled(
    keeper: Keeper, lease: world.Lease, event: str
):
    """Blazar's executor works through an outdated list of events."""
    running(lease)
    world.set_event(lease, "start_lease", event)
    keeper.look(DURING, times.QUIET_AFTER)
    assert state(lease) == RUNNING


@pytest.mark.parametrize(
    ("event", "left", "after"),
    [
        ("IN_PROGRESS", "PENDING", times.QUIET_AFTER),
        ("ERROR", "ERROR", times.QUIET_AFTER),
        ("ERROR", "PENDING", times.QUIET_AFTER),
        ("IN_PROGRESS", "STARTING", STUCK),
    ],
)
def test_start_that_was_taken_and_not_executed_is_executed(
    keeper: Keeper, lease: world.Lease, event: str, left: str, after: float
):
    world.set_event(lease, "start_lease", event)
    world.write_lease(lease.id, {"status": left})
    keeper.look(DURING, after)
    assert state(lease) == RUNNING


def test_events_of_other_leases_do_not_delay_a_repair(keeper: Keeper, lease: world.Lease):
    """In a busy cloud, only changes of the lease itself count."""
    another = world.book(world.request(world.add_flavor(), world.hours(1, 3)))
    world.set_event(lease, "start_lease", "IN_PROGRESS")
    for status in itertools.islice(itertools.cycle(["DONE", "UNDONE"]), 5):
        db_api.event_create(
            {"lease_id": another.id, "event_type": "before_end_lease", "status": status}
        )
        keeper.repairer.look(DURING)
        keeper.clock.seconds += times.QUIET_AFTER
    assert state(lease) == WAITING


def test_lease_that_never_started_ends(keeper: Keeper, cloud: Cloud, lease: world.Lease):
    """The start failed until the lease's end. Blazar doesn't end a lease that hasn't started."""
    world.set_event(lease, "start_lease", "ERROR")
    world.set_event(lease, "end_lease", "ERROR")
    world.write_lease(lease.id, {"status": "ERROR"})
    keeper.look(AFTER, times.QUIET_AFTER)
    assert state(lease) == OVER
    assert cloud.is_clean()


@pytest.mark.parametrize(("now", "left"), [(DURING, None), (AFTER, OVER)])
def test_interrupted_deletion_is_finished(
    keeper: Keeper, cloud: Cloud, lease: world.Lease, now: datetime.datetime, left
):
    """The database became unavailable after the hosts were released."""
    running(lease)
    with session.writer() as db:
        allocations.release(db, lease.reservation_id)
    world.write_lease(lease.id, {"status": "ERROR"})
    keeper.look(now, times.QUIET_AFTER)
    assert state(lease) == left
    assert cloud.is_clean()


@pytest.mark.parametrize("is_running", [True, False])
def test_deletion_that_has_begun_to_remove_the_backing_is_finished(
    keeper: Keeper,
    cloud: Cloud,
    lease: world.Lease,
    monkeypatch: pytest.MonkeyPatch,
    is_running: bool,
):
    """Nothing is left of the backing, but its note couldn't be deleted."""
    if is_running:
        running(lease)
        cloud.nova.boot(backing_names.nova_flavor_id(lease.reservation_id), world.PROJECT)

    def fail(*args) -> None:
        raise db_exc.DBConnectionError

    with monkeypatch.context() as patched, pytest.raises(db_exc.DBConnectionError):
        patched.setattr(backings, "delete", fail)
        blazar_start_end.end(lease.reservation_id, 30, lease.span.end)
    assert cloud.leftovers() == {}
    world.write_lease(lease.id, {"status": "ERROR"})
    keeper.look(DURING if is_running else BEFORE, times.QUIET_AFTER)
    assert state(lease) is None
    assert cloud.is_clean()


class TestEvents:
    """Clients can add events to a lease, and remove events from it."""

    def test_event_without_a_lease_is_removed(self, keeper: Keeper, lease: world.Lease):
        for event in db_api.event_get_all():
            db_api.event_update(event["id"], {"lease_id": None})
        keeper.repairer.look(BEFORE)
        assert db_api.event_get_all() == []
        assert keeper.repairer.counts["orphan events"] == 2

    @pytest.mark.parametrize("missing", ["start_lease", "end_lease", "both"])
    def test_missing_event_is_created(self, keeper: Keeper, lease: world.Lease, missing: str):
        for event in db_api.event_get_all():
            if missing in (event["event_type"], "both"):
                db_api.event_destroy(event["id"])
        keeper.look(BEFORE, times.QUIET_AFTER)
        assert state(lease) == WAITING
        assert event_times(lease) == [SPAN.start, SPAN.end]

    @pytest.mark.parametrize("foreign", ["start_lease", "end_lease", "delete_lease", "nonesuch"])
    def test_surplus_event_is_removed(self, keeper: Keeper, lease: world.Lease, foreign: str):
        made = {"event_type": foreign, "time": BEFORE, "status": "DONE"}
        db_api.event_create({"lease_id": lease.id, **made})
        keeper.look(BEFORE, times.QUIET_AFTER)
        assert state(lease) == WAITING
        assert event_times(lease) == [SPAN.start, SPAN.end]

    def test_stuck_lease_without_events_is_settled(self, keeper: Keeper, lease: world.Lease):
        """An update with an empty list of events failed, after Blazar had removed the events."""
        running(lease)
        for event in db_api.event_get_all():
            db_api.event_update(event["id"], {"lease_id": None})
        world.write_lease(lease.id, {"status": "UPDATING"})
        keeper.look(DURING, STUCK)
        assert state(lease) == RUNNING
        keeper.manager.run(SPAN.end)
        assert state(lease) == OVER

    def test_event_with_another_time_gets_the_leases_time(self, keeper: Keeper, lease: world.Lease):
        world.write_dates(lease, world.hours(0, 1))
        world.write_lease(lease.id, {"start_date": lease.span.start, "end_date": lease.span.end})
        keeper.look(BEFORE, times.QUIET_AFTER)
        assert event_times(lease) == [SPAN.start, SPAN.end]


@pytest.fixture
def works(lease: world.Lease) -> Iterator[LeaseWorks]:
    """The notes of a living manager that executes clients' requests."""
    with session.writer() as db:
        executions.beat(db, "manager", "host")
    works = LeaseWorks("manager")
    works.register()
    yield works
    works.unregister()


WORKED_ON = {
    "CREATING": None,
    "STARTING": WAITING,
    "UPDATING": WAITING,
    "TERMINATING": WAITING,
    "DELETING": None,
}


Begin = Callable[[world.Lease, str], None]


@pytest.fixture
def begin(monkeypatch: pytest.MonkeyPatch) -> Begin:
    """A function that writes a status to a lease as Blazar does when its work begins.

    The check of statuses is off meanwhile: only a new lease gets CREATING, with its first write.
    """

    def write(lease: world.Lease, status: str) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(lease_guard, "_check_status", lambda *_: None)
            db_api.lease_update(lease.id, {"status": status})

    return write


@pytest.mark.parametrize("status", WORKED_ON)
def test_work_of_a_dead_manager_is_repaired_without_patience(
    keeper: Keeper, begin: Begin, lease: world.Lease, works: LeaseWorks, status: str
):
    with context.BlazarContext():
        begin(lease, status)
        keeper.look(BEFORE, after=times.QUIET_AFTER + 1)
        assert db_api.lease_get(lease.id)["status"] == status
        with session.writer() as db:
            db.execute(tables.managers.update().values(heartbeat=world.LONG_AGO))
        keeper.look(BEFORE, after=times.QUIET_AFTER + 1)
    assert state(lease) == WORKED_ON[status]


@pytest.mark.parametrize("status", WORKED_ON)
def test_work_without_its_last_write_is_repaired_without_patience(
    keeper: Keeper, begin: Begin, lease: world.Lease, works: LeaseWorks, status: str
):
    """The last write failed certification, and the manager has answered with an error."""
    with context.BlazarContext():
        with context.BlazarContext():  # Blazar works in the context of the lease.
            begin(lease, status)
        works.release()
        keeper.look(BEFORE, after=times.QUIET_AFTER + 1)
        assert db_api.lease_get(lease.id)["status"] == status
    works.release()
    keeper.look(BEFORE, after=times.QUIET_AFTER + 1)
    assert state(lease) == WORKED_ON[status]


def test_last_write_that_is_rolled_back_leaves_the_note(lease: world.Lease, works: LeaseWorks):
    with context.BlazarContext():
        db_api.lease_update(lease.id, {"status": "UPDATING"})
        with contextlib.suppress(db_exc.DBDeadlock), session.writer() as db:
            row = db.get(models.Lease, lease.id)
            row.status = "PENDING"
            db.flush()
            raise db_exc.DBDeadlock
    works.release()
    assert repair.settle(lease.id, BEFORE) == "PENDING"
    assert state(lease) == WAITING
    # No note is left that would make a later request look abandoned.
    world.set_status(lease, "UPDATING")
    assert repair.settle(lease.id, BEFORE) == "UPDATING"


def test_update_that_is_done_leaves_no_note(lease: world.Lease, works: LeaseWorks):
    with context.BlazarContext():
        db_api.lease_update(lease.id, {"status": "UPDATING"})
        db_api.lease_update(lease.id, {"status": "PENDING"})
        with session.reader() as db:
            assert db.execute(sa.select(tables.lease_workers)).all() == []


def test_start_waits_for_an_ended_lease_whose_update_was_interrupted(cloud: Cloud):
    """The servers of the lease run on until the repairer has settled the lease."""
    world.add_host(cloud, "a")
    flavor = world.add_flavor()
    first = world.book(world.request(flavor, SPAN))
    second = world.book(world.request(flavor, world.hours(3, 5)))
    keeper = Keeper()
    keeper.manager.run(SPAN.start)
    world.set_status(first, "UPDATING")
    for seconds in (0, 11, 60):
        keeper.manager.run(SPAN.end + seconds * SECOND)
        assert state(second)[0] == "STARTING"
    now = SPAN.end + 60 * SECOND
    keeper.look(now, after=STUCK + 1)
    keeper.manager.run(now)
    assert (state(first), state(second)) == (OVER, RUNNING)


def test_lease_in_error_is_settled_at_once(lease: world.Lease):
    """Nothing works on a lease in ERROR, so it is settled without a wait."""
    world.write_lease(lease.id, {"status": "ERROR"})
    assert repair.settle(lease.id, BEFORE) == "PENDING"
    assert state(lease) == WAITING
    assert repair.settle("nonesuch", BEFORE) is None


def test_half_deleted_lease_is_removed_at_once(lease: world.Lease):
    """Another request has overwritten the ERROR that a failed deletion had left."""
    with session.writer() as db:
        allocations.release(db, lease.reservation_id)
    assert repair.settle(lease.id, BEFORE) == "DELETING"


@pytest.mark.parametrize("status", [*lease_states.TRANSITIONAL, "ACTIVE"])
def test_lease_in_other_status_is_not_settled_at_once(lease: world.Lease, status):
    world.write_lease(lease.id, {"status": status})
    before = db_api.lease_get(lease.id)
    assert repair.settle(lease.id, BEFORE) == status
    assert db_api.lease_get(lease.id) == before


STATUSES = (*lease_states.TRANSITIONAL, *lease_states.STABLE)
EVENT_STATUSES = (None, "UNDONE", "IN_PROGRESS", "DONE", "ERROR")
RESERVATION_STATUSES = ("pending", "active", "error", "deleted")


def scramble(lease: world.Lease, rng: random.Random) -> None:
    """Write random statuses, such as any rows can have."""
    table = tables.events
    with session.writer() as db:
        for kind in ("start_lease", "end_lease"):
            is_this_event = (table.c.lease_id == lease.id, table.c.event_type == kind)
            status = rng.choice(EVENT_STATUSES)
            if status is None:
                db.execute(table.delete().where(*is_this_event))
            else:
                db.execute(table.update().where(*is_this_event).values(status=status))
        if rng.random() < 0.3:
            allocations.release(db, lease.reservation_id)
    if rng.random() < 0.2:
        backing.remove(lease.reservation_id, 0)
    db_api.reservation_update(lease.reservation_id, {"status": rng.choice(RESERVATION_STATUSES)})
    world.write_lease(lease.id, {"status": rng.choice(STATUSES)})


@pytest.mark.same_logic
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.whole) for n in (1, 2))])
@pytest.mark.parametrize("now", [BEFORE, DURING, AFTER], ids=["before", "during", "after"])
def test_any_combination_of_statuses_comes_to_rest(
    database: sa.Engine, cloud: Cloud, seed: int, now: datetime.datetime
):
    """The same as the test of the table of states, with real rows and a fake cloud."""
    rng = random.Random(seed)
    world.add_host(cloud, "a", vcpus=999, memory_mb=999999, disk_gb=99999)
    flavor = world.add_flavor(slots=30)
    made = [world.book(world.request(flavor, SPAN)) for _ in range(30)]
    for lease in made:
        scramble(lease, rng)
    keeper = Keeper()
    for _ in range(4):
        keeper.look(now, STUCK)
    timeutils.set_time_override(now)
    for _ in range(3):
        backing.reconcile()
    with session.reader() as db:
        left = leases.read(db, [lease.id for lease in made])
    for lease in left:
        assert lease_states.is_at_rest(lease.state(now, Age.STUCK)), lease
        assert lease.status not in lease_states.TRANSITIONAL
        if now == AFTER:
            assert lease.status == "TERMINATED"
    assert oversold.find(database) == []
    # Nova holds the backings of live reservations, and nothing else.
    live = {r.id for lease in left for r in lease.reservations if r.status != "deleted"}
    assert {a["name"] for a in cloud.nova.aggregates.values()} <= live
    if now == AFTER:
        assert cloud.is_clean()
