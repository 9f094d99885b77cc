"""Sampling which reservations have servers: sums, notices, idle reservations, and Nova away."""

import datetime

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api
from oslo_utils import timeutils

from tests.fakes.cloud import Cloud
from tests.functional.db import databases, world
from tests.functional.db.managers import Manager
from tests.functional.db.notices import waiting
from tests.functional.db.test_statements import counted
from warre_blazar.db import session, tables
from warre_blazar.db.booking.reservations import Filter
from warre_blazar.db.messages import deliveries
from warre_blazar.db.records.usage import UsageFilter
from warre_blazar.domain.messages import payloads
from warre_blazar.domain.messages.notices import Kind, Notice
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.plugins import change_records
from warre_blazar.services.booking import lookup
from warre_blazar.services.records import history, server_samples, usage

pytestmark = pytest.mark.usefixtures("database", "told")

MINUTE = datetime.timedelta(minutes=1)
INTERVAL = 5 * MINUTE
#: Two hours around a midnight.
SPAN = Span(world.NOW + datetime.timedelta(hours=23), world.NOW + datetime.timedelta(hours=25))
MIDNIGHT = world.NOW + datetime.timedelta(days=1)


@pytest.fixture
def told(database: sa.Engine) -> None:
    change_records.register()
    change_records.register_deletions()
    session.change(deliveries.set_channels, {"bills": True, "mail": False})


@pytest.fixture
def lease(cloud: Cloud) -> world.Lease:
    """A running reservation of two instances."""
    world.add_host(cloud, "a")
    lease = world.book(world.request(world.add_flavor(slots=9), SPAN, 2))
    Manager().run(SPAN.start)
    return lease


def boot(cloud: Cloud, lease: world.Lease) -> str:
    flavor_id = lookup.get(lease.reservation_id, None)[0].nova_flavor
    assert flavor_id
    return cloud.nova.boot(flavor_id, world.PROJECT)


def sample(minutes: float, manager: str = "manager") -> None:
    """Sample so many minutes after the start of the reservation."""
    server_samples.take(SPAN.start + minutes * MINUTE, manager, INTERVAL)


def sums(database: sa.Engine) -> dict[datetime.date, int]:
    with database.connect() as connection:
        columns = (tables.usage.c.day, tables.usage.c.used_seconds)
        return dict(tuple(row) for row in connection.execute(sa.select(*columns)))


def in_use() -> list[Notice]:
    return [notice for notice in waiting("bills") if notice.news.kind is Kind.IN_USE]


def idle() -> dict[str, datetime.datetime | None]:
    listed, total = lookup.listing(Filter(is_idle=True))
    assert total == len(listed)
    return {reservation.reservation_id: reservation.idle_since for reservation, _ in listed}


def test_servers_are_summed_up_by_day(cloud: Cloud, database: sa.Engine, lease: world.Lease):
    for minutes in range(0, 120, 5):
        if minutes == 30:
            boot(cloud, lease)
        if minutes == 70:
            boot(cloud, lease)
            boot(cloud, lease)
        sample(minutes + 0.1)
    # From minute 25 on, because the sample of minute 30 stands for the time since minute 25. The
    # reservation has only two instances for its three servers.
    first = 35 * 60
    assert sums(database) == {
        MIDNIGHT.date() - datetime.timedelta(days=1): first,
        MIDNIGHT.date(): 5 * 60 + 50 * 60 * 2,
    }
    wanted = UsageFilter(window=Span(SPAN.start, MIDNIGHT))
    assert usage.report(wanted, None, SPAN.end)[None].instances.used == first


def test_shelved_server_counts_beside_one_that_was_moved_out(
    cloud: Cloud, database: sa.Engine, lease: world.Lease
):
    nova = cloud.nova
    flavor_id = lookup.get(lease.reservation_id, None)[0].nova_flavor
    assert flavor_id
    shelved, moved = (nova.boot(flavor_id, world.PROJECT, host="a") for _ in range(2))
    nova.shelve(shelved)
    cloud.add_host("other", inventories={"VCPU": {"total": 4}})
    nova.move(moved, "other", nova.make_flavor("m1"))
    nova.servers[boot(cloud, lease)]["status"] = "ERROR"  # It found no host.
    sample(5.1)
    assert sum(sums(database).values()) == 5 * 60 * 2


def test_sample_counts_once_in_each_interval(cloud: Cloud, database: sa.Engine, lease: world.Lease):
    boot(cloud, lease)
    sample(1)
    for manager in ("manager", "another"):
        for minutes in (6, 7, 9.9):
            sample(minutes, manager)
    assert sum(sums(database).values()) == 5 * 60
    listed = [line for line in cloud.nova.requests if line.startswith("GET /v2.1/servers")]
    # Each listing ends with an empty page.
    assert len(listed) == 2 * 2


