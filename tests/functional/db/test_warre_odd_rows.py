"""The import of rows that Warre's own code would hardly write, and of other character sets."""

import logging
from collections.abc import Callable

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api

from tests.functional.db import warre_site, world
from tests.functional.db.warre_scene import Said, Scene, counts, left, said
from tests.functional.db.warre_site import ACTIVE, BIG, HUGE, OLD, THIRD, TWO, day
from warre_blazar import warre_import
from warre_blazar.db import flavors, session, tables
from warre_blazar.db.running import leases
from warre_blazar.domain.running import lease_states
from warre_blazar.domain.timeline import Span
from warre_blazar.services.booking import lookup
from warre_blazar.services.running import repair
from warre_blazar.warre_import import undoing

pytestmark = [
    pytest.mark.parametrize("kind", ["mariadb"], indirect=True, scope="session"),
    pytest.mark.usefixtures("database"),
]

#: A character that takes four bytes in UTF-8. Blazar's tables are utf8mb3, and can't hold it.
GPU = "\N{SLOT MACHINE}"


#: The foreign keys of Warre's tables, by their names.
_FOREIGN_KEYS = {
    "flavor_project_ibfk_1": "flavor_project",
    "maintenance_window_flavor_ibfk_1": "maintenance_window_flavor",
    "maintenance_window_flavor_ibfk_2": "maintenance_window_flavor",
    "reservation_ibfk_1": "reservation",
}


def _in_character_set(scene: Scene, charset: str, *statements: str) -> None:
    """Run statements in Warre's database after its tables were converted to a character set.

    MariaDB doesn't convert columns that foreign keys use, so the keys are dropped.
    """
    tables = ("flavor", "flavor_project", "maintenance_window", "reservation")
    scene.warre.run(
        "SET NAMES utf8mb4",
        *(f"ALTER TABLE {table} DROP FOREIGN KEY {key}" for key, table in _FOREIGN_KEYS.items()),
        *(f"ALTER TABLE {table} CONVERT TO CHARACTER SET {charset}" for table in tables),
        *statements,
    )


#: A statement with a four-byte character in Warre's database, the id of the row that can't be taken
#: because of it, and the ids of the rows that aren't taken because that row isn't.
FOUR_BYTES = {
    "name of a flavor": (f"UPDATE flavor SET name = '{GPU}' WHERE id = '{HUGE}'", HUGE),
    "project of an access": (f"UPDATE flavor_project SET project_id = '{GPU}'", None),
    "note of a window": (f"UPDATE maintenance_window SET note = '{GPU}'", None),
    "reason in the history": (
        f"UPDATE reservation SET status_reason = '{GPU}' WHERE id = '{warre_site.FAILED}'",
        warre_site.FAILED,
    ),
    "user of a reservation": (
        f"UPDATE reservation SET user_id = '{GPU}' WHERE id = '{TWO}'",
        TWO,
    ),
    "id of a reservation": (
        f"UPDATE reservation SET id = '{GPU}' WHERE id = '{warre_site.FAILED}'",
        GPU,
    ),
}


@pytest.mark.parametrize("case", FOUR_BYTES)
def test_row_that_blazars_database_cannot_store_is_left_alone(scene: Scene, case: str):
    statement, row_id = FOUR_BYTES[case]
    _in_character_set(scene, "utf8mb4", statement)
    planned = scene.plan()
    assert scene.dump() == scene.before
    report = scene.take_over()
    assert counts(planned) == counts(report)
    assert left(planned) == left(report)
    if row_id is not None:
        assert row_id in left(report)
    # Without the flavor, its access and a reservation of it are left out too.
    number = 3 if case == "name of a flavor" else 1
    assert sum(c.get("left", 0) for c in counts(report).values()) == number, left(report)


#: The column that is NULL, and the flavor or reservation that isn't taken because of that.
NULLS = {
    **{
        name: ("flavor", name, OLD)
        for name in (*("vcpu", "memory_mb", "disk_gb", "ephemeral_gb"), "slots", "max_length_hours")
    },
    "instance_count": ("reservation", "instance_count", warre_site.FAILED),
    "name": ("flavor", "name", OLD),
}


