"""Transactions on Blazar's own database connection.

The outermost ``with`` owns the transaction: an inner one, ours or Blazar's, joins it (the facade
keeps the session per thread).
"""

import functools
import random
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, ParamSpec, TypeVar

import sqlalchemy as sa
from blazar.db.sqlalchemy import facade_wrapper
from oslo_db import exception as db_exc
from oslo_log import log as logging
from sqlalchemy import exc as sa_exc
from sqlalchemy.orm import Session

from warre_blazar import exceptions

LOG = logging.getLogger(__name__)

ATTEMPTS = 16
_FIRST_WAIT = 0.02
_LONGEST_WAIT = 0.5

# MariaDB's errors: illegal mix of collations, invalid character string, incorrect string value.
_UNCARRIED = {1267, 1300, 1366}

#: What a database that fails raises; not all of it is oslo.db's.
FAILURES = (db_exc.DBError, sa_exc.SQLAlchemyError)

P = ParamSpec("P")
R = TypeVar("R")


class LostRace(Exception):
    """A generation moved between its read and its write: read again and retry."""


def require(result: sa.CursorResult[Any] | sa.Result[Any], rows: int = 1) -> None:
    """:raises LostRace: when a statement changed another number of rows than it should."""
    if result.rowcount != rows:  # type: ignore[union-attr]
        raise LostRace


def insert_or_lose(db: Session, statement: sa.Insert) -> None:
    """Add a row.

    :raises LostRace: when one with its key is there already, or what it refers to is gone.
    """
    try:
        db.execute(statement)
    except (db_exc.DBDuplicateEntry, db_exc.DBReferenceError):
        raise LostRace from None


def writer() -> AbstractContextManager[Session]:
    """A session that commits at the end of the outermost ``with``, or rolls back on an error."""
    # SQLite enforces foreign keys, so cascades, only when asked to.
    return facade_wrapper.session_for_write(sqlite_fk=True)


def reader() -> AbstractContextManager[Session]:
    """A session for reading only."""
    facade_wrapper.session_for_write(sqlite_fk=True)  # the first facade made decides that setting
    return facade_wrapper.session_for_read()


def has_many_writers(db: Session) -> bool:
    """Whether others can write while Blazar does, which doesn't try again on a locked database."""
    return db.get_bind().dialect.name != "sqlite"


def retried(function: Callable[P, R]) -> Callable[P, R]:
    """Run a function that owns a transaction again when it lost a race or met a deadlock.

    :raises TryAgain: when it lost every time.
    """

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        wait = _FIRST_WAIT
        for _ in range(ATTEMPTS):
            try:
                return function(*args, **kwargs)
            except Exception as error:
                if not _worth_retrying(error):
                    raise
                LOG.debug("%s lost a race, trying again: %r", function.__name__, error)
            time.sleep(wait * random.uniform(0.5, 1.5))  # noqa: S311
            wait = min(wait * 2, _LONGEST_WAIT)
        raise exceptions.TryAgain

    return wrapper


def is_uncarried(error: Exception) -> bool:
    """Whether a database error comes of a character that the connection has no room for.

    Blazar's installation guide connects with MariaDB's utf8, whose characters have three bytes.
    """
    cause = getattr(error, "inner_exception", None) or error
    original = getattr(cause, "orig", None) or cause
    return bool(original.args) and original.args[0] in _UNCARRIED


def _worth_retrying(error: Exception) -> bool:
    if isinstance(error, LostRace | db_exc.DBDeadlock):
        return True
    # SQLite has one writer at a time and tells the others so; oslo.db lets that out untranslated.
    return isinstance(error, sa_exc.OperationalError) and "database is locked" in str(error)
