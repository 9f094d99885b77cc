"""Our migrations on MariaDB, before and after Blazar's migrations, in each character set."""

import dataclasses
import datetime
import pathlib
from collections.abc import Iterator

import alembic.autogenerate
import alembic.migration
import pytest
import sqlalchemy as sa

from tests.functional.db import databases
from warre_blazar.cmd.manage import main as manage_main
from warre_blazar.db import migration, models
from warre_blazar.db.tables import leases, reservations

OURS = {name for name in models.metadata.tables if name.startswith("warre_")}


@pytest.fixture(params=["utf8mb3", "utf8mb4"])
def url(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Iterator[str]:
    """A database without tables."""
    try:
        with databases.made("mariadb", tmp_path, request.param) as made:
            yield made
    except databases.NoServer as error:
        pytest.fail(str(error), pytrace=False)


def tables(url: str) -> set[str]:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    return {t for t in sa.inspect(engine).get_table_names() if t.startswith("warre_")}


@dataclasses.dataclass(frozen=True)
class Said:
    """The exit status and the output of ``warre-blazar-manage``."""

    status: int
    out: str
    err: str


@pytest.fixture
def manage(url: str, tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]):
    """A function that runs ``warre-blazar-manage db`` on the database."""
    config = databases.write_config(url, tmp_path)

    def run(*words: str) -> Said:
        capfd.readouterr()
        status = manage_main(["--config-file", config, "db", *words])
        return Said(status, *capfd.readouterr())

    return run


def test_upgrade_and_downgrade_can_be_repeated(url: str, tmp_path: pathlib.Path):
    databases.blazar_upgrade(url, tmp_path)
    for _ in range(2):
        migration.upgrade(url)
        assert tables(url) == OURS | {migration.VERSION_TABLE}
        assert migration.revision_of(url) == migration.head()
        migration.upgrade(url)
        migration.downgrade(url, "base")
        assert tables(url) <= {migration.VERSION_TABLE}
        assert migration.revision_of(url) is None


def indexed(url: str) -> dict[str, list[list[str | None]]]:
    """The columns of each index of Blazar's tables."""
    inspector = sa.inspect(sa.create_engine(url, poolclass=sa.NullPool))
    return {
        table: sorted(index["column_names"] for index in inspector.get_indexes(table))
        for table in set(inspector.get_table_names()) - OURS - {migration.VERSION_TABLE}
    }


def test_downgrade_restores_blazars_indexes(url: str, tmp_path: pathlib.Path):
    databases.blazar_upgrade(url, tmp_path)
    before = indexed(url)
    for _ in range(2):
        migration.upgrade(url)
        assert ["reservation_id", "compute_host_id"] in indexed(url)["computehost_allocations"]
        migration.downgrade(url, "base")
        assert indexed(url) == before


def test_upgrade_to_single_revisions(url: str, tmp_path: pathlib.Path):
    databases.blazar_upgrade(url, tmp_path)
    migration.upgrade(url, "0001")
    assert migration.revision_of(url) == "0001"
    migration.upgrade(url, "+1")
    migration.downgrade(url, "-1")
    assert migration.revision_of(url) == "0001"
    with pytest.raises(migration.MigrationError):
        migration.upgrade(url, "nonesuch")


def test_upgrade_before_blazars_migrations_stops_and_can_go_on(
    url: str, tmp_path: pathlib.Path, manage
):
    first = manage("upgrade")
    assert (first.status, first.out) == (1, "")
    assert "blazar-db-manage" in first.err
    assert migration.revision_of(url) == "0001"
    assert tables(url) == {"warre_flavors", "warre_flavor_projects", migration.VERSION_TABLE}
    databases.blazar_upgrade(url, tmp_path)
    assert manage("upgrade").status == 0
    assert migration.revision_of(url) == migration.head()
    assert tables(url) == OURS | {migration.VERSION_TABLE}


def test_command_upgrades_downgrades_and_shows_revisions(url: str, tmp_path: pathlib.Path, manage):
    databases.blazar_upgrade(url, tmp_path)
    assert manage("current") == Said(0, "", "")
    assert manage("upgrade", "0001").status == 0
    assert manage("current").out.strip() == "0001"
    assert manage("upgrade").status == 0
    assert manage("current").out.strip() == f"{migration.head()} (head)"
    history = manage("history").out
    assert all(f"-> {revision}" in history for revision in ("0001", "0002"))
    assert manage("downgrade", "base").status == 0
    unknown = manage("upgrade", "nonesuch")
    assert (unknown.status, "nonesuch" in unknown.err) == (1, True)


