"""Runs tasks in threads of which exactly one goes on at a time.

A task calls ``point`` before each of its steps. There the schedule decides whether the task goes on
or another one does.
"""

import contextlib
import dataclasses
import faulthandler
import threading
from collections.abc import Callable, Iterator
from typing import Any, Protocol

#: Seconds after which a task that hasn't come to its next point waits for a lock of the database.
_BLOCKED_AFTER = 0.1
#: Seconds after which a run hangs. This is a defect of the explorer or of the package.
_PATIENCE = 30.0
#: What a step of a task is called that waits, and so gives way to other tasks.
WAITS = "waits"


class Hung(Exception):
    """The tasks of a run don't come to an end."""


@dataclasses.dataclass
class Step:
    """What a task does between two of its points."""

    task: int
    number: int
    what: str
    #: The things that the step reads and writes: tables, and kinds of objects of services.
    reads: set[str] = dataclasses.field(default_factory=set)
    writes: set[str] = dataclasses.field(default_factory=set)
    #: The services that the step sends requests to.
    asks: set[str] = dataclasses.field(default_factory=set)
    #: Whether the step is a transaction, and not a request.
    is_transaction: bool = False
    #: Whether the step is only a statement of a transaction.
    is_statement: bool = False
    #: A digest of what the step has sent to the database and the services, and has got back.
    seen: int = 0

    def see(self, *facts: Any) -> None:
        """Add something to the digest."""
        self.seen = hash((self.seen, repr(facts)))


class Schedule(Protocol):
    """Decides which task goes on."""

    def first(self, tasks: int) -> int:
        """The task that begins."""

    def after(self, task: int, point: int, ready: list[int]) -> int:
        """The task that goes on when ``task`` has come to one of its points.

        :param ready: the tasks that can go on, ``task`` among them.
        """


class Task:
    """An operation in a thread of its own."""

    def __init__(self, number: int, act: Callable[[], Any]) -> None:
        self.number = number
        self.steps: list[Step] = []
        self.result: Any = None
        self.is_over = False
        #: Whether the task's process was killed.
        self.is_dead = False
        #: Whether the task is in the manager's part of its operation.
        self.in_manager = False
        #: The database session of the transaction that the task is in.
        self.session: Any = None
        #: Whether the task waits for the answer to a statement.
        self.in_statement = False
        self.act = act
        self.turn = threading.Semaphore(0)


_here = threading.local()


def current() -> tuple["Scheduler", Task] | None:
    """The scheduler and the task of this thread, if it has any."""
    return getattr(_here, "task", None)


class Scheduler:
    """Runs some tasks by a schedule.

    :param between: called after each step, while no task is going on.
    """

    def __init__(
        self,
        schedule: Schedule,
        acts: list[Callable[[], Any]],
        between: Callable[[Step], None] = lambda step: None,
    ) -> None:
        self.tasks = [Task(number, act) for number, act in enumerate(acts)]
        #: All steps in the order in which they were begun.
        self.trace: list[Step] = []
        #: The switches that were made, as (task, point, to).
        self.switches: list[tuple[int, int, int]] = []
        self._schedule = schedule
        self._between = between
        self._lock = threading.Lock()
        self._running: int | None = None
        #: Whether a task had to wait for a lock of the database, so that the schedule couldn't
        #: decide. When that is seen depends on the time.
        self.was_locked = False
        self._moves = 0
        self._over = threading.Event()
        self._failures: list[BaseException] = []

    def run(self) -> None:
        """Run all tasks to their ends.

        :raises Hung: they don't come to an end.
        """
        threads = [threading.Thread(target=self._body, args=(t,), daemon=True) for t in self.tasks]
        for thread in threads:
            thread.start()
        self._hand_to(self._schedule.first(len(self.tasks)))
        waited, seen = 0.0, -1
        while not self._over.wait(_BLOCKED_AFTER):
            with self._lock:
                stuck = self._moves == seen
                seen = self._moves
            waited = waited + _BLOCKED_AFTER if stuck else 0.0
            if stuck:
                self._pass_by()
            if waited > _PATIENCE:
                faulthandler.dump_traceback()
                raise Hung(self.switches, [step.what for step in self.trace[-5:]])
        for thread in threads:
            thread.join(_PATIENCE)
        if self._failures:
            raise self._failures[0]

    def _body(self, task: Task) -> None:
        _here.task = (self, task)
        task.turn.acquire()
        try:
            task.result = task.act()
        except BaseException as error:
            self._failures.append(error)
        finally:
            if task.steps:
                self._look(task)
            self._leave(task)

    def _look(self, task: Task) -> None:
        try:
            self._between(task.steps[-1])
        except BaseException as error:
            self._failures.append(error)

    def _leave(self, task: Task) -> None:
        with self._lock:
            task.is_over = True
            ready = self._ready()
            if not ready:
                self._over.set()
                return
            if self._running != task.number:
                return
        self._hand_to(ready[0])

    def _ready(self) -> list[int]:
        return [task.number for task in self.tasks if not task.is_over]

    def _hand_to(self, number: int) -> None:
        with self._lock:
            self._running = number
            self._moves += 1
        self.tasks[number].turn.release()

    def _pass_by(self) -> None:
        """Let another task go on, because the running one waits for a lock of the database."""
        with self._lock:
            running = None if self._running is None else self.tasks[self._running]
            if running is None or not running.in_statement:
                return
            waiting = [n for n in self._ready() if n != self._running]
            number = waiting[0] if waiting else None
        if number is not None and not self.tasks[number].turn._value:  # type: ignore[attr-defined]
            self.was_locked = True
            self._hand_to(number)

    def point(self, task: Task, what: str, *, gives_way: bool = False) -> Step:
        """Come to the point before a step.

        :param gives_way: whether the task waits for something that another task has to do.
        :returns: the step that the task begins when this returns.
        """
        if task.steps:
            self._between(task.steps[-1])
        number = len(task.steps)
        with self._lock:
            self._moves += 1
            ready = self._ready()
            is_mine = self._running == task.number
        if is_mine:
            chosen = self._chosen(task, number, ready, gives_way)
            if chosen != task.number:
                self._hand_to(chosen)
                task.turn.acquire()
        else:
            task.turn.acquire()  # it waited for a lock, and another task goes on
        step = Step(task.number, number, what)
        task.steps.append(step)
        self.trace.append(step)
        return step

    def _chosen(self, task: Task, number: int, ready: list[int], gives_way: bool) -> int:
        if gives_way and len(ready) > 1:
            place = ready.index(task.number)
            return ready[(place + 1) % len(ready)]
        chosen = self._schedule.after(task.number, number, ready)
        if chosen != task.number:
            self.switches.append((task.number, number, chosen))
        return chosen


@contextlib.contextmanager
def unscheduled() -> Iterator[None]:
    """A context in which this thread comes to no points."""
    before = current()
    _here.task = None
    try:
        yield
    finally:
        _here.task = before