def test_sample_stands_for_two_intervals_at_most(
    cloud: Cloud, database: sa.Engine, lease: world.Lease
):
    boot(cloud, lease)
    sample(0)
    sample(60)
    assert sum(sums(database).values()) == 10 * 60


def test_nova_away_means_that_nothing_is_known(
    cloud: Cloud, database: sa.Engine, lease: world.Lease
):
    boot(cloud, lease)
    sample(1)
    sample(5)
    before = databases.dump(database)
    cloud.nova.fail(status=503)
    with pytest.raises(exceptions.ServiceUnavailable):
        sample(10)
    after = databases.dump(database)
    assert {**after, "warre_turns": []} == {**before, "warre_turns": []}
    assert idle() == {}
    cloud.mend()
    sample(10)
    assert sum(sums(database).values()) == 10 * 60


def test_cell_away_means_that_nothing_is_known(
    cloud: Cloud, database: sa.Engine, lease: world.Lease
):
    cloud.nova.unreachable.add(boot(cloud, lease))
    with pytest.raises(exceptions.ServiceUnavailable, match="cell"):
        sample(5)
    assert (sums(database), idle(), in_use()) == ({}, {}, [])
    cloud.nova.unreachable.clear()
    sample(5)
    assert sum(sums(database).values()) == 5 * 60


def test_use_is_told_when_it_changes_and_once_an_hour(cloud: Cloud, lease: world.Lease):
    expected = []
    for minutes in range(5, 110, 5):
        if minutes == 30:
            server = boot(cloud, lease)
            expected += [True]
        if minutes == 45:
            del cloud.nova.servers[server]
            expected += [False]
        if minutes in (5, 60):
            expected += [False]
        sample(minutes)
    notices = in_use()
    assert [(notice.news.after or {})["in_use"] for notice in notices] == expected
    payload = payloads.payload(notices[1])
    assert (payload["in_use"], payload["servers"]) == (True, 1)
    assert payloads.event_type(notices[1]) == "reservation.in_use"
    assert [payloads.is_of_warre(notice) for notice in notices] == expected
    assert {notice.subject for notice in notices} == {lease.reservation_id}


def test_idle_reservations_and_since_when(cloud: Cloud, lease: world.Lease):
    assert idle() == {}
    sample(5)
    assert idle() == {lease.reservation_id: SPAN.start}
    server = boot(cloud, lease)
    sample(10)
    assert idle() == {}
    del cloud.nova.servers[server]
    sample(15)
    sample(20)
    assert idle() == {lease.reservation_id: SPAN.start + 10 * MINUTE}
    Manager().run(SPAN.end)
    assert idle() == {}


def test_reservation_that_has_just_started_is_not_idle(cloud: Cloud, lease: world.Lease):
    sample(0)
    assert idle() == {}


def test_nova_is_not_asked_while_nothing_runs(cloud: Cloud, database: sa.Engine):
    cloud.nova.fail(status=503)
    server_samples.take(world.NOW, "manager", INTERVAL)
    assert sums(database) == {}


def test_sums_survive_deletion_and_leave_with_the_record(
    cloud: Cloud, database: sa.Engine, lease: world.Lease
):
    boot(cloud, lease)
    for minutes in range(0, 120, 5):
        sample(minutes)
    Manager().run(SPAN.end)
    whole = Span(world.NOW, world.NOW + datetime.timedelta(days=9))
    before = usage.report(UsageFilter(window=whole), None, whole.end)[None]
    assert before.instances.used > 0
    timeutils.set_time_override(SPAN.end + MINUTE)
    db_api.lease_destroy(lease.id)
    assert usage.report(UsageFilter(window=whole), None, whole.end)[None] == before
    history.purge(SPAN.end + datetime.timedelta(days=3), 1)
    assert usage.report(UsageFilter(window=whole), None, whole.end)[None] == usage.Sum()
    assert sums(database) == {}


def statements(database: sa.Engine, minutes: int) -> list[int]:
    with counted(database) as sampling:
        sample(minutes)
    with counted(database) as listing:
        lookup.listing(Filter(is_idle=True))
    with counted(database) as adding:
        window = Span(world.NOW, world.NOW + datetime.timedelta(days=9))
        usage.report(UsageFilter(window=window), "day", SPAN.end)
    return [len(sampling), len(listing), len(adding)]


def test_statements_do_not_grow_with_reservations(
    cloud: Cloud, database: sa.Engine, lease: world.Lease
):
    boot(cloud, lease)
    for minutes in (1, 5):
        sample(minutes)
    few = statements(database, 10)
    world.add_host(cloud, "big", vcpus=200)
    flavor = world.add_flavor(slots=99)
    more = [world.book(world.request(flavor, SPAN)) for _ in range(30)]
    Manager().run(SPAN.start)
    for each in more:
        boot(cloud, each)
    for minutes in (15, 20):
        sample(minutes)
    many = statements(database, 25)
    # pymysql and psycopg2 may send the rows of one statement one by one.
    assert many == few
