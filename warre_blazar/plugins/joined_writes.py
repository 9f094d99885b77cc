"""Lets Blazar write a row and read it back in one transaction, and repeat that after a deadlock.

Blazar's functions that write leases, reservations and events read the row again, in a transaction
of its own. Each transaction takes a connection from the pool, which is tested first, and ends with
another round trip to the database. What the same transaction has read or written as a whole isn't
read again, because the session still has it.

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
    # These change a generation of a host, and may lose a race for it.
    "host_allocation_create",
    "host_allocation_destroy",
    "host_allocation_update",
    "host_extra_capability_update",
    "host_update",
    "instance_reservation_update",
)

#: The functions by which Blazar reads a row back, and what they read.
_READ_BACK = {
    "lease_get": models.Lease,
    "reservation_get": models.Reservation,
    "event_get": models.Event,
}


def register() -> None:
    """Join the transactions of Blazar's functions in this process."""
    for name in _FUNCTIONS:
        function = getattr(api, name)
        if not hasattr(function, "__wrapped__"):
            setattr(api, name, joined(function))
    for name, model in _READ_BACK.items():
        function = getattr(api, name)
        if not hasattr(function, "__wrapped__"):
            setattr(api, name, _remembered(function, model))


def _remembered(read: Callable[[str], Any], model: type[Any]) -> Callable[[str], Any]:
    """A function that doesn't read a row again that the present transaction has."""

    @functools.wraps(read)
    def get(row_id: str) -> Any:
        with facade_wrapper.session_for_read() as db:
            known = db.identity_map.get(orm_util.identity_key(model, row_id))
            return read(row_id) if known is None or _lacks(known) else known

    return get


def _lacks(item: Any) -> bool:
    """Whether a row lacks something that reading it would give."""
    state = sa.inspect(item)
    given = {each.key for each in state.mapper.column_attrs} | {
        each.key for each in state.mapper.relationships if each.lazy == "joined"
    }
    return not given.isdisjoint(state.unloaded)


def joined(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that does all of its writes in one transaction, and again after a deadlock."""

    @session.retried
    def write_all(*args: Any, **kwargs: Any) -> Any:
        # As Blazar does, so that its own tests on SQLite have the same engine.
        with session.writer(sqlite_fk=False):
            return function(*args, **kwargs)

    @functools.wraps(function)
    def write(*args: Any, **kwargs: Any) -> Any:
        try:
            return write_all(*args, **kwargs)
        except exceptions.TryAgain as error:
            # A lease that is being updated survives this exception.
            raise blazar_errors.as_blazar(error, updating=True) from error

    return write
