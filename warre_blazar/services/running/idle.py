"""Warns of reservations that run without a server, and ends them early.

Only what samples have seen counts. If Nova was away, the time without servers begins anew.
"""

import datetime

from oslo_log import log as logging
from sqlalchemy.orm import Session

from warre_blazar import times
from warre_blazar.db import session, turns
from warre_blazar.db.messages import outbox
from warre_blazar.db.records import changes, server_samples
from warre_blazar.db.running import idle, lease_writes, leases
from warre_blazar.domain.messages.notices import Kind, News, time_text
from warre_blazar.domain.records.changes import Change, ChangeKind
from warre_blazar.domain.running import lease_states
from warre_blazar.domain.running.idle import IdleReservation, IdleStep
from warre_blazar.domain.timeline import Span
from warre_blazar.services.running import room

LOG = logging.getLogger(__name__)


def look(now: datetime.datetime, interval: datetime.timedelta) -> int:
    """Do what is due for idle reservations. Several managers may do so at the same time.

    :param interval: the time between two samples. If the last sample is older than
        ``times.USAGE_KNOWN_FOR_INTERVALS`` of them, nothing is done.
    :returns: how many reservations were ended.
    :raises ServiceUnavailable, ServiceRefused: Nova or Placement doesn't answer, so that nothing is
        ended.
    """
    now = now.replace(microsecond=0)
    with session.reader() as db:
        last = turns.done_until(db, server_samples.TURN)
        is_known = last is not None and now - last <= times.USAGE_KNOWN_FOR_INTERVALS * interval
        found = idle.limited(db) if is_known else []
    for item in found:
        if item.step(now) is IdleStep.WARN:
            session.change(_warn, item, now)
    due = [item for item in found if item.step(now) is IdleStep.END]
    if not due:
        return 0
    # A server may have been booted since the last sample.
    servers = room.count({item.reservation_id for item in due})
    session.change(idle.forget, [i.reservation_id for i in due if servers[i.reservation_id]])
    empty = [item for item in due if not servers[item.reservation_id]]
    ended = [item for item in empty if session.change(_end, item, now)]
    for item in ended:
        LOG.info("Reservation %s was idle for too long and ends", item.reservation_id)
    return len(ended)


def _warn(db: Session, item: IdleReservation, now: datetime.datetime) -> None:
    if idle.warn(db, item, now):
        told = {"idle_counted_from": time_text(item.since), "ends_at": time_text(item.ends_at(now))}
        of = outbox.of_reservations([item.reservation_id])
        outbox.add(db, of, News(Kind.IDLE, now, after=told))


def _end(db: Session, item: IdleReservation, now: datetime.datetime) -> bool:
    """Write that an idle reservation ends now. An executor then ends it as any other.

    :returns: False: it has changed meanwhile, for example because somebody extends it.
    """
    if leases.lock(db, item.lease_id) is None or idle.limited(db, item.reservation_id) != [item]:
        return False
    (lease,) = leases.read(db, [item.lease_id])
    end = now.replace(second=0)
    # A lease with several reservations ends only if its user says so.
    alone = len(lease.reservations) == 1 and lease.claim is None
    if not alone or lease.status != lease_states.ACTIVE or not lease.span.start < end < item.end:
        return False
    lease_writes.end_early(db, lease, end)
    before, after = changes.span(lease.span), changes.span(Span(lease.span.start, end))
    after = {**after, "idle_counted_from": time_text(item.since)}
    change = Change(now, ChangeKind.IDLE_END, None, before, after)
    changes.add(db, item.reservation_id, change)
    return True
