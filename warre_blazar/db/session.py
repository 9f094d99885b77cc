"""Transactions on Blazar's own database connection.

The outermost ``with`` statement owns the transaction. An inner ``with`` statement, in this package
or in Blazar, joins the same transaction, because Blazar's facade keeps one session per thread.
"""

import contextlib
import contextvars
import functools
import logging as stock_logging
import random
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import sqlalchemy as sa
from blazar.db.sqlalchemy import facade_wrapper
from oslo_db import exception as db_exc
from oslo_log import log as logging
from sqlalchemy import exc as sa_exc
from sqlalchemy.orm import Session

from warre_blazar import timer, times
from warre_blazar.errors import exceptions

LOG = logging.getLogger(__name__)

#: The lock by which the transactions of ``claiming`` in this process wait for each other. A manager
#: may hold it from a decision about a booking on (``admission.decide``).
#: A thread takes it again for a claim within another one.
claims_lock: AbstractContextManager[Any] = threading.RLock()

#: What makes sessions in place of Blazar's facade. None: Blazar's facade makes them.
_instead: contextvars.ContextVar[Any] = contextvars.ContextVar("_instead", default=None)

#: Whether a writer's transaction is under way in this thread.
_is_writing = contextvars.ContextVar("_is_writing", default=False)

ATTEMPTS = 16

# MariaDB's errors for a character that the connection's encoding lacks: illegal mix of collations,
# invalid character string, incorrect string value.
_UNCARRIED = {1267, 1300, 1366}

#: The exceptions that a failing database raises. Some of them aren't translated by oslo.db.
FAILURES = (db_exc.DBError, sa_exc.SQLAlchemyError)

P = ParamSpec("P")
R = TypeVar("R")


class RowChanged(Exception):
    """A row is no longer as the caller has read it, so nothing may be written."""


class LostRace(RowChanged):
    """A row has changed between a read and a write. The caller must read again and retry."""


def changed(db: Session, statement: sa.Update | sa.Delete) -> int:
    """Execute a statement, and return the number of rows that it has changed or deleted."""
    return cast("sa.CursorResult[Any]", db.execute(statement)).rowcount


def write_or_lose(
    db: Session,
    statement: sa.Update | sa.Delete,
    rows: int = 1,
    error: type[RowChanged] = LostRace,
) -> None:
    """Execute a statement whose conditions say what the caller has read.

    :param rows: the number of rows that must meet the conditions.
    :raises RowChanged: another number of rows meets them. The class is ``error``.
    """
    if changed(db, statement) != rows:
        raise error


def insert_or_lose(db: Session, statement: sa.Insert, error: type[RowChanged] = LostRace) -> None:
    """Add a row that didn't exist when the caller read the table.

    :raises RowChanged: a row with the same key exists by now, or a row that the new row refers to
        is gone. The class is ``error``.
    """
    try:
        db.execute(statement)
    except (db_exc.DBDuplicateEntry, db_exc.DBReferenceError):
        raise error from None


@contextlib.contextmanager
def writer(*, sqlite_fk: bool = True) -> Iterator[Session]:
    """A session that commits at the end of the outermost ``with``, or rolls back on an error.

    :param sqlite_fk: whether SQLite enforces foreign keys and their cascades, if this is the
        process's first session.
    """
    token = _is_writing.set(True)
    try:
        if copy := _instead.get():
            with copy.writer() as db:
                yield db
        else:
            with facade_wrapper.session_for_write(sqlite_fk=sqlite_fk) as db:
                yield db
    finally:
        _is_writing.reset(token)


def is_writing() -> bool:
    """Whether a writer's transaction is under way in this thread."""
    return _is_writing.get()


@contextlib.contextmanager
def instead(copy: Any) -> Iterator[None]:
    """A context in which all sessions of this package are those of a copy of the tables.

    :param copy: has the methods ``writer`` and ``reader``. Only this thread uses it.
    """
    token = _instead.set(copy)
    try:
        yield
    finally:
        _instead.reset(token)


@contextlib.contextmanager
def undone() -> Iterator[Session]:
    """A writer's session whose writes are taken back at the end. So it says what they would do."""
    with writer() as db:
        yield db
        db.rollback()


@contextlib.contextmanager
def claiming() -> Iterator[Session]:
    """A writer's session for a transaction that claims slots, hosts or quota.

    Only one such transaction of a process goes on at a time. Without that, simultaneous claims
    would conflict with each other and would be tried again. The lock only saves these retries. It
    isn't needed against overbooking: the generations of flavors, hosts and projects prevent that,
    also between processes.
    """
    with contextlib.nullcontext() if _instead.get() else claims_lock, writer() as db:
        yield db


