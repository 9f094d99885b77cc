"""Lets Blazar write a row and read it back in one transaction, and repeat that after a deadlock.

Blazar's functions that write leases, reservations and events read the row again, in a transaction
of its own. Each transaction takes a connection from the pool, which is tested first, and ends with
another round trip to the database. An event that was written in the same transaction isn't read at
all, because the session still has it.

Blazar repeats nothing that a deadlock has undone. It would set a lease to ERROR, or leave it in the
status of the work that has met the deadlock.
"""

import functools
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from blazar.db.sqlalchemy import api, facade_wrapper, models
from sqlalchemy.orm import util as orm_util

from warre_blazar.db import session
from warre_blazar.errors import blazar_errors, exceptions

_FUNCTIONS = (
    "lease_create",
    "lease_update",
    "lease_destroy",
    "reservation_create",
    "reservation_update",
    "event_create",
    "event_update",
)


def register() -> None:
    """Join the transactions of Blazar's functions in this process."""
    for name in _FUNCTIONS:
        function = getattr(api, name)
        if not hasattr(function, "__wrapped__"):
            setattr(api, name, _joined(function))
    if not hasattr(api.event_get, "__wrapped__"):
        api.event_get = _remembered(api.event_get)


def _remembered(event_get: Callable[[str], Any]) -> Callable[[str], Any]:
    @functools.wraps(event_get)
    def get(event_id: str) -> Any:
        with facade_wrapper.session_for_read() as db:
            written = db.identity_map.get(orm_util.identity_key(models.Event, event_id))
            is_whole = written is not None and not sa.inspect(written).expired_attributes
            return written if is_whole else event_get(event_id)

    return get


def _joined(function: Callable[..., Any]) -> Callable[..., Any]:
    @session.retried
    def joined(*args: Any, **kwargs: Any) -> Any:
        # As Blazar does, so that its own tests on SQLite have the same engine.
        with session.writer(sqlite_fk=False):
            return function(*args, **kwargs)

    @functools.wraps(function)
    def write(*args: Any, **kwargs: Any) -> Any:
        try:
            return joined(*args, **kwargs)
        except exceptions.TryAgain as error:
            # A lease that is being updated survives this exception.
            raise blazar_errors.as_blazar(error, updating=True) from error

    return write
