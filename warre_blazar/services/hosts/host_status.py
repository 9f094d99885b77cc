"""Describes hosts for operators: whether they can be booked, how full they are, who is on them."""

import dataclasses
import datetime
from collections.abc import Sequence

from warre_blazar.db import session
from warre_blazar.db.hosts import allocations, host_marks, reservable_hosts
from warre_blazar.domain.flavors.devices import Rules
from warre_blazar.domain.hosts import bookable_host
from warre_blazar.domain.hosts.bookable_host import BookableHost, ClassUse
from warre_blazar.domain.hosts.host_marks import HostState, Marks, OnHost
from warre_blazar.domain.timeline import Span
from warre_blazar.services.hosts import new_hosts


@dataclasses.dataclass(frozen=True)
class HostStatus:
    """What an operator should know about a host."""

    host: BookableHost
    marks: Marks
    uses: Sequence[ClassUse]
    #: The reservations on the host that overlap the span that was asked about.
    reservations: Sequence[OnHost]

    @property
    def state(self) -> HostState:
        """Whether the host can be booked, and if not, why."""
        return self.marks.state


def listing(window: Span, now: datetime.datetime, rules: Rules) -> list[HostStatus]:
    """All hosts, sorted by name.

    :param window: the span for which reservations are listed, and for which peaks are computed.
    :param rules: how devices of Blazar's own reservations are counted.
    """
    new_hosts.read()
    with session.reader() as db:
        marks = host_marks.every(db)
        found = [*reservable_hosts.empty(db), *reservable_hosts.empty(db, closed=True)]
        booked = allocations.complete(db, found, device_rules=rules)
        reservations = host_marks.reservations_during(db, window)
    return [
        HostStatus(
            host,
            marks[host.id],
            list(bookable_host.use(host, window, now)),
            reservations.get(host.id, ()),
        )
        for host in sorted(booked, key=lambda host: (host.name, host.id))
        if host.id in marks
    ]