def reader() -> AbstractContextManager[Session]:
    """A session for reading only."""
    if copy := _instead.get():
        return cast("AbstractContextManager[Session]", copy.reader())
    # The facade keeps the settings of its first call, so the first call must enable foreign keys.
    facade_wrapper.session_for_write(sqlite_fk=True)
    return facade_wrapper.session_for_read()


def retried(function: Callable[P, R]) -> Callable[P, R]:
    """A decorator that calls a function again if it lost a race or met a deadlock.

    It is called up to ``ATTEMPTS`` times. Inside a writer's transaction it is called once, because
    the transaction isn't its own there. After a deadlock that transaction is gone. Another attempt
    in it could see the same rows again, and would keep the locks for which others wait.

    :raises TryAgain: all attempts have lost a race or met a deadlock.
    """

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        if _is_writing.get():
            return function(*args, **kwargs)
        wait = times.RACE_FIRST_PAUSE
        for _ in range(ATTEMPTS):
            try:
                return function(*args, **kwargs)
            except Exception as error:
                if not is_lost_race(error):
                    raise
                LOG.debug("%s lost a race, trying again: %r", function.__name__, error)
            timer.sleep(wait * random.uniform(0.5, 1.5))  # noqa: S311
            wait = min(wait * 2, times.RACE_LONGEST_PAUSE)
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


def compare(db: Session, texts: Mapping[sa.Column[Any], str | None]) -> None:
    """Raise an error if the database can't store texts.

    To find out, this sends the texts in a query that matches no rows. The query fails if the
    connection's encoding lacks a character of the texts.

    :param texts: by column of one table.
    """
    conditions = [column == text for column, text in texts.items() if text is not None]
    for column in list(texts)[:1]:
        db.execute(sa.select(column).where(sa.and_(column.is_(None), *conditions))).all()


def is_uncarried(error: Exception) -> bool:
    """Whether a database error is about a character that the connection's encoding lacks.

    Blazar's installation guide configures MariaDB's utf8, which has no characters of four bytes.
    """
    original = _original(error)
    return bool(original.args) and original.args[0] in _UNCARRIED


class _Uncarried(stock_logging.Filter):
    """Drops what oslo.db logs about such a text. The client gets an answer that names its field."""

    def filter(self, _: stock_logging.LogRecord) -> bool:
        error = sys.exception()
        return not (isinstance(error, Exception) and is_uncarried(error))


_UNCARRIED_TEXTS = _Uncarried()


def keep_uncarried_texts_out_of_the_log() -> None:
    """Begin to filter what oslo.db logs in this process."""
    stock_logging.getLogger("oslo_db.sqlalchemy.exc_filters").addFilter(_UNCARRIED_TEXTS)


def refuses_values(error: Exception) -> bool:
    """Whether a database error is about the values of a row, which the database can't store."""
    cause = getattr(error, "inner_exception", None) or error
    return isinstance(cause, sa_exc.DataError | sa_exc.IntegrityError) or is_uncarried(error)


def reason(error: Exception) -> str:
    """What the database said, in one line, without the statement and its values."""
    original = _original(error)
    text = original.args[-1] if original.args else original
    return str(text).strip().partition("\n")[0].rstrip(" .")


def _original(error: Exception) -> Exception:
    """The driver's exception behind a database error."""
    cause = getattr(error, "inner_exception", None) or error
    return getattr(cause, "orig", None) or cause


#: MariaDB's error ER_CHECKREAD, if ``innodb_snapshot_isolation`` is on.
_RECORD_HAS_CHANGED = 1020


def is_lost_race(error: Exception) -> bool:
    """Whether a transaction failed because of another one, so that a retry may succeed."""
    # If a foreign key refers to a row that is gone, the row was removed after it had been read.
    if isinstance(error, LostRace | db_exc.DBDeadlock | db_exc.DBReferenceError):
        return True
    # MariaDB: a row has changed since the transaction's snapshot. oslo.db calls it a deadlock only
    # since version 18.1.1.
    if isinstance(error, FAILURES) and _original(error).args[:1] == (_RECORD_HAS_CHANGED,):
        return True
    # SQLite allows one writer at a time. Other writers get an error that oslo.db doesn't translate.
    return isinstance(error, sa_exc.OperationalError) and "database is locked" in str(error)
