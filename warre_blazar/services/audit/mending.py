"""Mends differences that an audit has found. Each remedy reads the rows again before it writes."""

import dataclasses
import datetime
from collections.abc import Callable, Sequence

from blazar.db import api as db_api
from oslo_log import log as logging
from sqlalchemy.orm import Session

from warre_blazar import timer
from warre_blazar.db import audit, flavors, session
from warre_blazar.db.booking import instance_reservations, promises, reservations
from warre_blazar.db.hosts import allocations, reservable_hosts
from warre_blazar.db.running import backings, lease_writes, leases
from warre_blazar.domain.audit import cloud_side
from warre_blazar.domain.audit.cloud_side import Remedy
from warre_blazar.domain.audit.differences import Difference, DifferenceKind
from warre_blazar.domain.audit.facts import Booking, HaltedLease, KnownHost
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.running import backing_names, lease_states
from warre_blazar.domain.running.holders import Holder, HolderKind
from warre_blazar.domain.running.lease_states import Action
from warre_blazar.errors import exceptions
from warre_blazar.openstack import device_traits, freepool, nova, trusts
from warre_blazar.services.audit import looking
from warre_blazar.services.hosts import host_refresh, room_taken
from warre_blazar.services.running import backing, repair

LOG = logging.getLogger(__name__)

#: The status that Blazar gives to a reservation that has ended.
_OVER = "deleted"
#: In the note of a backing, this stands for the project's id if the project isn't known.
_NOBODY = "unknown"

_CHANGED = "What was found has changed meanwhile; run the audit again"


