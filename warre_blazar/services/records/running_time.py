"""Tells regularly which reservations are running, so that bills can be made of it."""

import datetime

from sqlalchemy.orm import Session

from warre_blazar.db import session, turns
from warre_blazar.db.messages import outbox
from warre_blazar.db.records import changes
from warre_blazar.db.tables import reservations

#: The turn of telling the running time.
_TURN = "running time"


def tell(now: datetime.datetime, manager_id: str) -> None:
    """Tell the running time of each running reservation, once for each full hour.

    A notice has the time since the last one about the same reservation. So if no manager has run
    for some hours, the next notice has all of this time, and nothing is told twice.
    """
    hour = now.replace(minute=0, second=0, microsecond=0)
    with session.reader() as db:
        done = turns.done_until(db, _TURN)
    if done is None or done < hour:
        session.change(_tell_hour, manager_id, hour)


def _tell_hour(db: Session, manager_id: str, hour: datetime.datetime) -> None:
    if not turns.advance(db, _TURN, manager_id, hour):
        return
    running = reservations.c.status == "active"
    outbox.count_until(db, running, hour)
    # Reservations that were running when they were imported.
    changes.note_earlier_starts(db)
    outbox.begin_counting(db, running, hour)
