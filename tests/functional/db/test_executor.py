"""Our executor: starts, ends and deletions happen on time and once, whatever fails."""

import datetime
import threading
import time
from concurrent import futures
from typing import Any

import pytest
from blazar.db import api as db_api
from blazar.manager import service as manager_service
from oslo_db import exception as db_exc
from oslo_utils import timeutils

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from tests.functional.db.managers import (
    OVER,
    RUNNING,
    WAITING,
    Inline,
    Manager,
    Outside,
    state,
    told,
)
from tests.functional.db.outage import hosts_of
from warre_blazar import timer, times
from warre_blazar.db import generations, session, tables
from warre_blazar.db.running import backings, executions
from warre_blazar.domain.running import backing_names
from warre_blazar.domain.running.execution import DELETE, END, LEAD, START
from warre_blazar.services.booking import changing, lookup
from warre_blazar.services.running import backing
from warre_blazar.services.running import executor_transactions as transactions
from warre_blazar.services.running.executor import Pools, _WorkUnderWay
from warre_blazar.services.running.repair import Repairer

pytestmark = pytest.mark.usefixtures("database")

SPAN = world.hours(1, 3)
SECOND = datetime.timedelta(seconds=1)


@pytest.fixture
def manager() -> Manager:
    return Manager()


@pytest.fixture
def lease(cloud: Cloud) -> world.Lease:
    world.add_host(cloud, "a")
    return world.book(world.request(world.add_flavor(), SPAN))


def access(cloud: Cloud, lease: world.Lease) -> set[str]:
    return cloud.nova.flavors[backing_names.nova_flavor_id(lease.reservation_id)]["access"]


def test_lease_is_started_and_ended(manager: Manager, cloud: Cloud, lease: world.Lease):
    manager.run(SPAN.start - LEAD[START] - SECOND)
    assert state(lease) == WAITING
    # The start is claimed and prepared, but the project has no access yet.
    manager.run(SPAN.start - SECOND)
    assert state(lease) == ("STARTING", "IN_PROGRESS", "UNDONE", "pending")
    assert cloud.placement.offered()
    assert access(cloud, lease) == set()
    manager.run(SPAN.start)
    assert state(lease) == RUNNING
    assert access(cloud, lease) == {world.PROJECT}
    cloud.nova.boot(backing_names.nova_flavor_id(lease.reservation_id), world.PROJECT)
    manager.run(SPAN.end - SECOND)
    assert len(cloud.nova.servers) == 1
    manager.run(SPAN.end)
    assert state(lease) == OVER
    assert cloud.is_clean()
    assert told() == [(lease.id, "event.start_lease"), (lease.id, "event.end_lease")]
    assert manager.outside.ended == [lease.id]
    before = len(cloud.nova.requests)
    manager.run(SPAN.end + SECOND)
    assert len(cloud.nova.requests) == before


def test_many_starts_are_claimed_earlier(
    manager: Manager, cloud: Cloud, lease: world.Lease, monkeypatch: pytest.MonkeyPatch
):
    # As if two were as many as 250 are.
    monkeypatch.setattr(times, "START_TAKES", 12.5 * SECOND)
    world.add_host(cloud, "b")
    other = world.book(world.request(world.add_flavor(name="other"), SPAN))
    manager.run(SPAN.start - 26 * SECOND)
    assert (state(lease), state(other)) == (WAITING, WAITING)
    manager.run(SPAN.start - 25 * SECOND)
    assert state(lease)[0] == state(other)[0] == "STARTING"
    manager.run(SPAN.start)
    assert (state(lease), state(other)) == (RUNNING, RUNNING)


def test_blazars_executor_finds_no_due_event(manager: Manager, lease: world.Lease, monkeypatch):
    """Due leases are claimed before, and Blazar leaves leases in unstable statuses alone."""
    blazars = object.__new__(manager_service.ManagerService)
    executed: list[str] = []
    monkeypatch.setattr(
        blazars, "start_lease", lambda **event: executed.append(event["lease_id"]), raising=False
    )
    manager.run(SPAN.start - SECOND)
    timeutils.set_time_override(SPAN.start)
    try:
        blazars._process_events()
    finally:
        timeutils.clear_time_override()
    assert executed == []


