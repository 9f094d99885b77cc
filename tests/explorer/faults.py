"""What can happen to one step of a task."""

import dataclasses
import enum
import re

from oslo_db import exception as db_exc

from tests.explorer.scheduler import Step, Task


class Kind(enum.StrEnum):
    """A fault that one step meets."""

    KILLED_BEFORE = "killed-before"
    KILLED_AFTER = "killed-after"
    #: The transaction is committed, and its acknowledgment is lost.
    UNACKNOWLEDGED = "unacknowledged"
    #: The transaction is rolled back at its commit, as by a Galera cluster.
    UNCERTIFIED = "uncertified"
    #: The connection to the database is lost before the transaction acts.
    DISCONNECTED = "disconnected"
    #: The service acts on the request, and its answer is lost.
    UNANSWERED = "unanswered"
    #: The service answers 503, and doesn't act.
    UNAVAILABLE = "unavailable"


KILLS = (Kind.KILLED_BEFORE, Kind.KILLED_AFTER)
OF_READS = (Kind.KILLED_BEFORE, Kind.DISCONNECTED)
OF_WRITES = (*OF_READS, Kind.KILLED_AFTER, Kind.UNACKNOWLEDGED, Kind.UNCERTIFIED)
OF_REQUESTS = (Kind.KILLED_BEFORE, Kind.KILLED_AFTER, Kind.UNANSWERED, Kind.UNAVAILABLE)


class Killed(BaseException):
    """The process is killed. No code of the package may catch this."""


@dataclasses.dataclass(frozen=True)
class Fault:
    """A kind of fault, and the step that it strikes."""

    task: int
    step: int
    kind: Kind

    def __str__(self) -> str:
        return f"{self.task}.{self.step}={self.kind}"

    @classmethod
    def parse(cls, text: str) -> "Fault":
        """Read what ``str`` has written."""
        match = re.fullmatch(r"(\d+)\.(\d+)=(.*)", text)
        if match is None:
            raise ValueError(f"not a fault: {text}")
        return cls(int(match[1]), int(match[2]), Kind(match[3]))

    def before(self, task: Task, step: Step) -> None:
        """Strike before the step."""
        if self._is_of(step) and self.kind is Kind.KILLED_BEFORE:
            kill(task)
        if self._is_of(step) and self.kind is Kind.DISCONNECTED and step.is_transaction:
            raise db_exc.DBConnectionError

    def at_commit(self, step: Step) -> None:
        """Strike before the step's transaction is committed."""
        if self._is_of(step) and self.kind is Kind.UNCERTIFIED:
            raise db_exc.DBDeadlock

    def after_commit(self, task: Task, step: Step) -> None:
        """Strike after the step's transaction was committed."""
        if self._is_of(step) and self.kind is Kind.KILLED_AFTER:
            kill(task)
        if self._is_of(step) and self.kind is Kind.UNACKNOWLEDGED:
            raise db_exc.DBConnectionError

    def is_outage(self, step: Step) -> bool:
        """Whether the service doesn't act on the step's request."""
        return self._is_of(step) and self.kind is Kind.UNAVAILABLE

    def loses_answer(self, task: Task, step: Step) -> bool:
        """Whether the answer to the step's request is lost."""
        if self._is_of(step) and self.kind is Kind.KILLED_AFTER:
            kill(task)
        return self._is_of(step) and self.kind is Kind.UNANSWERED

    def _is_of(self, step: Step) -> bool:
        return (step.task, step.number) == (self.task, self.step)


def kill(task: Task) -> None:
    """Kill the process that a task is in."""
    task.is_dead = True
    raise Killed


def of(step: Step) -> tuple[Kind, ...]:
    """The kinds of faults that can strike a step and make a difference."""
    if not step.is_transaction:
        return OF_REQUESTS
    return OF_WRITES if step.writes else OF_READS
