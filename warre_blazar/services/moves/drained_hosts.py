"""Drains hosts: stops bookings on them, and moves their future reservations to other hosts.

While a host is drained, no flavor:slot reservation is booked on it. The host itself stays as it is
in Blazar and Nova, so running reservations stay on the host until they end.
"""

import dataclasses
import datetime

from warre_blazar import texts
from warre_blazar.db import foreseeing, session
from warre_blazar.db.hosts import allocations, host_marks
from warre_blazar.domain.booking.booking_rules import BookingConditions
from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE
from warre_blazar.domain.hosts.host_marks import Drain, OnHost
from warre_blazar.domain.records.changes import MoveReason
from warre_blazar.errors import exceptions
from warre_blazar.services.hosts import new_hosts
from warre_blazar.services.moves.relocation import MoveResult, Relocated, Why, relocate

#: Blazar's status of a reservation that hasn't begun.
_PENDING = "pending"
_ADD_OR_DELETE = "add a host, or ask its project to delete it"


@dataclasses.dataclass(frozen=True)
class MovedOff:
    """A reservation of which at least one instance was moved off the host."""

    #: The reservation as it was before the move.
    on_host: OnHost
    #: The hypervisor hostnames of the other hosts that the moved instances have now.
    new_hosts: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class StillOnHost:
    """A reservation that is still on the host, and why."""

    on_host: OnHost
    why: str


@dataclasses.dataclass(frozen=True)
class DrainResult:
    """What a drain has done."""

    host_id: str
    moved: list[MovedOff]
    #: The reservations that are still on the host.
    left: list[StillOnHost]


def drain(
    host: str, drain: Drain, conditions: BookingConditions, now: datetime.datetime
) -> DrainResult:
    """Stop bookings on a host, and move its future reservations to other hosts.

    :param host: the host's id or hypervisor hostname.
    :param drain: who drains the host, and why.
    :raises InvalidField: there is no such host, or there are several.
    :raises TryAgain: at each attempt, somebody claimed the host at the same time.
    """
    new_hosts.read()
    return _drained(_host_id(host), drain, conditions, now)


def foresee(
    host: str, drain: Drain, conditions: BookingConditions, now: datetime.datetime
) -> DrainResult:
    """What ``drain`` would do with the same arguments."""
    new_hosts.read()
    host_id = _host_id(host)
    return foreseeing.foreseen(
        lambda: _drained(host_id, drain, conditions, now), conditions.cleaning
    )


def _drained(
    host_id: str, drain: Drain, conditions: BookingConditions, now: datetime.datetime
) -> DrainResult:
    # A booking that has read the host before this write can't claim the host any more. Reservations
    # that were booked before this write are found below.
    session.change(host_marks.set_draining, host_id, drain)
    before = _on_host(host_id)
    healed = {
        each.reservation_id: _relocated(each, conditions, now, host_id)
        for each in before
        if each.resource_type == RESOURCE_TYPE and each.status == _PENDING
    }
    moved = [
        MovedOff(each, h.new_hosts)
        for each in before
        if (h := healed.get(each.reservation_id)) and h.moved
    ]
    left = [
        StillOnHost(each, _why(each, healed.get(each.reservation_id))) for each in _on_host(host_id)
    ]
    return DrainResult(host_id, moved, left)


def _relocated(
    each: OnHost, conditions: BookingConditions, now: datetime.datetime, host_id: str
) -> Relocated:
    try:
        return relocate(each.reservation_id, {host_id}, Why(MoveReason.DRAIN), conditions, now)
    except exceptions.TryAgain:
        return Relocated(MoveResult.BUSY)


def drain_of(host: str) -> tuple[str, Drain | None]:
    """Find a host, and who drains it.

    :param host: the host's id or hypervisor hostname.
    :returns: the host's id, and None if nobody drains the host.
    :raises InvalidField: there is no such host, or there are several.
    """
    host_id = _host_id(host)
    with session.reader() as db:
        return host_id, host_marks.every(db)[host_id].drain


def resume(host: str) -> str:
    """Let a drained host be booked again.

    :param host: the host's id or hypervisor hostname.
    :returns: the host's id.
    :raises InvalidField: there is no such host, or there are several.
    :raises TryAgain: at each attempt, somebody claimed the host at the same time.
    """
    host_id = _host_id(host)
    session.change(host_marks.set_draining, host_id, None)
    return host_id


def _host_id(host: str) -> str:
    with session.reader() as db:
        ids = allocations.find_ids(db, host)
    if host in ids:
        return host
    if len(ids) != 1:
        entry = texts.expected.SEVERAL_HOSTS if ids else texts.expected.NO_HOST
        raise exceptions.InvalidField("host", entry(host=host))
    (host_id,) = ids
    return host_id


def _on_host(host_id: str) -> list[OnHost]:
    with session.reader() as db:
        return host_marks.on_host(db, host_id)


def _why(each: OnHost, healed: Relocated | None) -> str:
    """Why a reservation is still on the host, and what an operator can do about it."""
    if each.resource_type != RESOURCE_TYPE:
        return f"it is a {each.resource_type} reservation, which this command doesn't move"
    if each.status == "active":
        return "it has begun; wait for its end, or delete it"
    if each.status != _PENDING:
        return f"its status is {each.status}; run 'warre-blazar-manage audit'"
    if healed is None or healed.outcome is not MoveResult.SHORT:
        return "it is being started or changed; run this command again"
    way = "make room, or ask its project to move it" if healed.matching else _ADD_OR_DELETE
    return f"{healed.why_stays}; {way}"
