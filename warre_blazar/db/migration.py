"""Running our alembic migrations in Blazar's database, beside Blazar's own."""

import pathlib
import sys

import alembic.command
import alembic.config
import alembic.script
import sqlalchemy as sa
from alembic import util as alembic_util

#: Blazar's own alembic uses the default name.
VERSION_TABLE = "warre_alembic_version"


class MigrationError(Exception):
    """What was asked can't be done; the text says what to do."""


def _config(url: str) -> alembic.config.Config:
    # Alembic's own default is what sys.stdout was when it was imported.
    config = alembic.config.Config(stdout=sys.stdout)
    config.set_main_option("script_location", str(pathlib.Path(__file__).parent / "migrations"))
    config.attributes["url"] = url
    return config


def _run(url: str, command: str, *args: object, **kwargs: object) -> None:
    try:
        getattr(alembic.command, command)(_config(url), *args, **kwargs)
    except alembic_util.CommandError as error:
        raise MigrationError(str(error)) from error


def upgrade(url: str, revision: str = "head") -> None:
    """:raises MigrationError: for an unknown revision, or when Blazar's tables aren't there yet."""
    _run(url, "upgrade", revision)


def downgrade(url: str, revision: str) -> None:
    """:raises MigrationError: for an unknown revision."""
    _run(url, "downgrade", revision)


def current(url: str) -> None:
    """Print the revision the database is at."""
    _run(url, "current", verbose=False)


def history(url: str) -> None:
    """Print all revisions, the newest first."""
    _run(url, "history", verbose=False)


def head() -> str:
    """The newest revision."""
    found = alembic.script.ScriptDirectory.from_config(_config("")).get_current_head()
    assert found is not None  # there are revisions in this package
    return found


def revision_of(url: str) -> str | None:
    """The revision the database is at, None when it has none of our tables."""
    engine = sa.create_engine(url)
    try:
        with engine.connect() as connection:
            if not sa.inspect(connection).has_table(VERSION_TABLE):
                return None
            return connection.execute(
                sa.text(f"SELECT version_num FROM {VERSION_TABLE}")  # noqa: S608
            ).scalar()
    finally:
        engine.dispose()
