"""Runs programs that may take a limited time, some of them at the same time.

Each program is started in a session of its own. When its time is up, or when this process is
interrupted, the program's whole process group is ended, with the programs that it has started.
"""

import contextlib
import dataclasses
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from devcloud_lib.console import say

#: Seconds that a program has for its last work after SIGTERM, such as stopping a cloud.
_MERCY = 90.0
_POLL = 0.1


@dataclasses.dataclass(frozen=True)
class Job:
    """A program, and the seconds that it may take.

    :ivar log: the file for its output. None: it has the output of this process.
    """

    name: str
    words: Sequence[str]
    seconds: float
    log: Path | None = None
    directory: Path | None = None
    environment: Mapping[str, str] | None = None


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a job ended, and after how many seconds."""

    passed: bool
    seconds: float


class _Running:
    """A job that has been started."""

    def __init__(self, job: Job) -> None:
        self.job, self._begun = job, time.monotonic()
        with contextlib.ExitStack() as stack:
            output = stack.enter_context(job.log.open("wb")) if job.log else None
            # Without standard input, no program can wait for somebody at the terminal.
            self._process = subprocess.Popen(
                job.words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT if output else None,
                cwd=job.directory,
                env=job.environment,
                start_new_session=True,
            )

    def outcome(self) -> Outcome | None:
        """How the job ended, or None while it runs. When its time is up, it is ended."""
        seconds = time.monotonic() - self._begun
        status = self._process.poll()
        if status is None and seconds < self.job.seconds:
            return None
        if status is None:
            say(f"{self.job.name} still runs after {self.job.seconds:.0f} s, its limit: ended")
        self.end()
        return Outcome(status == 0, seconds)

    def end(self) -> None:
        """End the program, if it runs, and all processes of its group."""
        if self._process.poll() is None:
            self._signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_MERCY)
        self._signal(signal.SIGKILL)
        self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        # No process of the group may be left.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)


def run(job: Job) -> bool:
    """Run a program. Return whether it succeeded in its time."""
    return run_all([[job]])[job.name].passed


def run_all(
    lanes: Sequence[Sequence[Job]], ended: Callable[[Job, Outcome], None] = lambda *_: None
) -> dict[str, Outcome]:
    """Run the jobs of each lane one after the other, and the lanes at the same time.

    :param ended: called with each job that has ended.
    :returns: the outcomes by the jobs' names, in the order of the lanes.
    """
    waiting = [list(lane) for lane in lanes]
    running: list[_Running | None] = [None] * len(waiting)
    found: dict[str, Outcome] = {}
    try:
        while any(waiting) or any(running):
            for number, lane in enumerate(waiting):
                one = running[number]
                if one is None and lane:
                    running[number] = _Running(lane.pop(0))
                elif one and (outcome := one.outcome()):
                    found[one.job.name] = outcome
                    running[number] = None
                    ended(one.job, outcome)
            time.sleep(_POLL)
    finally:
        for one in running:
            if one:
                one.end()
    return {job.name: found[job.name] for lane in lanes for job in lane}
