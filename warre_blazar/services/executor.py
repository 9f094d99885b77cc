"""Starts, ends and deletions of leases of ours alone, executed on time and side by side.

Each manager has an executor. What is due it claims in one transaction over the lease and its event,
a few seconds ahead, so that Blazar's own executor never finds it. A start is prepared at once and
granted at its time; it waits for the ends before it on the same hosts. What a dead manager had
claimed ``services.repair`` gives back.
"""

import dataclasses
import datetime
import threading
from collections.abc import Callable, Mapping
from concurrent import futures
from typing import Any, Protocol

from blazar.db import api as db_api
from oslo_log import log as logging
from oslo_utils import timeutils, uuidutils
from sqlalchemy.orm import Session

from warre_blazar import exceptions
from warre_blazar.db import executions, hosts, leases, reservations, session
from warre_blazar.db.leases import Lease
from warre_blazar.domain import lease_states
from warre_blazar.domain.executions import (
    ATTEMPTS,
    BEFORE,
    DELETE,
    DURING,
    END,
    EVENTS,
    LEAD,
    RETRY_LEAD,
    START,
    pause,
)
from warre_blazar.domain.lease_states import TARGETS, Reservations, Statuses
from warre_blazar.services import backing

LOG = logging.getLogger(__name__)

#: What a step may fail with; anything else is an error in this package, and handled alike.
_FAILURES = (
    exceptions.WarreError,
    executions.ClaimLost,
    session.LostRace,
    *session.FAILURES,
)

#: Seconds that an end waits for the filters to be told of it.
_TELLING = 15.0

_LeaseRow = Mapping[str, Any]


class Outside(Protocol):
    """Those who want to know what happens to a lease: Blazar's filters, and its notifications."""

    def ending(self, lease: _LeaseRow) -> None:
        """Tell the enforcement filters that a lease ends. Never raises."""

    def tell(self, lease: _LeaseRow, event: str) -> None:
        """Send Blazar's notification ``lease.EVENT``. Never raises."""


@dataclasses.dataclass(frozen=True)
class Claimed:
    """A lease for which this manager has claimed an action."""

    lease: Lease
    action: str
    #: How often the action was tried before, and failed.
    attempts: int
    #: The reservations of a start that only have to be granted.
    prepared: frozenset[str] = frozenset()

    @property
    def due(self) -> datetime.datetime:
        """When the action is to be done: at the lease's time, or later for another attempt."""
        times = [e.time for e in self.lease.of_type(EVENTS[self.action]) if e.time is not None]
        return max([_own_time(self.lease, self.action), *times])

    @property
    def reservation_ids(self) -> list[str]:
        return [r.id for r in self.lease.reservations if r.is_ours and r.status != "deleted"]


@dataclasses.dataclass(frozen=True)
class Pools:
    """Threads for each kind of work, such that none waits for another kind's services."""

    #: Starts, ends and deletions.
    events: futures.Executor
    #: What can be done after an end.
    tidying: futures.Executor
    #: Telling others, who may take as long as they like.
    telling: futures.Executor


