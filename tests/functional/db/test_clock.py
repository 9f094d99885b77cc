"""What is due is decided by the database's clock, whatever the machine's clock says."""

import datetime

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api
from oslo_utils import timeutils
from sqlalchemy import event

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from tests.functional.db.managers import WAITING, state
from warre_blazar.db import clock
from warre_blazar.domain.timeline import Span
from warre_blazar.errors.blazar_errors import TooEarly
from warre_blazar.plugins import flavor_slot, monitor

pytestmark = pytest.mark.usefixtures("database")

MINUTE = datetime.timedelta(minutes=1)


def test_database_tells_the_time_in_utc():
    found = clock.DatabaseClock()
    before = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    found.read()
    after = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    second = datetime.timedelta(seconds=1)
    # The database runs on this machine.
    assert before - second <= found.utcnow() <= after + 60 * second


def test_time_between_two_readings_passes_by_the_monotonic_clock():
    seconds = 100.0
    found = clock.DatabaseClock(lambda: seconds)
    found.read()
    then = found.utcnow()
    seconds += 7.5
    timeutils.set_time_override(then - 60 * MINUTE)
    try:
        assert found.utcnow() - then == datetime.timedelta(seconds=7.5)
    finally:
        timeutils.clear_time_override()


def test_clock_is_never_ahead_of_the_database_however_late_its_query_is_run():
    seconds = 100.0

    def execute(*_: object) -> None:
        nonlocal seconds
        seconds += 8.0  # The query waits, and the database answers at once when it gets it.

    found = clock.DatabaseClock(lambda: seconds)
    event.listen(sa.Engine, "before_cursor_execute", execute)
    try:
        found.read()
    finally:
        event.remove(sa.Engine, "before_cursor_execute", execute)
    assert found.utcnow() <= timeutils.utcnow()


def test_clock_that_was_never_read_is_the_machines():
    timeutils.set_time_override(datetime.datetime(2031, 1, 1))
    try:
        assert clock.DatabaseClock().utcnow() == datetime.datetime(2031, 1, 1)
    finally:
        timeutils.clear_time_override()


def test_manager_with_a_fast_clock_starts_nothing_early(cloud: Cloud, conf):
    world.add_host(cloud, "a")
    now = timeutils.utcnow().replace(second=0, microsecond=0)
    span = Span(now + 5 * MINUTE, now + 60 * MINUTE)
    lease = world.book(world.request(world.add_flavor(), span, now=now))
    threads = monitor.Threads(lambda _: [])
    timeutils.set_time_override(now + 10 * MINUTE)
    try:
        threads.beat()
        threads.claim()
        threads.begin_due()
        assert state(lease) == WAITING
        # Blazar's own executor reads the machine's clock, and calls this too early.
        with pytest.raises(TooEarly):
            resource_id = db_api.reservation_get(lease.reservation_id)["resource_id"]
            flavor_slot.FlavorSlotPlugin().on_start(resource_id)
    finally:
        timeutils.clear_time_override()
