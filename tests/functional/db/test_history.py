"""How long reservations that are over and records are kept, and what a purge must not remove."""

import datetime

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api

from tests.fakes.cloud import Cloud
from tests.functional.db import databases, world
from tests.functional.db.managers import Manager
from warre_blazar.cmd import manage
from warre_blazar.db import session, tables
from warre_blazar.db.booking.reservations import Filter
from warre_blazar.db.running import executions
from warre_blazar.domain.flavors.flavor import Shape
from warre_blazar.plugins import change_records
from warre_blazar.services.booking import lookup
from warre_blazar.services.records import history
from warre_blazar.services.records.history import Purged

pytestmark = pytest.mark.usefixtures("database")

DAY = datetime.timedelta(days=1)
SPAN = world.hours(1, 3)
SHAPE = Shape(2, 2048, 20, 0, {}, None, None).to_json()


@pytest.fixture
def over(cloud: Cloud) -> world.Lease:
    """A lease of ours that is over, and whose backing is removed."""
    world.add_host(cloud, "a")
    lease = world.book(world.request(world.add_flavor(), SPAN))
    manager = Manager()
    for moment in (SPAN.start, SPAN.end):
        manager.run(moment)
    assert cloud.is_clean()
    return lease


def rows(database: sa.Engine) -> dict[str, int]:
    """The number of rows in each table that a lease has rows in, without empty tables."""
    names = ("leases", "reservations", "events", "instance_reservations", "warre_reservations")
    dump = databases.dump(database)
    return {name: len(dump[name]) for name in names if name in dump}


def test_lease_that_is_over_is_removed_after_the_given_days(database: sa.Engine, over: world.Lease):
    before = rows(database)
    assert history.purge(SPAN.end + 9 * DAY, 10) == Purged()
    assert rows(database) == before
    later = SPAN.end + 11 * DAY
    assert history.old(later, 10) == Purged(leases=1)
    assert rows(database) == before
    assert history.purge(later, 10) == Purged(leases=1)
    assert rows(database) == {}


def test_times_are_written_at_the_end(database: sa.Engine, cloud: Cloud):
    world.add_host(cloud, "a")
    world.book(world.request(world.add_flavor(), SPAN))
    table = tables.bookings.c
    manager, times = Manager(), sa.select(table.start_date, table.end_date, table.status)
    for moment, written in ((SPAN.start, (None, None)), (SPAN.end, (SPAN.start, SPAN.end))):
        manager.run(moment)
        with session.reader() as db:
            assert db.execute(times).one() == (*written, None)


def test_lease_that_is_deleted_unknown_to_this_package_leaves_nothing(
    database: sa.Engine, cloud: Cloud, over: world.Lease
):
    db_api.lease_destroy(over.id)
    assert rows(database) == {}


def test_leases_that_are_not_over_or_not_ours_alone_stay(
    database: sa.Engine, cloud: Cloud, over: world.Lease
):
    flavor = world.add_flavor(slots=9)
    waiting = world.book(world.request(flavor, world.hours(5, 6)))
    failed = world.book(world.request(flavor, world.hours(5, 6)))
    world.set_status(failed, "ERROR")
    stock = world.add_stock([], world.hours(1, 2), "virtual:instance")
    world.set_status(stock, "TERMINATED")
    shared = world.book(world.request(flavor, world.hours(5, 6)))
    world.set_status(shared, "TERMINATED")
    values = {"lease_id": shared.id, "resource_type": "physical:host", "status": "deleted"}
    db_api.reservation_create(values)
    assert history.purge(SPAN.end + 900 * DAY, 1) == Purged(leases=1)
    left = {lease["id"] for lease in db_api.lease_list()}
    assert left == {waiting.id, failed.id, stock.id, shared.id}


def test_lease_with_a_backing_stays(cloud: Cloud, over: world.Lease):
    with session.writer() as db:
        values = {"phase": "open", "created_at": SPAN.end}
        values |= {"reservation_id": over.reservation_id, "project_id": "p", "nova_flavor": "f"}
        db.execute(tables.backings.insert().values(**values))
    assert history.purge(SPAN.end + 900 * DAY, 1) == Purged()


