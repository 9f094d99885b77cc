"""Moves reservations away from hosts, whatever the reason, as far as other hosts have room.

Several managers may move the same reservation, at the same time or one after the other. Each move
compares and increases the generations of the flavor and of the hosts, as every booking does. A
reservation that is on none of the hosts is left where it is.

Most reasons are about all that is on a host: it has failed, it is drained, or a maintenance window
closes it (``relocate``). Only a booking that finds no room chooses itself which reservations leave
a host (``making_room``), and moves them in the transaction that books (``claim``).
"""

import dataclasses
import datetime
import enum
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from oslo_log import log as logging
from oslo_utils import timeutils
from sqlalchemy.orm import Session

from warre_blazar import texts
from warre_blazar.db import flavors, generations, session
from warre_blazar.db.booking import instance_reservations, reservations
from warre_blazar.db.hosts import allocations, host_marks
from warre_blazar.db.messages import outbox
from warre_blazar.db.moves import failed_hosts
from warre_blazar.db.records import changes
from warre_blazar.db.running import backings, lease_writes, leases
from warre_blazar.domain import timeline
from warre_blazar.domain.booking.booking_rules import BookingConditions
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.flavors.flavor import Flavor, Shape
from warre_blazar.domain.hosts import placing
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.placing import NO_NEW_PLACES, PlacesByHost
from warre_blazar.domain.messages import notices
from warre_blazar.domain.messages.notices import News
from warre_blazar.domain.records.changes import (
    MISSING_INSTANCES,
    Change,
    ChangeKind,
    MoveReason,
    moved,
)
from warre_blazar.domain.running import lease_states
from warre_blazar.domain.running.backing import Phase
from warre_blazar.domain.running.execution import START, claim_state
from warre_blazar.domain.running.lease import Lease
from warre_blazar.services.moves import making_room
from warre_blazar.services.moves.making_room import PlacedAgain

LOG = logging.getLogger(__name__)

#: The statuses of leases that nothing is working on.
_STABLE = (lease_states.PENDING, lease_states.ACTIVE, lease_states.ERROR)

#: Instead of a manager's id: Blazar's own executor, which starts a lease without a claim.
BLAZAR = "blazar"


class MoveResult(enum.Enum):
    """What became of a reservation that was to leave some hosts."""

    #: No instance of the reservation had to leave its host, or the reservation is over.
    WELL = "well"
    #: Every instance that had to leave its host has another host now.
    MOVED = "moved"
    #: Other hosts have too little room, so some or all of the instances stay where they are.
    SHORT = "short"
    #: The lease is being started, changed, ended or deleted.
    BUSY = "busy"


@dataclasses.dataclass(frozen=True)
class Relocated:
    """What became of a reservation, and of its instances on the hosts that it was to leave."""

    outcome: MoveResult
    #: How many of these instances have other hosts now.
    moved: int = 0
    #: The hypervisor hostnames of the other hosts that these instances have now, sorted.
    new_hosts: tuple[str, ...] = ()
    #: How many of these instances stay.
    stay: int = 0
    #: How many other hosts match the reservation, without those in ``taken``.
    matching: int = 0
    #: How many other hosts match, but have an instance of it already, and its affinity is false.
    taken: int = 0
    #: The hypervisor hostnames of other hosts that match, but that it has to leave as well.
    left_too: tuple[str, ...] = ()
    #: Whether the reservation is running, and must be opened on its new hosts.
    reopen: bool = False
    #: Whether another number of its instances lacks a host that works than before.
    is_news: bool = False

    @property
    def why_stays(self) -> str | None:
        """Why some of these instances stay, as a clause. None: none of them stays."""
        if self.outcome in (MoveResult.WELL, MoveResult.MOVED):
            return None
        if self.outcome is MoveResult.BUSY:
            return "it is being started or changed"
        if self.matching:
            return (
                f"no room for {self.stay} of its instances at its time, on other hosts that match "
                f"({self.matching})"
            )
        if self.taken:
            return (
                f"its affinity is false, and each other host that matches ({self.taken}) has an "
                "instance of it already"
            )
        if self.left_too:
            return f"each other host that matches ({', '.join(self.left_too)}) is closed as well"
        return "no other host matches"


@dataclasses.dataclass(frozen=True)
class Shortage:
    """What a look at a reservation's hosts has found, before its start or while it is running."""

    #: How many of its places servers can't use, by the id of the present host.
    unusable: Mapping[str, int]
    #: How many instances other hosts have room for now, by host id. Other hosts have none.
    elsewhere: Mapping[str, int] = dataclasses.field(default_factory=dict)
    #: The manager that is starting the reservation's lease, or ``BLAZAR``. None: nobody is.
    manager_id: str | None = None


