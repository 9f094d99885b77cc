"""Creates, fills, empties and dumps databases for tests."""

import contextlib
import os
import pathlib
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from unittest import mock

import alembic.autogenerate
import alembic.migration
import sqlalchemy as sa
from blazar.db import api as db_api
from blazar.db.sqlalchemy import facade_wrapper
from oslo_db.sqlalchemy import engines
from sqlalchemy import pool

from warre_blazar.db import migration, session, tables

#: All tables. Those that others refer to come first.
TABLES = tables.metadata.sorted_tables
OURS = {table.name for table in filter(tables.is_ours, TABLES)}
#: Reads the names of the tables that have rows.
_FILLED = " UNION ALL ".join(
    f"SELECT '{table.name}' WHERE EXISTS (SELECT 1 FROM {table.name})" for table in TABLES
)
KINDS = ("sqlite", "mariadb", "postgresql")

_SERVER = {"mariadb": "WARRE_TEST_MARIADB_URL", "postgresql": "WARRE_TEST_POSTGRESQL_URL"}
# The command "blazar-db-manage", for environments without its script on the path.
_BLAZAR_DB_MANAGE = "from blazar.db.migration.cli import main; main()"


class NoServer(Exception):
    """No database server is configured for these tests."""


@contextlib.contextmanager
def made(kind: str, directory: pathlib.Path, charset: str = "utf8mb3") -> Iterator[str]:
    """The URL of a new database without tables.

    :param charset: for MariaDB. The default is the character set of Blazar's installation guide.
    """
    if kind == "sqlite":
        # On a busy machine, many threads wait for the file longer than the usual five seconds.
        yield f"sqlite:///{directory / uuid.uuid4().hex}.sqlite?timeout=60"
        return
    server = sa.make_url(_server(kind))
    name = f"warre_test_{uuid.uuid4().hex[:12]}"
    options = f" CHARACTER SET {charset}" if kind == "mariadb" else ""
    _run(server, f"CREATE DATABASE {name}{options}")
    try:
        yield server.set(database=name).render_as_string(hide_password=False)
    finally:
        _run(server, f"DROP DATABASE {name}")


def _server(kind: str) -> str:
    variable = _SERVER[kind]
    if variable not in os.environ:
        raise NoServer(
            f"{variable} is not set: run these tests by 'tools/test db', which starts the servers, "
            "or set it to the URL of one where databases may be created"
        )
    return os.environ[variable]


def _run(url: sa.URL, statement: str) -> None:
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.execute(sa.text(statement))


def fill(kind: str, url: str, directory: pathlib.Path) -> None:
    """Create all tables, Blazar's and ours; by the migrations if Blazar's run on this database."""
    if kind == "mariadb":
        blazar_upgrade(url, directory)
        migration.upgrade(url)
        return
    engine = sa.create_engine(url)
    tables.metadata.create_all(engine)
    engine.dispose()


@contextlib.contextmanager
def connected() -> Iterator[sa.Engine]:
    """Blazar's engine on the configured database, which keeps its connections open.

    oslo.db opens a new connection of SQLite for each transaction. It also yields to other threads
    after each transaction. Both take longer than most transactions of these tests.
    """
    with mock.patch.object(engines.pool, "NullPool", pool.QueuePool), session.writer() as db:
        engine: sa.Engine = db.get_bind()
    sa.event.remove(engine, "checkin", engines._thread_yield)
    try:
        yield engine
    finally:
        engine.dispose()
        facade_wrapper._clear_engine()


def blazar_upgrade(url: str, directory: pathlib.Path) -> None:
    """Run ``blazar-db-manage upgrade head``."""
    config = write_config(url, directory)
    subprocess.run(
        [sys.executable, "-c", _BLAZAR_DB_MANAGE, "--config-file", config, "upgrade", "head"],
        check=True,
        capture_output=True,
    )


def write_config(url: str, directory: pathlib.Path) -> str:
    """Write a configuration file that names the database."""
    path = directory / f"{uuid.uuid4().hex}.conf"
    path.write_text(f"[database]\nconnection = {url.replace('%', '%%')}\n")
    return str(path)


def filled(connection: sa.Connection) -> list[sa.Table]:
    """The tables that have rows. Those that others refer to come first."""
    names = set(connection.exec_driver_sql(_FILLED).scalars())
    return [table for table in TABLES if table.name in names]


def empty(engine: sa.Engine) -> None:
    """Delete all rows of all tables."""
    with engine.begin() as connection:
        for table in reversed(filled(connection)):
            connection.execute(table.delete())


def delete_leases() -> None:
    """Delete all leases in the way in which Blazar deletes them."""
    for lease in db_api.lease_list():
        db_api.lease_destroy(lease["id"])


def dump_live(engine: sa.Engine) -> dict[str, list[tuple[Any, ...]]]:
    """What ``dump`` returns, without past reservations."""
    rows = dump(engine)
    live_id = tables.bookings.c.keys().index("live_id")
    live = [row for row in rows.pop(tables.bookings.name, ()) if row[live_id] is not None]
    return rows | ({tables.bookings.name: live} if live else {})


def dump(engine: sa.Engine) -> dict[str, list[tuple[Any, ...]]]:
    """All rows by table, in an order that doesn't depend on the database, without empty tables."""
    with engine.connect() as connection:
        return {
            table.name: sorted(
                (tuple(row) for row in connection.execute(sa.select(table))), key=repr
            )
            for table in filled(connection)
        }


def put_back(engine: sa.Engine, rows: Mapping[str, Sequence[tuple[Any, ...]]]) -> None:
    """Write rows by table, as ``dump`` returns them, into empty tables."""
    with engine.begin() as connection:
        for table in TABLES:
            if found := rows.get(table.name):
                keys = table.c.keys()
                values = [dict(zip(keys, row, strict=True)) for row in found]
                connection.execute(table.insert(), values)


def differences(url: str) -> list[object]:
    """The differences between the tables and the models."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        context = alembic.migration.MigrationContext.configure(
            connection, opts={"include_object": _is_ours, "compare_type": True}
        )
        return list(alembic.autogenerate.compare_metadata(context, tables.metadata))


def _is_ours(thing: object, name: str | None, kind: str, *rest: object) -> bool:
    return kind != "table" or name in OURS
