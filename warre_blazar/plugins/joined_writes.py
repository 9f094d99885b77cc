"""Lets Blazar write a row and read it back in one transaction.

Blazar's functions that write leases, reservations and events read the row again, in a transaction
of its own. Each transaction takes a connection from the pool, which is tested first, and ends with
another round trip to the database.
"""

import functools
from collections.abc import Callable
from typing import Any

from blazar.db.sqlalchemy import api

from warre_blazar.db import session

_FUNCTIONS = (
    "lease_create",
    "lease_update",
    "reservation_create",
    "reservation_update",
    "event_create",
)


def register() -> None:
    """Join the transactions of Blazar's functions in this process."""
    for name in _FUNCTIONS:
        function = getattr(api, name)
        if not hasattr(function, "__wrapped__"):
            setattr(api, name, _joined(function))


def _joined(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def write(*args: Any, **kwargs: Any) -> Any:
        with session.writer():
            return function(*args, **kwargs)

    return write