class Executor:
    """Claims what is due, and executes it in threads.

    The methods without underscore are called time and again, each by one thread at a time.
    """

    def __init__(
        self,
        host: str,
        outside: Outside,
        patience: Callable[[], float],
        pools: "Pools",
    ) -> None:
        """
        :param host: the manager's name, for people.
        :param patience: seconds to wait for servers to be gone.
        """
        self.manager_id = uuidutils.generate_uuid()
        self._host = host
        self._outside = outside
        self._patience = patience
        self._pools = pools
        self._lock = threading.Lock()
        #: Leases that threads work on, or that wait in ``_waiting`` for their time.
        self._under_way: set[str] = set()
        self._waiting: list[Claimed] = []

    def beat(self) -> None:
        """Say that this manager lives."""
        with session.writer() as db:
            executions.beat(db, self.manager_id, self._host)

    def claim(self, now: datetime.datetime) -> None:
        """Claim what is due or requested, and begin with it."""
        self._give_back_strays()
        with session.reader() as db:
            # Ends first: they free the hosts that starts wait for.
            wanted = [(lease_id, END, False) for lease_id in leases.due(db, END, now)]
            wanted += [(lease_id, START, False) for lease_id in leases.due(db, START, now)]
            for action in (DELETE, END):
                wanted += [(i, action, True) for i in executions.requested(db, action)]
            reminders = leases.due_reminders(db, now)
        for lease_id, action, requested in wanted:
            self._begin(lease_id, action, now, requested)
        for lease_id, event in reminders:
            self._remind(lease_id, event)

    def _begin(self, lease_id: str, action: str, now: datetime.datetime, requested: bool) -> None:
        with self._lock:
            if lease_id in self._under_way:
                return
            self._under_way.add(lease_id)
        try:
            claimed = _claim(lease_id, action, self.manager_id, now, requested)
        except _FAILURES as error:
            LOG.debug("Lease %s isn't claimed for its %s: %r", lease_id, action, error)
            claimed = None
        except Exception:
            # One lease keeps no other from its turn.
            LOG.exception("Lease %s can't be claimed for its %s", lease_id, action)
            claimed = None
        if claimed is None:
            self._done(lease_id)
            return
        if action == END and not requested:
            self._wait(claimed)
        else:
            steps = {START: self._prepare, END: self._end, DELETE: self._delete}
            self._submit(steps[action], claimed)

    def _submit(self, step: Callable[[Claimed], None], claimed: Claimed) -> None:
        self._pools.events.submit(self._guarded, step, claimed)

    def _guarded(self, step: Callable[[Claimed], None], claimed: Claimed) -> None:
        """Take a step. Where it fails the claim is given back, now or when the database is back."""
        try:
            step(claimed)
        except _FAILURES as error:
            LOG.warning("The %s of lease %s: %s", claimed.action, claimed.lease.id, error)
            self._done(claimed.lease.id)
        except Exception:
            LOG.exception("The %s of lease %s failed", claimed.action, claimed.lease.id)
            self._done(claimed.lease.id)

    def _done(self, lease_id: str) -> None:
        with self._lock:
            self._under_way.discard(lease_id)

    def _give_back_strays(self) -> None:
        """Give claims back that are this manager's and that no thread works on any more."""
        with self._lock:
            under_way = set(self._under_way)
        with session.reader() as db:
            strays = set(executions.of_manager(db, self.manager_id)) - under_way
        for lease_id in strays:
            LOG.warning("Lease %s is given back", lease_id)
            try:
                _postpone(lease_id, self.manager_id, timeutils.utcnow())
            except Exception:
                LOG.exception("Lease %s can't be given back, and is tried again", lease_id)

    def _remind(self, lease_id: str, event: leases.Event) -> None:
        try:
            with session.writer() as db:
                leases.set_event(db, event, lease_states.DONE, event.time)
        except session.LostRace:
            return
        self._tell(lease_id, "event.before_end_lease")

    # Starts: prepared as soon as they are claimed, granted when their time has come.

    def _prepare(self, claimed: Claimed) -> None:
        prepared = set()
        for reservation_id in claimed.reservation_ids:
            try:
                backing.prepare(reservation_id)
                prepared.add(reservation_id)
            except exceptions.WarreError as error:
                # The start tries it once more, and says what is wrong.
                LOG.info("Reservation %s isn't prepared: %s", reservation_id, error)
        self._wait(dataclasses.replace(claimed, prepared=frozenset(prepared)))

    def _wait(self, claimed: Claimed) -> None:
        with self._lock:
            self._waiting.append(claimed)

    def begin_due(self, now: datetime.datetime) -> None:
        """Begin with ends and prepared starts whose time has come and whose hosts are free."""
        with self._lock:
            due = [c for c in self._waiting if c.due <= now]
        starts = [i for c in due if c.action == START for i in c.reservation_ids]
        blocked: set[str] = set()
        if starts:
            # Hosts are another's after so long, whatever became of those who had them.
            since = now - datetime.timedelta(seconds=2 * self._patience())
            with session.reader() as db:
                blocked = hosts.still_ending(db, starts, since, now)
        for claimed in due:
            if blocked.isdisjoint(claimed.reservation_ids):
                with self._lock:
                    self._waiting.remove(claimed)
                self._submit(self._start if claimed.action == START else self._end, claimed)

    def _start(self, claimed: Claimed) -> None:
        failed: dict[str, str] = {}
        for reservation_id in claimed.reservation_ids:
            try:
                if reservation_id not in claimed.prepared:
                    backing.prepare(reservation_id)
                backing.grant(reservation_id)
            except exceptions.ServiceUnavailable as error:
                LOG.warning("Reservation %s opens later: %s", reservation_id, error)
            except exceptions.WarreError as error:
                failed[reservation_id] = error.message
        if failed and claimed.attempts + 1 < ATTEMPTS:
            LOG.warning("The start of lease %s is tried again: %s", claimed.lease.id, failed)
            _postpone(claimed.lease.id, self.manager_id, timeutils.utcnow())
            self._done(claimed.lease.id)
            return
        _finish_start(claimed, self.manager_id, failed)
        self._done(claimed.lease.id)
        if not failed:
            self._tell(claimed.lease.id, "event.start_lease")

    # Ends and deletions.

    def _end(self, claimed: Claimed) -> None:
        self._evict(claimed)
        _finish_end(claimed, self.manager_id)
        self._done(claimed.lease.id)
        self._tell(claimed.lease.id, "event.end_lease")
        self._tidy(claimed)

    def _delete(self, claimed: Claimed) -> None:
        row = self._evict(claimed)
        _finish_deletion(claimed, self.manager_id)
        self._done(claimed.lease.id)
        if row is not None:
            self._pools.telling.submit(self._outside.tell, row, "delete")
        self._tidy(claimed)

    def _evict(self, claimed: Claimed) -> _LeaseRow | None:
        row = db_api.lease_get(claimed.lease.id)
        # The end of a lease that is over was told when it ended.
        if row is not None and claimed.reservation_ids:
            # On time whatever becomes of those who are told.
            told = self._pools.telling.submit(self._outside.ending, row)
            futures.wait([told], timeout=_TELLING)
        for reservation_id in claimed.reservation_ids:
            backing.evict(reservation_id, self._patience())
        return row

    def _tidy(self, claimed: Claimed) -> None:
        for reservation_id in claimed.reservation_ids:
            self._pools.tidying.submit(backing.remove_or_leave, reservation_id)

    def _tell(self, lease_id: str, event: str) -> None:
        row = db_api.lease_get(lease_id)
        if row is not None:
            self._pools.telling.submit(self._outside.tell, row, event)


