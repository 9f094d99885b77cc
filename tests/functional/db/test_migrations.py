"""Our migrations on MariaDB, before and after Blazar's migrations, in each character set."""

import dataclasses
import itertools
import pathlib
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from alembic import op

from tests.functional.db import databases
from warre_blazar.cmd.manage import main as manage_main
from warre_blazar.db import migration


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
        assert tables(url) == databases.OURS | {migration.VERSION_TABLE}
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
        for table in set(inspector.get_table_names()) - databases.OURS - {migration.VERSION_TABLE}
    }


def test_downgrade_restores_blazars_indexes(url: str, tmp_path: pathlib.Path):
    databases.blazar_upgrade(url, tmp_path)
    before = indexed(url)
    for _ in range(2):
        migration.upgrade(url)
        assert ["reservation_id", "compute_host_id"] in indexed(url)["computehost_allocations"]
        migration.downgrade(url, "base")
        assert indexed(url) == before


class Interrupted(Exception):
    pass


def test_upgrade_that_was_interrupted_goes_on(
    url: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
):
    databases.blazar_upgrade(url, tmp_path)
    for steps in (0, 1, 5, 14, 20):
        with monkeypatch.context() as patched, pytest.raises(Interrupted):
            interrupt(patched, steps)
            migration.upgrade(url)
        assert migration.revision_of(url) is None
    migration.upgrade(url)
    assert databases.differences(url) == []


def interrupt(patched: pytest.MonkeyPatch, steps: int) -> None:
    """Let a migration fail after so many tables and indexes."""
    left = itertools.count(steps, -1)

    def interrupted(act):
        def perform(*args, **kwargs):
            if next(left) == 0:
                raise Interrupted
            return act(*args, **kwargs)

        return perform

    for name in ("create_table", "create_index"):
        patched.setattr(op, name, interrupted(getattr(op, name)))


def test_unknown_revision_is_refused(url: str, tmp_path: pathlib.Path):
    databases.blazar_upgrade(url, tmp_path)
    with pytest.raises(migration.MigrationError, match="nonesuch"):
        migration.upgrade(url, "nonesuch")


def test_upgrade_before_blazars_migrations_is_refused(url: str, tmp_path: pathlib.Path, manage):
    refused = manage("upgrade")
    assert (refused.status, refused.out) == (1, "")
    assert "blazar-db-manage" in refused.err
    assert migration.revision_of(url) is None
    assert tables(url) <= {migration.VERSION_TABLE}
    databases.blazar_upgrade(url, tmp_path)
    assert manage("upgrade").status == 0
    assert tables(url) == databases.OURS | {migration.VERSION_TABLE}


def test_command_upgrades_downgrades_and_shows_revisions(url: str, tmp_path: pathlib.Path, manage):
    databases.blazar_upgrade(url, tmp_path)
    assert manage("current") == Said(0, "", "")
    assert manage("upgrade").status == 0
    assert manage("current").out.strip() == f"{migration.head()} (head)"
    assert "-> 0001" in manage("history").out
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
    assert databases.differences(url) == []


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
