"""Says what would happen if managers went on with an older database, and prepares it for that.

Managers are held meanwhile, or stopped. So nothing changes between the look and the writes, except
in Nova and Placement by others.
"""

import dataclasses
import datetime
from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from warre_blazar import times
from warre_blazar.db import flavors, generations, restored, session, turns
from warre_blazar.db.hosts import host_marks, reservable_hosts
from warre_blazar.db.running import executions, marks
from warre_blazar.domain.audit import cloud_side
from warre_blazar.domain.audit.facts import KnownHost, PlacementFacts
from warre_blazar.domain.audit.restored import Restored, Unknown, compare, lost_at
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.hosts.host_marks import Drain
from warre_blazar.domain.running.mark import Mark
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.openstack import placement, placement_mark
from warre_blazar.services.audit import looking
from warre_blazar.services.running.mark import TURN, counts


@dataclasses.dataclass(frozen=True)
class RebuildPlan:
    """What is done with an unknown reservation that is running."""

    unknown: Unknown
    #: The flavor of which it is rebuilt. None: its hosts are drained instead.
    flavor: Flavor | None
    #: The number of its instances on each host that the database knows, by host id.
    chosen: Mapping[str, int]


@dataclasses.dataclass(frozen=True)
class RestoreSight:
    """What was found, and what can be done with it."""

    mark: Mark
    found: Restored
    plans: Sequence[RebuildPlan]
    #: Without it, nobody knows whether the database is older.
    has_placement_a_mark: bool = True
    #: Whether no manager has been at work lately.
    is_idle: bool = False

    @property
    def is_older(self) -> bool:
        """Whether the database is older than Placement."""
        return self.mark.is_older

    @property
    def can_be_accepted(self) -> bool:
        """Whether no manager works with the database.

        If the dump was made a moment ago, or if Placement was restored too, managers aren't held.
        """
        return self.is_older or self.is_idle

    def needs_until(self, *, end_overdue: bool) -> bool:
        """Whether some reservation gets an end that only the operator can say."""
        is_prolonged = bool(self.found.overdue) and not end_overdue
        return is_prolonged or any(plan.flavor for plan in self.plans)


def is_older(now: datetime.datetime) -> bool:
    """Whether the database is older than Placement.

    :raises ServiceUnavailable, ServiceRefused: Placement can't be read, and no manager has worked
        with the database lately. So nobody knows.
    """
    with session.reader() as db:
        mark, done = marks.read(db), turns.done_until(db, TURN)
    try:
        return mark.seen_beside(placement_mark.read().number).is_older
    except exceptions.WarreError:
        if mark.is_older or counts(done, now):
            return mark.is_older
        raise


def look(now: datetime.datetime) -> RestoreSight:
    """Compare an older database with Nova and Placement. Nothing is written.

    :raises ServiceUnavailable, ServiceRefused: Nova or Placement can't be read.
    """
    present = placement_mark.read()
    with session.reader() as db:
        hosts = [
            KnownHost.of(host)
            for is_closed in (False, True)
            for host in reservable_hosts.empty(db, closed=is_closed)
        ]
    inventories = placement.providers([host.hypervisor for host in hosts])
    classes = placement.classes_of_reservations()
    in_placement = PlacementFacts(classes=classes, providers=inventories)
    seen = cloud_side.actual(looking.read_nova(), in_placement)
    with session.reader() as db:
        mark = marks.read(db).seen_beside(present.number)
        lost = lost_at(mark, turns.done_until(db, TURN))
        silence = executions.silence(db)
        # Marks are counted in minutes that have begun.
        lost = min(lost, now) if lost else None
        found = compare(restored.read_leases(db), seen, restored.known(db), lost, now)
        found = dataclasses.replace(
            found, waiting=restored.waiting(db), waits=restored.open_waits(db)
        )
        offered = flavors.every(db)
    host_ids = {host.hypervisor: host.id for host in hosts}
    plans = [_plan(unknown, offered, host_ids) for unknown in found.unknown if unknown.is_running]
    return RestoreSight(
        mark,
        found,
        plans,
        has_placement_a_mark=present.number > 0,
        is_idle=silence is None or silence > times.DEAD_AFTER,
    )


def _plan(unknown: Unknown, offered: Sequence[Flavor], host_ids: Mapping[str, str]) -> RebuildPlan:
    chosen = {host_ids[name]: n for name, n in unknown.instances.items() if name in host_ids}
    is_whole = len(chosen) == len(unknown.instances)
    return RebuildPlan(unknown, unknown.flavor_among(offered) if is_whole else None, chosen)


@dataclasses.dataclass(frozen=True)
class RestoreChoice:
    """What an operator has said."""

    #: The end of rebuilt reservations, and of those that are overdue and don't end now.
    until: datetime.datetime | None
    #: Whether reservations whose end has passed end now, with their servers.
    end_overdue: bool


def accept(sight: RestoreSight, choice: RestoreChoice, now: datetime.datetime) -> None:
    """Write what follows from the look, all at once, and let managers go on with the database.

    :raises session.LostRace: somebody has written to the database since the look.
    """
    session.change(_write, sight, choice, now)


def _write(db: Session, sight: RestoreSight, choice: RestoreChoice, now: datetime.datetime) -> None:
    found, minute = sight.found, now.replace(second=0, microsecond=0)
    for each in found.gone:
        restored.end(db, each, found.lost_at or minute)
    if not choice.end_overdue:
        for each in found.overdue:
            assert choice.until is not None
            restored.prolong(db, each, choice.until)
    for plan in sight.plans:
        if plan.flavor is None:
            _drain(db, plan, now)
        else:
            assert choice.until is not None
            span = Span(minute, choice.until)
            restored.rebuild(db, plan.unknown, plan.flavor, plan.chosen, span)
    for flavor in {plan.flavor.id: plan.flavor for plan in sight.plans if plan.flavor}.values():
        generations.increase_flavor(db, flavor)
    # What was written before mustn't be told either.
    restored.drop_what_was_told(db, found.lost_at or now)
    before = marks.read(db)
    marks.write(db, before, before.seen_beside(sight.mark.seen or 0).accepted())


def _drain(db: Session, plan: RebuildPlan, now: datetime.datetime) -> None:
    """Let nobody book the hosts of a reservation that can't be rebuilt."""
    reason = f"Reservation {plan.unknown.reservation_id} is in no table since a restore"
    for host_id in plan.chosen:
        host_marks.set_draining(db, host_id, Drain("restore", now, reason))