@dataclasses.dataclass(frozen=True)
class Mender:
    """Mends differences, one after the other."""

    now: Callable[[], datetime.datetime]
    #: Seconds to wait until servers are deleted.
    server_patience: float
    #: The seconds within which a trust that is made for a booking appears in the tables.
    trust_grace: float
    #: Lets a manager delete a lease, whose id is the argument.
    delete_lease: Callable[[str], None]
    sleep: Callable[[float], None] = timer.sleep

    def mend(self, differences: Sequence[Difference]) -> dict[tuple[object, str], str]:
        """Mend the differences that can be mended.

        :returns: why a difference couldn't be mended, by the difference's key.
        """
        failures: dict[tuple[object, str], str] = {}
        for difference in differences:
            try:
                # What has no other remedy is mended by a step.
                self._remedies.get(difference.kind, Mender._step)(self, difference)
            except exceptions.WarreError as error:
                failures[difference.key] = error.message
            except session.RowChanged:
                failures[difference.key] = _CHANGED
            else:
                LOG.info("Audit: %s %s", difference.text, difference.rule.remedy)
        return failures

    def _lease(self, difference: Difference) -> None:
        lease, decision = difference.details
        if not repair.act_on_unchanged(lease, decision):
            raise session.RowChanged
        if decision.action in (Action.LEAVE, Action.SETTLE):
            return
        for reservation in lease.reservations:
            if reservation.is_ours:
                self._note(reservation.id)

    def _unfinished(self, difference: Difference) -> None:
        lease: HaltedLease = difference.details
        is_half_made = lease.status == lease_states.CREATING
        with session.writer() as db:
            _lock_halted(db, lease)
            if is_half_made:
                db_api.lease_destroy(lease.id)
            else:
                lease_writes.give_up(db, lease.id, lease.status)
        if not is_half_made:
            self.delete_lease(lease.id)
            return
        for reservation_id in lease.reservations:
            # Blazar names the Nova flavor after the reservation.
            self._remove_leftover(reservation_id, reservation_id)

    def _halted(self, difference: Difference) -> None:
        lease: HaltedLease = difference.details
        with session.writer() as db:
            _lock_halted(db, lease)
            lease_writes.give_up(db, lease.id, lease.status)

    def _orphan_events(self, difference: Difference) -> None:
        with session.writer() as db:
            lease_writes.delete_orphan_events(db)

    def _promise(self, difference: Difference) -> None:
        with session.writer() as db:
            promises.drop(db, difference.details)

    def _instance_row(self, difference: Difference) -> None:
        with session.writer() as db:
            reservation = _alive(db, difference.subject)
            note = backings.get(db, reservation.reservation_id)
            flavor = flavors.get_many(db, {reservation.flavor_id})[reservation.flavor_id]
            instance_reservations.write_again(
                db,
                reservation.reservation_id,
                dataclasses.replace(flavor, shape=reservation.shape),
                chosen=allocations.allocated(db, reservation.reservation_id),
                affinity=reservation.affinity,
                nova_flavor=note.nova_flavor if note else reservation.nova_flavor,
            )
            if note and note.aggregate_id is not None:
                backing.note_aggregate(db, reservation.reservation_id, note.aggregate_id)

    def _open(self, difference: Difference) -> None:
        booking = _booking(difference.subject)
        if booking is None or booking.status != cloud_side.ACTIVE:
            raise session.RowChanged
        backing.open_to_project(difference.subject)

    def _freepool(self, difference: Difference) -> None:
        host: KnownHost = difference.details
        freepool.add(host.service_name)
        # If the host was gone, it is taken back.
        host_refresh.refresh({host.id})

    def _aggregate_id(self, difference: Difference) -> None:
        with session.writer() as db:
            _alive(db, difference.subject)
            backing.note_aggregate(db, difference.subject, difference.details)

    def _step(self, difference: Difference) -> None:
        """Carry out a step, if it still leads from what was seen to what is wanted now."""
        remedy: Remedy = difference.details
        before = _booking(remedy.reservation_id)
        if before is None or before.note is None or not before.note.phase.is_made:
            raise session.RowChanged
        same = (remedy.step.do, remedy.step.about)
        present = cloud_side.remedies(before, remedy.seen)
        todo = [r.step for r in present if (r.step.do, r.step.about) == same]
        if not todo:
            raise session.RowChanged
        backing.carry_out(todo)
        after = _booking(remedy.reservation_id)
        if after is None:
            # What was made again must not stay.
            self._note(before.reservation_id, before.note.nova_flavor)
            backing.remove_or_leave(before.reservation_id, self.server_patience)
        elif (after.status, after.places) != (before.status, before.places):
            # The reconciler opens the reservation on its present hosts, and only there.
            session.change(backings.half_close, before.reservation_id)

    def _leftover(self, difference: Difference) -> None:
        """Remove what Nova and Placement still hold for a reservation that has ended."""
        reservation_id = difference.subject
        with session.reader() as db:
            statuses = audit.statuses(db, {reservation_id})
        if statuses.get(reservation_id, (True, _OVER)) != (True, _OVER):
            raise session.RowChanged
        self._remove_leftover(reservation_id, difference.details)

    def _remove_leftover(self, reservation_id: str, nova_flavor: str | None) -> None:
        """Remove a backing. Its servers are deleted first.

        Nova can't find servers by a Nova flavor that is gone.
        """
        self._note(reservation_id, nova_flavor)
        backing.remove_hidden_servers(reservation_id)
        backing.remove(reservation_id, self.server_patience)
        # A note that was made just now doesn't know of a trait.
        device_traits.remove(backing_names.resource_class(reservation_id))

    def _note(self, reservation_id: str, nova_flavor: str | None = None) -> None:
        """Write that a reservation's backing is to be removed, even if it has no note.

        The reservation has ended, or the audit has requested the end or the deletion of its lease.
        Because of the note, the reconciler removes what Nova and Placement may hold for the
        reservation.

        :param nova_flavor: the id of the Nova flavor. None: that of our rows.
        """
        with session.writer() as db:
            noted = instance_reservations.nova_flavor_id(db, reservation_id)
            flavor_id = nova_flavor or noted or backing_names.nova_flavor_id(reservation_id)
            backings.note_removal(db, reservation_id, _NOBODY, flavor_id, self.now())

    def _room_taken(self, difference: Difference) -> None:
        """Free the room that somebody has taken, if only a move or a preemptible server has it."""
        seen: Holder = difference.details
        with session.reader() as db:
            every = reservable_hosts.empty(db, closed=None)
        hosts = {host.id: host.name for host in every if host.name == seen.host}
        taken = [each for found in room_taken.look(hosts, self.now()).values() for each in found]
        holder = next((each.details for each in taken if each.key == difference.key), None)
        if holder is None:
            return
        if holder.is_confirmable:
            nova.confirm_move(str(holder.server_id))
        elif holder.kind is HolderKind.SERVER and holder.is_preemptible:
            nova.delete_server(str(holder.server_id))
        else:
            raise session.RowChanged

    def _unused_trusts(self, difference: Difference) -> None:
        self.sleep(self.trust_grace)
        with session.writer() as db:
            unused = difference.details - looking.trusts_in_use(db)
            lease_writes.forget_trusts(db, unused)
        trusts.delete(unused)

    _remedies = {  # noqa: RUF012
        DifferenceKind.LEASE_STATE: _lease,
        DifferenceKind.LEASE_STATE_LOST: _lease,
        DifferenceKind.LEASE_UNFINISHED: _unfinished,
        DifferenceKind.LEASE_HALTED: _halted,
        DifferenceKind.ORPHAN_EVENTS: _orphan_events,
        DifferenceKind.STALE_PROMISE: _promise,
        DifferenceKind.INSTANCE_ROW: _instance_row,
        DifferenceKind.NOTE_WRONG: _aggregate_id,
        DifferenceKind.HOST_OUTSIDE_FREEPOOL: _freepool,
        DifferenceKind.NOT_OPENED: _open,
        DifferenceKind.LEFTOVER: _leftover,
        DifferenceKind.ROOM_TAKEN: _room_taken,
        DifferenceKind.TRUSTS_UNUSED: _unused_trusts,
    }


def _lock_halted(db: Session, lease: HaltedLease) -> None:
    """Keep others from working on a lease, if it is as it was read and nobody works on it now.

    :raises session.RowChanged: it isn't.
    """
    leases.lock(db, lease.id)
    if audit.halted_leases(db, lease.id) != [lease]:
        raise session.RowChanged


def _booking(reservation_id: str) -> Booking | None:
    """A reservation that hasn't ended. None: it has ended or is gone."""
    with session.reader() as db:
        return next(iter(audit.live_bookings(db, reservation_id)), None)


def _alive(db: Session, reservation_id: str) -> Reservation:
    """The reservation with this id, if it hasn't ended.

    :raises session.RowChanged: the reservation has ended or is gone.
    """
    reservation = reservations.find(db, reservation_id)
    if reservation is None or audit.statuses(db, {reservation_id})[reservation_id][1] == _OVER:
        raise session.RowChanged
    return reservation
