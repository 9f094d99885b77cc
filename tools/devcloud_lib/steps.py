"""Runs steps that depend on each other, at the same time as far as their order allows."""

import dataclasses
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from devcloud_lib.console import say


@dataclasses.dataclass(frozen=True)
class Step:
    """A piece of work. `run` returns what to print about it, or "" to print nothing."""

    name: str
    run: Callable[[], str]
    needs: Sequence[str] = ()


def run_all(steps: Sequence[Step], workers: int) -> None:
    """Run each step after the steps that it needs.

    Steps that don't need a failed step still run. Then the first failure is raised.
    """
    waiting = {step.name: step for step in steps}
    running: dict[Future[str], str] = {}
    done: set[str] = set()
    failures: list[BaseException] = []
    with ThreadPoolExecutor(workers) as pool:
        while True:
            for step in [s for s in waiting.values() if done.issuperset(s.needs)]:
                running[pool.submit(_timed, step)] = step.name
                del waiting[step.name]
            if not running:
                break
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                name = running.pop(future)
                failure = future.exception()
                if failure is None:
                    done.add(name)
                else:
                    say(f"{name}: FAILED ({failure})")
                    failures.append(failure)
    if failures:
        raise failures[0]
    if waiting:
        raise ValueError(f"steps that wait for each other: {sorted(waiting)}")


def _timed(step: Step) -> str:
    began = time.monotonic()
    outcome = step.run()
    if outcome:
        say(f"{step.name}: {outcome} ({time.monotonic() - began:.1f} s)")
    return outcome
