"""The database's clock, by which all managers decide what is due.

The clocks of the managers' machines can be wrong, and an operator or NTP can step them. So each
manager reads the database's clock once a second. Between two readings it measures the time by its
monotonic clock, which nobody can step.
"""

import datetime
import time
from collections.abc import Callable

import sqlalchemy as sa
from oslo_utils import timeutils

from warre_blazar import times
from warre_blazar.db import session, sql_functions


class DatabaseClock:
    """Tells the time of the database's clock."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        """
        :param monotonic: returns the seconds since some fixed moment.
        """
        self._monotonic = monotonic
        #: The database's time in UTC and the monotonic time of the last reading.
        self._read: tuple[datetime.datetime, float] | None = None

    def read(self) -> None:
        """Read the database's clock."""
        with session.reader() as db:
            found = db.execute(sa.select(sql_functions.utc_now_exact())).scalar_one()
            # The answer may have been under way for long. So the time that is told may be behind
            # the database's, but it is never ahead of it, and nothing starts early.
            self._read = (found, self._monotonic())

    def utcnow(self) -> datetime.datetime:
        """The present time, as naive UTC. Before the first reading it is this machine's time."""
        if self._read is None:
            return timeutils.utcnow()
        then, seconds = self._read
        return then + (self._monotonic() - seconds) * times.SECOND


_clock = DatabaseClock()


def read() -> None:
    """Read the database's clock for all later calls of ``utcnow`` in this process."""
    _clock.read()


def utcnow() -> datetime.datetime:
    """The present time, as naive UTC. Before the first ``read`` it is this machine's time."""
    return _clock.utcnow()
