"""The transactions in which an executor claims and completes a lease's start, end or deletion.

Each transaction checks that the lease, its event and the claim haven't changed since they were
read. So several managers can run these transactions at once.
"""

import dataclasses
import datetime
from collections import defaultdict
from collections.abc import Collection, Mapping

from blazar.db import api as db_api
from oslo_utils import timeutils
from sqlalchemy.orm import Session

from warre_blazar.db import session
from warre_blazar.db.booking import reservations
from warre_blazar.db.hosts import allocations
from warre_blazar.db.records import history, metrics
from warre_blazar.db.running import executions, lease_writes, leases, snapshots
from warre_blazar.domain.running import lease_states
from warre_blazar.domain.running.execution import (
    BEFORE,
    DELETE,
    DURING,
    END,
    EVENTS,
    LONGEST_LEAD,
    RETRY_LEAD,
    START,
    claim_state,
    pause,
)
from warre_blazar.domain.running.lease import Event, Lease
from warre_blazar.domain.running.lease_states import TARGETS, Statuses, Summary
from warre_blazar.domain.running.snapshots import USUAL, BeforeEndRule
from warre_blazar.services.messages import notifications
from warre_blazar.services.running import backing
from warre_blazar.services.running.backing import Prepared


@dataclasses.dataclass(frozen=True)
class Claimed:
    """A lease for which this manager has claimed an action."""

    #: The lease as it was before this manager claimed it.
    lease: Lease
    #: START, END or DELETE.
    action: str
    #: How many earlier attempts at the action have failed.
    attempts: int
    #: For a start: the reservations that are prepared, so that only the access is missing, by id.
    prepared: Mapping[str, Prepared] = dataclasses.field(default_factory=dict)
    #: For a start: the reservations on whose hosts others hold room until the start. Only then can
    #: somebody look whether the hosts have room.
    succeeding: frozenset[str] = frozenset()

    @property
    def attempt(self) -> tuple[str, int]:
        """What tells this attempt from other attempts at actions on the same lease."""
        return self.action, self.attempts

    @property
    def due(self) -> datetime.datetime:
        """When the action is due: at the lease's start or end, or later after failed attempts."""
        times = [e.time for e in self.lease.of_type(EVENTS[self.action]) if e.time is not None]
        return max([_own_time(self.lease, self.action), *times])

    @property
    def reservation_ids(self) -> list[str]:
        return [r.id for r in self.lease.reservations if r.is_ours and r.status != "deleted"]


@session.retried
def claim(
    lease_ids: Collection[str],
    action: str,
    manager_id: str,
    now: datetime.datetime,
    requested: bool,
) -> list[Claimed]:
    """Claim an action on each of the leases for which the action is still due or requested.

    The number of SQL statements doesn't depend on the number of leases.

    :param requested: whether the action was requested. A requested action is claimed at any time.
    :returns: the leases that were claimed.
    :raises TryAgain: every attempt has lost a race.
    """
    with session.writer() as db:
        # An undo of an import may be giving leases back to Blazar's instance plugin.
        leases.lock_all(db, lease_ids)
        claimable = [
            lease
            for lease in leases.read(db, lease_ids)
            if claim_state(lease.claim) is lease_states.ClaimState.NONE
            and (
                _is_requested(lease, action)
                if requested
                else lease.status in BEFORE[action] and _is_due(lease, action, now)
            )
        ]
        if not claimable:
            return []
        lease_writes.compare_and_set_all(db, claimable, DURING[action])
        events = [e for lease in claimable for e in lease.of_type(EVENTS.get(action, ""))]
        if events:
            lease_writes.set_events(db, events, status=lease_states.IN_PROGRESS)
        attempts = executions.claim(db, [lease.id for lease in claimable], action, manager_id)
        return [Claimed(lease, action, attempts[lease.id]) for lease in claimable]


def _is_requested(lease: Lease, action: str) -> bool:
    return lease.claim is not None and lease.claim.is_requested(action)


def _is_due(lease: Lease, action: str, now: datetime.datetime) -> bool:
    """Whether an action is due, both by its event and by the lease's start or end.

    An action is never due for a lease that an undo of an import has given back to Blazar's instance
    plugin. The same is true of a lease that doesn't have exactly one event for the action.
    """
    events = lease.of_type(EVENTS[action])
    if not lease.is_ours() or len(events) != 1 or events[0].status != lease_states.UNDONE:
        return False
    event_time, own_time = events[0].time, _own_time(lease, action)
    # ``leases.due`` has decided how long before its start a lease is claimed.
    if event_time is None or max(event_time, own_time) > now + LONGEST_LEAD[action]:
        return False
    return event_time == own_time or event_time <= now + RETRY_LEAD


def _own_time(lease: Lease, action: str) -> datetime.datetime:
    return lease.span.start if action == START else lease.span.end


@dataclasses.dataclass
class Started:
    """A claimed lease whose start has come, and what the services have said about it."""

    claimed: Claimed
    #: The reservations to which their project has access, as they were prepared, by id.
    opened: dict[str, Prepared] = dataclasses.field(default_factory=dict)
    #: The reasons why reservations couldn't be opened yet, by the reservation's id. The reconciler
    #: opens them later.
    not_open: dict[str, str] = dataclasses.field(default_factory=dict)
    #: The reasons why reservations couldn't be opened completely, in the same way.
    partly_open: dict[str, str] = dataclasses.field(default_factory=dict)