@pytest.mark.parametrize("case", NULLS)
def test_row_with_null_is_left_alone(scene: Scene, case: str):
    table, column, row_id = NULLS[case]
    kind = "varchar(64)" if column == "name" else "int"
    scene.warre.run(
        f"ALTER TABLE {table} MODIFY `{column}` {kind} NULL",
        f"UPDATE {table} SET `{column}` = NULL WHERE id = '{row_id}'",
    )
    report = scene.take_over()
    assert left(report)[row_id] == f"its {column} is empty"
    assert counts(report)[table]["left"] == 1


def test_live_reservation_without_a_number_of_instances_is_taken_with_blazars(scene: Scene):
    scene.warre.run(
        "ALTER TABLE reservation MODIFY instance_count int NULL",
        f"UPDATE reservation SET instance_count = NULL WHERE id = '{TWO}'",
    )
    report = scene.take_over()
    assert "Warre has no number of instances, and Blazar 2: taken with 2" in said(report)[TWO]
    assert lookup.get(TWO, None)[0].instance_count == 2


def test_text_longer_than_blazars_column_is_left_alone(scene: Scene):
    scene.warre.run(
        "ALTER TABLE flavor MODIFY name varchar(255)",
        f"UPDATE flavor SET name = REPEAT('x', 65) WHERE id = '{OLD}'",
    )
    report = scene.take_over()
    assert "name" in left(report)[OLD]
    assert counts(report)["flavor"] == {"taken": 2, "left": 1}


def test_texts_in_latin1_are_converted(scene: Scene):
    # The description of one of the example's flavors has characters that latin1 lacks.
    scene.warre.run("UPDATE flavor SET description = NULL")
    _in_character_set(
        scene,
        "latin1",
        f"UPDATE flavor SET name = 'Größe', description = 'für alle' WHERE id = '{BIG}'",
        f"UPDATE reservation SET status_reason = 'zurück' WHERE id = '{warre_site.FAILED}'",
    )
    report = scene.take_over()
    assert left(report) == {}
    with session.reader() as db:
        taken = flavors.get_many(db, {BIG})[BIG]
    assert (taken.name, taken.texts["description"]) == ("Größe", "für alle")
    assert lookup.get(warre_site.FAILED, None)[0].status_reason == "zurück"


#: A change of a flavor in Warre, and a part of the remark.
OUT_OF_RANGE = {
    "no vCPU": ("vcpu = 0", "vcpu is 0"),
    "negative memory": ("memory_mb = -1", "memory_mb is -1"),
    "negative disk": ("disk_gb = -1", "disk_gb is -1"),
    "negative ephemeral disk": ("ephemeral_gb = -5", "ephemeral_gb is -5"),
    "no slots": ("slots = 0", "slots is 0"),
    "no length": ("max_length_hours = 0", "max_length_hours is 0"),
    "backwards": (
        "start = '2026-12-02 00:00:00', end = '2026-12-01 00:00:00'",
        "its end isn't after its start",
    ),
}


@pytest.mark.parametrize("case", OUT_OF_RANGE)
def test_flavor_out_of_range_is_taken_closed_with_a_remark(scene: Scene, case: str):
    change, expected = OUT_OF_RANGE[case]
    scene.warre.run(f"UPDATE flavor SET active = 1, {change} WHERE id = '{HUGE}'")
    report = scene.take_over()
    assert expected in said(report)[HUGE]
    assert "closed" in said(report)[HUGE]
    with session.reader() as db:
        assert not flavors.get_many(db, {HUGE})[HUGE].active


def test_flavor_without_a_disk_is_taken_with_a_remark(scene: Scene):
    scene.warre.run(f"UPDATE flavor SET active = 1, disk_gb = 0 WHERE id = '{HUGE}'")
    assert "its servers can boot only from volumes" in said(scene.take_over())[HUGE]
    with session.reader() as db:
        assert flavors.get_many(db, {HUGE})[HUGE].active


