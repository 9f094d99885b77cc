"""Threads that stop at the beginning of a chosen transaction, so that tests choose the order."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import sqlalchemy as sa

from warre_blazar.db import session

#: For what hangs.
_PATIENCE = 900


class Stepper:
    """A thread that does a job, and that stops before some of its transactions.

    A stopped thread has begun a transaction, but hasn't read or locked anything in it.
    """

    def __init__(self, job: Callable[[], Any]) -> None:
        self._job = job
        self._count = 0
        self._stop_before: int | None = None
        self._at_rest = threading.Event()
        self._go = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.is_done = False
        #: The job's result, or the exception that it raised.
        self.outcome: Any = None

    @property
    def succeeded(self) -> bool:
        """Whether the job has returned without an error."""
        return self.is_done and not isinstance(self.outcome, BaseException)

    def run_to(self, transaction: int | None) -> bool:
        """Let the thread go on until it begins this transaction (counted from 1).

        :param transaction: None: until the job is done.
        :returns: whether the job is done.
        """
        self._stop_before = transaction
        self._at_rest.clear()
        # The thread may stop as soon as it is started. So it must be allowed to go on before that.
        self._go.set()
        if self._thread.ident is None:
            self._thread.start()
        assert self._at_rest.wait(_PATIENCE), "the thread hangs"
        if self.is_done:
            self._thread.join()
        return self.is_done

    def run_to_next(self) -> bool:
        """Let the thread go on until it begins its next transaction.

        :returns: whether the job is done.
        """
        return self.run_to(self._count + 1)

    def finish(self) -> Any:
        """Let the thread do the rest of its job, and return the outcome."""
        if not self.is_done:
            self.run_to(None)
        return self.outcome

    def is_current(self) -> bool:
        """Whether this is called by the thread."""
        return threading.current_thread() is self._thread

    def begins(self) -> None:
        """Stop if the transaction that begins is the chosen one."""
        self._count += 1
        if self._count == self._stop_before:
            self._go.clear()
            self._at_rest.set()
            assert self._go.wait(_PATIENCE), "nobody lets the thread go on"

    def _run(self) -> None:
        try:
            self.outcome = self._job()
        except Exception as error:
            self.outcome = error
        self.is_done = True
        self._at_rest.set()


@contextlib.contextmanager
def stepping(engine: sa.Engine, *steppers: Stepper) -> Iterator[None]:
    """Stop threads as they are told. At the end of the context, all of them do their rest.

    The threads stand for several managers. So they don't share the lock of one process.
    """

    def begins(_: Any) -> None:
        for stepper in steppers:
            if stepper.is_current():
                stepper.begins()

    sa.event.listen(engine, "begin", begins)
    with mock.patch.object(session, "claims_lock", contextlib.nullcontext()):
        try:
            yield
        finally:
            for stepper in steppers:
                stepper.finish()
            sa.event.remove(engine, "begin", begins)
