"""What a manager executes for a lease: its start, its end, its deletion."""

import datetime

START, END, DELETE = "start", "end", "delete"

#: Blazar's event by action; a deletion has none.
EVENTS = {START: "start_lease", END: "end_lease"}

#: A lease's status while a manager executes an action for it.
DURING = {START: "STARTING", END: "TERMINATING", DELETE: "DELETING"}

#: Lease statuses from which an action may be claimed. A lease that never started ends too.
BEFORE = {START: ("PENDING",), END: ("PENDING", "ACTIVE", "ERROR")}

#: How long before its time an action is claimed. Blazar's own executor, which looks for what is
#: due, then never finds it. Until its time comes a start is prepared: the project can't use
#: anything before that. An extension that comes within the lead of an end is refused.
LEAD = {START: datetime.timedelta(seconds=10), END: datetime.timedelta(seconds=2)}

#: How long before another attempt an action is claimed.
RETRY_LEAD = LEAD[END]

#: A start that Nova or Placement refuses is tried this often before the reservation is in ERROR.
ATTEMPTS = 5

_FIRST_PAUSE = datetime.timedelta(seconds=2)
_LONGEST_PAUSE = datetime.timedelta(seconds=60)


def pause(attempts: int) -> datetime.timedelta:
    """How long to wait after so many failed attempts, at least one: doubled each time."""
    return min(_FIRST_PAUSE * 2 ** min(attempts - 1, 10), _LONGEST_PAUSE)
