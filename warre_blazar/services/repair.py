"""Leases whose state contradicts itself are brought back to one that leads on.

The table in ``domain.lease_states`` says what a state means and what to do. Any number of managers
may repair: whatever is written compares the lease with what was read.
"""

import dataclasses
import datetime
import time
from collections.abc import Callable

from oslo_log import log as logging
from sqlalchemy.orm import Session

from warre_blazar.db import executions, leases, reservations, session
from warre_blazar.db.leases import Lease
from warre_blazar.domain import lease_states
from warre_blazar.domain.executions import DELETE, END
from warre_blazar.domain.lease_states import Action, Age, Decision

LOG = logging.getLogger(__name__)

#: Seconds; see ``Age.QUIET``.
QUIET = 5.0


#: Leases that are over are looked at for so long.
_RECENT = datetime.timedelta(days=1)


@dataclasses.dataclass(frozen=True)
class _Sight:
    """A lease as it was seen, and since when it has been so."""

    lease: Lease
    since: float


class Repairer:
    """Looks at leases time and again, and acts on what the table says of them.

    For how long a lease has been as it is, it measures itself: the clocks of other machines may be
    wrong.
    """

    def __init__(
        self, patience: Callable[[int], float], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """
        :param patience: how many seconds anything that works on a lease with so many reservations
            can take, by the configured timeouts.
        """
        self._patience = patience
        self._clock = clock
        self._seen: dict[str, _Sight] = {}
        #: How often each action was taken, and orphan events removed, by this manager.
        self.counts: dict[str, int] = {}

    def look(self, now: datetime.datetime, thorough: bool = False) -> None:
        """Act on every lease that isn't at rest.

        :param thorough: look at each lease of ours that isn't over, not only at those that an index
            finds.
        """
        self._remove_orphan_events()
        with session.reader() as db:
            ids = {*leases.in_question(db), *self._seen}
            if thorough:
                ids.update(leases.contradictory(db, now - _RECENT))
            found = leases.read(db, ids)
        self._seen = {lease.id: self._sight(lease) for lease in found}
        for lease in found:
            state = lease.state(now, self._age(lease))
            decision = lease_states.decide(state)
            if decision.action is not Action.LEAVE:
                self._act(lease, decision)
            elif lease_states.is_at_rest(state):
                del self._seen[lease.id]
        self._forget_promises()

    def _sight(self, lease: Lease) -> _Sight:
        lease = _without_heartbeat(lease)
        before = self._seen.get(lease.id)
        if before is not None and before.lease == lease:
            return before
        return _Sight(lease, self._clock())

    def _age(self, lease: Lease) -> Age:
        unchanged = self._clock() - self._seen[lease.id].since
        if unchanged >= self._patience(len(lease.reservations)):
            return Age.STUCK
        return Age.QUIET if unchanged >= QUIET else Age.FRESH

    def _act(self, lease: Lease, decision: Decision) -> None:
        try:
            with session.writer() as db:
                if [_without_heartbeat(r) for r in leases.read(db, [lease.id])] != [
                    _without_heartbeat(lease)
                ]:
                    return  # somebody else has acted
                act(db, lease, decision)
        except session.LostRace:
            return
        except Exception:
            # One lease keeps no other from its repair.
            LOG.exception("Lease %s can't be repaired, and is looked at again", lease.id)
            return
        self._count(decision.action)
        LOG.warning(
            "Lease %s was %s (%s): %s. %s",
            lease.id,
            lease.status,
            ", ".join(f"{event.type} {event.status}" for event in lease.events),
            decision.action,
            decision.meaning,
        )

    def _remove_orphan_events(self) -> None:
        with session.writer() as db:
            removed = leases.delete_orphan_events(db)
        if removed:
            self._count("orphan events", removed)
            LOG.warning("%s events that belong to no lease were removed", removed)

    def _forget_promises(self) -> None:
        """Let go of times that were promised to updates which have come to their end."""
        with session.writer() as db:
            for promise in reservations.promises(db):
                patience = self._patience(promise.lease_size)
                if promise.age > (leases.UPDATE_TAKES if promise.is_kept else patience):
                    reservations.drop_promise(db, promise)

    def _count(self, what: str, number: int = 1) -> None:
        self.counts[what] = self.counts.get(what, 0) + number


def act(db: Session, lease: Lease, decision: Decision) -> None:
    """Write what a decision about a lease asks for, in the caller's transaction.

    What takes calls to Nova or to filters is requested from the executors.

    :raises session.LostRace: when the lease is no longer as it was read.
    """
    if decision.action is Action.LEAVE:
        return
    if lease.claim is not None:
        executions.forget(db, lease.claim)
    if decision.action is Action.SETTLE:
        assert decision.target is not None
        leases.write(db, lease, decision.target)
        return
    status = lease.status
    if decision.action is Action.REMOVE:
        status = lease_states.DELETING
    leases.compare_and_set(db, lease, status)
    executions.request(db, lease.id, DELETE if decision.action is Action.REMOVE else END)


@session.retried
def settle(lease_id: str, now: datetime.datetime) -> str | None:
    """Settle a lease at once that Blazar has left in ERROR: nobody works on it any more.

    A lease in any other status is left as it is.

    :returns: the lease's status afterwards, None when it is gone.
    """
    with session.writer() as db:
        for lease in leases.read(db, [lease_id]):
            if lease.status != lease_states.ERROR:
                return lease.status
            act(db, lease, lease_states.decide(lease.state(now, Age.STUCK)))
        return next((lease.status for lease in leases.read(db, [lease_id])), None)


@session.retried
def request_deletion(lease_id: str) -> None:
    """Ask the executors to delete a lease of ours alone, whatever has become of its trust.

    Nothing is asked while somebody else works on the lease.
    """
    with session.writer() as db:
        for lease in leases.read(db, [lease_id]):
            is_claimed = executions.state_of(lease.claim) is lease_states.Claim.LIVE
            if lease.status in lease_states.TRANSITIONAL or is_claimed:
                return
            leases.compare_and_set(db, lease, lease_states.DELETING)
            if lease.claim is not None:
                executions.forget(db, lease.claim)
            executions.request(db, lease_id, DELETE)


def _without_heartbeat(lease: Lease) -> Lease:
    """A lease to compare: whether the heart of a claim's manager beats is no part of it."""
    if lease.claim is None:
        return lease
    return dataclasses.replace(lease, claim=dataclasses.replace(lease.claim, alive=True))