def test_window_over_a_flavor_that_is_not_taken_gets_a_remark(scene: Scene):
    scene.warre.run(
        "ALTER TABLE flavor MODIFY slots int NULL",
        f"UPDATE flavor SET slots = NULL WHERE id = '{OLD}'",
        "INSERT INTO maintenance_window VALUES "
        "('later', '2026-12-20 00:00:00', '2026-12-21 00:00:00', NULL)",
        f"INSERT INTO maintenance_window_flavor VALUES ('later', '{OLD}'), ('later', '{BIG}')",
    )
    report = scene.take_over()
    assert said(report)["later"] == f"it also closes {OLD} in Warre, a flavor that isn't taken"
    assert counts(report)["window"] == {"taken": 2}


# Whatever one row does, the row is named, and the rest is taken.

_DEEP = "[" * 5000 + "]" * 5000

#: Changes in Blazar's and in Warre's database, the id of the row that isn't taken because of them,
#: and a part of the reason.
DAMAGES = {
    "lease without a start": (
        ("UPDATE leases SET start_date = '0000-00-00 00:00:00' WHERE id = '{lease}'",),
        (),
        "its lease {lease} has no valid start and end",
    ),
    "lease without an end": (
        ("UPDATE leases SET end_date = '0000-00-00 00:00:00' WHERE id = '{lease}'",),
        (),
        "its lease {lease} has no valid start and end",
    ),
    "properties of a lease nested too deep": (
        (
            f"UPDATE instance_reservations SET resource_properties = '{_DEEP}' "
            "WHERE reservation_id = '{reservation}'",
        ),
        (),
        "the properties of its lease {lease} can't be read",
    ),
    "number of instances that is none": (
        (),
        (
            "ALTER TABLE reservation MODIFY instance_count varchar(20)",
            "UPDATE reservation SET instance_count = 'two', status = 'COMPLETE' WHERE id = '{row}'",
        ),
        "it can't be read: ValueError",
    ),
}


@pytest.mark.parametrize("case", DAMAGES)
def test_damaged_row_is_named_and_the_rest_is_taken(scene: Scene, case: str):
    in_blazar, in_warre, expected = DAMAGES[case]
    lease = scene.leases[TWO]
    names = {"lease": lease.id, "reservation": lease.reservation_id, "row": TWO}
    with scene.database.begin() as connection:
        for statement in in_blazar:
            unchecked = f"SET STATEMENT sql_mode = '' FOR {statement}"
            connection.exec_driver_sql(unchecked.format(**names))
    with session.writer() as db:
        world.outdate_hosts(db)
    scene.warre.run(*(statement.format(**names) for statement in in_warre))
    for report in (scene.plan(), scene.take_over()):
        assert expected.format(**names) in left(report)[TWO]
        assert counts(report)["reservation"]["left"] == 1
        assert counts(report)["flavor"] == {"taken": 3}
        assert counts(report)["reservation"]["taken"] == 2


def test_flavor_with_extra_specs_nested_too_deep_is_taken_closed(scene: Scene):
    scene.warre.run(
        "ALTER TABLE flavor MODIFY extra_specs longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        f"UPDATE flavor SET extra_specs = '{_DEEP}' WHERE id = '{BIG}'",
    )
    report = scene.take_over()
    assert "without its extra specs, and closed" in said(report)[BIG]
    assert left(report) == {}


def test_refused_rows_print_no_traceback(scene: Scene, run: Callable[..., Said], caplog):
    _in_character_set(
        scene, "utf8mb4", f"UPDATE reservation SET user_id = '{GPU}' WHERE id = '{TWO}'"
    )
    result = run("--connection", scene.warre.url)
    assert (result.status, result.err) == (0, "")
    # Without a configuration, Python prints what is logged to the standard error.
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == []
    assert f"reservation {TWO}: Blazar's database can't store it" in result.out


