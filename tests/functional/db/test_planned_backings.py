"""Bookings are rows in the database. Their backings are made shortly before the start."""

import datetime

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api
from oslo_utils import timeutils

from tests.fakes.cloud import Cloud
from tests.fakes.service import Request
from tests.functional.db import databases, world
from tests.functional.db.managers import Manager, state
from warre_blazar import times
from warre_blazar.db import session
from warre_blazar.db.running import backings
from warre_blazar.domain.running import backing_names
from warre_blazar.errors import exceptions
from warre_blazar.services.running import backing

pytestmark = pytest.mark.usefixtures("database")

hours = world.hours
SPAN = hours(10, 12)
AHEAD = SPAN.start - times.MADE_AHEAD
SECOND = datetime.timedelta(seconds=1)
RUNNING = ("ACTIVE", "DONE", "UNDONE", "active")


@pytest.fixture
def flavor(cloud: Cloud):
    world.add_host(cloud, "a", vcpus=16)
    return world.add_flavor(slots=4)


@pytest.fixture
def lease(flavor) -> world.Lease:
    return world.plan(world.request(flavor, SPAN, 2))


@pytest.fixture
def away(cloud: Cloud) -> Cloud:
    """Nova and Placement don't answer."""
    for service in (cloud.nova, cloud.placement):
        service.fail(match="", status=503)
    return cloud


def make_at(moment: datetime.datetime) -> None:
    timeutils.set_time_override(moment)
    try:
        backing.make_ahead(moment)
    finally:
        timeutils.clear_time_override()


def test_booking_change_and_deletion_send_no_request(
    database: sa.Engine, cloud: Cloud, lease: world.Lease
):
    for service in (cloud.nova, cloud.placement):
        service.requests.clear()
    world.move(lease, hours(11, 13))
    assert world.phase(lease) == "planned"
    db_api.lease_destroy(lease.id)
    backing.reconcile()
    assert cloud.nova.requests == cloud.placement.requests == []
    assert "warre_backings" not in databases.dump(database)


def test_backing_is_made_shortly_before_the_start(cloud: Cloud, lease: world.Lease):
    make_at(AHEAD - SECOND)
    assert (world.phase(lease), cloud.leftovers()) == ("planned", {})
    make_at(AHEAD)
    assert world.phase(lease) == "made"
    assert set(cloud.nova.flavors) == {backing_names.nova_flavor_id(lease.reservation_id)}
    assert cloud.placement.offered() == {}
    row = db_api.instance_reservation_get(
        db_api.reservation_get(lease.reservation_id)["resource_id"]
    )
    (aggregate,) = cloud.nova.aggregates.values()
    assert row["aggregate_id"] == aggregate["id"]


def test_id_of_the_aggregate_that_is_known_is_not_written_again(lease: world.Lease):
    make_at(AHEAD)
    row_id = db_api.reservation_get(lease.reservation_id)["resource_id"]
    before = dict(db_api.instance_reservation_get(row_id))
    timeutils.set_time_override(SPAN.start)
    try:
        session.change(backing.note_aggregate, lease.reservation_id, before["aggregate_id"])
        assert dict(db_api.instance_reservation_get(row_id)) == before
        session.change(backing.note_aggregate, lease.reservation_id, before["aggregate_id"] + 1)
    finally:
        timeutils.clear_time_override()
    after = dict(db_api.instance_reservation_get(row_id))
    changed = {name for name in before if after[name] != before[name]}
    assert changed == {"aggregate_id", "updated_at"}


def test_backing_that_is_made_is_not_made_again(cloud: Cloud, lease: world.Lease):
    make_at(AHEAD)
    cloud.nova.requests.clear()
    make_at(AHEAD)
    assert cloud.nova.requests == []


def test_start_makes_what_was_not_made_ahead(cloud: Cloud, lease: world.Lease):
    Manager().run(SPAN.start)
    assert state(lease) == RUNNING
    assert world.phase(lease) == "open"
    assert cloud.placement.offered()


def test_start_while_nova_is_away_is_opened_later(away: Cloud, lease: world.Lease):
    make_at(AHEAD)
    manager = Manager()
    manager.run(SPAN.start)
    assert state(lease) == RUNNING
    away.mend()
    backing.reconcile()
    assert world.phase(lease) == "open"


def test_refused_making_is_tried_again(cloud: Cloud, lease: world.Lease):
    cloud.nova.fail(match="POST .*flavors", status=403, times=1)
    make_at(AHEAD)
    assert world.phase(lease) == "making"
    make_at(AHEAD + 5 * SECOND)
    assert world.phase(lease) == "made"


def test_making_is_left_to_who_is_making(cloud: Cloud, lease: world.Lease):
    """But not for ever: the process may have been killed."""
    with session.writer() as db:
        until = AHEAD + times.ANSWER_MAY_BE_LATE
        assert backings.begin_making(db, lease.reservation_id, until, AHEAD)
    make_at(AHEAD + 59 * SECOND)
    assert (world.phase(lease), cloud.leftovers()) == ("making", {})
    make_at(AHEAD + 60 * SECOND)
    assert world.phase(lease) == "made"


def test_deletion_while_the_backing_is_made_leaves_nothing(cloud: Cloud, lease: world.Lease):
    def delete(_: Request) -> None:
        db_api.lease_destroy(lease.id)
        backing.reconcile()

    cloud.nova.fail(match="POST .*flavors$", times=1, then=delete)
    make_at(AHEAD)
    assert set(cloud.nova.flavors) == {backing_names.nova_flavor_id(lease.reservation_id)}
    backing.reconcile()
    assert (world.phase(lease), cloud.leftovers()) == (None, {})


@pytest.mark.parametrize("minutes", [9, 11])
def test_note_of_a_killed_maker_stays_as_long_as_its_requests_may_act(
    cloud: Cloud, lease: world.Lease, minutes: int
):
    now = timeutils.utcnow()
    with session.writer() as db:
        backings.begin_making(db, lease.reservation_id, now + times.ANSWER_MAY_BE_LATE, None)
    db_api.lease_destroy(lease.id)
    timeutils.set_time_override(now + datetime.timedelta(minutes=minutes))
    backing.reconcile()
    assert world.phase(lease) == ("closing" if minutes < 10 else None)


def test_opening_without_a_reservation_is_refused(lease: world.Lease):
    db_api.lease_destroy(lease.id)
    backing.reconcile()
    with pytest.raises(exceptions.InvalidState):
        backing.prepare(lease.reservation_id)
