"""Drains hosts: stops bookings on them, and moves their reservations to other hosts.

While a host is drained, no flavor:slot reservation is booked on it. The host itself stays as it is
in Blazar and Nova. Running reservations stay on the host until they end, unless the operator wants
them to leave it too. Then their servers can be migrated (``server_migrations``).
"""

import datetime

from warre_blazar.db import foreseeing, session
from warre_blazar.db.hosts import host_marks
from warre_blazar.domain.booking.booking_rules import BookingConditions
from warre_blazar.domain.hosts.host_marks import Drain
from warre_blazar.domain.records.changes import MoveReason
from warre_blazar.services.hosts import new_hosts
from warre_blazar.services.moves import emptying
from warre_blazar.services.moves.emptying import Emptied, Leaving, find_host
from warre_blazar.services.moves.relocation import Why


def drain(
    host: str,
    drain: Drain,
    conditions: BookingConditions,
    now: datetime.datetime,
    *,
    running: bool = False,
) -> Emptied:
    """Stop bookings on a host, and move its reservations to other hosts.

    :param host: the host's id or hypervisor hostname.
    :param drain: who drains the host, and why.
    :param running: whether reservations that run are moved too. They aren't opened on their new
        hosts yet (see ``emptying.open_moved``).
    :raises InvalidField: there is no such host, or there are several.
    :raises TryAgain: at each attempt, somebody claimed the host at the same time.
    """
    new_hosts.read()
    return _drained(find_host(host), drain, conditions, now, running)


def foresee(
    host: str,
    drain: Drain,
    conditions: BookingConditions,
    now: datetime.datetime,
    *,
    running: bool = False,
) -> Emptied:
    """What ``drain`` would do with the same arguments."""
    new_hosts.read()
    host_id = find_host(host)
    return foreseeing.foreseen(
        lambda: _drained(host_id, drain, conditions, now, running), conditions.cleaning
    )


def _drained(
    host_id: str,
    drain: Drain,
    conditions: BookingConditions,
    now: datetime.datetime,
    running: bool,
) -> Emptied:
    # A booking that has read the host before this write can't claim the host any more. Reservations
    # that were booked before this write are found below.
    session.change(host_marks.set_draining, host_id, drain)
    return emptying.empty(host_id, Leaving(Why(MoveReason.DRAIN), running), conditions, now)


def drain_of(host: str) -> tuple[str, Drain | None]:
    """Find a host, and who drains it.

    :param host: the host's id or hypervisor hostname.
    :returns: the host's id, and None if nobody drains the host.
    :raises InvalidField: there is no such host, or there are several.
    """
    host_id = find_host(host)
    with session.reader() as db:
        return host_id, host_marks.every(db)[host_id].drain


def resume(host: str) -> str:
    """Let a drained host be booked again.

    :param host: the host's id or hypervisor hostname.
    :returns: the host's id.
    :raises InvalidField: there is no such host, or there are several.
    :raises TryAgain: at each attempt, somebody claimed the host at the same time.
    """
    host_id = find_host(host)
    session.change(host_marks.set_draining, host_id, None)
    return host_id
