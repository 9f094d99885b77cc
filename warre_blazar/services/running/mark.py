"""Compares the marks of the database and of Placement, and holds a manager whose database is older.

While a manager is held, it starts, ends, repairs, removes, sends and books nothing, because an
older database knows nothing of what was booked, changed or deleted since. Only the command
``warre-blazar-manage audit --after-restore`` ends that. A manager is also held from its start until
it knows that the database is current.
"""

import contextlib
import datetime
import threading
from collections.abc import Iterator

from oslo_log import log as logging
from sqlalchemy.orm import Session

from warre_blazar import times
from warre_blazar.db import clock, session, turns
from warre_blazar.db.running import marks
from warre_blazar.domain.running.mark import Mark, Standing, is_replaced
from warre_blazar.errors import exceptions
from warre_blazar.openstack import placement_mark

LOG = logging.getLogger(__name__)

#: The turn of increasing the mark.
TURN = "mark"
_RUN = "warre-blazar-manage audit --after-restore"
_SAID = {
    Standing.CURRENT: (logging.INFO, "The database isn't older than Placement"),
    Standing.UNKNOWN: (
        logging.INFO,
        "Nothing is started, ended or booked until Placement has said that the database isn't an "
        "older one",
    ),
    Standing.OLDER: (
        logging.CRITICAL,
        "The database is older than Placement, so it was restored. Nothing is started, ended, sent "
        f"or booked before you have run {_RUN}, which says what would happen: see the page "
        "about restoring a database in the documentation",
    ),
    Standing.REPLACED: (
        logging.CRITICAL,
        "The database was replaced while this process was running. Nothing is started, ended, sent "
        f"or booked by it any more: restart it, and run {_RUN} if the log says so again",
    ),
}


class Gate:
    """Says whether this process may work on reservations. Several threads use it."""

    def __init__(self) -> None:
        #: Is set when this process may work for the first time.
        self.opened = threading.Event()
        self._lock = threading.Lock()
        #: A process in which no manager has started isn't held.
        self._standing = Standing.CURRENT
        self._is_compared = False
        #: The mark when this process was last allowed to work.
        self._known: Mark | None = None

    @property
    def standing(self) -> Standing:
        return self._standing

    @property
    def is_open(self) -> bool:
        """Whether this process may work."""
        return self._standing is Standing.CURRENT

    def opens_within(self, seconds: float) -> bool:
        """Whether this process may work. While it isn't known yet, wait for that."""
        if self._standing is Standing.UNKNOWN:
            self.opened.wait(seconds)
        return self.is_open

    def begin(self) -> None:
        """A manager starts: from now on, this process works only if its database is current."""
        with self._lock:
            if not self._is_compared:
                self._say(Standing.UNKNOWN)

    def look(self, manager_id: str) -> None:
        """Compare the marks if that is due, and judge the database by its mark.

        A process compares when it starts, unless another manager has done so a short time ago.
        After that, one manager does so each minute.

        :raises ServiceUnavailable, ServiceRefused: Placement couldn't be asked, so nothing is known
            yet.
        """
        now = clock.utcnow()
        minute = now.replace(second=0, microsecond=0)
        with session.reader() as db:
            mark, done = marks.read(db), turns.done_until(db, TURN)
        self._judge(mark, compared=counts(done, now))
        is_due = done is None or done < minute
        if not self._is_compared or (is_due and self.is_open):
            mark = _compare(manager_id, minute, is_current=self.is_open)
            self._judge(mark, compared=True)

    def _judge(self, mark: Mark, *, compared: bool = False) -> None:
        with self._lock:
            self._is_compared |= compared
            if self._standing is Standing.REPLACED or (
                self._known is not None and is_replaced(self._known, mark)
            ):
                self._say(Standing.REPLACED)
            elif mark.is_older:
                self._say(Standing.OLDER)
            elif self._is_compared:
                self._known = mark
                self._say(Standing.CURRENT)
                self.opened.set()

    def _say(self, standing: Standing) -> None:
        if standing is not self._standing:
            LOG.log(*_SAID[standing])
        self._standing = standing


#: The gate of this process.
gate = Gate()


def counts(done: datetime.datetime | None, now: datetime.datetime) -> bool:
    """Whether a manager has increased the mark so lately that the database is taken for current.

    A dump that is so new couldn't be told from the present anyhow.

    :param done: the minute of the last increase.
    """
    return done is not None and done <= now < done + times.MARK_COUNTS_FOR


def _compare(manager_id: str, minute: datetime.datetime, *, is_current: bool) -> Mark:
    """Compare the marks, and increase both if nobody has done so in this minute.

    :param is_current: whether the database is known to be current. Then its mark increases although
        Placement is away, so that managers that start meanwhile know it too.
    :returns: the mark of the database afterwards.
    """
    # Placement is read first: what it has by then, the database has had before.
    present = None
    with _put_off(is_current):
        present = placement_mark.read()
    number = present.number if present else 0
    before, after = session.change(_write, manager_id, minute, number)
    if present is not None and after.number > before.number > number:
        with _put_off(is_current):
            placement_mark.write(present, before.number)
    return after


@contextlib.contextmanager
def _put_off(is_current: bool) -> Iterator[None]:
    """Only log that Placement is away, if the database is known to be current."""
    try:
        yield
    except exceptions.WarreError as error:
        if not is_current:
            raise
        LOG.warning("Placement gets the mark of the database later: %s", error)


def _write(
    db: Session, manager_id: str, minute: datetime.datetime, present: int
) -> tuple[Mark, Mark]:
    """Write into the database what follows from Placement's number.

    :returns: the mark before and after.
    """
    before = marks.read(db)
    after = before.seen_beside(present)
    if not after.is_older and turns.advance(db, TURN, manager_id, minute):
        after = after.next()
    if after != before:
        marks.write(db, before, after)
    return before, after
