"""The audit of leases of stock resource types on which nobody works any more."""

import datetime
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api
from blazar.status import LeaseStatus

from tests.functional.db import databases, world
from tests.functional.db.managers import Manager, state
from tests.functional.db.test_audit import NOW, YES, Scene, furnish, stock_lease
from tests.functional.db.test_exact_neighbors import reserve
from warre_blazar.db import session
from warre_blazar.db.running import executions
from warre_blazar.domain.audit.differences import DifferenceKind, Needs
from warre_blazar.errors import exceptions
from warre_blazar.services.audit import mending
from warre_blazar.services.booking import admission

pytestmark = pytest.mark.usefixtures("database")

SPAN = world.hours(5, 6)
FIX = frozenset({Needs.FIX})


@pytest.fixture
def scene(cloud) -> Scene:
    flavor, waiting, running = furnish(cloud)
    return Scene(cloud, flavor, waiting, running, Manager())


def hosts_are_free(scene: Scene) -> bool:
    """Whether there is room for as many bookings as without the lease that holds hosts."""
    try:
        admission.check(world.request(scene.flavor, SPAN, 4))
    except exceptions.HostsExhausted:
        return False
    return True


def test_creation_that_stopped_is_removed_with_what_was_made_for_it(scene: Scene, database):
    rows = databases.dump(database)
    lease = world.add_lease(SPAN, resource_type="virtual:instance")
    world.write_lease(lease.id, {"updated_at": world.LONG_AGO, "trust_id": None})
    reserve("virtual:instance", lease, SPAN)
    world.write_lease(lease.id, {"updated_at": world.LONG_AGO})
    scene.cloud.nova.flavors[lease.reservation_id] = {
        **next(iter(scene.cloud.nova.flavors.values())),
        "id": lease.reservation_id,
        "name": f"reservation:{lease.reservation_id}",
    }
    assert not hosts_are_free(scene)
    result = scene.audit().run(FIX)
    assert [(d.kind, d.subject) for d in result.left] == [
        (DifferenceKind.LEASE_UNFINISHED, lease.id)
    ]
    result = scene.audit().run(YES)
    assert [d.subject for d in result.mended] == [lease.id]
    assert (result.left, result.failures) == ([], {})
    assert db_api.lease_get(lease.id) is None
    assert hosts_are_free(scene)
    assert lease.reservation_id not in scene.cloud.nova.flavors
    of_leases = {"leases", "reservations", "events", "computehost_allocations"}
    after = databases.dump(database)
    assert {name: after[name] for name in of_leases} == {name: rows[name] for name in of_leases}


def begin_deletion(lease: world.Lease) -> None:
    world.set_event(lease, "start_lease", "DONE")
    world.set_event(lease, "end_lease", "IN_PROGRESS")
    db_api.reservation_update(lease.reservation_id, {"status": "active"})
    world.write_lease(lease.id, {"updated_at": world.LONG_AGO})


def begin_start(lease: world.Lease) -> None:
    world.set_event(lease, "start_lease", "IN_PROGRESS")
    world.write_lease(lease.id, {"updated_at": world.LONG_AGO})


@pytest.mark.parametrize("begin", [lambda lease: None, begin_deletion], ids=["before", "during"])
def test_deletion_that_stopped_is_asked_for_again(scene: Scene, begin):
    lease = stock_lease("DELETING")
    begin(lease)
    result = scene.audit().run(YES)
    assert ([d.subject for d in result.mended], result.left) == ([lease.id], [])
    assert scene.deleted == [lease.id]
    assert LeaseStatus.is_valid_transition(state(lease)[0], "DELETING", lease_id=lease.id)


def test_change_that_stopped_gets_the_status_of_its_events(scene: Scene):
    lease = stock_lease("UPDATING")
    later = world.hours(7, 9)
    dates = {"start_date": later.start, "end_date": later.end}
    world.write_lease(lease.id, {**dates, "updated_at": world.LONG_AGO})
    assert not scene.audit().run(FIX).left
    assert state(lease) == ("PENDING", "UNDONE", "UNDONE", "pending")
    events = {event["event_type"]: event["time"] for event in db_api.lease_get(lease.id)["events"]}
    assert events == {"start_lease": later.start, "end_lease": later.end}


@pytest.mark.parametrize(
    ("status", "begin", "then"),
    [
        ("STARTING", begin_start, ("ERROR", "ERROR", "UNDONE", "error")),
        ("TERMINATING", begin_deletion, ("ERROR", "DONE", "ERROR", "active")),
    ],
)
def test_start_or_end_that_stopped_can_be_deleted(scene: Scene, status, begin, then):
    lease = stock_lease(status)
    begin(lease)
    assert not LeaseStatus.is_valid_transition(status, "DELETING", lease_id=lease.id)
    assert not scene.audit().run(FIX).left
    assert state(lease) == then
    assert LeaseStatus.is_valid_transition("ERROR", "DELETING", lease_id=lease.id)


def work_on(lease: world.Lease) -> None:
    """Let a living manager note that it works on the lease."""
    manager = Manager().executor
    manager.beat()
    with session.writer() as db:
        executions.note_worker(db.connection(), lease.id, manager.manager_id, "work")


def write_now(lease: world.Lease) -> None:
    world.write_lease(lease.id, {"updated_at": NOW - datetime.timedelta(minutes=9)})


@pytest.mark.parametrize("keep", [work_on, write_now])
def test_lease_on_which_somebody_may_work_is_left_alone(scene: Scene, keep):
    keep(stock_lease("CREATING"))
    assert not scene.audit().run(YES).left


def settle(lease: world.Lease) -> None:
    world.write_lease(lease.id, {"status": "PENDING"})


@pytest.mark.parametrize("act", [work_on, settle, write_now])
def test_lease_that_somebody_has_taken_up_meanwhile_is_left_alone(
    scene: Scene, monkeypatch, act: Callable[[world.Lease], Any]
):
    lease = stock_lease("CREATING")
    lock = mending.leases.lock

    def lock_later(db: sa.orm.Session, lease_id: str) -> Any:
        act(lease)
        return lock(db, lease_id)

    monkeypatch.setattr(mending.leases, "lock", lock_later)
    result = scene.audit().run(YES)
    assert list(result.failures) == [(DifferenceKind.LEASE_UNFINISHED, lease.id)]
    assert db_api.lease_get(lease.id) is not None
