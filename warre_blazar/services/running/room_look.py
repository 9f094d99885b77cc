"""Looks whether the hosts of a reservation have the room that it has booked.

A host has less if somebody else's servers are on it, for instance after a resize that nobody has
confirmed, or if it has left Nova. The reservation's servers couldn't be booted then.
"""

import dataclasses
import datetime
from collections.abc import Iterable, Mapping, Sequence

from oslo_log import log as logging
from sqlalchemy.orm import Session

from warre_blazar.db import session
from warre_blazar.db.booking import reservations
from warre_blazar.db.hosts import allocations, host_providers, reservable_hosts
from warre_blazar.db.running import backings
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.hosts import present_room
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.holdings import Holding
from warre_blazar.domain.hosts.present_room import Remains
from warre_blazar.domain.hosts.provider_trees import ProviderTree
from warre_blazar.domain.running import backing_names
from warre_blazar.domain.running.backing import Phase
from warre_blazar.domain.running.holders import Holder
from warre_blazar.domain.running.wanted import HostUse
from warre_blazar.openstack import holders, host_rooms, placement

LOG = logging.getLogger(__name__)


class Look:
    """What Placement says of hosts at one moment. Reservations that start then can share it."""

    def __init__(self) -> None:
        #: By host id. Only hosts with room for at least one instance.
        self._remains: dict[str, Remains] = {}

    def unusable(
        self, reservation_id: str, hosts: Sequence[HostUse], moment: datetime.datetime
    ) -> dict[str, int]:
        """How many of a reservation's places servers can't use, by host id.

        Hosts whose places can all be used are left out. This takes one request, or none if all of
        the hosts have been seen. Each host that seems to be full takes a few more.

        :param hosts: the reservation's hosts, which are prepared.
        :param moment: when the places are needed. What others hold until then doesn't count.
        :raises ServiceUnavailable, ServiceRefused:
        """
        with session.reader() as db:
            facts = _Facts.read(db, reservation_id, hosts)
        if facts is None:
            return {}
        self._see(facts, hosts)
        lacking = {}
        for host in hosts:
            remains = self._remains.get(host.host_id) or _alone(facts, host)
            others = facts.others.get(host.host_id, ())
            fit = present_room.usable(remains, facts.mine, host.instances, others, moment)
            lacking[host.host_id] = host.instances - fit
        return {host_id: count for host_id, count in lacking.items() if count}

    def _see(self, facts: "_Facts", hosts: Sequence[HostUse]) -> None:
        """Ask about all hosts in one request, unless all are known."""
        if all(host.host_id in self._remains for host in hosts):
            return
        cls = backing_names.resource_class(facts.reservation.reservation_id)
        found = host_rooms.of_reservation(facts.reservation.shape.request, cls)
        for host_id, tree in facts.trees.items():
            if tree[0].id in found:
                self._remains[host_id] = found[tree[0].id].constrained(tree)


def _alone(facts: "_Facts", host: HostUse) -> Remains:
    """What is left of a host that wasn't in the answer about all of them."""
    reservation = facts.reservation
    root = placement.find_provider(host.hypervisor)
    if root is None:
        return Remains()
    remains = host_rooms.of_host(reservation.shape.request, root)
    if remains.providers:
        return remains.constrained(facts.trees.get(host.host_id, ()))
    # Perhaps it is full because the reservation has all its servers there already.
    cls = backing_names.resource_class(reservation.reservation_id)
    return Remains(servers={cls: placement.used(host.hypervisor, cls)})


@dataclasses.dataclass(frozen=True)
class _Facts:
    """What the tables say about a reservation and its hosts."""

    reservation: Reservation
    #: The hosts' providers as they were last read, by host id.
    trees: Mapping[str, ProviderTree]
    #: What other reservations hold on the hosts, by host id.
    others: Mapping[str, Sequence[Holding]]

    @property
    def mine(self) -> Holding:
        """One of the reservation's places."""
        each = self.reservation
        return Holding(each.reservation_id, each.span, each.shape.request)

    @classmethod
    def read(cls, db: Session, reservation_id: str, hosts: Sequence[HostUse]) -> "_Facts | None":
        """Read a reservation and its hosts. None: the reservation is gone."""
        reservation = reservations.find(db, reservation_id)
        if reservation is None:
            return None
        ids = [host.host_id for host in hosts]
        held = allocations.holdings_of(db, ids, without=reservation_id)
        return cls(reservation, host_providers.trees(db, ids), held)


def look_again(reservation_ids: Iterable[str], now: datetime.datetime) -> None:
    """Let open reservations be opened anew if somebody has taken their room since.

    ``backing.reconcile`` opens them: it moves what lacks room, or says so and tells the operator.
    Reservations that share their hosts share a request.

    :raises ServiceUnavailable, ServiceRefused: the next call looks again.
    """
    look = Look()
    for reservation_id in reservation_ids:
        with session.reader() as db:
            note = backings.get(db, reservation_id)
            hosts = allocations.hosts_of(db, reservation_id)
        # Places on a host that doesn't work are no news.
        working = [host for host in hosts if host.reservable]
        is_open = note is not None and note.phase is Phase.OPEN
        if is_open and (lacking := look.unusable(reservation_id, working, now)):
            LOG.warning("Reservation %s lacks room: %s places", reservation_id, lacking)
            session.change(backings.half_close, reservation_id)


def in_the_way(hosts: Sequence[HostUse], moment: datetime.datetime) -> dict[str, list[Holder]]:
    """Who holds room on hosts without a reservation that is there at a moment, by host id.

    :raises ServiceUnavailable, ServiceRefused:
    """
    with session.reader() as db:
        held = allocations.holdings_of(db, [host.host_id for host in hosts])
    found = holders.of_hosts({host.hypervisor: host.service_name for host in hosts})
    strangers = {}
    for host in hosts:
        there = {
            h.reservation_id for h in held[host.host_id] if h.span.start <= moment < h.span.end
        }
        strangers[host.host_id] = [
            holder for holder in found[host.hypervisor] if holder.reservation_ids.isdisjoint(there)
        ]
    return strangers


def elsewhere(reservation_id: str, moment: datetime.datetime) -> dict[str, int]:
    """How many instances of a reservation fit on hosts at a moment, by host id.

    All bookable hosts that match the reservation are looked at, in one request. Full hosts are left
    out.

    :raises ServiceUnavailable, ServiceRefused:
    """
    with session.reader() as db:
        reservation = reservations.find(db, reservation_id)
        if reservation is None:
            return {}
        shape, project_id = reservation.shape, reservation.project_id
        hosts = [h for h in reservable_hosts.empty(db) if h.matches(shape, project_id)]
        ids = [host.id for host in hosts]
        held = allocations.holdings_of(db, ids, without=reservation_id)
    request = reservation.shape.request
    found = host_rooms.of_all(request) if hosts else {}
    rooms = {
        host.id: present_room.room(
            found[root].constrained(host.providers), request, held.get(host.id, ()), moment
        )
        for host in hosts
        if (root := _root(host)) in found
    }
    return {host_id: room for host_id, room in rooms.items() if room}


def _root(host: BookableHost) -> str | None:
    return host.providers[0].id if host.providers else None