def test_start_event_before_the_leases_start_is_not_executed(manager: Manager, lease: world.Lease):
    """The event was written by a client, or was read before the lease was moved."""
    moved = world.hours(2, 3)
    world.move(lease, moved)
    event = start_event(lease)
    db_api.event_update(event["id"], {"time": SPAN.start})
    manager.run(SPAN.start)
    assert state(lease) == WAITING


def start_event(lease: world.Lease):
    filters = {"lease_id": lease.id, "event_type": "start_lease"}
    return db_api.event_get_first_sorted_by_filters("lease_id", "asc", filters)


def test_start_waits_for_an_earlier_end_on_the_same_host(cloud: Cloud):
    """The start waits until the earlier lease's servers are gone, but not forever."""
    world.add_host(cloud, "a")
    flavor = world.add_flavor()
    first = world.book(world.request(flavor, SPAN))
    second = world.book(world.request(flavor, world.hours(3, 5)))
    manager = Manager()
    manager.run(SPAN.start)
    executed: list[Any] = []
    held = Manager(pool=Held(executed))
    held.run(SPAN.end)
    assert [claimed.lease.id for claimed in pending(executed)] == [second.id, first.id]
    prepare, args = executed.pop(0)
    prepare(*args)
    # The end is under way, so the start is prepared but doesn't begin.
    held.run(SPAN.end + SECOND)
    assert [claimed.lease.id for claimed in pending(executed)] == [first.id]
    do_all(executed)
    held.run(SPAN.end + SECOND)
    do_all(executed)
    assert (state(first), state(second)) == (OVER, RUNNING)


class Held(futures.Executor):
    """A pool that keeps submitted jobs until ``do_all`` runs them."""

    def __init__(self, jobs: list[Any]) -> None:
        self._jobs = jobs

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> futures.Future[Any]:
        self._jobs.append((fn, args))
        return futures.Future()


def pending(jobs: list[Any]) -> list[Any]:
    return [args[1] for _, args in jobs]


def do_all(jobs: list[Any]) -> None:
    while jobs:
        function, args = jobs.pop(0)
        function(*args)


def test_refused_start_is_opened_by_the_reconciler_when_the_refusal_ends(
    manager: Manager, cloud: Cloud, lease: world.Lease
):
    """For instance, the service user's password was wrong for a few minutes."""
    cloud.nova.fail(match="action", status=403)
    for second in range(0, 120, 20):
        manager.run(SPAN.start + second * SECOND)
        backing.reconcile()
        assert state(lease) == RUNNING
        assert reason(lease)
        assert access(cloud, lease) == set()
    cloud.mend()
    backing.reconcile()
    assert access(cloud, lease) == {world.PROJECT}
    assert reason(lease) is None
    manager.run(SPAN.end)
    assert state(lease) == OVER
    assert cloud.is_clean()


def test_refused_start_that_is_never_opened_ends(
    manager: Manager, cloud: Cloud, lease: world.Lease
):
    cloud.nova.fail(match="action", status=403)
    manager.run(SPAN.start)
    cloud.mend()
    manager.run(SPAN.end)
    assert state(lease) == OVER
    assert cloud.is_clean()


def reason(lease: world.Lease) -> str | None:
    return lookup.get(lease.reservation_id, None)[0].status_reason


def test_lease_that_never_started_ends(manager: Manager, cloud: Cloud, lease: world.Lease):
    """No manager was running during the lease's whole time."""
    manager.run(SPAN.end + SECOND)
    assert state(lease) == OVER
    assert cloud.is_clean()


def test_start_while_nova_is_unavailable_is_opened_by_the_reconciler(
    manager: Manager, cloud: Cloud, lease: world.Lease
):
    cloud.nova.stop()
    manager.run(SPAN.start)
    assert state(lease) == RUNNING
    cloud.nova.start()
    backing.reconcile()
    assert access(cloud, lease) == {world.PROJECT}


