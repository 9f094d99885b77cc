"""The executor starts, ends and deletes leases at their time, several leases at once.

It handles only leases that have reservations of the resource type ``flavor:slot``. Each manager has
an executor. The executor claims leases a few seconds before they are due. The transaction that
claims a lease checks that the lease and its event haven't changed since they were read, and changes
their statuses. Because of the event's new status, Blazar's own executor never finds the event.

The executor prepares each start as soon as it has claimed the start. It gives the project access
when the start's time has come and earlier leases on the same hosts have ended. If a manager dies,
``running.repair`` gives back the manager's lease claims.
"""

import dataclasses
import datetime
import functools
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent import futures
from typing import Any, Protocol

from blazar.db import api as db_api
from oslo_log import log as logging
from oslo_utils import uuidutils

from warre_blazar import timer, times
from warre_blazar.db import session
from warre_blazar.db.hosts import allocations
from warre_blazar.db.running import executions, leases
from warre_blazar.domain.running.execution import DELETE, END, START
from warre_blazar.domain.running.snapshots import USUAL, BeforeEndRule
from warre_blazar.errors import exceptions
from warre_blazar.services.running import backing
from warre_blazar.services.running import executor_transactions as transactions
from warre_blazar.services.running.backing import Prepared
from warre_blazar.services.running.executor_transactions import Claimed, Started
from warre_blazar.services.running.room_look import Look

LOG = logging.getLogger(__name__)

#: The errors that a step is expected to raise. Any other exception is a defect of this package. It
#: is handled in the same way, but is logged with its traceback.
_FAILURES = (
    exceptions.WarreError,
    session.RowChanged,
    *session.FAILURES,
)

#: The largest number of leases that are claimed in one transaction.
_BATCH = 50


_LeaseRow = Mapping[str, Any]


class Outside(Protocol):
    """Blazar's enforcement filters, which hear of the ends of leases."""

    def ending(self, lease: _LeaseRow) -> None:
        """Tell the enforcement filters that a lease ends. This method raises nothing."""


class Opening(Protocol):
    """Sees that the hosts of reservations have room for them (``moves.opening.Opener``)."""

    def checked(
        self,
        reservation_id: str,
        prepared: Prepared,
        moment: datetime.datetime,
        look: Look,
        manager_id: str,
    ) -> Prepared:
        """Move to other hosts what has no room at the start, and return what is prepared then."""

    def checked_after_ends(
        self, reservation_id: str, prepared: Prepared, moment: datetime.datetime, manager_id: str
    ) -> Prepared:
        """Do the same just after other reservations have left the same hosts."""


@dataclasses.dataclass(frozen=True)
class _WorkUnderWay:
    """What the executor does with a lease that it has claimed or is claiming."""

    #: The action, and how many earlier attempts at it have failed. A later attempt has another
    #: number. None: the lease isn't claimed yet.
    attempt: tuple[str, int] | None = None
    #: The time, by the package's clock, after which the executor no longer counts on its thread.
    deadline: float = math.inf


@dataclasses.dataclass(frozen=True)
class Pools:
    """A pool of threads for each kind of work. Slow work of one kind can't delay another kind.

    There is one exception: an end waits for a few seconds until the filters were told.
    """

    #: For starts, ends and deletions.
    events: futures.Executor
    #: For removing backings after an end or a deletion.
    tidying: futures.Executor
    #: For calls of ``Outside``, which may take arbitrarily long.
    telling: futures.Executor


