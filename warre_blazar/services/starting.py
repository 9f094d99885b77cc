"""Starts that are due at the same time, side by side.

Blazar takes due events one after the other, and logs in several times for each. What Nova and
Placement have to do for those whose turn comes is done meanwhile.
"""

import datetime
import threading
from concurrent import futures

from oslo_log import log as logging

from warre_blazar import exceptions
from warre_blazar.db import backings, session
from warre_blazar.services import backing

LOG = logging.getLogger(__name__)

# More would only queue at Nova's and Placement's workers.
_AT_ONCE = 4

_pool = futures.ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="warre-start")
# Reentrant: what is done as soon as it is submitted is forgotten by who submitted it.
_lock = threading.RLock()
_under_way: dict[str, futures.Future[None]] = {}


def start(reservation_id: str, now: datetime.datetime) -> None:
    """Open a reservation to its project, and begin with some of those that come next.

    No more than are worked on: none waits for a turn in which others fail, and a manager that is
    stopped has few to finish.

    :raises ServiceUnavailable, ServiceRefused, InvalidState: as ``backing.open_to_project``.
    """
    with session.reader() as db:
        others = backings.waiting(db, now) if session.has_many_writers(db) else []
    with _lock:
        mine = _under_way.get(reservation_id)
        for other in others:
            if len(_under_way) < _AT_ONCE and other != reservation_id and other not in _under_way:
                _begin(other, now)
    if mine is not None:
        futures.wait([mine])
    backing.open_to_project(reservation_id)


def _begin(reservation_id: str, now: datetime.datetime) -> None:
    def forget(_: futures.Future[None]) -> None:
        with _lock:
            del _under_way[reservation_id]

    _under_way[reservation_id] = _pool.submit(_ahead, reservation_id, now)
    _under_way[reservation_id].add_done_callback(forget)


def _ahead(reservation_id: str, now: datetime.datetime) -> None:
    """Open what is due, once, unless it is being moved or deleted.

    Whoever moves it looks for our mark after Blazar wrote that the lease is UPDATING; we look for
    that after our mark is written: one of the two sees the other's.
    """
    try:
        with session.writer() as db:
            if not backings.mark_opened(db, reservation_id):
                return
        with session.reader() as db:
            still = reservation_id in backings.waiting(db, now)
        if still:
            backing.open_to_project(reservation_id)
    except exceptions.WarreError as error:
        # Its own turn comes, and says what is wrong.
        LOG.info("Reservation %s can't be started ahead of its turn: %s", reservation_id, error)
    except Exception:
        LOG.exception("Reservation %s can't be started ahead of its turn", reservation_id)