def test_other_spellings_of_an_id_are_the_same_id(scene: Scene):
    """Warre's collation ignores the case of letters and blanks at the end."""
    lease = scene.leases[TWO]
    scene.warre.run(
        *(f"ALTER TABLE {table} DROP FOREIGN KEY {key}" for key, table in _FOREIGN_KEYS.items()),
        f"UPDATE reservation SET lease_id = UPPER('{lease.id}') WHERE id = '{TWO}'",
        f"UPDATE reservation SET flavor_id = UPPER(flavor_id) WHERE id = '{TWO}'",
        f"UPDATE reservation SET flavor_id = CONCAT(flavor_id, ' ') WHERE id = '{THIRD}'",
        "UPDATE flavor_project SET flavor_id = UPPER(flavor_id)",
        "UPDATE maintenance_window_flavor SET flavor_id = UPPER(flavor_id), "
        "maintenance_window_id = UPPER(maintenance_window_id)",
    )
    planned = scene.plan()
    assert left(planned) == {}
    assert not any("in Warre" in remark for remark in said(planned).values())
    assert left(scene.take_over()) == {}
    taken = lookup.get(TWO, None)[0]
    assert (taken.lease_id, taken.flavor_id) == (lease.id, BIG)
    with session.reader() as db:
        closed = db.scalars(sa.select(tables.window_flavors.c.flavor_id)).all()
        granted = db.scalars(sa.select(tables.flavor_projects.c.flavor_id)).all()
    assert closed
    assert granted
    assert {*closed, *granted} <= {BIG, HUGE, OLD}


#: A change of a row in Warre, the row's id, and the remark.
SMALL_CHANGES = {
    "no time of creation": (
        f"UPDATE reservation SET created_at = '0000-00-00 00:00:00' WHERE id = '{TWO}'",
        TWO,
        "its created_at is no time: taken with the start of its lease, 2026-11-24 00:00:00",
    ),
    "no time of creation in the history": (
        f"UPDATE reservation SET created_at = NULL WHERE id = '{warre_site.FAILED}'",
        warre_site.FAILED,
        "its created_at is no time: taken with its start",
    ),
    "microseconds in the history": (
        f"UPDATE reservation SET end = '2026-11-30 12:00:59.5' WHERE id = '{warre_site.FAILED}'",
        warre_site.FAILED,
        "its end of 2026-11-30 12:00:59.500000 is taken without the fraction of a second",
    ),
    "no instances in the history": (
        f"UPDATE reservation SET instance_count = -3 WHERE id = '{warre_site.FAILED}'",
        warre_site.FAILED,
        "it has -3 instances, which stays",
    ),
    "neither public nor private": (
        f"UPDATE flavor SET is_public = NULL WHERE id = '{BIG}'",
        BIG,
        "its is_public is empty: taken as false",
    ),
    "no extra specs": (
        f"UPDATE flavor SET extra_specs = NULL WHERE id = '{BIG}'",
        BIG,
        "its extra_specs is empty: taken as {}",
    ),
}


@pytest.mark.parametrize("case", SMALL_CHANGES)
def test_small_change_gets_a_remark(scene: Scene, case: str):
    statement, row_id, expected = SMALL_CHANGES[case]
    scene.warre.run(
        "SET sql_mode = ''",
        "ALTER TABLE reservation MODIFY end datetime(6), MODIFY created_at datetime NULL",
        "ALTER TABLE flavor MODIFY is_public tinyint(1) NULL, MODIFY extra_specs longtext NULL",
        statement,
    )
    report = scene.take_over()
    assert expected in said(report)[row_id]
    assert left(report) == {}


# Leases that a manager will repair.


def _without_event(scene: Scene, event_type: str, row_id: str) -> None:
    with session.writer() as db:
        events = tables.events
        lost = events.c.lease_id == scene.leases[row_id].id, events.c.event_type == event_type
        assert session.changed(db, events.delete().where(*lost)) == 1


@pytest.mark.parametrize(
    ("event_type", "row_id"),
    [("end_lease", TWO), ("start_lease", TWO), ("end_lease", ACTIVE)],
)
def test_import_can_be_undone_after_a_manager_has_made_a_lost_event_anew(
    scene: Scene, event_type: str, row_id: str
):
    _without_event(scene, event_type, row_id)
    assert "a manager will repair its lease" in said(scene.plan())[row_id]
    assert "a manager will repair its lease" in said(scene.take_over())[row_id]
    assert scene.leases[row_id].id in _repaired()
    with session.reader() as db:
        assert undoing.can_be_undone(db)
    warre_import.undo()
    lease = scene.leases[row_id]
    assert db_api.reservation_get(lease.reservation_id)["resource_type"] == "virtual:instance"


