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
from warre_blazar.db.hosts import allocations
from warre_blazar.db.running import backings, lease_writes, leases
from warre_blazar.domain.audit.differences import Difference, DifferenceKind
from warre_blazar.domain.audit.facts import HaltedLease
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.running import backing_names, lease_states
from warre_blazar.domain.running.backing import Backing, Phase
from warre_blazar.domain.running.lease_states import Action
from warre_blazar.errors import exceptions
from warre_blazar.openstack import nova, placement, trusts
from warre_blazar.services.audit import looking
from warre_blazar.services.running import backing, repair

LOG = logging.getLogger(__name__)

#: The status that Blazar gives to a reservation that has ended.
_OVER = "deleted"
#: In the note of a backing, this stands for the project's id if the project isn't known.
_NOBODY = "unknown"

_CHANGED = "What was found has changed meanwhile; run the audit again"


class Mender:
    """Mends differences, one after the other."""

    def __init__(
        self,
        now: Callable[[], datetime.datetime],
        server_patience: float,
        trust_grace: float,
        delete_lease: Callable[[str], None],
        sleep: Callable[[float], None] = timer.sleep,
    ) -> None:
        """
        :param server_patience: seconds to wait until servers are deleted.
        :param trust_grace: the seconds within which a trust that is made for a booking appears in
            the tables.
        :param delete_lease: lets a manager delete a lease, whose id is the argument.
        """
        self._now = now
        self._server_patience = server_patience
        self._trust_grace = trust_grace
        self._delete_lease = delete_lease
        self._sleep = sleep
        self._restored: set[str] = set()

    def mend(self, differences: Sequence[Difference]) -> dict[tuple[object, str], str]:
        """Mend the differences that can be mended.

        :returns: why a difference couldn't be mended, by the difference's key.
        """
        failures: dict[tuple[object, str], str] = {}
        # Wrong Nova flavors are mended first. A wrong Nova flavor must be deleted before a remedy
        # restores the backing, because each backing is restored only once.
        for difference in sorted(
            differences, key=lambda d: d.kind is not DifferenceKind.FLAVOR_WRONG
        ):
            try:
                self._remedies[difference.kind](self, difference)
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
            self._delete_lease(lease.id)
            return
        for reservation_id in lease.reservations:
            self._remove_leftover(reservation_id)

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
                nova_flavor=_flavor_id(reservation.reservation_id, note),
            )
        self._restore_by_id(difference.subject)

    def _restore(self, difference: Difference) -> None:
        self._restore_by_id(difference.subject.partition(" ")[0])

    def _restore_by_id(self, reservation_id: str) -> None:
        """Make the missing parts of a reservation's backing in Nova and Placement.

        If the reservation is active, open it to its project too.
        """
        if reservation_id in self._restored:
            return
        self._restored.add(reservation_id)
        with session.writer() as db:
            reservation = _alive(db, reservation_id)
            note = backings.get(db, reservation_id)
            if note is None:
                raise session.RowChanged
            # Because of this write, the reconciler opens the reservation if the remedy is
            # interrupted.
            backings.half_close(db, reservation_id)
        aggregate_id = backing.make(
            reservation_id, note.project_id, reservation.shape, note.flavor_id
        )
        with session.writer() as db:
            instance_reservations.set_aggregate(db, reservation_id, aggregate_id)
            is_active = _is_active(db, reservation_id)
        if is_active:
            backing.open_to_project(reservation_id)
        self._take_back_if_over(reservation_id, note.project_id)

    def _take_back_if_over(self, reservation_id: str, project_id: str) -> None:
        """Remove the backing again if the reservation has ended meanwhile."""
        with session.reader() as db:
            statuses = audit.statuses(db, {reservation_id})
        if statuses.get(reservation_id, (True, _OVER))[1] == _OVER:
            backing.note_again(reservation_id, project_id, self._now())
            backing.remove_or_leave(reservation_id, self._server_patience)

    def _wrong_flavor(self, difference: Difference) -> None:
        with session.reader() as db:
            reservation = _alive(db, difference.subject)
            note = backings.get(db, reservation.reservation_id)
        nova.remove_flavor(_flavor_id(reservation.reservation_id, note))
        self._restore_by_id(reservation.reservation_id)

    def _excess_host(self, difference: Difference) -> None:
        reservation_id, host = difference.details
        with session.reader() as db:
            note = backings.get(db, reservation_id)
            service_names = {
                service for service, _, _ in allocations.nova_names(db, reservation_id)
            }
        if note is None or (note.phase.is_opened and host in service_names):
            raise session.RowChanged
        aggregate_id = nova.find_aggregate(reservation_id)
        if aggregate_id is not None:
            nova.remove_host(aggregate_id, host)

    def _excess_inventory(self, difference: Difference) -> None:
        reservation_id, provider_name = difference.details
        with session.reader() as db:
            note = backings.get(db, reservation_id)
            hypervisors = {name for _, name, _ in allocations.nova_names(db, reservation_id)}
        hypervisor = provider_name.removeprefix(backing_names.PROVIDER_PREFIX)
        if note is None or (note.phase.is_opened and hypervisor in hypervisors):
            raise session.RowChanged
        cls = backing_names.resource_class(reservation_id)
        placement.remove_inventory(hypervisor, cls)

    def _excess_access(self, difference: Difference) -> None:
        reservation_id, project_id = difference.details
        with session.reader() as db:
            note = backings.get(db, reservation_id)
            is_active = _is_active(db, reservation_id)
        if note is None or (is_active and note.project_id == project_id):
            raise session.RowChanged
        nova.revoke(note.flavor_id, project_id)

    def _server(self, difference: Difference) -> None:
        reservation_id, server_id = difference.details
        with session.reader() as db:
            is_active = _is_active(db, reservation_id)
        if is_active:
            raise session.RowChanged
        nova.delete_again(server_id)

    def _leftover(self, difference: Difference) -> None:
        """Remove what Nova and Placement still hold for a reservation that has ended.

        Servers are deleted first, because Nova can't find servers by a Nova flavor that is gone.
        """
        reservation_id = difference.subject
        with session.reader() as db:
            statuses = audit.statuses(db, {reservation_id})
        if statuses.get(reservation_id, (True, _OVER)) != (True, _OVER):
            raise session.RowChanged
        self._remove_leftover(reservation_id)

    def _remove_leftover(self, reservation_id: str) -> None:
        self._note(reservation_id)
        backing.remove_hidden_servers(reservation_id)
        backing.remove(reservation_id, self._server_patience)
        # If Blazar's own plugin has made the Nova flavor, its id is the reservation's id with
        # dashes.
        nova.remove_flavor(reservation_id)

    def _note(self, reservation_id: str) -> None:
        """Write the note of a reservation's backing, if the note is missing.

        The reservation has ended, or the audit has requested the end or the deletion of its lease.
        Because of the note, the reconciler removes what Nova and Placement may hold for the
        reservation.
        """
        with session.writer() as db:
            if backings.get(db, reservation_id) is None:
                known = instance_reservations.nova_flavor_id(db, reservation_id)
                backings.insert(db, reservation_id, _NOBODY, self._now(), known)
            backings.update(db, reservation_id, phase=Phase.CLOSING)

    def _unused_trusts(self, difference: Difference) -> None:
        self._sleep(self._trust_grace)
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
        DifferenceKind.NOTE_WRONG: _restore,
        DifferenceKind.CLASS_MISSING: _restore,
        DifferenceKind.AGGREGATE_MISSING: _restore,
        DifferenceKind.AGGREGATE_METADATA: _restore,
        DifferenceKind.FLAVOR_MISSING: _restore,
        DifferenceKind.FLAVOR_SPECS: _restore,
        DifferenceKind.FLAVOR_WRONG: _wrong_flavor,
        DifferenceKind.NOT_OPENED: _restore,
        DifferenceKind.HOSTS_MISSING: _restore,
        DifferenceKind.INVENTORY_MISSING: _restore,
        DifferenceKind.ACCESS_MISSING: _restore,
        DifferenceKind.HOST_TOO_MANY: _excess_host,
        DifferenceKind.INVENTORY_TOO_MANY: _excess_inventory,
        DifferenceKind.ACCESS_TOO_MANY: _excess_access,
        DifferenceKind.SERVER_OUTSIDE: _server,
        DifferenceKind.LEFTOVER: _leftover,
        DifferenceKind.TRUSTS_UNUSED: _unused_trusts,
    }


def _lock_halted(db: Session, lease: HaltedLease) -> None:
    """Keep others from working on a lease, if it is as it was read and nobody works on it now.

    :raises session.RowChanged: it isn't.
    """
    leases.lock(db, lease.id)
    if audit.halted_leases(db, lease.id) != [lease]:
        raise session.RowChanged


def _flavor_id(reservation_id: str, note: Backing | None) -> str:
    """The id of a reservation's Nova flavor."""
    return note.flavor_id if note else backing_names.nova_flavor_id(reservation_id)


def _alive(db: Session, reservation_id: str) -> Reservation:
    """The reservation with this id, if it hasn't ended.

    :raises session.RowChanged: the reservation has ended or is gone.
    """
    reservation = reservations.find(db, reservation_id)
    if reservation is None or audit.statuses(db, {reservation_id})[reservation_id][1] == _OVER:
        raise session.RowChanged
    return reservation


def _is_active(db: Session, reservation_id: str) -> bool:
    """Whether the reservation is ours and active."""
    return audit.statuses(db, {reservation_id}).get(reservation_id) == (True, "active")
