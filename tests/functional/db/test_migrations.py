"""Our migrations on MariaDB, before and after Blazar's migrations, in each character set."""

import contextlib
import dataclasses
import datetime
import functools
import io
import itertools
import pathlib
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from tests.fakes.cloud import Cloud
from tests.functional.db import databases
from warre_blazar.cmd.manage import main as manage_main
from warre_blazar.db import migration, models
from warre_blazar.db import tables as all_tables
from warre_blazar.domain.running.backing import Phase


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
def manage_db(tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]):
    """A function that runs ``warre-blazar-manage db`` on the database with a URL."""

    def run(url: str, *words: str) -> Said:
        config = databases.write_config(url, tmp_path)
        capfd.readouterr()
        status = manage_main(["--config-file", config, "db", *words])
        return Said(status, *capfd.readouterr())

    return run


@pytest.fixture
def manage(url: str, manage_db):
    """A function that runs ``warre-blazar-manage db`` on the database."""
    return functools.partial(manage_db, url)


def test_upgrade_and_downgrade_can_be_repeated(url: str, tmp_path: pathlib.Path):
    databases.blazar_upgrade(url, tmp_path)
    for _ in range(2):
        migration.upgrade(url)
        assert tables(url) == databases.OURS | {migration.VERSION_TABLE}
        assert migration.revision_of(url) == migration.head()
        migration.upgrade(url)
        migration.downgrade(url, "base")
        assert tables(url) == set()


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


def test_upgrade_that_was_interrupted_goes_on(url: str, tmp_path: pathlib.Path):
    databases.blazar_upgrade(url, tmp_path)
    for steps in (0, 1, 5, 14, 20):
        with interrupted(steps), pytest.raises(Interrupted):
            migration.upgrade(url)
        assert migration.revision_of(url) is None
    migration.upgrade(url)
    assert databases.differences(url) == []


@contextlib.contextmanager
def interrupted(steps: int) -> Iterator[None]:
    """Let the statement fail that comes after so many statements which make a table or an index.

    The table of the revision isn't counted.
    """
    left = itertools.count(steps, -1)

    def fail(db, cursor, statement: str, *_):
        is_ours = statement.split()[:1] == ["CREATE"] and migration.VERSION_TABLE not in statement
        if is_ours and next(left) == 0:
            raise Interrupted

    sa.event.listen(sa.Engine, "before_cursor_execute", fail)
    try:
        yield
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", fail)


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
    assert manage("downgrade", "base", "--yes").status == 0
    assert tables(url) == set()
    unknown = manage("upgrade", "nonesuch")
    assert (unknown.status, "nonesuch" in unknown.err) == (1, True)


def test_setup_makes_the_tables_once(url: str, tmp_path: pathlib.Path, cloud: Cloud, capfd):
    config = databases.write_config(url, tmp_path)
    words = ["--config-file", str(config), "setup"]
    assert manage_main(words) == 1
    assert "blazar-db-manage" in capfd.readouterr().err
    databases.blazar_upgrade(url, tmp_path)
    cloud.keystone.registered = {}
    told = [f"Tables: {how} revision {migration.head()}\n" for how in ("made at", "at the newest")]
    for said in told:
        capfd.readouterr()
        assert manage_main(words) == 0
        assert capfd.readouterr().out.startswith(said)
    assert databases.differences(url) == []
    assert cloud.keystone.registered == {"reservation": 10, "hours": 1000}


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


def described(url: str) -> dict[tuple[str, ...], str]:
    """What each table, column and index of this package is."""
    inspector = sa.inspect(sa.create_engine(url, poolclass=sa.NullPool))
    found: dict[tuple[str, ...], str] = {}
    for table in tables(url) - {migration.VERSION_TABLE}:
        found[table,] = repr(inspector.get_pk_constraint(table))
        found |= {(table, i["name"]): repr(i) for i in inspector.get_indexes(table)}
        found |= {(table, c["name"], "column"): repr(c) for c in inspector.get_columns(table)}
    return found