def test_command_without_a_database_fails_with_a_message(tmp_path: pathlib.Path, capfd):
    dead = databases.write_config("mysql+pymysql://nobody@127.0.0.1:1/none", tmp_path)
    empty = tmp_path / "empty.conf"
    empty.write_text("")
    for config, said in ((dead, "refused"), (empty, "connection is not set")):
        assert manage_main(["--config-file", str(config), "db", "upgrade"]) == 1
        assert said in capfd.readouterr().err


def test_migrated_tables_match_the_models(url: str, tmp_path: pathlib.Path):
    databases.blazar_upgrade(url, tmp_path)
    migration.upgrade(url)
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        context = alembic.migration.MigrationContext.configure(
            connection, opts={"include_object": is_ours, "compare_type": True}
        )
        assert alembic.autogenerate.compare_metadata(context, models.metadata) == []


def is_ours(thing: object, name: str | None, kind: str, *rest: object) -> bool:
    return kind != "table" or name in OURS


def test_flavor_name_has_a_binary_collation(url: str, tmp_path: pathlib.Path):
    databases.blazar_upgrade(url, tmp_path)
    migration.upgrade(url)
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    columns = {c["name"]: c["type"] for c in sa.inspect(engine).get_columns("warre_flavors")}
    assert columns["name"].collation == "utf8mb4_bin"


def test_missing_server_fails_and_says_what_to_do(monkeypatch, tmp_path: pathlib.Path):
    monkeypatch.delenv("WARRE_TEST_MARIADB_URL")
    with pytest.raises(databases.NoServer, match="tools/test"), databases.made("mariadb", tmp_path):
        pass


def test_names_that_several_flavors_have_are_in_the_way_back(url, tmp_path, manage):
    databases.blazar_upgrade(url, tmp_path)
    migration.upgrade(url)
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        for flavor_id in ("f1", "f2"):
            connection.execute(models.flavors.insert().values(**_flavor(flavor_id)))
    refused = manage("downgrade", "0009")
    assert (refused.status, "gpu" in refused.err) == (1, True)
    with engine.begin() as connection:
        connection.execute(
            models.flavors.update().where(models.flavors.c.id == "f2"), {"name": "b"}
        )
    assert manage("downgrade", "0009").status == 0


def test_leases_that_mix_resource_types_are_in_the_way(url, tmp_path, manage):
    databases.blazar_upgrade(url, tmp_path)
    migration.upgrade(url, "0016")
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        _add_lease(connection, "over", "TERMINATED", "flavor:slot", "physical:host")
        _add_lease(connection, "ours", "ACTIVE", "flavor:slot", "flavor:slot")
        _add_lease(connection, "stock", "ACTIVE", "virtual:instance", "physical:host")
        _add_lease(connection, "mixed", "ACTIVE", "flavor:slot", "physical:host")
    refused = manage("upgrade")
    assert refused.status == 1
    assert "other types, which this release doesn't support: mixed. Wait" in refused.err
    assert migration.revision_of(url) == "0016"
    with engine.begin() as connection:
        over = leases.c.id == "mixed"
        connection.execute(leases.update().where(over), {"status": "TERMINATED"})
    assert manage("upgrade").status == 0


def _add_lease(connection: sa.Connection, lease_id: str, status: str, *types: str) -> None:
    when = datetime.datetime(2026, 1, 1)
    values = {"user_id": "u", "project_id": "p", "start_date": when, "end_date": when}
    connection.execute(
        leases.insert(), {"id": lease_id, "name": lease_id, "status": status, **values}
    )
    rows = [
        {"id": f"{lease_id}{n}", "lease_id": lease_id, "resource_type": t, "status": "active"}
        for n, t in enumerate(types)
    ]
    connection.execute(reservations.insert(), rows)


def _flavor(flavor_id: str) -> dict[str, object]:
    return {
        "id": flavor_id,
        "name": "gpu",
        **dict.fromkeys(("vcpu", "memory_mb", "disk_gb", "slots", "max_length_hours"), 1),
        **{"ephemeral_gb": 0, "extra_specs": {}, "is_public": True, "active": True},
        **{"generation": 0, "deleted": "", "created_at": datetime.datetime(2026, 1, 1)},
    }
