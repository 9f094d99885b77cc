"""A database is restored from a dump, beside a Nova and a Placement that have gone on."""

import dataclasses
import datetime
from typing import Any

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api
from oslo_utils import timeutils

from tests.fakes.cloud import Cloud
from tests.functional.db import databases, world
from tests.functional.db.managers import Manager
from warre_blazar.db import session, tables, turns
from warre_blazar.db.booking import reservations
from warre_blazar.db.hosts import host_marks
from warre_blazar.db.messages import deliveries
from warre_blazar.db.running import executions
from warre_blazar.domain.running.mark import Standing
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.openstack import placement_mark
from warre_blazar.services.audit import restore
from warre_blazar.services.audit.restore import RestoreChoice
from warre_blazar.services.running import backing, repair
from warre_blazar.services.running.mark import TURN, Gate

pytestmark = pytest.mark.usefixtures("database")

MINUTE = datetime.timedelta(minutes=1)
HOUR = 60 * MINUTE
START = world.NOW + HOUR
#: When the dump is made, and when it is restored.
DUMPED, RESTORED = START + 5 * MINUTE, START + 3 * HOUR
UNTIL = RESTORED + 24 * HOUR
KEEP, END = RestoreChoice(UNTIL, end_overdue=False), RestoreChoice(UNTIL, end_overdue=True)


@dataclasses.dataclass
class Site:
    """The leases of a site, of which the database doesn't know all."""

    #: Runs all the time.
    running: world.Lease
    #: Was deleted after the dump.
    deleted: world.Lease
    #: Ends between the dump and the restore. It may have been extended.
    overdue: world.Lease
    #: Begins between the loss of the database and the restore.
    starting: world.Lease
    #: Was booked and started after the dump.
    unknown: world.Lease
    #: The server that each of the running ones has.
    servers: dict[str, str]


def tick(gate: Gate, at: datetime.datetime) -> None:
    timeutils.set_time_override(at)
    gate.look("manager")
    timeutils.clear_time_override()


def boot(cloud: Cloud, lease: world.Lease) -> str:
    with session.reader() as db:
        found = reservations.find(db, lease.reservation_id)
    assert found and found.nova_flavor
    return cloud.nova.boot(found.nova_flavor, world.PROJECT)


@pytest.fixture
def site(database: sa.Engine, cloud: Cloud) -> Site:
    """A site whose database was restored. On its host there is room for five instances."""
    world.add_host(cloud, "a", vcpus=10)
    flavor = world.add_flavor(slots=99)
    session.change(deliveries.set_channels, {"mail": False})

    def book(start: datetime.datetime, end: datetime.datetime) -> world.Lease:
        return world.book(world.request(flavor, Span(start, end)))

    running = book(START, RESTORED + 9 * HOUR)
    deleted = book(START, RESTORED + 9 * HOUR)
    overdue = book(START, START + HOUR)
    begins = Span(RESTORED - 5 * MINUTE, RESTORED + HOUR)
    starting = world.plan(world.request(flavor, begins))
    gate = Gate()
    tick(gate, START - MINUTE)
    Manager().run(START)
    servers = {each.id: boot(cloud, each) for each in (running, deleted, overdue)}
    tick(gate, DUMPED)
    dump = databases.dump(database)
    world.finish(deleted)
    unknown = book(DUMPED + 5 * MINUTE, RESTORED + 2 * HOUR)
    Manager().run(DUMPED + 5 * MINUTE)
    servers[unknown.id] = boot(cloud, unknown)
    for number in range(4):
        tick(gate, DUMPED + (6 + number) * MINUTE)
    databases.empty(database)
    databases.put_back(database, dump)
    return Site(running, deleted, overdue, starting, unknown, servers)


def status(lease: world.Lease) -> str | None:
    row = db_api.lease_get(lease.id)
    return row and row["status"]


def ids(found: Any) -> list[str]:
    return [each.lease.id for each in found]