@session.retried
def _claim(
    lease_id: str, action: str, manager_id: str, now: datetime.datetime, requested: bool
) -> Claimed | None:
    """Claim an action, if it is still to be done.

    :param requested: whether it is to be done whatever the lease's time is.
    :raises TryAgain: when others got in between time after time.
    """
    with session.writer() as db:
        found = leases.read(db, [lease_id])
        if not found or executions.state_of(found[0].claim) is not lease_states.Claim.NONE:
            return None
        lease = found[0]
        if requested:
            if lease.claim is None or lease.claim.action != action:
                return None
        elif lease.status not in BEFORE[action] or not _is_due(lease, action, now):
            return None
        leases.compare_and_set(db, lease, DURING[action])
        for event in lease.of_type(EVENTS.get(action, "")):
            leases.set_event(db, event, lease_states.IN_PROGRESS, event.time)
        attempts = executions.claim(db, lease_id, action, manager_id)
        return Claimed(lease, action, attempts)


def _is_due(lease: Lease, action: str, now: datetime.datetime) -> bool:
    """Whether an action's event is due by now: by the lease's own time, and one event only."""
    found = lease.of_type(EVENTS[action])
    if lease.is_mixed() or len(found) != 1 or found[0].status != lease_states.UNDONE:
        return False
    time, own = found[0].time, _own_time(lease, action)
    if time is None or max(time, own) > now + LEAD[action]:
        return False
    return time == own or time <= now + RETRY_LEAD


