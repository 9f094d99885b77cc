"""What is lost: the log has when a reservation wasn't open, and what was on failed hosts."""

import datetime

import pytest
import sqlalchemy as sa
from oslo_utils import timeutils

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from tests.functional.db.managers import Manager
from tests.functional.db.outage import book_on, fail, heal, recover
from warre_blazar.db import session, tables
from warre_blazar.db.messages import deliveries
from warre_blazar.db.records.usage import UsageFilter
from warre_blazar.domain.records.changes import ChangeKind
from warre_blazar.domain.records.usage import Amounts
from warre_blazar.domain.timeline import Span
from warre_blazar.plugins import change_records
from warre_blazar.services.booking import lookup
from warre_blazar.services.records import server_samples, usage
from warre_blazar.services.running import backing

pytestmark = pytest.mark.usefixtures("database", "recorded")

SPAN = world.hours(1, 3)
HOUR = datetime.timedelta(hours=1)


@pytest.fixture
def recorded(database: sa.Engine) -> None:
    change_records.register()
    change_records.register_deletions()
    session.change(deliveries.set_channels, {"bills": True})


def at(hours: float) -> datetime.datetime:
    """Set the time to so many hours after the start."""
    now = SPAN.start + hours * HOUR
    timeutils.set_time_override(now)
    return now


def amounts() -> Amounts:
    window = Span(world.NOW, world.NOW + 99 * HOUR)
    return usage.report(UsageFilter(window=window), None, SPAN.end)[None].instances


def log(lease: world.Lease) -> list[ChangeKind]:
    return [change.kind for change in lookup.log(lookup.get(lease.reservation_id, None)[0])]


def test_reservation_that_is_opened_late(cloud: Cloud):
    world.add_host(cloud, "a")
    lease = world.book(world.request(world.add_flavor(slots=9), SPAN, 2))
    cloud.nova.fail(match="action", status=403)
    manager = Manager()
    manager.run(SPAN.start)
    cloud.mend()
    at(0.5)
    backing.reconcile()
    manager.run(SPAN.end)
    told = [kind for kind in log(lease) if kind is not ChangeKind.CREATED]
    assert told == [ChangeKind.STARTED, ChangeKind.REFUSED, ChangeKind.OPENED, ChangeKind.ENDED]
    assert amounts() == Amounts(booked=4 * 3600, held=4 * 3600, lost=3600)


def test_instances_on_failed_hosts(cloud: Cloud):
    a, b = (world.add_host(cloud, name, vcpus=4) for name in "ab")
    flavor = world.add_flavor(slots=9)
    lease = book_on(a, flavor, SPAN, 2)
    book_on(b, flavor, world.hours(5, 6), 2)
    world.add_stock([b], SPAN, "physical:host")
    manager = Manager()
    manager.run(SPAN.start)
    at(0.5)
    fail(a)
    heal()
    heal()
    at(1)
    recover(a)
    heal()
    manager.run(SPAN.end)
    missing = [
        change.after
        for change in lookup.log(lookup.get(lease.reservation_id, None)[0])
        if change.kind is ChangeKind.MISSING
    ]
    assert missing == [{"missing_instances": 2}, {"missing_instances": 0}]
    assert amounts()._replace(booked=0) == Amounts(held=4 * 3600, lost=3600)


def test_reservation_that_was_running_when_it_was_imported(cloud: Cloud, database: sa.Engine):
    world.add_host(cloud, "a")
    lease = world.book(world.request(world.add_flavor(), SPAN))
    world.begin(lease)
    with database.begin() as connection:
        # Warre writes no log.
        connection.execute(tables.log_entries.delete())
        connection.execute(tables.bookings.update().values(counted_until=None))
    for hours in (0.5, 1, 1.5):
        server_samples.tell_running_time(at(hours), "manager")
    assert log(lease).count(ChangeKind.STARTED) == 1
    Manager().run(SPAN.end)
    assert amounts() == Amounts(booked=2 * 3600, held=2 * 3600)