class Unwritable:
    """The end of leases can't be written: the database fails whenever a manager tries."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tries = 0
        self._patch = monkeypatch.context()

    def __enter__(self) -> "Unwritable":
        self._patch.__enter__().setattr(transactions, "finish_end", self._fail)
        return self

    def __exit__(self, *error: Any) -> None:
        self._patch.__exit__(*error)

    def _fail(self, *_: Any) -> None:
        self.tries += 1
        raise db_exc.DBConnectionError("gone")


def test_end_that_failed_is_tried_again_after_pauses(
    manager: Manager, lease: world.Lease, monkeypatch: pytest.MonkeyPatch
):
    manager.run(SPAN.start)
    with Unwritable(monkeypatch) as end:
        for second in range(11):
            manager.run(SPAN.end + second * SECOND)
    # The pauses are 2, 4 and 8 seconds long, and each failure is noticed within a second.
    assert 2 <= end.tries <= 4
    manager.run(SPAN.end + datetime.timedelta(minutes=1))
    assert state(lease) == OVER


def test_extension_between_two_attempts_at_the_end_wins(
    manager: Manager, cloud: Cloud, lease: world.Lease, monkeypatch: pytest.MonkeyPatch
):
    manager.run(SPAN.start)
    with Unwritable(monkeypatch) as end:
        for second in range(4):
            manager.run(SPAN.end + second * SECOND)
    assert end.tries == 2
    # The claim is given back, and the pause is longer than the lead of an end.
    manager.run(SPAN.end + 4 * SECOND)
    assert state(lease) == RUNNING
    extended = world.move(lease, world.hours(1, 4))
    manager.run(SPAN.end + 10 * SECOND)
    assert state(extended) == RUNNING
    # The attempts have taken the access away.
    backing.reconcile()
    assert access(cloud, lease) == {world.PROJECT}
    manager.run(world.hours(1, 4).end)
    assert state(extended) == OVER


def test_end_that_stopped_halfway_and_fails_again_is_not_left_ending(
    manager: Manager, cloud: Cloud, lease: world.Lease, monkeypatch: pytest.MonkeyPatch
):
    """Some of the reservations are deleted, so the lease has no status to go back to."""
    manager.run(SPAN.start)
    with session.writer() as db:
        executions.request(db, lease.id, END)
    db_api.reservation_create(
        {"lease_id": lease.id, "resource_type": "flavor:slot", "status": "deleted"}
    )
    with Unwritable(monkeypatch):
        manager.run(SPAN.start + SECOND)
    manager.run(SPAN.start + 2 * SECOND)
    assert db_api.lease_get(lease.id)["status"] == "ERROR"
    repairer = Repairer(lambda _: 0.0)
    repairer.look(SPAN.start + 3 * SECOND)
    manager.run(SPAN.start + 4 * SECOND)
    assert db_api.lease_get(lease.id)["status"] == "TERMINATED"


def test_two_managers_start_a_lease_once(cloud: Cloud, lease: world.Lease):
    first, second = Manager(), Manager()
    first.run(SPAN.start - SECOND)
    second.run(SPAN.start)
    assert state(lease) == ("STARTING", "IN_PROGRESS", "UNDONE", "pending")
    first.run(SPAN.start)
    assert state(lease) == RUNNING
    assert told() == [(lease.id, "event.start_lease")]


def die(manager: Manager) -> None:
    """Make a manager's last heartbeat old."""
    with session.writer() as db:
        is_this_manager = executions.managers.c.id == manager.executor.manager_id
        db.execute(
            executions.managers.update().where(is_this_manager).values(heartbeat=world.LONG_AGO)
        )


@pytest.mark.parametrize("action", ["start", "end"])
def test_claim_of_a_dead_manager_is_executed_by_another(
    cloud: Cloud, lease: world.Lease, action: str
):
    survivor, dead = Manager(), Manager(pool=Held([]))
    due, done = SPAN.start, RUNNING
    if action == "end":
        survivor.run(SPAN.start)
        due, done = SPAN.end, OVER
    dead.run(due - SECOND)
    assert state(lease)[0] == ("STARTING" if action == "start" else "TERMINATING")
    repairer = Repairer(lambda _: 9999)
    repairer.look(due)
    survivor.run(due)
    assert state(lease)[0] in ("STARTING", "TERMINATING")
    die(dead)
    repairer.look(due)
    survivor.run(due)
    assert state(lease) == done


def test_manager_that_resumes_late_has_lost_its_claim(cloud: Cloud, lease: world.Lease):
    """A manager was suspended with a claimed start, which another manager has executed since."""
    jobs: list[Any] = []
    slow, other = Manager(pool=Held(jobs)), Manager()
    slow.run(SPAN.start - SECOND)
    do_all(jobs)
    slow.run(SPAN.start)
    assert jobs
    die(slow)
    Repairer(lambda _: 9999).look(SPAN.start)
    other.run(SPAN.start)
    other.run(SPAN.end)
    assert state(lease) == OVER
    do_all(jobs)
    assert state(lease) == OVER
    assert slow.outside.ended == []
    backing.reconcile()
    assert cloud.is_clean()


