"""Writes down which requests were refused, and lists them."""

import collections
import contextlib
import datetime
import threading
from collections.abc import Iterator, Mapping

from oslo_log import log as logging
from oslo_utils import timeutils

from warre_blazar import timer, times
from warre_blazar.db import session
from warre_blazar.db.records import refusals
from warre_blazar.db.records.refusals import Key, RefusalFilter
from warre_blazar.domain.records.refusals import Asked, RefusedRequest, counted_code
from warre_blazar.errors import exceptions

LOG = logging.getLogger(__name__)


@contextlib.contextmanager
def recorded(asked: Asked, most: int) -> Iterator[None]:
    """Write down the request if a rule refuses it within the block.

    :param most: the number of requests of one project and day that are kept.
    """
    try:
        yield
    except exceptions.WarreError as error:
        write(asked, error.code, most)
        raise


class _Surplus:
    """Counts in memory the requests that aren't kept, so that a flood of them costs no writes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: The projects that have as many requests of a day as are kept.
        self._full: set[tuple[str, datetime.date]] = set()
        self._numbers: collections.Counter[Key] = collections.Counter()
        self._written_at = -float("inf")

    def fill(self, project_id: str, day: datetime.date) -> None:
        """Note that no more requests of a project and day are kept."""
        with self._lock:
            self._full = {(project_id, day), *(pair for pair in self._full if pair[1] == day)}

    def takes(self, project_id: str, day: datetime.date, code: str) -> bool:
        """Count a request, if no more requests of its project and day are kept."""
        with self._lock:
            is_full = (project_id, day) in self._full
            if is_full:
                self._numbers[project_id, day, code] += 1
            return is_full

    def due(self) -> Mapping[Key, int]:
        """Give out the numbers to write now: at most once in each pause."""
        with self._lock:
            if not self._numbers or timer.now() - self._written_at < times.REFUSALS_WRITTEN_EVERY:
                return {}
            self._written_at = timer.now()
            numbers, self._numbers = self._numbers, collections.Counter()
            return numbers

    def take_back(self, numbers: Mapping[Key, int]) -> None:
        """Keep numbers that couldn't be written until the next time."""
        with self._lock:
            self._numbers.update(numbers)


_surplus = _Surplus()


def write(asked: Asked, code: str, most: int) -> None:
    """Write down a request that was refused, in a transaction of its own.

    Nothing is written if the code is of another kind of error. If the database fails, the request
    is only logged, because its answer must not change. Once a project has as many requests of the
    day as are kept, more of them are counted in memory, and written once a second.

    :param most: as for ``recorded``.
    """
    counted = counted_code(code)
    if counted is None:
        return
    now = timeutils.utcnow()
    try:
        is_counted = _surplus.takes(asked.project_id, now.date(), counted)
        if not is_counted and not session.change(refusals.add, asked, counted, now, most):
            _surplus.fill(asked.project_id, now.date())
        write_numbers()
    except (exceptions.TryAgain, *session.FAILURES) as error:
        LOG.warning("A refused request of project %s isn't noted: %s", asked.project_id, error)


def write_numbers() -> None:
    """Write the numbers that this process has counted in memory, if it is time.

    :raises TryAgain, DBError: they are written the next time.
    """
    if not (numbers := _surplus.due()):
        return
    try:
        session.change(refusals.add_numbers, numbers)
    except Exception:
        _surplus.take_back(numbers)
        raise


def listing(
    wanted: RefusalFilter, limit: int | None, offset: int
) -> tuple[list[RefusedRequest], int]:
    """A page of the requests that were refused, the latest first, and the number of all."""
    with session.reader() as db:
        return refusals.listing(db, wanted, limit, offset)
