"""The executions of a lease (start, end, deletion): their statuses, lead times and retries."""

import datetime

START, END, DELETE = "start", "end", "delete"

#: The type of Blazar's event for each action. A deletion has no event.
EVENTS = {START: "start_lease", END: "end_lease"}

#: The lease's status while a manager executes each action.
DURING = {START: "STARTING", END: "TERMINATING", DELETE: "DELETING"}

#: The lease statuses in which a manager may claim each action. An end may be claimed from PENDING,
#: because a lease that never started must end too.
BEFORE = {START: ("PENDING",), END: ("PENDING", "ACTIVE", "ERROR")}

#: A manager claims an action this long before the action is due. Because of this lead, Blazar's own
#: executor, which looks for events that are due, never finds the event. During the lead of a start,
#: the manager prepares the start, but the project can't use the reservation yet. If an extension is
#: requested during the lead of an end, it is refused.
LEAD = {START: datetime.timedelta(seconds=10), END: datetime.timedelta(seconds=2)}

#: A manager claims an action again this long before the next attempt is due.
RETRY_LEAD = LEAD[END]

#: If Nova or Placement refuses a start, the start is attempted this many times. Then the
#: reservation goes to ERROR.
ATTEMPTS = 5

_FIRST_PAUSE = datetime.timedelta(seconds=2)
_LONGEST_PAUSE = datetime.timedelta(seconds=60)


def pause(attempts: int) -> datetime.timedelta:
    """How long to wait before the next attempt. The pause doubles with each failed attempt.

    :param attempts: how many attempts have failed, at least 1.
    """
    return min(_FIRST_PAUSE * 2 ** min(attempts - 1, 10), _LONGEST_PAUSE)