class Why(NamedTuple):
    """Why a reservation gets other hosts."""

    reason: MoveReason
    #: The user who wants this, if known.
    user_id: str | None = None


def claim(
    db: Session,
    flavor: Flavor,
    hosts: Iterable[BookableHost] = (),
    placed_again: Sequence[PlacedAgain] = (),
) -> None:
    """Claim a flavor and hosts for instances, and move the reservations that make room for them.

    :param hosts: all hosts that the instances or one of the reservations get or leave.
    :raises session.LostRace: one of all these has changed since it was read.
    """
    claimed = {each.flavor.id: each.flavor for each in placed_again} | {flavor.id: flavor}
    for _, each_flavor in sorted(claimed.items()):
        generations.increase_flavor(db, each_flavor)
    generations.increase_hosts(db, hosts)
    if not placed_again:
        return
    lease_writes.write_unchanged(db, [each.lease for each in placed_again])
    for each in placed_again:
        reservation_id = each.unbegun.reservation_id
        write_hosts(db, reservation_id, each.unbegun.shape, each.chosen)
        changes.add(db, reservation_id, moved(timeutils.utcnow(), MoveReason.MADE_ROOM))
    LOG.info("%s reservations were moved to make room for another", len(placed_again))


def write_hosts(
    db: Session,
    reservation_id: str,
    shape: Shape,
    chosen: Mapping[str, int],
    places: PlacesByHost = NO_NEW_PLACES,
) -> None:
    """Write a reservation's hosts, which the caller has claimed.

    :param chosen: instances by host id.
    :param places: the new places of instances. Instances that aren't listed keep theirs.
    """
    allocations.reallocate(db, reservation_id, chosen, places)
    instance_reservations.set_amounts(db, reservation_id, shape, chosen)


@session.retried
def relocate(
    what: str,
    away_from: Collection[str] | None,
    why: Why,
    conditions: BookingConditions,
    now: datetime.datetime,
    shortage: Shortage | None = None,
    *,
    running: bool = False,
) -> Relocated:
    """Move a reservation's instances away from some hosts, and correct the reservation's flags.

    All other instances keep their hosts. The time stays the same. If other hosts don't have room
    for all instances, as many as possible are moved. If the reservation's affinity is true, its
    instances are moved together or not at all.

    :param what: the reservation's id in Blazar's table.
    :param away_from: the ids of the hosts. None: the hosts that have failed, which every
        reservation leaves.
    :param shortage: which instances also leave their hosts, because the hosts lack the room now.
        None: nobody has looked.
    :param running: whether a reservation that has begun leaves other hosts than those, too.
    :raises TryAgain: nothing changed.
    """
    with session.claiming() as db:
        case = _read(db, what, away_from, shortage)
        if case is None:
            return Relocated(MoveResult.WELL)
        if case.is_busy:
            return Relocated(MoveResult.BUSY if case.to_leave else MoveResult.WELL)
        # This one has begun since it was listed.
        if case.is_running and away_from is not None and not running:
            return Relocated(MoveResult.BUSY)
        place = _elsewhere(db, case, conditions, now)
        chosen = _merged(case, place.chosen)
        flags = _flags(db, case, place, chosen)
        if place.chosen or flags != case.flags:
            # At the same moment, another manager may heal the reservation, or an update of the
            # lease may give it other hosts. The first of these transactions to commit increases the
            # flavor's generation, so the other transactions are tried again.
            flavor_id = case.reservation.flavor_id
            flavor = flavors.get_many(db, {flavor_id})[flavor_id]
            claim(db, flavor, place.hosts, place.placed_again)
            _write_flags(db, case, flags)
        if place.chosen:
            _write_moved(db, case, chosen, why)
            allocations.settle(db, place.hosts, conditions.cleaning, conditions.device_rules)
        is_news = flags.missing_resources != case.flags.missing_resources
        return dataclasses.replace(_result(case, place), is_news=is_news)


@dataclasses.dataclass(frozen=True)
class _Case:
    """A reservation, and the hosts that it has to leave, as they were read."""

    reservation: Reservation
    lease: Lease
    #: The ids of all hosts that have failed.
    failed: Collection[str]
    #: Instances by host id.
    held: Mapping[str, int]
    #: The instances that are to get other hosts, by the id of their present host.
    to_leave: Mapping[str, int]
    #: The instances on failed hosts and on hosts that lack the room, by host id.
    unusable: Mapping[str, int]
    shortage: Shortage | None = None
    #: Whether the reservation is running, but isn't completely open.
    is_half_open: bool = False
    #: The ids of the hosts that it has to leave, whether it is on them or not.
    away_from: Collection[str] = ()

    @property
    def flags(self) -> "_Flags":
        """The reservation's flags before the move."""
        return _Flags(self.reservation.missing_resources, self.reservation.resources_changed)

    @property
    def is_busy(self) -> bool:
        """Whether the lease is being started, changed, ended or deleted."""
        claim, mine = self.lease.claim, self.shortage and self.shortage.manager_id
        if claim is not None and mine is not None:
            return (claim.manager_id, claim.action) != (mine, START)
        if mine == BLAZAR and self.lease.status == lease_states.STARTING:
            return False
        is_claimed = claim_state(claim) is not lease_states.ClaimState.NONE
        return is_claimed or self.lease.status not in _STABLE

    @property
    def is_running(self) -> bool:
        """Whether the reservation itself runs. Its lease may be in ERROR because of another one."""
        mine = self.reservation.reservation_id
        return any(r.id == mine and r.status == "active" for r in self.lease.reservations)


