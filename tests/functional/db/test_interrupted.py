"""Leases that Blazar left half way: which are removed, which go on, and which are let be."""

import datetime

import pytest
from blazar.db import api as db_api
from blazar.db.sqlalchemy import models
from oslo_utils import timeutils

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from warre_blazar.db import session
from warre_blazar.services import backing, events

pytestmark = pytest.mark.usefixtures("database")

LONG = datetime.timedelta(hours=1)
SOON = datetime.timedelta(minutes=5)


@pytest.fixture
def lease(cloud: Cloud) -> world.Lease:
    world.add_host(cloud, "a")
    return world.book(world.request(world.add_flavor(), world.hours(1, 3)))


def status(lease: world.Lease) -> str | None:
    found = db_api.lease_get(lease.id)
    return found and found["status"]


def later(by: datetime.timedelta) -> datetime.datetime:
    return timeutils.utcnow() + by


@pytest.mark.parametrize("left", ["CREATING", "DELETING"])
def test_one_that_nobody_makes_or_deletes_any_more(cloud: Cloud, lease: world.Lease, left: str):
    world.set_status(lease, left)
    events.clear_abandoned(later(SOON))
    assert status(lease) == left
    events.clear_abandoned(later(LONG))
    assert status(lease) is None
    backing.reconcile()
    assert cloud.is_clean()


def test_one_that_has_no_reservation_yet(cloud: Cloud, lease: world.Lease):
    """The manager was killed before it wrote the first."""
    db_api.reservation_destroy(lease.reservation_id)
    world.set_status(lease, "CREATING")
    events.clear_abandoned(later(LONG))
    assert status(lease) is None


@pytest.mark.parametrize("left", ["CREATING", "DELETING"])
def test_one_with_others_reservations(lease: world.Lease, left: str):
    values = {"lease_id": lease.id, "resource_type": "physical:host", "status": "pending"}
    db_api.reservation_create(values)
    world.set_status(lease, left)
    events.clear_abandoned(later(LONG))
    assert status(lease) == left


def event_times(lease: world.Lease) -> list[datetime.datetime]:
    return sorted(
        e["time"]
        for e in db_api.event_get_all_sorted_by_filters("time", "asc", {"lease_id": lease.id})
    )


@pytest.mark.parametrize("before", ["PENDING", "ACTIVE"])
@pytest.mark.parametrize(("left", "patience"), [("ERROR", SOON), ("UPDATING", LONG)])
def test_one_whose_update_came_to_no_end(
    lease: world.Lease, before: str, left: str, patience: datetime.timedelta
):
    if before == "ACTIVE":
        world.begin(lease)
        world.set_event(lease, "start_lease", "DONE")
    world.write_dates(lease, world.hours(1, 9))
    db_api.lease_update(lease.id, {"end_date": lease.span.end, "status": left})
    events.restore_interrupted(later(datetime.timedelta(0)))
    assert status(lease) == left
    events.restore_interrupted(later(patience))
    assert status(lease) == before
    assert event_times(lease) == [lease.span.start, lease.span.end]


@pytest.mark.parametrize("of", ["another event", "a failed start", "what it held", "another type"])
def test_what_is_in_error_for_another_reason(lease: world.Lease, of: str):
    world.set_status(lease, "ERROR")
    if of == "another event":
        world.set_event(lease, "end_lease", "IN_PROGRESS")
    elif of == "a failed start":
        db_api.reservation_update(lease.reservation_id, {"status": "error"})
    elif of == "what it held":
        world.reservations.end(lease.reservation_id, 0)
    else:
        values = {"lease_id": lease.id, "resource_type": "physical:host", "status": "pending"}
        db_api.reservation_create(values)
    events.restore_interrupted(later(LONG))
    assert status(lease) == "ERROR"


@pytest.mark.parametrize(
    ("event", "left", "patience"),
    [
        ("IN_PROGRESS", "PENDING", LONG),
        ("IN_PROGRESS", "STARTING", LONG),
        ("ERROR", "PENDING", SOON),
    ],
)
def test_a_start_that_was_taken_and_never_done(
    lease: world.Lease, event: str, left: str, patience: datetime.timedelta
):
    """Its manager was killed, perhaps while it was at another of the same minute."""
    world.write_dates(lease, world.Span(timeutils.utcnow() - SOON, timeutils.utcnow() + LONG))
    world.set_event(lease, "start_lease", event)
    world.set_status(lease, left)
    events.repeat_given_up(timeutils.utcnow())
    assert (status(lease), event_status(lease)) == (left, event)
    events.repeat_given_up(later(patience))
    assert (status(lease), event_status(lease)) == ("PENDING", "UNDONE")


def test_a_start_that_waits_for_others(lease: world.Lease, cloud: Cloud):
    """One manager does them one after the other: while it does any, this one's turn comes."""
    another = world.book(world.request(world.add_flavor(), world.hours(4, 5)))
    world.set_event(lease, "start_lease", "IN_PROGRESS")
    now = timeutils.utcnow()
    world.write_dates(lease, world.Span(now - SOON, now + LONG))
    world.set_event(another, "start_lease", "DONE")
    change_events(another, later(LONG - SOON))
    events.repeat_given_up(later(LONG))
    assert event_status(lease) == "IN_PROGRESS"
    change_events(another, now)
    events.repeat_given_up(later(LONG))
    assert event_status(lease) == "UNDONE"


def event_status(lease: world.Lease) -> str:
    found = db_api.event_get_first_sorted_by_filters(
        "lease_id", "asc", {"lease_id": lease.id, "event_type": "start_lease"}
    )
    return found["status"]


def change_events(lease: world.Lease, at: datetime.datetime) -> None:
    """Let a lease's events have been changed last at a time."""
    table = models.Event.__table__
    with session.writer() as db:
        db.execute(table.update().where(table.c.lease_id == lease.id).values(updated_at=at))


@pytest.mark.parametrize(("late", "becomes"), [(SOON, "ACTIVE"), (LONG, "TERMINATED")])
def test_an_end_that_blazar_gave_up(
    cloud: Cloud, lease: world.Lease, late: datetime.timedelta, becomes: str
):
    """Tried again, and after a while done without Blazar, servers and all."""
    world.begin(lease)
    cloud.nova.boot(backing.nova_flavor(lease.reservation_id), world.PROJECT)
    due = timeutils.utcnow() - late + datetime.timedelta(minutes=2)
    world.write_dates(lease, world.Span(due - LONG, due))
    world.set_event(lease, "end_lease", "ERROR")
    db_api.lease_update(lease.id, {"status": "ERROR"})
    db_api.reservation_update(lease.reservation_id, {"status": "active"})
    events.repeat_given_up(later(datetime.timedelta(minutes=2)))
    assert status(lease) == becomes
    for _ in range(2):  # the first time it asks Nova for the servers' deletion
        backing.reconcile()
    assert cloud.is_clean() == (becomes == "TERMINATED")