def test_purge_removes_more_than_one_batch(monkeypatch, cloud: Cloud, over: world.Lease):
    monkeypatch.setattr(history, "_BATCH", 2)
    for number in range(5):
        _add_record(f"record-{number}", deleted_at=SPAN.end)
    assert history.purge(SPAN.end + 2 * DAY, 1) == Purged(leases=1, records=5)


def _add_record(record_id: str, **changes: object) -> None:
    with session.writer() as db:
        flavor_id = db.scalar(sa.select(tables.flavors.c.id))
        values = {
            **{"id": record_id, "flavor_id": flavor_id, "instance_count": 1, "shape": SHAPE},
            **{"start_date": SPAN.start, "end_date": SPAN.end, "status": "COMPLETE"},
            **{"created_at": SPAN.start, **changes},
        }
        db.execute(tables.bookings.insert().values(**values))


def test_age_of_a_record_counts_from_the_deletion_or_else_from_the_end(cloud: Cloud):
    world.add_flavor()
    _add_record("long over")
    _add_record("deleted lately", deleted_at=SPAN.end + 20 * DAY)
    assert history.purge(SPAN.end + 25 * DAY, 10) == Purged(records=1)
    with session.reader() as db:
        assert db.scalars(sa.select(tables.bookings.c.id)).all() == ["deleted lately"]


def test_lease_deleted_by_blazar_leaves_a_record(cloud: Cloud, over: world.Lease):
    change_records.register_deletions()
    db_api.lease_destroy(over.id)
    with session.reader() as db:
        (record,) = db.execute(sa.select(tables.bookings)).mappings()
    assert (record["lease_id"], record["status"]) == (over.id, "COMPLETE")
    assert record["deleted_by"] is None


def test_deletion_by_an_executor_leaves_a_record_without_a_user(cloud: Cloud, over: world.Lease):
    with session.writer() as db:
        executions.request(db, over.id, "delete")
    Manager().run(SPAN.end + DAY)
    assert db_api.lease_get(over.id) is None
    with session.reader() as db:
        (record,) = db.execute(sa.select(tables.bookings)).mappings()
    assert (record["deleted_by"], record["deleted_at"]) == (None, SPAN.end + DAY)


@pytest.mark.parametrize("sort", ["start", "end", "created_at", "project_id", "user_id"])
def test_history_and_live_reservations_are_listed_in_every_order(
    cloud: Cloud, over: world.Lease, sort: str
):
    _add_record("a record", project_id=world.PROJECT, user_id="user")
    _add_record("another's", project_id="project-beta", user_id="user")
    _add_record("deleted", project_id=world.PROJECT, deleted_at=SPAN.end)
    wanted = Filter(project_id=world.PROJECT)
    for descending in (False, True):
        pages = [
            lookup.listing(wanted, sort=sort, descending=descending, limit=1, offset=offset)
            for offset in (0, 1)
        ]
        assert {found[0].id for page, _ in pages for found in page} == {
            over.reservation_id,
            "a record",
        }
        assert [total for _, total in pages] == [2, 2]


def test_purge_command_counts_and_removes(
    database: sa.Engine, conf, tmp_path, capsys, over: world.Lease
):
    url = database.url.render_as_string(hide_password=False)
    config = databases.write_config(url, tmp_path)

    def run(*words: str) -> tuple[int, str]:
        status = manage.main(["--config-file", config, "purge", *words])
        return status, capsys.readouterr().out

    past = {"start_date": SPAN.start - 36500 * DAY, "end_date": SPAN.end - 36500 * DAY}
    assert run("--dry-run")[0] == 0
    world.write_lease(over.id, past)
    status, said = run("--dry-run")
    assert (status, "would remove 1 leases" in said) == (0, True)
    assert db_api.lease_get(over.id) is not None
    for bad in ("0", "-1", "30d"):
        with pytest.raises(SystemExit):
            run("--days", bad)
        assert "at least 1, or all" in capsys.readouterr().err
    status, said = run("--days", "all", "--dry-run")
    assert (status, "would remove 1 leases" in said) == (0, True)
    status, said = run("--days", "1")
    assert (status, "Removed 1 leases" in said) == (0, True)
    assert db_api.lease_get(over.id) is None
