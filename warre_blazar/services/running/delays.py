"""Counts how late starts and ends were, in the transaction that finishes them."""

import datetime

from sqlalchemy.orm import Session

from warre_blazar.db import clock
from warre_blazar.db.records import tallies
from warre_blazar.domain.records.tallies import DELAYS, bucket
from warre_blazar.domain.running.execution_timing import END, LEAD


def count(db: Session, action: str, due: datetime.datetime) -> None:
    """Count how late a start or an end is, which is finished now.

    An end that is too early isn't counted: the repairer has requested it.

    :param due: the reservation's start or end.
    """
    delay = (clock.utcnow() - due).total_seconds()
    if action == END and delay < -LEAD[END].total_seconds():
        return
    delay = max(delay, 0.0)
    tallies.add(db, DELAYS[action], bucket(delay), delay)