def _own_time(lease: Lease, action: str) -> datetime.datetime:
    return lease.span.start if action == START else lease.span.end


@session.retried
def _finish_start(claimed: Claimed, manager_id: str, failed: Mapping[str, str]) -> None:
    """Write that a lease has started.

    :param failed: why reservations of the lease could not be opened, by their id.
    :raises ClaimLost: another manager has it, or the lease is gone.
    """
    with session.writer() as db:
        executions.finish(db, claimed.lease.id, manager_id)
        (lease,) = leases.read(db, [claimed.lease.id])
        opened = [i for i in claimed.reservation_ids if i not in failed]
        leases.set_reservations(db, opened, "active")
        leases.set_reservations(db, list(failed), "error")
        for reservation_id, reason in failed.items():
            reservations.set_reason(db, reservation_id, reason)
        came_to = Reservations.ERRONEOUS if failed else Reservations.ACTIVE
        _write(db, lease, START, TARGETS[came_to])


@session.retried
def _finish_end(claimed: Claimed, manager_id: str) -> None:
    """Write that a lease is over, and give up its hosts and slots.

    :raises ClaimLost: another manager has it, or the lease is gone.
    """
    with session.writer() as db:
        executions.finish(db, claimed.lease.id, manager_id)
        (lease,) = leases.read(db, [claimed.lease.id])
        ids = [r.id for r in lease.reservations]
        for reservation_id in ids:
            hosts.release(db, reservation_id)
        leases.set_reservations(db, ids, "deleted")
        _write(db, lease, END, TARGETS[Reservations.DELETED])


@session.retried
def _finish_deletion(claimed: Claimed, manager_id: str) -> None:
    """Delete a lease with all its rows.

    :raises ClaimLost: another manager has it, or the lease is gone.
    """
    with session.writer() as db:
        executions.finish(db, claimed.lease.id, manager_id)
        db_api.lease_destroy(claimed.lease.id)


@session.retried
def _postpone(lease_id: str, manager_id: str, now: datetime.datetime) -> None:
    """Give a claim back after an attempt that failed; any manager tries it again after a pause.

    Until then the lease is as it was: Blazar lets it be changed and deleted, and its event is not
    due.

    :raises ClaimLost: another manager has it, or the lease is gone.
    """
    with session.writer() as db:
        found = [lease for lease in leases.read(db, [lease_id]) if lease.claim is not None]
        if not found:
            raise executions.ClaimLost
        (lease,) = found
        assert lease.claim is not None
        attempts = lease.claim.attempts + 1
        executions.postpone(db, lease_id, manager_id, attempts)
        target = TARGETS.get(lease_states.summary(r.status for r in lease.reservations))
        if lease.claim.action != DELETE and target is not None:
            event = EVENTS[lease.claim.action]
            _write(db, lease, lease.claim.action, target, {event: now + pause(attempts)})


def _write(
    db: Session,
    lease: Lease,
    action: str,
    target: Statuses,
    times: Mapping[str, datetime.datetime] | None = None,
) -> None:
    """Write a lease's statuses; its own only where it is still this action's.

    Blazar writes some without looking: what it makes of a lease meanwhile is settled later.
    """
    if lease.status != DURING[action]:
        target = dataclasses.replace(target, lease=lease.status)
    leases.write(db, lease, target, times)