@pytest.mark.parametrize(
    "release",
    [
        lambda db, lease_id: executions.finish(db, [lease_id], "another manager"),
        lambda db, lease_id: executions.postpone(db, lease_id, "another manager", 1),
    ],
    ids=["finish", "postpone"],
)
def test_lost_claim_is_reported_at_once(lease: world.Lease, release: Any):
    """Another attempt couldn't get the claim back, so ``session.retried`` makes none."""
    with pytest.raises(executions.ClaimLost):
        session.change(release, lease.id)


def test_claim_without_a_thread_is_given_back(cloud: Cloud, lease: world.Lease):
    """The database was unavailable when the result should have been written."""
    manager = Manager(pool=Failing())
    manager.run(SPAN.start)
    assert state(lease)[0] == "STARTING"
    manager.executor._pools = Pools(Inline(), Inline(), Inline())
    manager.run(SPAN.start + SECOND)
    assert state(lease)[0] == "STARTING"
    # The claim was given back, and is claimed again for another attempt after a pause.
    assert start_event(lease)["time"] > SPAN.start + SECOND
    manager.run(start_event(lease)["time"])
    assert state(lease) == RUNNING


class Stopwatch(timer.Clock):
    """A clock that stands still until a test sets it."""

    seconds = 0.0

    def now(self) -> float:
        return self.seconds


def test_claim_of_a_thread_that_hangs_is_given_back(
    cloud: Cloud, lease: world.Lease, monkeypatch: pytest.MonkeyPatch
):
    """The thread goes on after another one has started and ended the lease. It does nothing."""
    clock = Stopwatch()
    monkeypatch.setattr(timer, "clock", clock)
    prepare, hangs, goes_on = backing.prepare, threading.Event(), threading.Event()

    def hang_once(reservation_id: str) -> Any:
        if not hangs.is_set():
            hangs.set()
            goes_on.wait(60)
        return prepare(reservation_id)

    monkeypatch.setattr(backing, "prepare", hang_once)
    with futures.ThreadPoolExecutor(2) as pool:
        manager = Manager(pool, lambda reservations: 100.0 * reservations)

        def comes_to(expected: tuple[str, ...], now: datetime.datetime) -> None:
            manager.run(now)
            world.until(lambda: manager.run(now) or state(lease) == expected)

        manager.run(SPAN.start - 5 * SECOND)
        assert hangs.wait(60)
        clock.seconds += 100
        manager.run(SPAN.start)
        assert state(lease)[0] == "STARTING"
        clock.seconds += 1
        manager.run(SPAN.start)
        comes_to(RUNNING, SPAN.start + 10 * SECOND)
        comes_to(OVER, SPAN.end)
        goes_on.set()
    manager.run(SPAN.end + SECOND)
    assert state(lease) == OVER
    assert told() == [(lease.id, "event.start_lease"), (lease.id, "event.end_lease")]
    assert manager.outside.ended == [lease.id]
    backing.reconcile()
    assert cloud.is_clean()


def test_step_that_waits_too_long_for_a_thread_is_not_begun(
    cloud: Cloud, lease: world.Lease, monkeypatch: pytest.MonkeyPatch
):
    clock, prepared = Stopwatch(), []
    monkeypatch.setattr(timer, "clock", clock)
    prepare = backing.prepare
    monkeypatch.setattr(backing, "prepare", lambda i: prepared.append(i) or prepare(i))
    jobs: list[Any] = []
    manager = Manager(Held(jobs), lambda _: 100.0)
    manager.run(SPAN.start - 5 * SECOND)
    clock.seconds += 101
    # The claim is given back and made again.
    manager.run(SPAN.start)
    assert len(jobs) == 2
    do_all(jobs)
    assert len(prepared) == 1