@session.retried
def finish_starts(started: Collection[Started], manager_id: str) -> None:
    """Write that leases have started.

    The number of SQL statements doesn't depend on the number of leases that start as usual.

    :raises ClaimLost: this manager has lost a claim, or a lease is gone. Nothing is written.
    """
    lease_ids = [each.claimed.lease.id for each in started]
    reservation_ids = [i for each in started for i in each.claimed.reservation_ids]
    with session.writer() as db:
        executions.finish(db, lease_ids, manager_id)
        backing.finish_opening(db, {i: p for each in started for i, p in each.opened.items()})
        for each in started:
            _set_reasons(db, each.not_open)
        # If a reservation has a reason by now, its project is told that it can't be used.
        lease_writes.set_reservations(db, reservation_ids, "active")
        for each in started:
            _set_reasons(db, each.partly_open)
        _write(db, leases.read(db, lease_ids), START, TARGETS[Summary.ACTIVE])
        in_time = [each.claimed.lease for each in started if not each.not_open]
        metrics.count_delays(db, START, [lease.span.start for lease in in_time])
        notifications.add_of_leases(db, [lease.id for lease in in_time], "event.start_lease")


def _set_reasons(db: Session, reasons: Mapping[str, str]) -> None:
    for reservation_id, reason in reasons.items():
        reservations.set_reason(db, reservation_id, reason)


@session.retried
def finish_end(claimed: Claimed, manager_id: str, rule: BeforeEndRule = USUAL) -> None:
    """Write that a lease has ended, and release its hosts and slots.

    :param rule: what the configuration says about servers before the end. Which snapshots of
        servers weren't made is written too.
    :raises ClaimLost: this manager has lost the claim, or the lease is gone.
    """
    with session.writer() as db:
        executions.finish(db, [claimed.lease.id], manager_id)
        (lease,) = leases.read(db, [claimed.lease.id])
        ids = [r.id for r in lease.reservations]
        running = [r.id for r in lease.reservations if r.is_ours and r.status == "active"]
        snapshots.close(db, running, rule, timeutils.utcnow())
        for reservation_id in ids:
            allocations.release(db, reservation_id)
        lease_writes.set_reservations(db, ids, "deleted")
        _write(db, [lease], END, TARGETS[Summary.DELETED])
        metrics.count_delays(db, END, [lease.span.end])
        notifications.add_of_leases(db, [lease.id], "event.end_lease")


@session.retried
def finish_deletion(claimed: Claimed, manager_id: str) -> None:
    """Delete a lease with all its rows.

    :raises ClaimLost: this manager has lost the claim, or the lease is gone.
    """
    with session.writer() as db:
        executions.finish(db, [claimed.lease.id], manager_id)
        history.record_deletion(db.connection(), claimed.lease.id, timeutils.utcnow(), None)
        notifications.add_of_leases(db, [claimed.lease.id], "delete")
        db_api.lease_destroy(claimed.lease.id)


def remind(lease_id: str, event: Event) -> bool:
    """Write that Blazar's reminder of a lease's end is sent.

    :returns: False: another manager has done so.
    """
    try:
        with session.writer() as db:
            lease_writes.set_events(db, [event], status=lease_states.DONE)
            notifications.add_of_leases(db, [lease_id], "event.before_end_lease")
    except session.LostRace:
        return False
    return True


@session.retried
def postpone(lease_id: str, manager_id: str, now: datetime.datetime) -> None:
    """Give a claim back after a failed attempt. After a pause, any manager tries again.

    During the pause the lease has the statuses that it had before the claim, so users can change or
    delete the lease. The event is due again after the pause. The next attempt checks the lease's
    status and dates as the first one did, so an extension that is accepted meanwhile postpones the
    end. If some reservations are deleted already, the lease goes to ERROR, and the repairer
    requests its end again.

    :raises ClaimLost: this manager has lost the claim, or the lease is gone.
    """
    with session.writer() as db:
        claimed_leases = [lease for lease in leases.read(db, [lease_id]) if lease.claim is not None]
        if not claimed_leases:
            raise executions.ClaimLost
        (lease,) = claimed_leases
        assert lease.claim is not None
        attempts = lease.claim.attempts + 1
        executions.postpone(db, lease_id, manager_id, attempts)
        if lease.claim.action != DELETE:
            summary = lease_states.summary(r.status for r in lease.reservations)
            target = TARGETS.get(summary, TARGETS[Summary.ERRONEOUS])
            event = EVENTS[lease.claim.action]
            _write(db, [lease], lease.claim.action, target, {event: now + pause(attempts)})


def _write(
    db: Session,
    claimed: Collection[Lease],
    action: str,
    target: Statuses,
    times: Mapping[str, datetime.datetime] | None = None,
) -> None:
    """Write the statuses of leases and of their events.

    The claim has set the status of a lease. If the lease has another status now, Blazar has
    overwritten the status, because Blazar writes statuses without comparing them first. In that
    case the lease keeps the other status, and the repairer settles the lease later.
    """
    alike: dict[str, list[Lease]] = defaultdict(list)
    for lease in claimed:
        alike[target.lease if lease.status == DURING[action] else lease.status].append(lease)
    for status, same in alike.items():
        lease_writes.write(db, same, dataclasses.replace(target, lease=status), times)
