"""Upgrades of the tables of each release, with rows, to those of this one.

The files in ``releases`` have all tables of Blazar's database as they were with that release: a
flavor, a reservation that waits, one that runs, one that was deleted, and their hosts. These tests
drain the hosts before the upgrade. With WARRE_RELEASE=write in the environment, the file of the
present release is written.
"""

import configparser
import dataclasses
import datetime
import os
import pathlib
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api
from pymysql import converters
from sqlalchemy import orm

from tests.fakes.cloud import Cloud
from tests.functional.db import databases, world
from warre_blazar.db import (
    backings,
    changes,
    history,
    host_marks,
    lease_queries,
    leases,
    migration,
    reservations,
    session,
    tables,
)
from warre_blazar.domain import lease_states
from warre_blazar.domain.backing import Backing
from warre_blazar.domain.backing_phases import Phase
from warre_blazar.domain.changes import Change, ChangeKind
from warre_blazar.domain.host_marks import Drain
from warre_blazar.domain.labels import Labels

FILES = pathlib.Path(__file__).parent / "releases"
RELEASES = sorted(FILES.glob("*.sql"))
LABELS = Labels("first", "a note")


@pytest.fixture(params=RELEASES, ids=[path.stem for path in RELEASES])
def engine(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Iterator[sa.Engine]:
    """A database of a release after the upgrade."""
    try:
        with databases.made("mariadb", tmp_path) as url:
            engine = sa.create_engine(url, poolclass=sa.NullPool)
            with engine.begin() as connection:
                connection.exec_driver_sql("SET FOREIGN_KEY_CHECKS = 0")
                for statement in request.param.read_text().split(";\n"):
                    if statement.strip():
                        connection.exec_driver_sql(statement)
                connection.exec_driver_sql("UPDATE warre_hosts SET draining = 1")
            migration.upgrade(url)
            yield engine
    except databases.NoServer as error:
        pytest.fail(str(error), pytrace=False)


def test_reservations_are_as_they_were(engine: sa.Engine):
    with orm.Session(engine) as db:
        ids = dict(
            db.execute(sa.select(tables.reservations.c.status, tables.reservations.c.id)).all()
        )
        waiting = reservations.find(db, ids["pending"])
        running = reservations.find(db, ids["active"])
        assert waiting is not None and running is not None
        assert (waiting.instance_count, waiting.labels) == (2, LABELS)
        assert (running.instance_count, running.labels) == (1, Labels())
        phases = {note.reservation_id: note.phase for note in notes(db, ids.values())}
        assert phases == {ids["pending"]: Phase.PLANNED, ids["active"]: Phase.OPEN}
        (deleted,) = db.execute(sa.select(tables.history)).mappings()
        assert [note.reservation_id for note in backings.ended(db)] == [deleted["reservation_id"]]


def notes(db, reservation_ids) -> list[Backing]:
    return [note for i in reservation_ids if (note := backings.get(db, i))]


def test_drained_hosts_stay_drained(engine: sa.Engine):
    """Who drains them, since when and why isn't known."""
    with orm.Session(engine) as db:
        marks = host_marks.every(db).values()
    assert {each.drain for each in marks if each.drain} == {Drain(None, None, None)}


def test_changes_are_recorded_from_now_on(engine: sa.Engine):
    with orm.Session(engine) as db:
        (reservation_id,) = db.scalars(
            sa.select(tables.reservations.c.id).where(tables.reservations.c.status == "pending")
        )
        assert changes.of_reservation(db, reservation_id) == []
        moved = Change(datetime.datetime(2100, 1, 1), ChangeKind.MOVED)
        changes.add(db, reservation_id, moved)
        assert changes.of_reservation(db, reservation_id) == [moved]


def test_leases_are_at_rest(engine: sa.Engine):
    with orm.Session(engine) as db:
        now = datetime.datetime(2100, 1, 1, 2)
        found = leases.read(db, list(db.scalars(sa.select(tables.leases.c.id))))
        assert sorted(lease.status for lease in found) == ["ACTIVE", "PENDING"]
        for lease in found:
            assert lease_states.is_at_rest(lease.state(now, lease_states.Age.STUCK))
        assert lease_queries.unsettled(db, now) == {lease.id for lease in found}


def test_tables_are_those_of_this_release(engine: sa.Engine):
    url = engine.url.render_as_string(hide_password=False)
    assert migration.revision_of(url) == migration.head()
    assert databases.differences(url) == []


def test_this_release_has_a_file(database: sa.Engine, cloud: Cloud, kind: str):
    """A file isn't changed after its release."""
    metadata = configparser.ConfigParser()
    metadata.read(pathlib.Path(__file__).parents[3] / "setup.cfg")
    path = FILES / f"{metadata['metadata']['version']}.sql"
    if kind == "mariadb" and os.environ.get("WARRE_RELEASE") == "write":
        furnish(cloud)
        path.write_text("\n".join([*dumped(database), ""]))
    assert path.exists()


def furnish(cloud: Cloud) -> None:
    """Make what the files have."""
    for name in "ab":
        world.add_host(cloud, name, vcpus=16)
    flavor = world.add_flavor(slots=4)
    waiting = world.request(flavor, world.hours(10, 12), 2)
    world.plan(dataclasses.replace(waiting, labels=LABELS))
    running = world.book(world.request(flavor, world.hours(1, 3)))
    world.begin(running)
    world.set_event(running, "start_lease", "DONE")
    deleted = world.plan(world.request(flavor, world.hours(20, 22)))
    with session.writer() as db:
        history.record_deletion(db.connection(), deleted.id, world.NOW, None)
    db_api.lease_destroy(deleted.id)


def dumped(engine: sa.Engine) -> Iterator[str]:
    """The statements that make all tables and rows of a MariaDB database."""
    with engine.connect() as connection:
        names = sorted(sa.inspect(connection).get_table_names())
        for name in names:
            yield connection.exec_driver_sql(f"SHOW CREATE TABLE `{name}`").one()[1] + ";"
        for name in names:
            for row in connection.exec_driver_sql(f"SELECT * FROM `{name}`"):
                values = ", ".join(
                    "NULL" if value is None else str(converters.escape_item(value, "utf8mb4"))
                    for value in row
                )
                yield f"INSERT INTO `{name}` VALUES ({values});"
