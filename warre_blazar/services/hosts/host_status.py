"""Describes hosts for operators: whether they can be booked, how full they are, who is on them."""

import dataclasses
import datetime
from collections.abc import Sequence

from oslo_log import log as logging

from warre_blazar import texts
from warre_blazar.db import session
from warre_blazar.db.hosts import allocations, host_marks, reservable_hosts
from warre_blazar.domain.audit.differences import Difference
from warre_blazar.domain.flavors.devices import Rules
from warre_blazar.domain.hosts import bookable_host
from warre_blazar.domain.hosts.bookable_host import BookableHost, ClassUse
from warre_blazar.domain.hosts.host_marks import HostState, Marks, OnHost
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.openstack import nova
from warre_blazar.services.hosts import new_hosts, room_taken

LOG = logging.getLogger(__name__)


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

    def taken(self, now: datetime.datetime) -> list[Difference] | None:
        """Who holds room of the host without a reservation that is there now, as an audit says.

        None: Nova or Placement can't be asked. Of a host that has left Nova, nobody takes room.
        """
        if self.state is HostState.GONE:
            return []
        try:
            return room_taken.look({self.host.id: self.host.name}, now)[self.host.id]
        except exceptions.WarreError as error:
            LOG.warning("Who has taken room of host %s isn't known: %s", self.host.name, error)
            return None

    def compute_service(self) -> str | None:
        """The state of the host's compute service in Nova: "up", or why no server boots there.

        None: Nova can't be asked.
        """
        try:
            return nova.out_of_service().get(str(self.host.properties["service_name"]), "up")
        except exceptions.WarreError as error:
            LOG.warning("The compute service of host %s isn't known: %s", self.host.name, error)
            return None


def listing(
    window: Span, now: datetime.datetime, rules: Rules, ref: str | None = None
) -> list[HostStatus]:
    """All hosts, sorted by name.

    :param window: the span for which reservations are listed, and for which peaks are computed.
    :param rules: how devices of Blazar's own reservations are counted.
    :param ref: the id or the name of the only host to return.
    :raises InvalidField: there is no such host.
    """
    new_hosts.read()
    with session.reader() as db:
        marks = host_marks.every(db)
        found = reservable_hosts.empty(db, closed=None)
        if ref is not None:
            found = [host for host in found if ref in (host.id, host.name)]
            if not found:
                raise exceptions.InvalidField("host", texts.expected.HOST())
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