def test_lost_event_that_is_made_with_another_time_is_a_change(scene: Scene):
    _without_event(scene, "end_lease", TWO)
    scene.take_over()
    _repaired()
    with session.writer() as db:
        events = tables.events
        of_lease = events.c.lease_id == scene.leases[TWO].id, events.c.event_type == "end_lease"
        moved = events.update().where(*of_lease).values(time=day(26))
        assert session.changed(db, moved) == 1
    with pytest.raises(warre_import.ChangedSinceImport, match=TWO):
        warre_import.undo()


def _repaired() -> set[str]:
    """Let a manager repair all leases. Return the ids of the leases whose events are exact then."""
    clock = iter(range(0, 10**6, 1000))
    repairer = repair.Repairer(lambda _: 60.0, lambda: next(clock))
    for _ in range(2):
        repairer.look(warre_site.NOW, thorough=True)
    with session.reader() as db:
        ids = set(db.scalars(sa.select(tables.leases.c.id)))
        settled = [
            lease
            for lease in leases.read(db, ids)
            if lease_states.is_settled(lease.state(warre_site.NOW, lease_states.Age.STUCK))
        ]
    return {lease.id for lease in settled}


# Reservations whose leases came after an import.


def _late(scene: Scene) -> warre_site.StockLease:
    """Let Warre make the lease of a reservation that had none at the first import."""
    lease = warre_site.book(
        scene.cloud, warre_site.UNMADE, warre_site.BETA, Span(day(27), day(28)), 1
    )
    scene.warre.run(
        f"UPDATE reservation SET status = 'ALLOCATED', lease_id = '{lease.id}', "
        f"start = '{lease.span.start}', end = '{lease.span.end}' WHERE id = '{warre_site.UNMADE}'"
    )
    return lease


def test_reservation_whose_lease_came_later_is_taken_by_the_next_import(scene: Scene):
    scene.take_over()
    assert lookup.get(warre_site.UNMADE, None)[0].state == "ERROR"
    assert counts(scene.take_over())["reservation"] == {"known": 6}
    lease = _late(scene)
    before = scene.dump()
    assert counts(scene.plan())["reservation"] == {"known": 5, "taken": 1}
    assert scene.dump() == before
    assert counts(scene.take_over())["reservation"] == {"known": 5, "taken": 1}
    found = lookup.get(warre_site.UNMADE, None)[0]
    assert (found.state, found.lease_id) == ("ALLOCATED", lease.id)
    assert counts(scene.take_over())["reservation"] == {"known": 6}


def test_undo_after_a_lease_that_came_later_restores_every_row(scene: Scene):
    scene.take_over()
    _late(scene)
    scene.take_over()
    assert warre_import.undo() == {"flavor": 3, "access": 1, "window": 1} | {
        "reservation": 4,
        "record": 2,
    }
    rows = scene.dump()
    scene.take_over()
    warre_import.undo()
    assert scene.dump() == rows
    assert not {name for name in rows if name.startswith("warre_")} - set(scene.before)


def test_lease_that_came_later_and_cannot_be_taken_is_named(scene: Scene):
    scene.take_over()
    lease = _late(scene)
    world.write_lease(lease.id, {"status": "CREATING"})
    assert "import again later" in left(scene.take_over())[warre_site.UNMADE]


def test_lease_that_came_after_its_record_was_deleted_is_named(scene: Scene):
    scene.take_over()
    with session.writer() as db:
        record = tables.bookings
        these = record.c.id == warre_site.UNMADE
        db.execute(record.update().where(these).values(deleted_at=warre_site.NOW))
    lease = _late(scene)
    reason = left(scene.take_over())[warre_site.UNMADE]
    assert f"its lease {lease.id} holds hosts" in reason
    assert "deleted" in reason
