"""Transactions on Blazar's own database connection.

The outermost ``with`` statement owns the transaction. An inner ``with`` statement, in this package
or in Blazar, joins the same transaction, because Blazar's facade keeps one session per thread.
"""

import functools
import random
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Concatenate, ParamSpec, TypeVar

import sqlalchemy as sa
from blazar.db.sqlalchemy import facade_wrapper
from oslo_db import exception as db_exc
from oslo_log import log as logging
from sqlalchemy import exc as sa_exc
from sqlalchemy.orm import Session

from warre_blazar import exceptions, waiting

LOG = logging.getLogger(__name__)

ATTEMPTS = 16
_FIRST_WAIT = 0.02
_LONGEST_WAIT = 0.5

# MariaDB's errors for a character that the connection's encoding lacks: illegal mix of collations,
# invalid character string, incorrect string value.
_UNCARRIED = {1267, 1300, 1366}

#: The exceptions that a failing database raises. Some of them aren't translated by oslo.db.
FAILURES = (db_exc.DBError, sa_exc.SQLAlchemyError)

P = ParamSpec("P")
R = TypeVar("R")


class LostRace(Exception):
    """A row has changed between a read and a write. The caller must read again and retry."""


def require(result: sa.CursorResult[Any] | sa.Result[Any], rows: int = 1) -> None:
    """Check the number of rows that a statement has changed.

    :raises LostRace: the number isn't ``rows``.
    """
    if result.rowcount != rows:  # type: ignore[union-attr]
        raise LostRace


def insert_or_lose(db: Session, statement: sa.Insert) -> None:
    """Add a row.

    :raises LostRace: a row with the same key exists, or a row that the new row refers to is gone.
    """
    try:
        db.execute(statement)
    except (db_exc.DBDuplicateEntry, db_exc.DBReferenceError):
        raise LostRace from None


def writer() -> AbstractContextManager[Session]:
    """A session that commits at the end of the outermost ``with``, or rolls back on an error."""
    # SQLite enforces foreign keys and their cascades only if that is enabled.
    return facade_wrapper.session_for_write(sqlite_fk=True)


def reader() -> AbstractContextManager[Session]:
    """A session for reading only."""
    # The facade keeps the settings of its first call, so the first call must enable foreign keys.
    facade_wrapper.session_for_write(sqlite_fk=True)
    return facade_wrapper.session_for_read()


def retried(function: Callable[P, R]) -> Callable[P, R]:
    """A decorator that calls a function again if it lost a race or met a deadlock.

    The function must own its transaction. It is called up to ``ATTEMPTS`` times.

    :raises TryAgain: all attempts have lost a race or met a deadlock.
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
            waiting.sleep(wait * random.uniform(0.5, 1.5))  # noqa: S311
            wait = min(wait * 2, _LONGEST_WAIT)
        raise exceptions.TryAgain

    return wrapper


@retried
def change(write: Callable[Concatenate[Session, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call ``write`` in a transaction of its own, with retries as in ``retried``.

    The retries are needed even for a single write. On Galera, any transaction can fail at its
    commit, because it conflicts with a transaction on another node.

    :raises TryAgain: all attempts have lost a race or met a deadlock.
    """
    with writer() as db:
        return write(db, *args, **kwargs)


def is_uncarried(error: Exception) -> bool:
    """Whether a database error is about a character that the connection's encoding lacks.

    Blazar's installation guide configures MariaDB's utf8, which has no characters of four bytes.
    """
    cause = getattr(error, "inner_exception", None) or error
    original = getattr(cause, "orig", None) or cause
    return bool(original.args) and original.args[0] in _UNCARRIED


def _worth_retrying(error: Exception) -> bool:
    # If a foreign key refers to a row that is gone, the row was removed after it had been read.
    if isinstance(error, LostRace | db_exc.DBDeadlock | db_exc.DBReferenceError):
        return True
    # SQLite allows one writer at a time. Other writers get an error that oslo.db doesn't translate.
    return isinstance(error, sa_exc.OperationalError) and "database is locked" in str(error)
