"""Opens reservations on hosts that have room for them now, and moves them off others.

The hosts of a reservation have the room that it has booked, unless something has happened to them
that no booking knows of. So somebody looks before the start. What lacks room goes to other hosts,
as after a failure. What finds no other host is flagged, the operator is told, and the reconciler
tries again.
"""

import dataclasses
import datetime
from collections.abc import Callable, Mapping, Sequence

from oslo_log import log as logging

from warre_blazar import timer, times
from warre_blazar.db import clock, session
from warre_blazar.domain.booking.booking_rules import BookingConditions
from warre_blazar.domain.records.changes import MoveReason
from warre_blazar.domain.running.holders import Holder
from warre_blazar.domain.running.wanted import HostUse
from warre_blazar.errors import exceptions
from warre_blazar.services.moves.relocation import BLAZAR, Relocated, Shortage, Why, relocate
from warre_blazar.services.running import backing, room_look
from warre_blazar.services.running.backing import Prepared
from warre_blazar.services.running.room_look import Look

LOG = logging.getLogger(__name__)

_FAILURES = (exceptions.WarreError, *session.FAILURES)


@dataclasses.dataclass(frozen=True)
class LackingHost:
    """A host on which a reservation has places that servers can't use."""

    host: HostUse
    #: The number of these places.
    places: int
    #: Who holds room there that nobody has booked, each in words.
    in_the_way: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class RoomLacking:
    """A reservation whose servers can't use some of its places, and that found no other host."""

    reservation_id: str
    hosts: tuple[LackingHost, ...]


def _tell_nobody(_: RoomLacking) -> None:
    """Do nothing. What can't be used is named in the log anyway."""


@dataclasses.dataclass(frozen=True)
class Opener:
    """Opens reservations to their projects."""

    #: Returns the conditions under which other hosts are chosen.
    conditions: Callable[[], BookingConditions]
    #: Tells the operator of a reservation, once, when its places can't be used.
    tell: Callable[[RoomLacking], None] = _tell_nobody

    def open(self, reservation_id: str, manager_id: str | None = None) -> None:
        """Open a reservation that has begun, as far as its hosts have room.

        :param manager_id: who is starting the reservation's lease, as in ``checked``.
        :raises PlacesUnusable: the project has access, but can't use all places.
        :raises ServiceUnavailable, ServiceRefused: ``backing.reconcile`` does the remaining steps.
        """
        prepared, now = backing.prepare(reservation_id), clock.utcnow()
        checked = self.checked(reservation_id, prepared, now, manager_id=manager_id)
        backing.grant(reservation_id, checked)
        # It may be flagged because of what was found earlier.
        self._move(reservation_id, {}, now, manager_id)

    def open_for_blazar(self, reservation_id: str) -> None:
        """Do what ``open`` does, while Blazar's own executor starts the reservation's lease."""
        self.open(reservation_id, BLAZAR)

    def checked(
        self,
        reservation_id: str,
        prepared: Prepared,
        moment: datetime.datetime,
        look: Look | None = None,
        manager_id: str | None = None,
    ) -> Prepared:
        """See that the hosts of a prepared reservation have room for it.

        Instances for which there is no room are moved to other hosts.

        :param moment: the start, or the present if the reservation has begun.
        :param look: what Placement has said about hosts. None: Placement is asked.
        :param manager_id: the manager that is starting the reservation's lease, or
            ``relocation.BLAZAR``. None: the reservation has begun.
        :returns: what is prepared by now, for ``backing.grant``.
        :raises ServiceUnavailable, ServiceRefused: other hosts couldn't be prepared.
        """
        unusable = _unusable(reservation_id, prepared, moment, look or Look())
        if not unusable:
            return prepared
        moved = self._move(reservation_id, unusable, moment, manager_id)
        if moved and moved.moved:
            LOG.warning(
                "%s instances of reservation %s were moved to %s, because their hosts lack room",
                moved.moved,
                reservation_id,
                ", ".join(moved.new_hosts),
            )
            prepared = backing.prepare(reservation_id)
            unusable = _unusable(reservation_id, prepared, moment, Look())
        checked = dataclasses.replace(prepared, unusable=unusable)
        if unusable:
            backing.withhold(reservation_id, checked)
            if moved and moved.is_news:
                self._report(reservation_id, checked, moment)
        return checked

    def checked_after_ends(
        self, reservation_id: str, prepared: Prepared, moment: datetime.datetime, manager_id: str
    ) -> Prepared:
        """Do what ``checked`` does, just after other reservations have left the same hosts.

        Nova forgets a server shortly before Placement gives back what it took. So a host counts as
        full only if it stays full for some seconds.
        """
        is_given_back = timer.until(
            lambda: not _unusable(reservation_id, prepared, moment, Look()),
            times.ROOM_GIVEN_BACK_WITHIN,
            times.ROOM_LOOKED_AT_EVERY,
        )
        if is_given_back:
            return prepared
        return self.checked(reservation_id, prepared, moment, manager_id=manager_id)

    def _move(
        self,
        reservation_id: str,
        unusable: Mapping[str, int],
        moment: datetime.datetime,
        manager_id: str | None,
    ) -> Relocated | None:
        """Move instances that lack room to other hosts, and correct the reservation's flags.

        :returns: None: this couldn't be done now. The reconciler tries again.
        """
        try:
            elsewhere = room_look.elsewhere(reservation_id, moment) if unusable else {}
            shortage = Shortage(unusable, elsewhere, manager_id)
            why, conditions = Why(MoveReason.NO_ROOM), self.conditions()
            return relocate(reservation_id, None, why, conditions, clock.utcnow(), shortage)
        except _FAILURES as error:
            LOG.warning("Reservation %s lacks room, and stays so: %s", reservation_id, error)
            return None

    def _report(self, reservation_id: str, checked: Prepared, moment: datetime.datetime) -> None:
        """Log and tell which places can't be used, and who is in the way."""
        hosts = [host for host in checked.hosts if host.host_id in checked.unusable]
        strangers: Mapping[str, Sequence[Holder]] = {}
        try:
            strangers = room_look.in_the_way(hosts, moment)
        except _FAILURES as error:
            LOG.warning("Nobody knows who holds the room of %s: %s", reservation_id, error)
        lacking = [
            LackingHost(
                host,
                checked.unusable[host.host_id],
                tuple(map(str, strangers.get(host.host_id, ()))),
            )
            for host in hosts
        ]
        for each in lacking:
            LOG.warning(
                "%s places of reservation %s on host %s can't be used. In the way: %s",
                each.places,
                reservation_id,
                each.host.hypervisor,
                "; ".join(each.in_the_way) or "nobody whom Nova and Placement know",
            )
        self.tell(RoomLacking(reservation_id, tuple(lacking)))


def _unusable(
    reservation_id: str, prepared: Prepared, moment: datetime.datetime, look: Look
) -> dict[str, int]:
    """How many places of a prepared reservation can't be used, by host id.

    If Placement can't be asked, all places count as usable on hosts that are prepared: it is no
    reason to start later.
    """
    gone = dict(prepared.unusable)
    hosts = [host for host in prepared.hosts if host.host_id not in gone]
    try:
        return gone | (look.unusable(reservation_id, hosts, moment) if hosts else {})
    except exceptions.WarreError as error:
        LOG.warning("Nobody knows if reservation %s has room: %s", reservation_id, error)
        return gone
