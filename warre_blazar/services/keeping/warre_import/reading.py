"""Reads Warre's database: the columns that an import needs, some hundreds of rows at a time."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc as sa_exc

from warre_blazar.domain import reservation_states

Row = Mapping[str, Any]

#: The text columns that are read from each table, the id first. They are read as bytes, so that a
#: text that isn't UTF-8 affects only its own row.
_TEXTS = {
    "flavor": (
        *("id", "name", "description", "properties", "extra_specs", "category"),
        "availability_zone",
    ),
    "flavor_project": ("id", "project_id", "flavor_id"),
    "maintenance_window": ("id", "note"),
    "maintenance_window_flavor": ("maintenance_window_id", "flavor_id"),
    "reservation": (
        *("id", "user_id", "project_id", "flavor_id", "lease_id", "status", "status_reason"),
        "compute_flavor",
    ),
}
#: The other columns that are read from each table.
_OTHERS = {
    "flavor": (
        *("vcpu", "memory_mb", "disk_gb", "ephemeral_gb", "slots", "max_length_hours", "active"),
        *("is_public", "start", "end"),
    ),
    "flavor_project": (),
    "maintenance_window": ("start", "end"),
    "maintenance_window_flavor": (),
    "reservation": ("start", "end", "instance_count", "created_at"),
}

#: The number of rows that are read at a time.
PART = 500
#: How long to wait for a connection, in seconds.
_CONNECT_TIMEOUT = 10


class Unreadable(Exception):
    """The database can't be read, or isn't Warre's. The error's text says why and what to do."""


class Source:
    """Reads the tables of a Warre database through an open connection."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def rows(self, table: str) -> Iterator[Sequence[Row]]:
        """All rows of a table, ordered by id, in lists of at most ``PART`` rows."""
        for part in self._read(table).mappings().partitions(PART):
            yield [dict(row) for row in part]

    def window_flavors(self) -> list[Row]:
        """Rows with the id of a maintenance window and the id of a flavor that it closes."""
        return [dict(row) for row in self._read("maintenance_window_flavor").mappings()]

    def _read(self, table: str) -> sa.CursorResult[Any]:
        quote = self._connection.dialect.identifier_preparer.quote_identifier
        texts = [f"CAST({quote(c)} AS BINARY) AS {quote(c)}" for c in _TEXTS[table]]
        columns = ", ".join([*texts, *map(quote, _OTHERS[table])])
        order = quote(_TEXTS[table][0])
        # Only names from this module go into the statement.
        query = sa.text(f"SELECT {columns} FROM {quote(table)} ORDER BY {order}")  # noqa: S608
        return self._connection.execution_options(stream_results=True).execute(query)

    def shared_leases(self) -> frozenset[str]:
        """The ids of leases that are named in more than one live reservation of Warre's."""
        query = sa.text(
            "SELECT lease_id FROM reservation WHERE lease_id IS NOT NULL AND status IN :live "
            "GROUP BY lease_id HAVING COUNT(*) > 1"
        ).bindparams(sa.bindparam("live", list(reservation_states.LIVE), expanding=True))
        return frozenset(self._connection.scalars(query))


@contextlib.contextmanager
def opened(url: str) -> Iterator[Source]:
    """Open a Warre database, and check that it has the tables and columns of Warre 5.2.

    :param url: SQLAlchemy's URL of a MariaDB or MySQL database.
    :raises Unreadable: the URL can't be used, the database can't be reached, or tables or columns
        are missing.
    """
    engine = _engine(url)
    try:
        with engine.connect() as connection:
            _check_tables(connection)
            yield Source(connection)
    except (sa_exc.OperationalError, sa_exc.ProgrammingError, sa_exc.InterfaceError) as error:
        why = str(error.orig).partition("\n")[0]
        raise Unreadable(f"Warre's database can't be read: {why}; check --connection") from error
    finally:
        engine.dispose()


def _engine(url: str) -> sa.Engine:
    try:
        parsed = sa.make_url(url)
        if parsed.get_backend_name() not in ("mysql", "mariadb"):
            raise Unreadable(
                "Warre's database has to be MariaDB or MySQL: give --connection a URL such as "
                "mysql+pymysql://USER:PASSWORD@HOST/warre"
            )
        return sa.create_engine(
            parsed, poolclass=sa.NullPool, connect_args={"connect_timeout": _CONNECT_TIMEOUT}
        )
    except (sa_exc.ArgumentError, ImportError) as error:
        why = str(error).partition("\n")[0]
        raise Unreadable(f"--connection can't be used: {why}") from error


def _check_tables(connection: sa.Connection) -> None:
    inspector = sa.inspect(connection)
    present = set(inspector.get_table_names())
    wanted = set(_TEXTS)
    if not wanted & present:
        raise Unreadable("That database is no Warre's: it has none of Warre's tables")
    missing = sorted(wanted - present)
    for table in sorted(wanted & present):
        columns = {column["name"] for column in inspector.get_columns(table)}
        absent = {*_TEXTS[table], *_OTHERS[table]} - columns
        missing += [f"{table}.{name}" for name in sorted(absent)]
    if missing:
        raise Unreadable(
            f"That Warre isn't of version 5.2: its database lacks {', '.join(missing)}. Upgrade it "
            "first (warre-manage db upgrade), then import"
        )
