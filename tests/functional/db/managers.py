"""Managers for tests: our executor without threads."""

import datetime
import math
from collections.abc import Callable
from concurrent import futures
from typing import Any

from blazar.db import api as db_api
from oslo_utils import timeutils, uuidutils

from tests.functional.db import notices, world
from warre_blazar.db import session, tables
from warre_blazar.db.messages import outbox
from warre_blazar.domain.running.snapshots import USUAL, BeforeEndRule
from warre_blazar.services.moves.opening import Opener, RoomLacking
from warre_blazar.services.running.executor import Executor, Pools


class Outside:
    """Records the ids of the leases whose ends the filters hear of."""

    def __init__(self) -> None:
        self.ended: list[str] = []

    def ending(self, lease: Any) -> None:
        self.ended.append(lease["id"])


def add_heartbeat(silent: int) -> None:
    """Add a manager whose last heartbeat was some seconds ago."""
    then = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=silent)
    row = {"id": uuidutils.generate_uuid(), "host": "host", "heartbeat": then.replace(tzinfo=None)}
    session.change(lambda db: db.execute(tables.managers.insert().values(row)))


def told() -> list[tuple[str, str]]:
    """What is told about leases by Blazar's notifications: their ids and the events, in order."""
    return [(n.subject, n.content["event"]) for n in notices.waiting(outbox.LEASES)]


class Inline(futures.Executor):
    """A pool that runs every job at once, in the caller's thread."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> futures.Future[Any]:
        done: futures.Future[Any] = futures.Future()
        done.set_result(fn(*args, **kwargs))
        return done


class Manager:
    """A manager's executor, without threads of its own."""

    def __init__(
        self,
        pool: futures.Executor | None = None,
        time_limit: Callable[[int], float] = lambda _: math.inf,
        before_end: BeforeEndRule = USUAL,
    ) -> None:
        self.outside = Outside()
        inline = Inline()
        pools = Pools(pool or inline, inline, inline)
        self.told: list[RoomLacking] = []
        self.opener = Opener(world.conditions, self.told.append)
        self.executor = Executor(
            "host", self.outside, self.opener, lambda: 5.0, pools, time_limit, before_end
        )

    def run(self, now: datetime.datetime) -> None:
        """Do what the periodic threads do within a second."""
        timeutils.set_time_override(now)
        try:
            self.executor.beat()
            self.executor.claim(now)
            self.executor.begin_due(now)
        finally:
            timeutils.clear_time_override()


def state(lease: world.Lease) -> tuple[str, str, str, str] | None:
    """The statuses of a lease, its start event, its end event and its reservation."""
    row = db_api.lease_get(lease.id)
    if row is None:
        return None
    events = {e["event_type"]: e["status"] for e in row["events"]}
    (reservation,) = row["reservations"]
    return row["status"], events["start_lease"], events["end_lease"], reservation["status"]


WAITING = ("PENDING", "UNDONE", "UNDONE", "pending")
RUNNING = ("ACTIVE", "DONE", "UNDONE", "active")
OVER = ("TERMINATED", "DONE", "DONE", "deleted")
