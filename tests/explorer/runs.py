"""Runs one case, and judges what it has left."""

import dataclasses
import datetime
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest import mock

import sqlalchemy as sa
from blazar import context

from tests.explorer import judge
from tests.explorer.faults import Killed
from tests.explorer.operations import (
    OPERATIONS,
    SNAPSHOTS,
    STATES,
    Answer,
    Buyer,
    Operation,
    Scene,
    serve,
)
from tests.explorer.scheduler import Schedule, Scheduler, Step
from tests.explorer.schedules import Case, Plan, Switch
from tests.explorer.world import World, forget_answers
from tests.functional.db import outage
from tests.functional.db import world as parts
from warre_blazar import times
from warre_blazar.db import session, tables
from warre_blazar.services.messages.delivery import Delivery
from warre_blazar.services.running import backing, snapshots
from warre_blazar.services.running.repair import Repairer
from warre_blazar.services.series import unattended

_STEP = datetime.timedelta(seconds=40)
_PATIENCE = 60.0
#: After this many polls everything must be at rest.
_POLLS = 12
#: What a buyer can see as free has to do with these.
_ROOM = {"leases", "warre_reservations", "computehost_allocations", "computehosts"}
#: What a booking writes.
_BOOKED = {*_ROOM, "reservations", "instance_reservations", "events", tables.flavors.name}


@dataclasses.dataclass
class Result:
    """What became of a case."""

    #: The case as it was run, which can be replayed.
    case: Case
    answers: list[Answer | None]
    violations: list[str]
    steps: list[list[Step]]
    trace: list[Step]
    #: Whether a task had to wait for a lock of the database.
    was_locked: bool = False
    #: What somebody has booked in between.
    bought: int = 0


class Runner:
    """Runs cases in a world.

    :param world: entered already.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._aside = ThreadPoolExecutor(1)
        #: What runs have broken, by a digest of what they have left.
        self._judged: dict[int, list[str]] = {}
        self.count = 0

    def run(self, case: Case, schedule: Schedule | None = None) -> Result:
        """Run a case.

        :param schedule: decides in place of the case's own plan.
        """
        self.count += 1
        world = self._world
        world.watch.fault = None
        world.log_in(STATES["ending"])
        scene: Scene = world.restore(case.state, STATES[case.state])
        forget_answers()
        operations = [OPERATIONS[name] for name in case.operations]
        before = set(judge.Sight(world).leases)
        buyer = Buyer(world, scene) if case.buys else None
        control = Scheduler(
            schedule or case.plan,
            [lambda o=o: _answered(o, world, scene) for o in operations],  # type: ignore[misc]
            lambda step: self._buy(control, buyer, step),
        )
        world.watch.fault = case.fault
        control.run()
        world.watch.fault = None
        answers = [task.result for task in control.tasks]
        given = list(zip(operations, answers, strict=True))
        known = before | set(buyer.leases if buyer else ())
        # What a run has left decides all that follows.
        left = hash((repr(given), repr(sorted(known)), case.fault is None, world.contents()))
        if left not in self._judged:
            self._judged[left] = self._judge(scene, given, known, has_fault=case.fault is not None)
        done = dataclasses.replace(
            case,
            plan=Plan(
                getattr(schedule or case.plan, "begins", 0),
                tuple(Switch(*switch) for switch in control.switches),
            ),
        )
        return Result(
            done,
            answers,
            self._judged[left],
            [task.steps for task in control.tasks],
            control.trace,
            control.was_locked,
            len(buyer.leases) if buyer else 0,
        )

    def _buy(self, control: Scheduler, buyer: Buyer | None, step: Step) -> None:
        if buyer is None or not step.writes & _ROOM:
            return
        if all(task.session is None for task in control.tasks):
            bought = self._aside.submit(buyer.look).result()
            step.see(bought)
            step.reads |= _ROOM
            step.writes |= _BOOKED if bought else set()

    # After the run.

    def _judge(
        self,
        scene: Scene,
        given: list[tuple[Operation, Answer | None]],
        known: set[str],
        *,
        has_fault: bool,
    ) -> list[str]:
        """What a run has broken.

        :param given: the operations with their answers.
        :param known: the leases that the operations haven't made.
        """
        violations = judge.oversells(self._world)
        polls = self._settle(saves=any(operation.name == "snapshot" for operation, _ in given))
        sight = judge.Sight(self._world)
        violations += judge.oversells(self._world)
        violations += judge.at_rest(sight)
        violations += judge.answers(sight, scene, given, known)
        violations += judge.series(sight, scene, given)
        violations += judge.waits(sight, given, has_fault=has_fault)
        violations += judge.tellings(sight, scene, known, may_repeat=has_fault)
        violations += judge.snapshots(sight)
        if not has_fault:
            violations += judge.failures(given)
        if polls > _POLLS:
            violations.append("something goes on changing")
        return sorted(set(violations))

    def _settle(self, *, saves: bool) -> int:
        """Let a new manager work until nothing changes, and return how many polls that took.

        :param saves: whether the manager makes snapshots, too.
        """
        with context.BlazarContext():
            return self._aside.submit(self._poll_until_still, saves).result()

    def _poll_until_still(self, saves: bool) -> int:
        world = self._world
        with session.writer() as db:
            db.execute(tables.managers.update().values(heartbeat=parts.LONG_AGO))
            db.execute(tables.bookings.update().values(promised_at=_before_promise(db)))
        forget_answers()
        executor = world.new_executor()
        seconds = 0.0
        repairer = Repairer(lambda _: _PATIENCE, lambda: seconds)
        seen: list[Any] = []
        for poll in range(_POLLS + 1):
            world.go_to(world.now + _STEP)
            seconds += _STEP.total_seconds()
            repairer.look(world.now, thorough=True)
            world.run(executor, world.now)
            outage.heal()
            with mock.patch.multiple(
                times, BOOKING_SERIES_DEAD_AFTER=-1, DELETING_SERIES_DEAD_AFTER=-1
            ):
                unattended.look()
            backing.make_ahead(world.now)
            backing.reconcile()
            serve(world)
            if saves:
                snapshots.look(world.now, executor.manager_id, SNAPSHOTS)
                world.cloud.glance.finish()
            Delivery(world.recorder, executor.manager_id).run()
            seen.append(self._state())
            # A lease that is stuck stays unchanged for as long as the repairer waits.
            if len(seen) > 2 and seen[-1] == seen[-2] == seen[-3]:
                return poll
        return _POLLS + 1

    def _state(self) -> Any:
        sight = judge.Sight(self._world)
        leftovers = self._world.cloud.leftovers()
        rest = (sight.series, sight.snapshots, sight.outbox, sight.waits, leftovers)
        return sight.leases, sight.reservations, sight.events, sight.executions, *rest


def _before_promise(db: Any) -> sa.ColumnElement[Any]:
    """A time that lies so far back that a promise of then is forgotten, or none."""
    long_ago = datetime.datetime(2000, 1, 1)
    promised = tables.bookings.c.promised_at
    return sa.case((promised.is_(None), None), else_=sa.literal(long_ago))


def _answered(operation: Any, world: World, scene: Scene) -> Answer | None:
    try:
        with context.BlazarContext():
            return operation.run(world, scene)
    except Killed:
        return None
