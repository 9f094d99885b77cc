"""Tables that a newer version has upgraded: within a series, this version works with them."""

import contextlib
import datetime
import pathlib
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import alembic.script
import pytest
import sqlalchemy as sa

from tests.functional.db import additions, databases
from warre_blazar.cmd.manage import main as manage
from warre_blazar.db import migration, tables

SERIES = migration.head()[:2]
NEWER, NEXT_SERIES, OLDER = f"{SERIES}99", f"{int(SERIES) + 1:02}01", "0000"

NOW = datetime.datetime(2100, 1, 1)
MIGRATION = """
import sqlalchemy as sa
from alembic import op

revision = "{revision}"
down_revision = "{before}"


def upgrade():
    op.create_table("warre_added_{revision}", sa.Column("id", sa.Integer, primary_key=True))


def downgrade():
    op.drop_table("warre_added_{revision}")
"""


@pytest.fixture
def url(tmp_path: pathlib.Path) -> str:
    """A database with tables of leases and reservations, and no revision."""
    url = f"sqlite:///{tmp_path / 'blazar.sqlite'}"
    tables.metadata.create_all(sa.create_engine(url), [tables.leases, tables.reservations])
    return url


def mark(url: str, revision: str) -> None:
    """Write a revision, as the migrations do."""
    with sa.create_engine(url).begin() as db:
        version = migration.VERSION_TABLE
        db.execute(sa.text(f"CREATE TABLE {version} (version_num VARCHAR(32))"))
        db.execute(sa.text(f"INSERT INTO {version} VALUES ('{revision}')"))


def insert(db: sa.Connection, table: sa.Table, **values: Any) -> None:
    """Insert a row. Other columns that must have a value get an empty one."""
    needed = [c for c in table.columns if not (c.nullable or c.default or c.name in values)]
    db.execute(table.insert().values(**{c.name: c.type.python_type() for c in needed}, **values))


@pytest.fixture
def newer(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    """A function that installs a version with two more migrations while its block runs."""
    directory = tmp_path / "migrations"
    shutil.copytree(migration.MIGRATIONS, directory)
    before = migration.head()
    for revision in (NEWER, NEXT_SERIES):
        text = MIGRATION.format(revision=revision, before=before)
        (directory / "versions" / f"{revision}_added.py").write_text(text)
        before = revision

    @contextlib.contextmanager
    def installed() -> Iterator[None]:
        with monkeypatch.context() as patch:
            patch.setattr(migration, "MIGRATIONS", directory)
            yield

    return installed


def command(url: str, tmp_path: pathlib.Path, *words: str) -> int:
    return manage(["--config-file", databases.write_config(url, tmp_path), "db", *words])


def test_older_version_goes_on_with_tables_of_its_series(
    url: str, tmp_path: pathlib.Path, newer: Callable, capsys: pytest.CaptureFixture[str]
):
    mark(url, migration.head())
    with newer():
        migration.upgrade(url, NEWER)
    migration.check(url)
    of_upgrade = f"Tables: at revision {NEWER}\n"
    for words, said in ((("current",), f"{NEWER}\n"), (("upgrade",), of_upgrade)):
        assert command(url, tmp_path, *words) == 0
        assert capsys.readouterr().out == said
    assert migration.revision_of(url) == NEWER


@pytest.mark.parametrize(
    ("revision", "advice"),
    [
        (NEXT_SERIES, f"warre-blazar-manage db downgrade {migration.head()}"),
        (OLDER, "Run warre-blazar-manage db upgrade"),
        ("of a fork", "Install the version that has upgraded the tables"),
    ],
)
def test_tables_that_do_not_fit_are_refused(url: str, revision: str, advice: str):
    mark(url, revision)
    with pytest.raises(migration.MigrationError, match=f"at revision {revision}, and.*{advice}"):
        migration.check(url)


@pytest.mark.parametrize("words", [("upgrade", "0001"), ("downgrade", "0001", "--yes")])
def test_only_the_newer_version_goes_back(
    url: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
):
    mark(url, NEWER)
    assert command(url, tmp_path, *words) == 1
    assert "Run this command with the version that has upgraded" in capsys.readouterr().err
    assert migration.revision_of(url) == NEWER


def test_what_was_added_goes_while_reservations_stay(
    url: str, tmp_path: pathlib.Path, newer: Callable
):
    engine, before = sa.create_engine(url), migration.head()
    mark(url, before)
    with engine.begin() as db:
        insert(db, tables.leases, id="1", status="ACTIVE", start_date=NOW, end_date=NOW)
        insert(db, tables.reservations, id="2", lease_id="1", resource_type="flavor:slot")
    with newer():
        migration.upgrade(url)
        assert command(url, tmp_path, "downgrade", NEWER, "--yes") == 1
        assert command(url, tmp_path, "downgrade", NEWER, "--yes", "--with-reservations") == 0
        assert command(url, tmp_path, "downgrade", before, "--yes") == 0
    assert migration.revision_of(url) == before
    assert f"warre_added_{NEWER}" not in sa.inspect(engine).get_table_names()


BEFORE = """
CREATE TABLE old (id INTEGER PRIMARY KEY, name VARCHAR(10) NOT NULL, note VARCHAR(10))
"""
REFERRING = "CREATE TABLE new (id INTEGER, FOREIGN KEY (id) REFERENCES old (id)"
HARMLESS = {
    "column": "ALTER TABLE old ADD COLUMN mark INTEGER",
    "column with a default": "ALTER TABLE old ADD COLUMN mark INTEGER NOT NULL DEFAULT 0",
    "index": "CREATE INDEX ix_old ON old (name)",
    "table": f"{REFERRING} ON DELETE CASCADE)",
}
HINDERING = {
    "renamed column": "ALTER TABLE old RENAME COLUMN note TO other",
    "dropped column": "ALTER TABLE old DROP COLUMN note",
    "dropped table": "DROP TABLE old",
    "unique index": "CREATE UNIQUE INDEX ix_old ON old (name)",
    "table that keeps rows": f"{REFERRING})",
}


@pytest.mark.parametrize("name", [*HARMLESS, *HINDERING])
def test_hindrances_are_found(name: str):
    engine = sa.create_engine("sqlite://")
    with engine.begin() as db:
        db.execute(sa.text(BEFORE))
        before = reflected(db)
        db.execute(sa.text({**HARMLESS, **HINDERING}[name]))
        assert bool(additions.hindrances(before, reflected(db))) == (name in HINDERING)


def reflected(db: sa.Connection) -> sa.MetaData:
    found = sa.MetaData()
    found.reflect(db)
    return found


def test_migrations_of_a_series_only_add(tmp_path: pathlib.Path):
    """Anything else needs a revision whose first two digits are the next ones."""
    directory = alembic.script.ScriptDirectory(str(migration.MIGRATIONS))
    scripts = list(directory.walk_revisions())[::-1]
    with databases.made("mariadb", tmp_path) as url:
        databases.blazar_upgrade(url, tmp_path)
        engine = sa.create_engine(url, poolclass=sa.NullPool)
        for script in scripts:
            with engine.connect() as db:
                before = reflected(db)
            migration.upgrade(url, script.revision)
            with engine.connect() as db:
                found = additions.hindrances(before, reflected(db))
            assert str(script.down_revision)[:2] != script.revision[:2] or not found, found