class Executor:
    """Claims leases that are due, and executes their starts, ends and deletions in threads.

    The public methods are called periodically, each by one thread at a time.
    """

    def __init__(
        self,
        host: str,
        outside: Outside,
        opening: Opening,
        patience: Callable[[], float],
        pools: "Pools",
        time_limit: Callable[[int], float] = lambda _: math.inf,
        before_end: BeforeEndRule = USUAL,
    ) -> None:
        """
        :param host: the manager's name, which is shown to people.
        :param patience: a function that returns the seconds to wait until servers are deleted.
        :param time_limit: a function of the number of a lease's reservations. It returns the
            seconds after which a claim is given back although a thread still works on the lease.
        :param before_end: what the configuration says about servers before the end.
        """
        self.manager_id = uuidutils.generate_uuid()
        self._host = host
        self._outside = outside
        self._opening = opening
        self._patience = patience
        self._pools = pools
        self._time_limit = time_limit
        self._before_end = before_end
        self._lock = threading.Lock()
        #: The work on leases that a thread is working on, or that are in ``_waiting``, by lease id.
        self._under_way: dict[str, _WorkUnderWay] = {}
        #: The claimed ends and the prepared starts that the executor hasn't begun to execute yet.
        self._waiting: list[Claimed] = []
        #: How many threads are giving access.
        self._starting = 0
        #: The leases that have started, and whose start isn't written yet.
        self._started: list[Started] = []

    def beat(self) -> None:
        """Write this manager's heartbeat."""
        session.change(executions.beat, self.manager_id, self._host)

    def claim(self, now: datetime.datetime) -> None:
        """Claim each start, end and deletion that is due or requested, and begin its execution.

        Reminders (Blazar's before-end events) are sent too when they are due. They need no claim.
        """
        self._give_back_strays(now)
        with session.reader() as db:
            # Ends are claimed first. They free hosts, and a start may be waiting for these hosts.
            to_claim = [(action, False, leases.due(db, action, now)) for action in (END, START)]
            to_claim += [(a, True, executions.requested(db, a)) for a in (DELETE, END)]
            reminders = leases.due_reminders(db, now)
        for action, requested, lease_ids in to_claim:
            for first in range(0, len(lease_ids), _BATCH):
                self._begin(lease_ids[first : first + _BATCH], action, now, requested)
        for lease_id, event in reminders:
            transactions.remind(lease_id, event)

    def _begin(
        self, lease_ids: Sequence[str], action: str, now: datetime.datetime, requested: bool
    ) -> None:
        with self._lock:
            free = [i for i in lease_ids if i not in self._under_way]
            self._under_way.update(dict.fromkeys(free, _WorkUnderWay()))
        claims = self._claim(free, action, now, requested)
        with self._lock:
            for lease_id in set(free) - {claimed.lease.id for claimed in claims}:
                del self._under_way[lease_id]
            for claimed in claims:
                self._under_way[claimed.lease.id] = _WorkUnderWay(claimed.attempt)
        # Leases that are claimed together mostly start together.
        prepare: Callable[[Claimed], None] = functools.partial(self._prepare, Look())
        steps = {START: prepare, END: self._end, DELETE: self._delete}
        for claimed in claims:
            if action == END and not requested:
                self._wait(claimed)
            else:
                self._submit(steps[action], claimed)

    def _claim(
        self, lease_ids: Sequence[str], action: str, now: datetime.datetime, requested: bool
    ) -> list[Claimed]:
        """Claim leases in one transaction. If that fails, claim each in its own transaction."""
        try:
            return transactions.claim(lease_ids, action, self.manager_id, now, requested)
        except Exception as error:
            if len(lease_ids) > 1:
                # A lease that can't be claimed must not keep the other leases from being claimed.
                return [c for i in lease_ids for c in self._claim([i], action, now, requested)]
            unexpected = not isinstance(error, _FAILURES)
            level = logging.ERROR if unexpected else logging.DEBUG
            text = "Lease %s couldn't be claimed for its %s: %r"
            LOG.log(level, text, lease_ids[0], action, error, exc_info=unexpected)
            return []

    def _submit(self, step: Callable[[Claimed], None], claimed: Claimed) -> None:
        deadline = timer.now() + self._time_limit(len(claimed.reservation_ids))
        with self._lock:
            self._under_way[claimed.lease.id] = _WorkUnderWay(claimed.attempt, deadline)
        self._pools.events.submit(self._guarded, step, claimed)

    def _guarded(self, step: Callable[[Claimed], None], claimed: Claimed) -> None:
        """Run a step. If it fails, ``_give_back_strays`` gives the lease claim back later."""
        if not self._is_under_way(claimed):
            # All threads were busy until the claim was given back.
            return
        try:
            step(claimed)
        except _FAILURES as error:
            LOG.warning("The %s of lease %s failed: %s", claimed.action, claimed.lease.id, error)
            self._done(claimed)
        except Exception:
            LOG.exception("The %s of lease %s failed", claimed.action, claimed.lease.id)
            self._done(claimed)

    def _is_under_way(self, claimed: Claimed) -> bool:
        """Whether this attempt, and not a later one, is under way."""
        return self._under_way.get(claimed.lease.id, _WorkUnderWay()).attempt == claimed.attempt

    def _done(self, claimed: Claimed) -> None:
        with self._lock:
            if self._is_under_way(claimed):
                del self._under_way[claimed.lease.id]

    def _give_back_strays(self, now: datetime.datetime) -> None:
        """Give back this manager's claims on leases that no thread is working on any more.

        A thread that has worked on a lease for longer than any work takes doesn't count. It may
        hang for ever, for instance on a connection to a database server that is gone.
        """
        with self._lock:
            for lease_id in [i for i, w in self._under_way.items() if w.deadline < timer.now()]:
                LOG.error("The thread that works on lease %s doesn't come to an end", lease_id)
                del self._under_way[lease_id]
            under_way = set(self._under_way)
        with session.reader() as db:
            strays = set(executions.of_manager(db, self.manager_id)) - under_way
        for lease_id in strays:
            LOG.warning("Giving back the claim of lease %s", lease_id)
            try:
                transactions.postpone(lease_id, self.manager_id, now)
            except Exception:
                LOG.exception("The claim of lease %s couldn't be given back yet", lease_id)

    # A start is prepared as soon as it is claimed. The project gets access when the start is due.

    def _prepare(self, look: Look, claimed: Claimed) -> None:
        succeeding = self._succeeding(claimed)
        prepared = {}
        for reservation_id in claimed.reservation_ids:
            try:
                prepared[reservation_id] = self._prepared(
                    reservation_id, claimed, None if reservation_id in succeeding else look
                )
            except exceptions.WarreError as error:
                # ``_start`` prepares the reservation once more, and reports the error.
                LOG.info("Reservation %s couldn't be prepared yet: %s", reservation_id, error)
        self._wait(dataclasses.replace(claimed, prepared=prepared, succeeding=succeeding))

    def _succeeding(self, claimed: Claimed) -> frozenset[str]:
        """The reservations of a lease on whose hosts others hold room until its start."""
        start = claimed.lease.span.start
        with session.reader() as db:
            ending = allocations.still_ending(
                db, claimed.reservation_ids, self._waited_for(start), start
            )
        return frozenset(ending)

    def _prepared(self, reservation_id: str, claimed: Claimed, look: Look | None) -> Prepared:
        """Prepare a reservation.

        :param look: what Placement has said about hosts. None: nobody looks whether the hosts have
            room.
        """
        prepared = backing.prepare(reservation_id)
        if look is None:
            return prepared
        start = claimed.lease.span.start
        return self._opening.checked(reservation_id, prepared, start, look, self.manager_id)

    def _waited_for(self, moment: datetime.datetime) -> datetime.datetime:
        """A start at a moment waits for leases that should have ended since this time."""
        return moment - 2 * self._patience() * times.SECOND

    def _wait(self, claimed: Claimed) -> None:
        with self._lock:
            if self._is_under_way(claimed):
                self._under_way[claimed.lease.id] = _WorkUnderWay(claimed.attempt)
                self._waiting.append(claimed)

    def begin_due(self, now: datetime.datetime) -> None:
        """Begin the execution of each claimed end and of each prepared start that is due.

        A start also waits until earlier leases on the same hosts have ended.

        What has started since the last call is written, also if a thread that starts another lease
        hangs.
        """
        self._finish_starts()
        with self._lock:
            due = [c for c in self._waiting if c.due <= now]
        starts = [i for c in due if c.action == START for i in c.reservation_ids]
        blocked: set[str] = set()
        if starts:
            # If a lease should have ended earlier, it doesn't delay the start.
            with session.reader() as db:
                blocked = allocations.still_ending(db, starts, self._waited_for(now), now)
        for claimed in due:
            if blocked.isdisjoint(claimed.reservation_ids):
                with self._lock:
                    self._waiting.remove(claimed)
                self._submit(self._start if claimed.action == START else self._end, claimed)

    def _start(self, claimed: Claimed) -> None:
        with self._lock:
            self._starting += 1
        try:
            started = self._opened(claimed)
            with self._lock:
                self._started.append(started)
        finally:
            with self._lock:
                self._starting -= 1
                is_last = not self._starting
        # One transaction for many leases costs much less than one for each.
        if is_last:
            self._finish_starts()

    def _opened(self, claimed: Claimed) -> Started:
        """Give the project access to the reservations of a lease."""
        started = Started(claimed)
        for reservation_id in claimed.reservation_ids:
            try:
                prepared = self._ready(reservation_id, claimed)
                if backing.give_access(reservation_id, prepared):
                    started.opened[reservation_id] = prepared
            except exceptions.PlacesUnusable as error:
                started.partly_open[reservation_id] = error.message
            except exceptions.WarreError as error:
                # A refusal isn't final. For example, Keystone refuses the service user while its
                # password is wrong.
                LOG.warning("Reservation %s will be opened later: %s", reservation_id, error)
                started.not_open[reservation_id] = error.message
        return started

    def _finish_starts(self) -> None:
        """Write in one transaction what has started. If that fails, each in its own transaction."""
        with self._lock:
            started = [s for s in self._started if self._is_under_way(s.claimed)]
            self._started.clear()
        if not started:
            return
        try:
            self._finish(*started)
        except Exception:
            # A lease that can't be written must not keep the others from being written.
            LOG.debug("%d starts couldn't be written at once", len(started), exc_info=True)
            for each in started:
                self._guarded(functools.partial(self._finish_alone, each), each.claimed)

    def _finish_alone(self, started: Started, _: Claimed) -> None:
        self._finish(started)

    def _finish(self, *started: Started) -> None:
        transactions.finish_starts(started, self.manager_id)
        for each in started:
            self._done(each.claimed)

    def _ready(self, reservation_id: str, claimed: Claimed) -> Prepared:
        """A reservation whose start has come, with only the access missing."""
        succeeds, start = reservation_id in claimed.succeeding, claimed.lease.span.start
        prepared = claimed.prepared.get(reservation_id)
        if prepared is None:
            prepared = self._prepared(reservation_id, claimed, None if succeeds else Look())
        if not succeeds:
            return prepared
        return self._opening.checked_after_ends(reservation_id, prepared, start, self.manager_id)

    # Ends and deletions.

    def _end(self, claimed: Claimed) -> None:
        self._evict(claimed)
        transactions.finish_end(claimed, self.manager_id, self._before_end)
        self._done(claimed)
        self._tidy(claimed)

    def _delete(self, claimed: Claimed) -> None:
        self._evict(claimed)
        transactions.finish_deletion(claimed, self.manager_id)
        self._done(claimed)
        self._tidy(claimed)

    def _evict(self, claimed: Claimed) -> None:
        """Tell the filters that the lease ends, and delete its servers meanwhile."""
        row = db_api.lease_get(claimed.lease.id)
        told = []
        # If the lease has ended before its deletion, the filters were already told at its end.
        if row is not None and claimed.reservation_ids:
            told.append(self._pools.telling.submit(self._outside.ending, row))
        for reservation_id in claimed.reservation_ids:
            backing.evict(reservation_id, self._patience())
        # Once the end is written, nobody tells the filters again if this process is killed. So they
        # are told first. But the next lease may be waiting for the hosts, so filters that hang
        # don't hold it up.
        futures.wait(told, times.FILTERS_WAIT)

    def _tidy(self, claimed: Claimed) -> None:
        for reservation_id in claimed.reservation_ids:
            self._pools.tidying.submit(backing.remove_or_leave, reservation_id)