class Failing(futures.Executor):
    """A pool in which every job fails as if the database were unavailable."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> futures.Future[Any]:
        guarded, (_step, claimed) = fn, args

        def fail(_: Any) -> None:
            raise session.FAILURES[0]

        guarded(fail, claimed)
        return futures.Future()


@pytest.mark.parametrize("status", ["UPDATING", "DELETING"])
def test_lease_that_blazar_is_changing_is_not_claimed(
    manager: Manager, lease: world.Lease, status: str
):
    world.set_status(lease, status)
    manager.run(SPAN.start)
    assert state(lease)[0] == status


def test_refused_update_does_not_delay_the_start(manager: Manager, lease: world.Lease):
    """The plugin has promised a time, and then another reservation of the lease is refused."""
    world.set_status(lease, "UPDATING")
    changing.move(lease.reservation_id, world.hours(1, 4), world.conditions(), world.NOW)
    world.set_status(lease, "PENDING")
    manager.run(SPAN.start)
    assert state(lease) == RUNNING


def test_status_that_blazar_writes_over_a_claim_is_repaired(
    manager: Manager, cloud: Cloud, lease: world.Lease
):
    """Blazar has read PENDING, overwrites our STARTING with UPDATING, and is then refused."""
    manager.run(SPAN.start - SECOND)
    world.set_status(lease, "UPDATING")
    manager.run(SPAN.start)
    assert state(lease) == ("UPDATING", "DONE", "UNDONE", "active")
    world.write_lease(lease.id, {"status": "PENDING"})
    repairer = Repairer(lambda _: 9999, clock=iter(range(0, 1000, 10)).__next__)
    for _ in range(2):
        repairer.look(SPAN.start, thorough=True)
    assert state(lease) == RUNNING


def test_requested_deletion_deletes_the_lease(manager: Manager, cloud: Cloud, lease: world.Lease):
    manager.run(SPAN.start)
    cloud.nova.boot(backing_names.nova_flavor_id(lease.reservation_id), world.PROJECT)
    with session.writer() as db:
        executions.request(db, lease.id, DELETE)
    manager.run(SPAN.start + SECOND)
    assert state(lease) is None
    assert cloud.is_clean()
    assert manager.outside.ended == [lease.id]
    assert told()[-1] == (lease.id, "delete")


def test_reminder_before_the_end_is_sent_at_its_time(manager: Manager, lease: world.Lease):
    reminder = {"event_type": "before_end_lease", "time": SPAN.end - SECOND, "status": "UNDONE"}
    made = db_api.event_create({"lease_id": lease.id, **reminder})
    manager.run(SPAN.start)
    manager.run(SPAN.end - 5 * SECOND)
    assert db_api.event_get(made["id"])["status"] == "UNDONE"
    manager.run(SPAN.end - SECOND)
    assert db_api.event_get(made["id"])["status"] == "DONE"
    assert told()[-1] == (lease.id, "event.before_end_lease")


def test_end_that_hangs_delays_the_next_start_only_for_a_while(cloud: Cloud):
    world.add_host(cloud, "a")
    flavor = world.add_flavor()
    first = world.book(world.request(flavor, SPAN))
    second = world.book(world.request(flavor, world.hours(3, 5)))
    manager = Manager()
    manager.run(SPAN.start)
    # A manager has claimed the end and never executes it.
    world.set_status(first, "TERMINATING")
    world.set_event(first, "end_lease", "IN_PROGRESS")
    with session.writer() as db:
        executions.beat(db, "stuck", "host")
        executions.claim(db, [first.id], "end", "stuck")
    manager.run(SPAN.end)
    assert (state(first)[0], state(second)[0]) == ("TERMINATING", "STARTING")
    manager.run(SPAN.end + datetime.timedelta(seconds=11))
    assert state(second) == RUNNING


@pytest.mark.parametrize("kind", ["mariadb", "postgresql"], indirect=True, scope="session")
def test_three_managers_execute_each_start_and_end_once(cloud: Cloud):
    """The managers run in threads."""
    world.add_host(cloud, "a", vcpus=999, memory_mb=9999999, disk_gb=99999)
    flavor = world.add_flavor(slots=40)
    made = [world.book(world.request(flavor, SPAN)) for _ in range(20)]
    with futures.ThreadPoolExecutor(12) as pool, futures.ThreadPoolExecutor(3) as threads:
        managers = [Manager(pool) for _ in range(3)]
        for now, done in ((SPAN.start, RUNNING), (SPAN.end, OVER)):
            timeutils.set_time_override(now)
            stop = threading.Event()
            rounds = [threads.submit(_keep, manager, now, stop) for manager in managers]

            def came_to(done=done, rounds=rounds) -> bool:
                ended = any(thread.done() for thread in rounds)
                return ended or all(state(lease) == done for lease in made)

            try:
                world.until(came_to)
            finally:
                stop.set()
                for thread in rounds:
                    thread.result()  # The error that has ended one of the threads.
    events = ("event.start_lease", "event.end_lease")
    assert sorted(told()) == sorted((lease.id, event) for lease in made for event in events)
    ended = [lease_id for manager in managers for lease_id in manager.outside.ended]
    assert sorted(ended) == sorted(lease.id for lease in made)


def _keep(manager: Manager, now: datetime.datetime, stop: threading.Event) -> None:
    while not stop.wait(0.05):
        manager.executor.beat()
        manager.executor.claim(now)
        manager.executor.begin_due(now)


def test_start_after_a_move_removes_what_was_prepared_on_the_old_host(cloud: Cloud):
    """A manager prepared the start and died, and the lease moved to another host and time."""
    world.add_host(cloud, "a", vcpus=2)
    flavor = world.add_flavor(slots=2)
    lease = world.book(world.request(flavor, SPAN))
    later = world.hours(10, 12)
    world.book(world.request(flavor, later))
    world.add_host(cloud, "b", vcpus=2)
    died = Manager()
    died.run(SPAN.start - SECOND)
    assert list(cloud.placement.offered()) == ["blazar_a"]
    die(died)
    repairer = Repairer(lambda count: 0.0)
    repairer.look(SPAN.start - SECOND)
    assert state(lease) == WAITING
    moved = world.move(lease, later)
    manager = Manager()
    manager.run(moved.span.start - SECOND)
    manager.run(moved.span.start)
    assert state(lease) == RUNNING
    cls = backing_names.resource_class(lease.reservation_id)
    offered = [name for name, totals in cloud.placement.offered().items() if cls in totals]
    (aggregate,) = (a for a in cloud.nova.aggregates.values() if a["name"] == lease.reservation_id)
    assert (offered, aggregate["hosts"]) == (["blazar_b"], ["b"])


@pytest.fixture
def three(cloud: Cloud) -> list[world.Lease]:
    """Leases that start at the same time."""
    world.add_host(cloud, "a", vcpus=9)
    flavor = world.add_flavor(slots=3)
    return [world.book(world.request(flavor, SPAN)) for _ in range(3)]


def test_start_that_hangs_keeps_no_other_start_from_being_written(
    cloud: Cloud, three: list[world.Lease]
):
    with futures.ThreadPoolExecutor(3) as pool:
        manager = Manager(pool)
        manager.run(SPAN.start - SECOND)
        world.until(lambda: len(manager.executor._waiting) == len(three))
        cloud.nova.fail(match="flavors/.*/action", times=1, hang=True)
        try:
            manager.run(SPAN.start)
            world.until(lambda: len(manager.executor._started) == 2)
            assert [state(lease)[0] for lease in three] == ["STARTING"] * 3
            manager.run(SPAN.start)
            assert sorted(state(lease)[0] for lease in three) == ["ACTIVE", "ACTIVE", "STARTING"]
        finally:
            cloud.nova.mend()
        world.until(lambda: all(state(lease) == RUNNING for lease in three))
    assert sorted(told()) == sorted((lease.id, "event.start_lease") for lease in three)


def started(manager: Manager, leases: list[world.Lease]) -> list[transactions.Started]:
    """Let a manager give access to leases, without writing that they have started."""
    executor = manager.executor
    executor.beat()
    ids = [lease.id for lease in leases]
    claimed = transactions.claim(ids, START, executor.manager_id, SPAN.start, False)
    assert len(claimed) == len(leases)
    return [executor._opened(each) for each in claimed]


def test_start_whose_claim_is_lost_keeps_no_other_start_from_being_written(
    manager: Manager, three: list[world.Lease]
):
    executor = manager.executor
    executor._started = started(manager, three)
    executor._under_way = {
        each.claimed.lease.id: _WorkUnderWay(each.claimed.attempt) for each in executor._started
    }
    lost, *others = three
    with session.writer() as db:
        db.execute(tables.executions.delete().where(tables.executions.c.lease_id == lost.id))
    executor._finish_starts()
    assert [state(lease) for lease in others] == [RUNNING, RUNNING]
    assert state(lost)[0] == "STARTING"
    assert executor._under_way == {}


@pytest.mark.parametrize("kind", ["mariadb", "postgresql"], indirect=True, scope="session")
def test_move_during_the_write_of_a_start_leaves_the_reservation_marked_as_not_open(
    manager: Manager, cloud: Cloud, lease: world.Lease, monkeypatch: pytest.MonkeyPatch
):
    """A transaction on MariaDB doesn't see what is committed after its first read."""
    source, to = hosts_of(lease), world.add_host(cloud, "b")
    write = backing.finish_opening

    def move() -> None:
        with session.writer() as db:
            moved = tables.allocations.update().values(compute_host_id=to)
            db.execute(moved.where(tables.allocations.c.reservation_id == lease.reservation_id))
            generations.outdate(db, [*source, to])

    def moved_before(db: Any, opened: Any) -> None:
        with futures.ThreadPoolExecutor(1) as thread:
            thread.submit(move).result()
        write(db, opened)

    monkeypatch.setattr(backing, "finish_opening", moved_before)
    transactions.finish_starts(started(manager, [lease]), manager.executor.manager_id)
    with session.reader() as db:
        assert backings.get(db, lease.reservation_id).phase is backings.Phase.OPENING
    assert state(lease) == RUNNING


