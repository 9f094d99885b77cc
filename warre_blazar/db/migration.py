"""Alembic migrations of this package's tables, which are in Blazar's database."""

import contextlib
import dataclasses
import pathlib
import sys
from collections.abc import Iterator
from typing import Any

import alembic.command
import alembic.config
import alembic.script
import sqlalchemy as sa
from alembic import util as alembic_util
from oslo_log import log as logging

from warre_blazar.db import tables
from warre_blazar.db.tables import backings, leases, reservations, series, waits
from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE
from warre_blazar.domain.running.backing import Phase
from warre_blazar.domain.running.lease_states import TERMINATED
from warre_blazar.domain.series.series import SeriesStatus
from warre_blazar.domain.waits import OPEN


@dataclasses.dataclass(frozen=True)
class _Kind:
    noun: str
    table: sa.Table
    condition: sa.ColumnElement[bool]


#: Blazar's plugins remove what is made for their own reservations. The exact plugins note it too.
_THEIRS = sa.select(reservations.c.id).where(
    reservations.c.resource_type != RESOURCE_TYPE, reservations.c.status != "deleted"
)
_OVER = sa.select(leases.c.id).where(leases.c.status == TERMINATED)
_KINDS = (
    _Kind(
        "reservations",
        reservations,
        sa.and_(
            reservations.c.resource_type == RESOURCE_TYPE, reservations.c.lease_id.not_in(_OVER)
        ),
    ),
    _Kind(
        "reservations that have something in Nova or Placement",
        backings,
        sa.and_(backings.c.phase != Phase.PLANNED, backings.c.reservation_id.not_in(_THEIRS)),
    ),
    _Kind("series", series, series.c.status != SeriesStatus.ENDED.value),
    _Kind("waits", waits, waits.c.state.in_(OPEN)),
)


def unfinished(db: sa.Connection) -> dict[str, int]:
    """How many there are of each kind of which there are any.

    A downgrade that was interrupted may have dropped some of the tables.
    """
    names = set(sa.inspect(db).get_table_names())
    found: dict[str, Any] = {
        kind.noun: db.scalar(
            sa.select(sa.func.count()).select_from(kind.table).where(kind.condition)
        )
        for kind in _KINDS
        if kind.table.name in names
    }
    return {noun: number for noun, number in found.items() if number}


LOG = logging.getLogger(__name__)

#: The table that stores this package's revision. Blazar's revision is in the table that alembic
#: uses by default.
VERSION_TABLE = "warre_alembic_version"


#: The directory of the migrations.
MIGRATIONS = pathlib.Path(__file__).parent / "migrations"


class MigrationError(Exception):
    """A migration isn't possible. The text says why, and what to do."""


def _config(url: str) -> alembic.config.Config:
    # Without this argument, alembic would print to the object that was sys.stdout when alembic was
    # imported.
    config = alembic.config.Config(stdout=sys.stdout)
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["url"] = url
    return config


def _run(url: str, command: str, *args: object, **kwargs: object) -> None:
    try:
        getattr(alembic.command, command)(_config(url), *args, **kwargs)
    except alembic_util.CommandError as error:
        raise MigrationError(str(error)) from error


def upgrade(url: str, revision: str = "head") -> None:
    """Upgrade the database to a revision. If a newer version has made tables that fit, do nothing.

    :raises MigrationError: the revision is unknown, or Blazar's tables don't exist yet.
    """
    found = revision_of(url)
    if revision == "head" and found is not None and fits(found):
        return
    _check_known(found)
    _run(url, "upgrade", revision)


def check_unused(url: str, revision: str) -> None:
    """Check that managers don't need the tables any more that a downgrade drops.

    Within a series, a downgrade drops none that an older version needs.

    :raises MigrationError: reservations, waits or series would be left, or the revision is unknown.
    """
    with _connected(url) as connection:
        present = _revision(connection)
        if present is None:
            return
        _check_known(present)
        try:
            undone = list(
                _scripts().iterate_revisions(present, revision, select_for_downgrade=True)
            )
        except alembic.script.revision.RevisionError as error:
            raise MigrationError(str(error)) from error
        if all(_series(str(script.down_revision)) == _series(script.revision) for script in undone):
            return
        left = unfinished(connection)
    if left:
        raise MigrationError(
            f"The tables are in use ({', '.join(f'{noun}: {n}' for noun, n in left.items())}). "
            "Delete all of them while blazar-manager runs, and try again a minute later. With "
            "--with-reservations, the tables are downgraded nevertheless. Then nothing starts or "
            "ends these reservations any more, and what they have stays in Nova and Placement"
        )