def test_look_says_what_the_database_does_not_know_and_changes_nothing(
    database: sa.Engine, cloud: Cloud, site: Site
):
    gate = Gate()
    gate.begin()
    tick(gate, RESTORED)
    assert gate.standing is Standing.OLDER
    before, number = databases.dump(database), placement_mark.read().number
    for service in (cloud.nova, cloud.placement):
        service.requests.clear()
    sight = restore.look(RESTORED)
    sent = {r.split()[0] for s in (cloud.nova, cloud.placement) for r in s.requests}
    assert sent == {"GET"}
    assert (databases.dump(database), placement_mark.read().number) == (before, number)
    found = sight.found
    assert sight.is_older
    (unknown,) = found.unknown
    assert unknown.reservation_id == site.unknown.reservation_id
    assert (unknown.project_id, unknown.instances) == (world.PROJECT, {"a": 1})
    assert unknown.backing.servers == {site.servers[site.unknown.id]}
    assert ids(found.gone) == [site.deleted.id]
    assert ids(found.overdue) == [site.overdue.id]
    assert found.overdue[0].servers == (site.servers[site.overdue.id],)
    assert ids(found.starting) == [site.starting.id]
    # Placement has the number of three minutes later, and was always one behind.
    assert found.lost_at == DUMPED + 4 * MINUTE


def test_refused_request_repairs_nothing_in_an_older_database(cloud: Cloud, site: Site):
    tick(Gate(), RESTORED)
    world.write_lease(site.running.id, {"status": "ERROR"})
    assert repair.settle(site.running.id, RESTORED) == "ERROR"
    with session.reader() as db:
        assert executions.requested(db, "end") == []


def go_on(cloud: Cloud, at: datetime.datetime) -> None:
    """Do what managers do when they aren't held any more."""
    gate = Gate()
    gate.begin()
    tick(gate, at)
    assert gate.is_open
    Manager().run(at)
    backing.reconcile()


def test_accepted_database_loses_and_oversells_nothing(
    database: sa.Engine, cloud: Cloud, site: Site
):
    sight = restore.look(RESTORED)
    assert sight.needs_until(end_overdue=False)
    restore.accept(sight, KEEP, RESTORED)
    go_on(cloud, RESTORED + MINUTE)
    left = {site.servers[each.id] for each in (site.running, site.overdue, site.unknown)}
    assert left <= set(cloud.nova.servers)
    assert status(site.running) == status(site.overdue) == status(site.starting) == "ACTIVE"
    assert status(site.deleted) == "TERMINATED"
    assert db_api.lease_get(site.overdue.id)["end_date"] == UNTIL
    with session.reader() as db:
        rebuilt = reservations.find(db, site.unknown.reservation_id)
    assert rebuilt is not None
    assert (rebuilt.project_id, rebuilt.state, rebuilt.span.end) == (world.PROJECT, "ACTIVE", UNTIL)
    # Four of five places are taken.
    more = Span(RESTORED + 10 * MINUTE, RESTORED + 30 * MINUTE)
    again = world.request(world.add_flavor(slots=9), more, now=RESTORED)
    world.book(again)
    with pytest.raises(exceptions.WarreError):
        world.book(again)


def test_what_may_have_been_sent_is_not_sent(cloud: Cloud, site: Site):
    assert restore.look(RESTORED).found.waiting
    restore.accept(restore.look(RESTORED), KEEP, RESTORED)
    assert restore.look(RESTORED).found.waiting == {}
    # What has become due since the loss is still to be told.
    with session.reader() as db:
        assert turns.done_until(db, TURN) == DUMPED + 4 * MINUTE


def test_rebuilt_reservation_ends_with_its_server(cloud: Cloud, site: Site):
    restore.accept(restore.look(RESTORED), KEEP, RESTORED)
    go_on(cloud, UNTIL)
    assert site.servers[site.unknown.id] not in cloud.nova.servers
    assert cloud.placement.offered().keys() <= {placement_mark.PROVIDER}


def test_overdue_reservation_ends_only_if_the_operator_says_so(cloud: Cloud, site: Site):
    restore.accept(restore.look(RESTORED), END, RESTORED)
    go_on(cloud, RESTORED + MINUTE)
    assert status(site.overdue) == "TERMINATED"
    assert site.servers[site.overdue.id] not in cloud.nova.servers
    assert site.servers[site.running.id] in cloud.nova.servers


def test_reservation_that_can_not_be_rebuilt_keeps_its_host(cloud: Cloud, site: Site):
    session.change(
        lambda db: db.execute(
            tables.flavors.update().values(memory_mb=tables.flavors.c.memory_mb + 1)
        )
    )
    sight = restore.look(RESTORED)
    assert [plan.flavor for plan in sight.plans] == [None]
    restore.accept(sight, KEEP, RESTORED)
    with session.reader() as db:
        (marks,) = host_marks.every(db).values()
    assert site.unknown.reservation_id in str(marks.drain and marks.drain.reason)
    go_on(cloud, RESTORED + MINUTE)
    assert site.servers[site.unknown.id] in cloud.nova.servers
