"""Moves the reservations on one host to other hosts, and says which of them stay and why."""

import dataclasses
import datetime
from collections.abc import Callable, Collection, Sequence

from oslo_log import log as logging

from warre_blazar import texts
from warre_blazar.db import session
from warre_blazar.db.hosts import allocations, host_marks
from warre_blazar.domain.booking.booking_rules import BookingConditions
from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE
from warre_blazar.domain.hosts.host_marks import OnHost
from warre_blazar.errors import exceptions
from warre_blazar.services.moves.relocation import MoveResult, Relocated, Why, relocate

LOG = logging.getLogger(__name__)

#: Blazar's statuses of reservations that haven't begun, and of those that run.
_PENDING, _ACTIVE = "pending", "active"
_ADD_OR_DELETE = "add a host, or ask its project to delete it"
_FAILURES = (exceptions.WarreError, *session.FAILURES)


@dataclasses.dataclass(frozen=True)
class MovedOff:
    """A reservation of which at least one instance was moved off the host."""

    #: The reservation as it was before the move.
    on_host: OnHost
    #: The hypervisor hostnames of the other hosts that the moved instances have now.
    new_hosts: tuple[str, ...]
    #: Whether the reservation runs, so that it must be opened on these hosts.
    reopen: bool = False


@dataclasses.dataclass(frozen=True)
class StillOnHost:
    """A reservation that is still on the host, and why."""

    on_host: OnHost
    why: str


@dataclasses.dataclass(frozen=True)
class Emptied:
    """What has become of the reservations on a host."""

    host_id: str
    moved: list[MovedOff]
    #: The reservations that are still on the host, although they should have left it.
    left: list[StillOnHost]
    #: How many reservations stay because they begin later.
    later: int = 0

    @property
    def to_open(self) -> list[str]:
        """The ids of the reservations that run, and must be opened on their new hosts."""
        return [each.on_host.reservation_id for each in self.moved if each.reopen]


def find_host(host: str) -> str:
    """Find the id of a host.

    :param host: the host's id or hypervisor hostname.
    :raises InvalidField: there is no such host, or there are several.
    """
    with session.reader() as db:
        ids = allocations.find_ids(db, host)
    if host in ids:
        return host
    if len(ids) != 1:
        entry = texts.expected.SEVERAL_HOSTS if ids else texts.expected.NO_HOST
        raise exceptions.InvalidField("host", entry(host=host))
    (host_id,) = ids
    return host_id


@dataclasses.dataclass(frozen=True)
class Leaving:
    """Which reservations leave a host, and why."""

    why: Why
    #: Whether also those leave it that run. Their servers stay where they are.
    running: bool = False
    #: Those that begin at this time or later stay.
    until: datetime.datetime = datetime.datetime.max

    @property
    def statuses(self) -> Collection[str]:
        """Blazar's statuses of the reservations that leave the host."""
        return (_PENDING, _ACTIVE) if self.running else (_PENDING,)


def empty(
    host_id: str, leaving: Leaving, conditions: BookingConditions, now: datetime.datetime
) -> Emptied:
    """Move reservations off a host that nobody can book any more.

    Running reservations aren't opened on their new hosts yet (see ``open_moved``).
    """
    before, later = _on_host(host_id, leaving)
    results = {
        each.reservation_id: _relocated(each, leaving, conditions, now, host_id)
        for each in before
        if each.resource_type == RESOURCE_TYPE and each.status in leaving.statuses
    }
    moved = [
        MovedOff(each, result.new_hosts, result.reopen)
        for each in before
        if (result := results.get(each.reservation_id)) and result.moved
    ]
    after, _ = _on_host(host_id, leaving)
    left = [StillOnHost(e, _why(e, results.get(e.reservation_id), leaving)) for e in after]
    return Emptied(host_id, moved, left, later)


def _on_host(host_id: str, leaving: Leaving) -> tuple[list[OnHost], int]:
    """The reservations that should leave a host, and the number of those that begin later."""
    with session.reader() as db:
        every = host_marks.on_host(db, host_id)
    early = [each for each in every if each.start < leaving.until]
    return early, len(every) - len(early)


def _relocated(
    each: OnHost,
    leaving: Leaving,
    conditions: BookingConditions,
    now: datetime.datetime,
    host_id: str,
) -> Relocated:
    try:
        return relocate(
            each.reservation_id, {host_id}, leaving.why, conditions, now, running=leaving.running
        )
    except exceptions.TryAgain:
        return Relocated(MoveResult.BUSY)


def _why(each: OnHost, result: Relocated | None, leaving: Leaving) -> str:
    """Why a reservation is still on the host, and what an operator can do about it."""
    if each.resource_type != RESOURCE_TYPE:
        return f"it is a {each.resource_type} reservation, which this command doesn't move"
    if each.status == _ACTIVE and not leaving.running:
        return "it has begun; run this command with --running, wait for its end, or delete it"
    if each.status not in (_PENDING, _ACTIVE):
        return f"its status is {each.status}; run 'warre-blazar-manage audit'"
    if result is None or result.outcome is not MoveResult.SHORT:
        return "it is being started or changed; run this command again"
    if each.status == _ACTIVE:
        return f"{result.why_stays}; make room, add a host, or wait for its end"
    way = "make room, or ask its project to move it" if result.matching else _ADD_OR_DELETE
    return f"{result.why_stays}; {way}"


def open_moved(reservation_ids: Sequence[str], open_one: Callable[[str], None]) -> list[str]:
    """Open running reservations to their projects on their new hosts.

    :param open_one: opens a reservation.
    :returns: the ids of those that couldn't be opened. ``backing.reconcile`` opens them later.
    """
    unopened = []
    is_away = False
    for reservation_id in reservation_ids:
        try:
            if is_away:
                unopened.append(reservation_id)
                continue
            open_one(reservation_id)
        except _FAILURES as error:
            is_away = isinstance(error, exceptions.ServiceUnavailable)
            unopened.append(reservation_id)
            LOG.warning("Reservation %s will be opened later: %s", reservation_id, error)
    return unopened
