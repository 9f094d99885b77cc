"""Tells regularly which reservations are running, and how long their instances had servers."""

import datetime
from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from warre_blazar import times
from warre_blazar.db import session, turns
from warre_blazar.db.messages import outbox
from warre_blazar.db.records import changes, server_samples
from warre_blazar.db.records.server_samples import TURN, Running
from warre_blazar.db.running import idle
from warre_blazar.db.tables import reservations
from warre_blazar.domain.records import usage
from warre_blazar.domain.timeline import Span
from warre_blazar.services.running import room


def take(now: datetime.datetime, manager_id: str, interval: datetime.timedelta) -> list[str]:
    """Sample the servers of all running reservations, once in each interval and cloud.

    :returns: the reservations on which more servers can be booted. It is empty if this manager has
        taken no sample now.
    :raises ServiceUnavailable, ServiceRefused: Nova or Placement doesn't answer, so that nothing is
        known.
    """
    at = _begun(now, interval)
    with session.reader() as db:
        done = turns.done_until(db, TURN)
    if done is not None and done >= at:
        return []
    if not session.change(turns.take, TURN, manager_id):
        return []
    with session.reader() as db:
        places = {each.reservation_id: each.instance_count for each in server_samples.running(db)}
    counted = room.count(places)
    session.change(_write, manager_id, at, interval, counted)
    return [each for each, number in counted.items() if number < places[each]]


def _begun(now: datetime.datetime, interval: datetime.timedelta) -> datetime.datetime:
    """The beginning of the present interval. Intervals are counted from the start of the year 1."""
    return now - (now - datetime.datetime.min) % interval


def _write(
    db: Session,
    manager_id: str,
    at: datetime.datetime,
    interval: datetime.timedelta,
    counted: Mapping[str, int],
) -> None:
    """Add a sample to the sums, and tell it.

    :param counted: the number of servers, by the id in Blazar's table. Of a reservation that isn't
        here, nothing is known.
    """
    last = turns.done_until(db, TURN)
    if not turns.advance(db, TURN, manager_id, at):
        return
    # What has started since the beginning of the interval belongs to the next sample.
    running = [
        each
        for each in server_samples.running(db)
        if each.since < at and each.reservation_id in counted
    ]
    servers = {
        each.reservation_id: min(counted[each.reservation_id], each.instance_count)
        for each in running
    }
    known_for = times.USAGE_KNOWN_FOR_INTERVALS * interval
    earliest = at - interval if last is None else max(last, at - known_for)
    is_next = last is not None and at - last <= interval
    idle.note(db, servers, at, without_gap=is_next)
    used = {
        (each.reservation_id, day): servers[each.reservation_id] * _seconds(part)
        for each in running
        if servers[each.reservation_id]
        for day, part in usage.parts(Span(max(earliest, each.since), at))
    }
    if used:
        server_samples.add(db, used, at)
    if told := _to_tell(running, servers, last, at):
        outbox.add_in_use(db, told, at)


def _to_tell(
    running: Sequence[Running],
    servers: Mapping[str, int],
    last: datetime.datetime | None,
    at: datetime.datetime,
) -> dict[str, int]:
    """The reservations to tell of: all with the first sample of an hour, else those that changed.

    :returns: the number of servers by the id in Blazar's table.
    """
    hour = at.replace(minute=0, second=0)
    told = {}
    for each in running:
        number = servers[each.reservation_id]
        known = last is not None and hour <= last and each.since < last
        was_used = each.used_at is not None and each.used_at == last
        if not known or was_used != (number > 0):
            told[each.reservation_id] = number
    return told


def _seconds(span: Span) -> int:
    return (span.end - span.start) // times.SECOND


#: The turn of telling the running time.
_TURN = "running time"


def tell_running_time(now: datetime.datetime, manager_id: str) -> None:
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
