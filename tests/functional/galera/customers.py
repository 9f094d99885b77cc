"""Processes that book, move and delete reservations at random, and what each one was told."""

import collections
import dataclasses
import queue
import random
import threading
import time
from typing import Any

from blazar.db import api as db_api

from tests.functional.db import own_processes, races, world
from tests.functional.db.world import Lease
from warre_blazar.errors import exceptions

#: Everything is booked within this many hours from the present, so that bookings overlap.
_HOURS = 24


@dataclasses.dataclass
class Told:
    """What a process was told of its bookings."""

    #: How often each outcome came: "held", "moved", "deleted", or the code or class of an error.
    outcomes: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    #: The times of reservations that were booked and whose deletion nobody requested, by id.
    held: dict[str, world.Span] = dataclasses.field(default_factory=dict)


def start(
    count: int, url: str, options: dict[str, str], flavors: list[Any], seconds: float
) -> list[Told]:
    """Let ``count`` processes work for some seconds, and return what each one was told."""
    context = own_processes.context()
    results: Any = context.Queue()
    processes = [
        context.Process(target=_work, args=(seed, url, options, flavors, seconds, results))
        for seed in range(count)
    ]
    for process in processes:
        process.start()
    try:
        return [results.get(timeout=seconds + 300) for _ in processes]
    except queue.Empty:
        raise AssertionError("a process didn't end") from None
    finally:
        for process in processes:
            process.join(30)


def _work(
    seed: int, url: str, options: dict[str, str], flavors: list[Any], seconds: float, results: Any
) -> None:
    races.configure_process(url, options)
    told, lock = Told(), threading.Lock()
    deadline = time.monotonic() + seconds
    threads = [
        threading.Thread(
            target=_Customer(random.Random(100 * seed + n), flavors, told, lock).run,
            args=(deadline,),
        )
        for n in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    results.put(told)


class _Customer:
    """A user who books one reservation after the other, and may move it, and may delete it."""

    def __init__(
        self, choice: random.Random, flavors: list[Any], told: Told, lock: threading.Lock
    ) -> None:
        self._choice, self._flavors, self._told, self._lock = choice, flavors, told, lock

    def run(self, deadline: float) -> None:
        while time.monotonic() < deadline:
            span = self._span()
            lease = self._tried("held", lambda span=span: self._book(span))
            if lease is None:
                continue
            if self._choice.random() < 0.4:
                self._move(lease)
            if self._choice.random() < 0.5:
                self._delete(lease)

    def _span(self) -> world.Span:
        start = self._choice.randrange(1, _HOURS)
        return world.hours(start, start + self._choice.randrange(1, 6))

    def _book(self, span: world.Span) -> Lease:
        lease = world.book(world.request(self._choice.choice(self._flavors), span))
        with self._lock:
            self._told.held[lease.reservation_id] = span
        return lease

    def _move(self, lease: Lease) -> None:
        """Move a reservation. After a failure, nobody knows whether it was moved."""
        span = self._span()
        with self._lock:
            self._told.held.pop(lease.reservation_id)
        if self._tried("moved", lambda: world.move(lease, span)) is not None:
            with self._lock:
                self._told.held[lease.reservation_id] = span

    def _delete(self, lease: Lease) -> None:
        with self._lock:
            self._told.held.pop(lease.reservation_id, None)
        self._tried("deleted", lambda: db_api.lease_destroy(lease.id) or lease)

    def _tried(self, what: str, step: Any) -> Any:
        try:
            result = step()
        except exceptions.WarreError as error:
            what, result = error.code, None
        except Exception as error:
            # A transaction of Blazar's own, which isn't retried, or a node that has gone.
            what, result = type(error).__name__, None
        with self._lock:
            self._told.outcomes[what] += 1
        return result
