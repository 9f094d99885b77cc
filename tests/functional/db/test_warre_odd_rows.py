"""The import of rows that Warre's own code would hardly write, and of other character sets."""

import pytest

from tests.functional.db import warre_site, world
from tests.functional.db.warre_scene import Scene, counts, left, said
from tests.functional.db.warre_site import BIG, HUGE, OLD, TWO, day
from warre_blazar import warre_import
from warre_blazar.db import flavors, session, tables
from warre_blazar.domain.timeline import Span
from warre_blazar.services.booking import lookup

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
    "no disk": ("disk_gb = 0", "disk_gb is 0"),
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
        record = tables.history
        these = record.c.id == warre_site.UNMADE
        db.execute(record.update().where(these).values(deleted_at=warre_site.NOW))
    lease = _late(scene)
    reason = left(scene.take_over())[warre_site.UNMADE]
    assert f"its lease {lease.id} holds hosts" in reason
    assert "deleted" in reason
