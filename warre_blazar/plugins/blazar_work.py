"""Notes in the database which leases this manager works on by Blazar's own code.

A listener of the SQLAlchemy session writes the note in the transaction that sets the lease to one
of the statuses that Blazar sets while it works on a lease, such as UPDATING or TERMINATING. It
deletes the note in the transaction that sets another status.
"""

import dataclasses
import threading
from typing import Any

import sqlalchemy as sa
from blazar import context
from blazar.db.sqlalchemy import models
from oslo_utils import uuidutils
from sqlalchemy import event
from sqlalchemy.orm import Session

from warre_blazar.db import session
from warre_blazar.db.running import executions
from warre_blazar.domain.running import lease_states


@dataclasses.dataclass(frozen=True)
class _Work:
    """A client's request, or an event in Blazar's own executor, and a lease on which it works."""

    id: str
    lease_id: str
    #: The contexts in which the thread works. The outermost context is the first. Blazar removes it
    #: when the request is answered, or the event executed.
    stack: list[Any]
    outermost: Any

    def is_over(self) -> bool:
        """Whether the work is over, be it with a result or with an error."""
        return not any(context_ is self.outermost for context_ in tuple(self.stack))


class LeaseWorks:
    """The leases on which this process works. Several threads use the object at once."""

    def __init__(self, manager_id: str) -> None:
        self._manager_id = manager_id
        self._lock = threading.Lock()
        self._works: list[_Work] = []

    def register(self) -> None:
        """Begin to write notes. The manager must have written a heartbeat before."""
        event.listen(Session, "after_flush", self._flushed)

    def unregister(self) -> None:
        event.remove(Session, "after_flush", self._flushed)

    def release(self) -> None:
        """Write into the notes of work that is over that nobody works on the lease any more.

        If the work has written its last status, its note is gone already.
        """
        with self._lock:
            over = [work for work in self._works if work.is_over()]
        if over:
            session.change(executions.release_works, [work.id for work in over])
            with self._lock:
                self._works = [work for work in self._works if work not in over]

    def _flushed(self, db: Session, _context: Any) -> None:
        for item in (*db.new, *db.dirty):
            if isinstance(item, models.Lease) and sa.inspect(item).attrs.status.history.added:
                self._changed(db.connection(), item.id, item.status)

    def _changed(self, db: sa.Connection, lease_id: str, status: str) -> None:
        stack = getattr(context.BlazarContext._context_stack, "stack", None)
        if not stack:
            return  # This thread executes neither a request nor an event of Blazar's executor.
        outermost = stack[0]
        if status in lease_states.TRANSITIONAL:
            work = _Work(uuidutils.generate_uuid(), lease_id, stack, outermost)
            with self._lock:
                self._works.append(work)
            executions.note_worker(db, lease_id, self._manager_id, work.id)
            return
        with self._lock:
            own = [w for w in self._works if w.lease_id == lease_id and w.outermost is outermost]
        for work in own:
            executions.forget_worker(db, lease_id, work.id)
