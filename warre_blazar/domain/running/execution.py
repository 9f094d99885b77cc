"""Executions (starts, ends and deletions of leases): their statuses, times and claims."""

import dataclasses
import datetime

from warre_blazar import times
from warre_blazar.domain.running.lease_states import ClaimState

START, END, DELETE = "start", "end", "delete"

#: The type of Blazar's event for each action. A deletion has no event.
EVENTS = {START: "start_lease", END: "end_lease"}

#: By action, the status of the lease while a manager executes the action.
DURING = {START: "STARTING", END: "TERMINATING", DELETE: "DELETING"}

#: By action, the statuses that a lease may have when a manager claims the action. A manager may
#: claim the end of a PENDING lease, because a lease that never started must end too.
BEFORE = {START: ("PENDING",), END: ("PENDING", "ACTIVE", "ERROR")}

#: By action, the usual lead: a manager claims the action this long before it is due. Blazar's own
#: executor looks only for events that are due. So Blazar's executor never finds the event of a
#: claimed action. During the lead of a start, the manager prepares the start, but the project can't
#: use the reservation yet. During the lead of an end, requests to extend the lease are refused.
LEAD = {START: times.START_LEAD, END: times.END_LEAD}

#: By action, the longest lead that ``lead`` returns.
LONGEST_LEAD = {**LEAD, START: times.LONGEST_START_LEAD}

#: After a failed attempt, a manager claims the action again this long before the next attempt.
RETRY_LEAD = LEAD[END]


def lead(action: str, together: int) -> datetime.timedelta:
    """The lead of an action.

    :param together: how many leases have it due within its longest lead.
    """
    return min(max(LEAD[action], together * times.START_TAKES), LONGEST_LEAD[action])


def pause(attempts: int) -> datetime.timedelta:
    """How long to wait before the next attempt. The pause doubles with each failed attempt.

    :param attempts: how many attempts have failed, at least 1.
    """
    return times.doubled(times.RETRY_FIRST_PAUSE, attempts - 1, times.RETRY_LONGEST_PAUSE)


@dataclasses.dataclass(frozen=True)
class Execution:
    """A row of ``warre_executions``. A manager has claimed it, or it waits to be claimed."""

    lease_id: str
    action: str
    #: The manager that has the lease claim; None while the execution waits to be claimed.
    manager_id: str | None
    #: The number of attempts that have failed.
    attempts: int
    #: Whether the manager's last heartbeat is at most ``times.DEAD_AFTER`` seconds old.
    alive: bool

    def is_requested(self, action: str) -> bool:
        """Whether the execution waits for a manager who begins with this action.

        A deletion can be requested again after attempts that have failed.
        """
        return (
            self.manager_id is None
            and self.action == action
            and (action == DELETE or not self.attempts)
        )


def claim_state(execution: Execution | None) -> ClaimState:
    """Whether a lease is claimed, and whether the manager that has the claim is alive.

    :param execution: the lease's execution; None if the lease has no execution.
    """
    if execution is None or execution.manager_id is None:
        return ClaimState.NONE
    return ClaimState.LIVE if execution.alive else ClaimState.DEAD