def test_open_reservation_that_was_shared_meanwhile_stays_open(
    manager: Manager, lease: world.Lease
):
    """Whoever opened it for the project that it is shared with has written that already."""
    opened = started(manager, [lease])
    with session.writer() as db:
        db.execute(tables.backings.update().values(phase="open", guests={"project": None}))
    transactions.finish_starts(opened, manager.executor.manager_id)
    with session.reader() as db:
        assert backings.get(db, lease.reservation_id).phase is backings.Phase.OPEN


def test_reservation_moved_between_preparation_and_start_is_opened_on_its_new_host(cloud: Cloud):
    """The executor was suspended meanwhile, or the move ignored its claim."""
    world.add_host(cloud, "a", vcpus=2)
    lease = world.book(world.request(world.add_flavor(slots=1), SPAN))
    manager = Manager()
    manager.run(SPAN.start - SECOND)
    assert list(cloud.placement.offered()) == ["blazar_a"]
    moved_to = world.add_host(cloud, "b", vcpus=2)
    with session.writer() as db:
        allocations = tables.allocations
        db.execute(
            allocations.update()
            .where(allocations.c.reservation_id == lease.reservation_id)
            .values(compute_host_id=moved_to)
        )
        world.outdate_hosts(db)
        backings.half_close(db, lease.reservation_id)
    manager.run(SPAN.start)
    assert state(lease) == RUNNING
    backing.reconcile()
    assert list(cloud.placement.offered()) == ["blazar_b"]