def _read(
    db: Session,
    reservation_id: str,
    away_from: Collection[str] | None,
    shortage: Shortage | None,
) -> _Case | None:
    """Read a reservation; None if it is gone."""
    reservation = reservations.find(db, reservation_id)
    found = leases.read(db, [reservation.lease_id]) if reservation else []
    if reservation is None or not found:
        return None
    failed = failed_hosts.failed_hosts(db)
    held = allocations.allocated(db, reservation_id)
    short = shortage.unusable if shortage else {}
    unusable = {i: n if i in failed else min(n, short.get(i, 0)) for i, n in held.items()}
    if away_from is None:
        to_leave = {i: n for i, n in unusable.items() if n}
    else:
        to_leave = {i: n for i, n in held.items() if i in away_from}
    note = backings.get(db, reservation_id)
    is_half_open = note is not None and note.phase is Phase.OPENING
    case = _Case(
        reservation,
        found[0],
        failed,
        held,
        to_leave,
        unusable,
        shortage,
        is_half_open,
        away_from or (),
    )
    if reservation.affinity and to_leave.keys() - failed and away_from is None:
        # All instances leave the host together, or none if there may be servers.
        case = dataclasses.replace(case, to_leave={} if case.is_running else held)
    return case


@dataclasses.dataclass(frozen=True)
class _Place:
    """Other hosts for the instances that must leave their present hosts."""

    #: The chosen hosts, as they were read.
    hosts: list[BookableHost]
    #: Instances by host id. Empty if there is no room, or no need to move.
    chosen: Mapping[str, int]
    #: How many other hosts match the reservation's shape, without those in ``taken``.
    matching: int = 0
    #: How many other hosts match, but have an instance of it already, and its affinity is false.
    taken: int = 0
    #: The hypervisor hostnames of other hosts that match, but that it has to leave as well.
    left_too: tuple[str, ...] = ()
    #: Other reservations that get other hosts to make room.
    placed_again: tuple[PlacedAgain, ...] = ()


def _elsewhere(
    db: Session, case: _Case, conditions: BookingConditions, now: datetime.datetime
) -> _Place:
    """Choose other hosts for the instances that must leave their present hosts."""
    reservation = case.reservation
    windows = _windows(reservation, conditions.cleaning, now)
    if not case.to_leave or not windows:
        return _Place([], {})
    first, last = windows[0], windows[-1]
    booked = allocations.matching_hosts(
        db,
        reservation.flavor_id,
        lambda host: host.matches(reservation.shape, reservation.project_id),
        conditions.cleaning,
        conditions.device_rules,
    )
    # If the affinity is false, each instance needs a host of its own. So all present hosts are
    # avoided.
    avoided = case.held if reservation.affinity is False else case.to_leave
    others = [host for host in booked.hosts if host.id not in avoided]
    left_too = tuple(sorted(host.name for host in others if host.id in case.away_from))
    candidates = [h for h in others if h.id not in case.away_from and _has_room(case, h.id)]
    taken = sum(h.id in avoided and h.id not in case.to_leave for h in booked.hosts)
    count = sum(case.to_leave.values())
    wanted = placing.Wanted(
        reservation.shape.request,
        count,
        first,
        also=last,
        packing=placing.Packing(conditions.spread, reservation.affinity),
    )
    chosen, room = placing.choose(candidates, wanted)
    if room < count:
        among, stays = frozenset(h.id for h in candidates), reservation.reservation_id
        made = making_room.find(db, wanted, conditions, among, stays=stays)
        if made:
            return _Place(
                made.hosts, made.chosen, len(candidates), taken, placed_again=made.placed_again
            )
    if case.shortage:
        chosen = {i: min(n, case.shortage.elsewhere.get(i, 0)) for i, n in chosen.items()}
        room = sum(chosen.values())
    if reservation.affinity and room < count:
        chosen = {}
    hosts = [host for host in candidates if host.id in chosen]
    return _Place(hosts, chosen, len(candidates), taken, left_too)


