"""Repairs leases whose statuses contradict each other.

The table in ``domain.running.lease_states`` says what each state means and what to do about it.
Several managers can repair leases at the same time, because every write checks that the lease
hasn't changed since it was read.
"""

import dataclasses
import datetime
import time
from collections.abc import Callable

from oslo_log import log as logging
from oslo_utils import timeutils
from sqlalchemy.orm import Session

from warre_blazar.db import session, waits
from warre_blazar.db.booking import promises
from warre_blazar.db.messages import outbox
from warre_blazar.db.records import history, metrics
from warre_blazar.db.running import executions, lease_writes, leases, marks
from warre_blazar.domain.messages.notices import Kind, News
from warre_blazar.domain.records.tallies import Name
from warre_blazar.domain.running import lease_states
from warre_blazar.domain.running.execution import DELETE, END
from warre_blazar.domain.running.lease import Lease
from warre_blazar.domain.running.lease_states import Action, Age, Decision
from warre_blazar.services.messages import notifications

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class _Sight:
    """A lease as it was read, and the moment since which the repairer has seen it unchanged."""

    lease: Lease
    #: This moment, in seconds of the repairer's own clock.
    since: float


class Repairer:
    """Looks at leases periodically, and does what the table of states says about them.

    The repairer measures by its own clock how long a lease has been unchanged, because the clocks
    of other machines may be wrong.
    """

    def __init__(
        self, patience: Callable[[int], float], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """
        :param patience: a function of the number of a lease's reservations. It returns the longest
            time, in seconds, that work on the lease can take with the configured timeouts.
        """
        self._patience = patience
        self._clock = clock
        self._seen: dict[str, _Sight] = {}
        #: How often this repairer has taken each action, and how many orphan events it has removed.
        self.counts: dict[str, int] = {}

    def look(self, now: datetime.datetime, thorough: bool = False) -> None:
        """Read the leases that may need a repair, and do what the table of states says.

        :param thorough: if false, look only at the leases that the database can find by indexes. If
            true, look at all leases of ours that haven't ended or have ended recently.
        """
        self._remove_orphan_events()
        with session.reader() as db:
            ids = {*leases.in_question(db), *self._seen}
            if thorough:
                ids.update(leases.unsettled(db, now))
            read_leases = leases.read(db, ids)
        self._seen = {lease.id: self._sight(lease) for lease in read_leases}
        for lease in read_leases:
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
        age = lease_states.age(unchanged, self._patience(len(lease.reservations)))
        if age is Age.QUIET and self._seen[lease.id].lease.is_abandoned:
            return Age.STUCK
        return age

    def _act(self, lease: Lease, decision: Decision) -> None:
        try:
            if not act_on_unchanged(lease, decision):
                return
        except Exception:
            # A lease that can't be repaired must not keep the other leases from being repaired.
            LOG.exception("Lease %s couldn't be repaired yet", lease.id)
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
        removed = session.change(lease_writes.delete_orphan_events)
        if removed:
            self._count("orphan events", removed)
            LOG.warning("Removed %s events that belonged to no lease", removed)

    def _forget_promises(self) -> None:
        """Drop promises whose updates have finished or have been abandoned."""
        session.change(_forget_promises)

    def _count(self, what: str, number: int = 1) -> None:
        self.counts[what] = self.counts.get(what, 0) + number


def _forget_promises(db: Session) -> None:
    for promise in promises.pending(db):
        promises.drop(db, promise)


def act_on_unchanged(lease: Lease, decision: Decision) -> bool:
    """Carry out a decision about a lease, if the lease is still as it was read.

    :returns: True: the decision was carried out. False: somebody else has written the lease, and
        nothing was done.
    """
    try:
        with session.writer() as db:
            if [_without_heartbeat(r) for r in leases.read(db, [lease.id])] != [
                _without_heartbeat(lease)
            ]:
                return False
            act(db, lease, decision)
    except session.LostRace:
        return False
    return True


def act(db: Session, lease: Lease, decision: Decision) -> None:
    """Carry out a decision about a lease, in the caller's transaction.

    The end or the deletion of a lease needs calls to Nova and to the enforcement filters. So this
    function only requests an end or a deletion, and an executor executes it.

    :raises session.LostRace: the lease is no longer as it was read.
    """
    if decision.action is Action.LEAVE:
        return
    if lease.claim is not None:
        executions.forget(db, lease.claim)
    executions.forget_worker(db, lease.id)
    metrics.add_tally(db, Name.REPAIR, decision.row)
    if decision.action is Action.SETTLE:
        assert decision.target is not None
        lease_writes.write(db, [lease], decision.target)
        _tell(db, lease, decision)
        return
    status = lease.status
    if decision.action is Action.REMOVE:
        if status == lease_states.CREATING:
            waits.reopen(db, lease.id)
            # Whoever executes the deletion doesn't see this any more.
            now = timeutils.utcnow()
            history.record_deletion(db.connection(), lease.id, now, None, is_half_made=True)
        status = lease_states.DELETING
    lease_writes.compare_and_set(db, lease, status)
    executions.request(db, lease.id, DELETE if decision.action is Action.REMOVE else END)


def _tell(db: Session, lease: Lease, decision: Decision) -> None:
    """Tell that a lease's statuses were repaired."""
    assert decision.target is not None
    after = {"lease_status": decision.target.lease, "meaning": decision.meaning}
    before = {"lease_status": lease.status}
    repaired = News(Kind.REPAIRED, timeutils.utcnow(), None, before, after)
    outbox.add(db, outbox.of_lease(lease.id), repaired)
    notifications.add_of_leases(db, [lease.id], "update")


@session.retried
def settle(lease_id: str, now: datetime.datetime) -> str | None:
    """Repair, without waiting, a lease that is in ERROR, abandoned or half deleted.

    The repairer would wait before it repairs the lease. But nothing is working on such a lease any
    more, so the lease can be repaired at once. Any other lease is left as it is, and so are all
    leases of a database that is older than Placement.

    :returns: the lease's status afterwards, or None if the lease is gone.
    """
    with session.writer() as db:
        is_held = marks.read(db).is_older
        for lease in leases.read(db, [lease_id]):
            is_worked_on = lease.status in lease_states.TRANSITIONAL and not lease.is_abandoned
            if is_held or is_worked_on:
                return lease.status
            decision = lease_states.decide(lease.state(now, Age.STUCK))
            # Blazar may be between two writes to a lease in another status.
            is_left = lease.status == lease_states.ERROR or lease.is_abandoned
            if is_left or decision.action is Action.REMOVE:
                act(db, lease, decision)
        return next((lease.status for lease in leases.read(db, [lease_id])), None)


def _without_heartbeat(lease: Lease) -> Lease:
    """The lease without the heartbeat of its claim's manager, for comparisons."""
    if lease.claim is None:
        return lease
    return dataclasses.replace(lease, claim=dataclasses.replace(lease.claim, alive=True))