def is_harmless(url: str, table: str, name: str) -> bool:
    """Whether a release that doesn't know a column of a table can still add rows."""
    inspector = sa.inspect(sa.create_engine(url, poolclass=sa.NullPool))
    (column,) = (c for c in inspector.get_columns(table) if c["name"] == name)
    return column["nullable"] or column["default"] is not None


def test_migrations_after_the_first_release_only_add(url: str, tmp_path: pathlib.Path):
    databases.blazar_upgrade(url, tmp_path)
    migration.upgrade(url, "0001")
    before = described(url)
    assert ("warre_flavors", "name", "column") in before
    migration.upgrade(url)
    after = described(url)
    assert {key: after.get(key) for key in before} == before
    added = [key for key in after.keys() - before.keys() if key[2:] and key[:1] in before]
    assert [key for key in added if not is_harmless(url, *key[:2])] == []


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


NOW = datetime.datetime(2100, 1, 1)
ID = "00000000-0000-0000-0000-000000000001"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A database with all tables, which each test leaves empty."""
    directory = tmp_path_factory.mktemp("filled")
    with databases.made("mariadb", directory) as url:
        databases.fill("mariadb", url, directory)
        yield url


@pytest.fixture
def engine(filled: str) -> Iterator[sa.Engine]:
    engine = sa.create_engine(filled, poolclass=sa.NullPool)
    yield engine
    databases.empty(engine)


def add(engine: sa.Engine, table: sa.Table, **values: Any) -> None:
    """Add a row. Columns that must have a value get one that nothing depends on."""
    usual = {datetime.datetime: NOW, str: ID, int: 1, bool: False}
    needed = {
        column.name: usual[column.type.python_type]
        for column in table.c
        if not (column.nullable or column.autoincrement is True or column.name in values)
    }
    with engine.begin() as db:
        db.execute(table.insert().values({**needed, **values}))


def add_lease(engine: sa.Engine, status: str | None, resource_type: str = "flavor:slot") -> None:
    add(engine, all_tables.leases, status=status, end_date=NOW)
    add(engine, all_tables.reservations, lease_id=ID, resource_type=resource_type)


def add_wait(engine: sa.Engine, state: str) -> None:
    add(engine, models.waits, state=state, mode="book")


def add_series(engine: sa.Engine, status: str) -> None:
    add(engine, models.flavors, properties="", extra_specs="{}")
    add(engine, models.series, status=status)


IN_USE = {
    **{
        f"lease {status}": (lambda db, s=status: add_lease(db, s), "reservations: 1")
        for status in (None, "CREATING", "PENDING", "ACTIVE", "UPDATING", "DELETING", "ERROR")
    },
    "backing": (
        lambda db: add(db, models.backings, phase=Phase.CLOSING),
        "reservations that have something in Nova or Placement: 1",
    ),
    "wait": (lambda db: add_wait(db, "WAITING"), "waits: 1"),
    "series": (lambda db: add_series(db, "booked"), "series: 1"),
}
UNUSED = {
    "nothing": lambda db: None,
    "lease that is over": lambda db: add_lease(db, "TERMINATED"),
    "stock lease": lambda db: add_lease(db, "ACTIVE", "physical:host"),
    "planned backing": lambda db: add(db, models.backings, phase=Phase.PLANNED),
    "wait that is over": lambda db: add_wait(db, "EXPIRED"),
    "series that has ended": lambda db: add_series(db, "ended"),
}


@pytest.mark.parametrize("name", IN_USE)
def test_tables_in_use_are_not_dropped(engine: sa.Engine, filled: str, name: str):
    fill, said = IN_USE[name]
    fill(engine)
    with pytest.raises(migration.MigrationError) as refused:
        migration.check_unused(filled, "base")
    assert f"({said})" in str(refused.value)
    assert "--with-reservations" in str(refused.value)


@pytest.mark.parametrize("name", UNUSED)
def test_what_is_over_may_be_dropped(engine: sa.Engine, filled: str, name: str):
    UNUSED[name](engine)
    migration.check_unused(filled, "base")


def test_tables_that_an_interrupted_downgrade_has_dropped_are_not_in_use():
    engine = sa.create_engine("sqlite://")
    all_tables.metadata.create_all(engine, [all_tables.leases, all_tables.reservations])
    with engine.connect() as db:
        assert migration.unfinished(db) == {}


@pytest.mark.parametrize("revision", ["nonesuch", "+1"])
def test_downgrade_to_what_is_no_older_revision_is_refused(filled: str, revision: str):
    with pytest.raises(migration.MigrationError):
        migration.check_unused(filled, revision)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch):
    """A function that sets what an operator types. It returns what is shown to the operator."""

    def type_in(text: str) -> Terminal:
        shown = Terminal()
        monkeypatch.setattr(sys, "stdin", Terminal(text))
        monkeypatch.setattr(sys, "stderr", shown)
        return shown

    return type_in


def test_command_needs_a_terminal_or_a_yes(filled: str, manage_db):
    unasked = manage_db(filled, "downgrade", "base")
    assert (unasked.status, "needs --yes" in unasked.err) == (1, True)
    assert migration.revision_of(filled) == migration.head()


@pytest.mark.parametrize("text", ["n\n", "\n", ""])
def test_operator_can_keep_the_tables(filled: str, manage_db, answer, text: str):
    shown = answer(text)
    assert manage_db(filled, "downgrade", "base").status == 1
    assert "[y/N]" in shown.getvalue()
    assert migration.revision_of(filled) == migration.head()


def test_yes_does_not_drop_tables_in_use(engine: sa.Engine, filled: str, manage_db):
    add_lease(engine, "ACTIVE")
    refused = manage_db(filled, "downgrade", "base", "--yes")
    assert (refused.status, "reservations: 1" in refused.err) == (1, True)
    assert migration.revision_of(filled) == migration.head()


def test_tables_in_use_are_dropped_with_reservations(tmp_path: pathlib.Path, manage_db, answer):
    with databases.made("mariadb", tmp_path) as url:
        databases.fill("mariadb", url, tmp_path)
        add_lease(sa.create_engine(url, poolclass=sa.NullPool), "ACTIVE")
        answer("y\n")
        assert manage_db(url, "downgrade", "base", "--with-reservations").status == 0
        assert tables(url) == set()


@pytest.mark.parametrize(
    ("names", "revision", "is_missing"),
    [
        (set(), None, True),
        ({"warre_flavors"}, None, True),
        ({"warre_flavors"}, "0001", False),
        (databases.OURS, None, False),
        (databases.OURS, migration.head(), False),
    ],
    ids=["none", "interrupted upgrade", "older release", "made without migrations", "all"],
)
def test_missing_tables_are_noticed(
    tmp_path: pathlib.Path, names: set[str], revision: str | None, is_missing: bool
):
    url = f"sqlite:///{tmp_path / 'blazar.sqlite'}"
    engine = sa.create_engine(url)
    all_tables.metadata.create_all(engine, [all_tables.metadata.tables[name] for name in names])
    with engine.begin() as db:
        db.execute(sa.text(f"CREATE TABLE {migration.VERSION_TABLE} (version_num VARCHAR(32))"))
        if revision:
            db.execute(sa.text(f"INSERT INTO {migration.VERSION_TABLE} VALUES ('{revision}')"))
    expected = pytest.raises(migration.MigrationError, match="manage setup")
    with expected if is_missing else contextlib.nullcontext():
        migration.require(url)


def test_tables_of_a_database_that_is_away_are_not_missing(tmp_path: pathlib.Path):
    migration.require(f"sqlite:///{tmp_path / 'nowhere' / 'blazar.sqlite'}")