def _has_room(case: _Case, host_id: str) -> bool:
    """Whether a host has room now for the instances, as far as somebody has looked."""
    if case.shortage is None:
        return True
    together = sum(case.to_leave.values()) if case.reservation.affinity else 1
    return case.shortage.elsewhere.get(host_id, 0) >= together


def _windows(
    reservation: Reservation, cleaning: datetime.timedelta, now: datetime.datetime
) -> list[timeline.Span]:
    """The times for which other hosts need room: what is left of the present and promised times.

    :returns: one or two spans. No spans if the reservation is over.
    """
    since = now.replace(microsecond=0)
    return [
        timeline.Span(max(span.start, since), span.end).padded(cleaning)
        for span in (reservation.span, reservation.promised)
        if span is not None and span.end > since
    ]


def _merged(case: _Case, chosen: Mapping[str, int]) -> dict[str, int]:
    """The instances by host id after the move. Instances without another host keep their host."""
    merged = {i: n - case.to_leave.get(i, 0) for i, n in case.held.items()}
    for host_id, count in chosen.items():
        merged[host_id] = merged.get(host_id, 0) + count
    left = sum(case.to_leave.values()) - sum(chosen.values())
    for host_id, count in sorted(case.to_leave.items()):
        stay = min(count, left)
        merged[host_id] += stay
        left -= stay
    return {host_id: count for host_id, count in merged.items() if count}


class _Flags(NamedTuple):
    """Blazar's flags of a reservation."""

    missing_resources: bool
    resources_changed: bool


def _flags(db: Session, case: _Case, place: _Place, chosen: Mapping[str, int]) -> _Flags:
    """Find out the reservation's flags after the move, and note how many instances are missing.

    :param chosen: instances by host id after the move.
    """
    reservation = case.reservation
    if case.shortage is None and case.is_half_open and reservation.missing_resources:
        # Only a look at the hosts can tell how many instances are missing.
        return case.flags
    missing = sum(
        max(0, chosen.get(host_id, 0) - (case.held[host_id] - unusable))
        for host_id, unusable in case.unusable.items()
    )
    if missing or reservation.missing_resources:
        _note_missing(db, case, missing)
    is_changed = reservation.resources_changed or (case.is_running and bool(place.chosen))
    return _Flags(missing > 0, is_changed)


def _write_flags(db: Session, case: _Case, flags: _Flags) -> None:
    reservation_id = case.reservation.reservation_id
    if flags.missing_resources and not case.flags.missing_resources:
        lost = News(notices.Kind.HOST_LOST, timeutils.utcnow())
        outbox.add(db, outbox.of_reservations([reservation_id]), lost)
    failed_hosts.set_flags(db, case.lease, reservation_id, **flags._asdict())


def _note_missing(db: Session, case: _Case, missing: int) -> None:
    """Note in a reservation's log how many instances are missing, if that has changed.

    If it runs, its user also finds it in the reservation.
    """
    reservation = case.reservation
    before = changes.missing_instances(db, reservation.reservation_id)
    if before == missing:
        return
    values = ({MISSING_INSTANCES: number} for number in (before, missing))
    noted = Change(timeutils.utcnow(), ChangeKind.MISSING, None, *values)
    changes.note(db, reservation.reservation_id, noted)
    if case.is_running:
        places = reservation.instance_count
        reason = texts.refusals.PLACES_UNUSABLE(unusable=missing, places=places)
        reservations.set_reason(db, reservation.reservation_id, reason if missing else None)


def _write_moved(db: Session, case: _Case, chosen: Mapping[str, int], why: Why) -> None:
    """Write a reservation's hosts after a move, and mark the reservation as not completely open.

    :param chosen: instances by host id after the move.
    """
    reservation_id = case.reservation.reservation_id
    write_hosts(db, reservation_id, case.reservation.shape, chosen)
    backings.half_close(db, reservation_id)
    changes.add(db, reservation_id, moved(timeutils.utcnow(), *why))
    if not case.is_running:
        return
    # On these hosts, the reservation has fewer instances now, but all its servers may still be
    # there. A host that only lacks room has no more servers of it than it has places left there.
    fewer = [i for i, n in case.to_leave.items() if chosen.get(i, 0) < n]
    for host_id in sorted(i for i in fewer if case.shortage is None or i in case.failed):
        host_marks.abandon(db, host_id)


def _result(case: _Case, place: _Place) -> Relocated:
    moved = sum(place.chosen.values())
    stay = sum(case.to_leave.values()) - moved
    outcome = MoveResult.SHORT if stay else MoveResult.MOVED if moved else MoveResult.WELL
    reopen = case.is_running and moved > 0
    new_hosts = tuple(sorted(host.name for host in place.hosts if host.id in place.chosen))
    matching, taken, left_too = place.matching, place.taken, place.left_too
    return Relocated(outcome, moved, new_hosts, stay, matching, taken, left_too, reopen)
