"""Reads Warre's database: the columns that an import needs, some hundreds of rows at a time."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc as sa_exc

from warre_blazar import times
from warre_blazar.domain.booking import reservation_states

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

#: The character sets of columns whose bytes are read as they are. None: the column has no character
#: set. The texts of all other columns are converted to UTF-8.
_UTF8 = {None, "utf8", "utf8mb3", "utf8mb4"}

#: The number of rows that are read at a time.
PART = 500


class Unreadable(Exception):
    """The database can't be read, or isn't Warre's. The error's text says why and what to do."""


#: By table and column, the character set of the column. None: the column has no character set.
_Columns = Mapping[str, Mapping[str, str | None]]


class Source:
    """Reads the tables of a Warre database through an open connection.

    :raises Unreadable: in each method, if the database fails.
    """

    def __init__(self, connection: sa.Connection) -> None:
        """Check that the database has the tables and columns of Warre 5.2."""
        self._connection = connection
        self._quote = connection.dialect.identifier_preparer.quote_identifier
        with _asking():
            self._columns = _columns(connection)
        _check_tables(self._columns)

    def rows(self, table: str) -> Iterator[Sequence[Row]]:
        """All rows of a table, ordered by id, in lists of at most ``PART`` rows."""
        with _asking():
            for part in self._read(table).mappings().partitions(PART):
                yield [dict(row) for row in part]

    def window_flavors(self) -> list[Row]:
        """Rows with the id of a maintenance window and the id of a flavor that it closes."""
        with _asking():
            return [dict(row) for row in self._read("maintenance_window_flavor").mappings()]

    def _read(self, table: str) -> sa.CursorResult[Any]:
        texts = [self._as_bytes(table, column) for column in _TEXTS[table]]
        columns = ", ".join([*texts, *map(self._quote, _OTHERS[table])])
        order = self._quote(_TEXTS[table][0])
        # Only names from this module go into the statement.
        query = sa.text(f"SELECT {columns} FROM {self._quote(table)} ORDER BY {order}")  # noqa: S608
        return self._connection.execution_options(stream_results=True).execute(query)

    def _as_bytes(self, table: str, column: str) -> str:
        """SQL for the value of a text column as bytes in UTF-8, under the column's name."""
        name = self._quote(column)
        is_utf8 = self._columns[table][column] in _UTF8
        value = name if is_utf8 else f"CONVERT({name} USING utf8mb4)"
        return f"CAST({value} AS BINARY) AS {name}"

    def shared_leases(self) -> frozenset[str]:
        """The ids of leases that are named in more than one live reservation of Warre's."""
        query = sa.text(
            "SELECT lease_id FROM reservation WHERE lease_id IS NOT NULL AND status IN :live "
            "GROUP BY lease_id HAVING COUNT(*) > 1"
        ).bindparams(sa.bindparam("live", list(reservation_states.LIVE), expanding=True))
        with _asking():
            return frozenset(self._connection.scalars(query))


@contextlib.contextmanager
def opened(url: str) -> Iterator[Source]:
    """Open a Warre database, and check that it has the tables and columns of Warre 5.2.

    :param url: SQLAlchemy's URL of a MariaDB or MySQL database.
    :raises Unreadable: the URL can't be used, the database can't be reached, or tables or columns
        are missing.
    """
    engine, connection = _connected(url)
    try:
        yield Source(connection)
    finally:
        connection.close()
        engine.dispose()


#: What SQLAlchemy and PyMySQL raise for a URL with a driver, an option or a value that they don't
#: know.
_URL_FAULTS = (
    *(sa_exc.SQLAlchemyError, ImportError, OSError),
    *(TypeError, ValueError, LookupError, AttributeError),
)


def _connected(url: str) -> tuple[sa.Engine, sa.Connection]:
    try:
        parsed = sa.make_url(url)
        _check_url(parsed)
        engine = sa.create_engine(
            parsed,
            poolclass=sa.NullPool,
            connect_args={"connect_timeout": times.WARRE_CONNECT_TIMEOUT},
        )
        with _asking():
            return engine, engine.connect()
    except _URL_FAULTS as error:
        why = str(error).partition("\n")[0]
        raise Unreadable(
            f"--connection can't be used: {why}; check its driver, and the options after the ?"
        ) from error


def _check_url(url: sa.URL) -> None:
    is_mysql = url.get_backend_name() in ("mysql", "mariadb")
    if is_mysql and url.database:
        return
    wrong = (
        "--connection names no database"
        if is_mysql
        else "Warre's database has to be MariaDB or MySQL"
    )
    raise Unreadable(
        f"{wrong}: give --connection a URL such as mysql+pymysql://USER:PASSWORD@HOST/warre"
    )


@contextlib.contextmanager
def _asking() -> Iterator[None]:
    """Turn the errors of Warre's database into ``Unreadable``.

    Blazar's database raises errors of the same classes. So this must enclose nothing but requests
    to Warre's database.
    """
    try:
        yield
    except sa_exc.DBAPIError as error:
        why = str(error.orig).partition("\n")[0]
        raise Unreadable(f"Warre's database can't be read: {why}; check --connection") from error


def _columns(connection: sa.Connection) -> _Columns:
    query = sa.text(
        "SELECT table_name, column_name, character_set_name FROM information_schema.columns "
        "WHERE table_schema = DATABASE()"
    )
    columns: dict[str, dict[str, str | None]] = {}
    for table, column, character_set in connection.execute(query):
        columns.setdefault(table, {})[column] = character_set
    return columns


def _check_tables(columns: _Columns) -> None:
    wanted, present = set(_TEXTS), set(columns)
    if not wanted & present:
        raise Unreadable("That database is no Warre's: it has none of Warre's tables")
    missing = sorted(wanted - present)
    for table in sorted(wanted & present):
        absent = {*_TEXTS[table], *_OTHERS[table]} - set(columns[table])
        missing += [f"{table}.{name}" for name in sorted(absent)]
    if missing:
        raise Unreadable(
            f"That Warre isn't of version 5.2: its database lacks {', '.join(missing)}. Upgrade it "
            "first (warre-manage db upgrade), then import"
        )