def downgrade(url: str, revision: str) -> None:
    """Downgrade the database to a revision, whatever is in the tables.

    After a downgrade to ``base``, nothing of this package is left in the database.

    :raises MigrationError: the revision is unknown.
    """
    _check_known(revision_of(url))
    _run(url, "downgrade", revision)
    with _connected(url) as connection:
        if _revision(connection) is None:
            connection.execute(sa.text(f"DROP TABLE IF EXISTS {VERSION_TABLE}"))
            connection.commit()


def current(url: str) -> None:
    """Print the revision of the database, if it has this package's tables."""
    found = revision_of(url)
    if found is not None:
        print(f"{found} (head)" if found == head() else found)


def history(url: str) -> None:
    """Print all revisions, the newest first."""
    _run(url, "history", verbose=False)


def head() -> str:
    """The newest revision in this package."""
    newest = _scripts().get_current_head()
    assert newest is not None  # this package has at least one revision
    return newest


def fits(revision: str) -> bool:
    """Whether this version works with tables at a revision.

    The first two digits of a revision are its series. Within a series, a revision only adds tables
    and columns that older versions can ignore. So tables at a newer revision of the series fit.
    """
    newest = head()
    return _series(revision) == _series(newest) and revision >= newest


def _series(revision: str) -> str:
    return revision[:2]


def _scripts() -> alembic.script.ScriptDirectory:
    return alembic.script.ScriptDirectory.from_config(_config(""))


def _check_known(revision: str | None) -> None:
    """Check that this version has the migration that led to a revision.

    :raises MigrationError:
    """
    if revision not in (None, *(script.revision for script in _scripts().walk_revisions())):
        raise MigrationError(
            f"The tables are at revision {revision}, which this version of warre-blazar doesn't "
            "know. Run this command with the version that has upgraded the tables"
        )


def revision_of(url: str) -> str | None:
    """The revision of the database, or None if it doesn't have this package's tables."""
    with _connected(url) as connection:
        return _revision(connection)


@contextlib.contextmanager
def _connected(url: str) -> Iterator[sa.Connection]:
    engine = sa.create_engine(url)
    try:
        with engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()


def _revision(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.execute(
        sa.text(f"SELECT version_num FROM {VERSION_TABLE}")  # noqa: S608
    ).scalar()


def _missing(connection: sa.Connection) -> set[str]:
    """The names of this package's tables that don't exist."""
    there = set(sa.inspect(connection).get_table_names())
    return {table.name for table in filter(tables.is_ours, tables.metadata.sorted_tables)} - there


def check(url: str) -> None:
    """Check that the tables, if there are any, fit this version.

    A version of an older series would ignore what it has to heed. For example, it would book hosts
    that an operator drains. On older tables, each booking would fail. If the revision can't be
    read, this is only logged.

    :raises MigrationError: the tables don't fit.
    """
    try:
        found = revision_of(url)
    except sa.exc.SQLAlchemyError as error:
        LOG.warning("The revision of the tables can't be read: %s", error)
        return
    if found is None or fits(found):
        return
    told = f"The tables of warre-blazar are at revision {found}, and this version needs {head()}. "
    if found < head():
        raise MigrationError(f"{told}Run warre-blazar-manage db upgrade, and start this again")
    raise MigrationError(
        f"{told}Install the version that has upgraded the tables, or run warre-blazar-manage db "
        f"downgrade {head()} with that version while all of Blazar is stopped"
    )


def require(url: str) -> None:
    """Check that there are tables of this package, of whatever release.

    If the database can't be read, this is only logged.

    :raises MigrationError: there are no tables, or only some of them.
    """
    try:
        with _connected(url) as connection:
            is_missing = _revision(connection) is None and _missing(connection)
    except sa.exc.SQLAlchemyError as error:
        LOG.warning("Whether this package's tables exist can't be read: %s", error)
        return
    if is_missing:
        raise MigrationError(
            "The tables of warre-blazar are missing: run warre-blazar-manage setup, and then "
            "restart blazar-manager and blazar-api"
        )