def test_end_is_written_after_the_filters_were_told(
    cloud: Cloud, lease: world.Lease, monkeypatch: pytest.MonkeyPatch
):
    """A manager that is killed meanwhile leaves an end that is executed again."""
    monkeypatch.setattr(times, "FILTERS_WAIT", 600)
    written: list[bool] = []

    class Slow(Outside):
        def ending(self, row: Any) -> None:
            deadline = time.monotonic() + 2
            while state(lease) != OVER and time.monotonic() < deadline:
                time.sleep(0.05)
            written.append(state(lease) == OVER)

    manager = Manager()
    manager.run(SPAN.start)
    manager.executor._outside = Slow()
    with futures.ThreadPoolExecutor(1) as telling:
        manager.executor._pools = Pools(Inline(), Inline(), telling)
        manager.run(SPAN.end)
    assert written == [False]
    assert state(lease) == OVER


def test_filter_that_hangs_does_not_keep_a_lease_from_ending(
    cloud: Cloud, lease: world.Lease, monkeypatch: pytest.MonkeyPatch
):
    """The pool for calls of filters never runs the call of ``on_end``."""
    monkeypatch.setattr(times, "FILTERS_WAIT", 0.1)
    manager = Manager()
    manager.run(SPAN.start)
    cloud.nova.boot(backing_names.nova_flavor_id(lease.reservation_id), world.PROJECT)
    filters: list[Any] = []
    manager.executor._pools = Pools(Inline(), Inline(), Held(filters))
    manager.run(SPAN.end)
    assert cloud.nova.servers == {}
    assert state(lease) == OVER
    assert manager.outside.ended == []
