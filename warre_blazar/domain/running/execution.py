"""A start, an end or a deletion of a lease that a manager has claimed, or that waits for one."""

import dataclasses

from warre_blazar.domain.running.execution_timing import DELETE
from warre_blazar.domain.running.lease_states import ClaimState


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
