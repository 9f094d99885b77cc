"""Backings: what Nova and Placement hold for reservations.

When a reservation is booked, its backing is only planned. Shortly before the start, the backing is
made. When the reservation starts, it is opened to its project. When the reservation ends, the
backing is removed. The backing's note, a row in ``warre_backings``, is written by the booking, and
deleted when everything is gone. So ``reconcile`` finds every backing on which work was interrupted.
Every step can be repeated.
"""

import datetime
import functools
from collections.abc import Callable, Sequence
from concurrent import futures

from oslo_log import log as logging
from oslo_utils import timeutils
from sqlalchemy.orm import Session

from warre_blazar import texts, timer, times
from warre_blazar.db import session
from warre_blazar.db.booking import instance_reservations, reservations
from warre_blazar.db.hosts import allocations
from warre_blazar.db.messages import outbox
from warre_blazar.db.records import changes, metrics
from warre_blazar.db.running import backings
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.booking.reservation_states import ACTIVE
from warre_blazar.domain.flavors.flavor import Shape
from warre_blazar.domain.messages.notices import Kind, News
from warre_blazar.domain.records.changes import Change, ChangeKind
from warre_blazar.domain.running import backing_names
from warre_blazar.domain.running.backing import Backing, Phase
from warre_blazar.domain.running.backing_names import nova_flavor_id, resource_class
from warre_blazar.domain.running.execution import START
from warre_blazar.errors import exceptions
from warre_blazar.openstack import nova, placement
from warre_blazar.services.messages import notifications

LOG = logging.getLogger(__name__)


#: For each host of a reservation: the name of its compute service, its name in Placement, and the
#: number of instances that the reservation has there.
Places = list[tuple[str, str, int]]


#: The number of simultaneous requests for one reservation. More requests would only wait for Nova's
#: and Placement's workers.
_AT_ONCE = 4


def make(reservation_id: str, project_id: str, shape: Shape, flavor_id: str | None = None) -> int:
    """Make a reservation's resource class, aggregate and Nova flavor.

    The project has no access to the Nova flavor yet.

    :param flavor_id: the id of the Nova flavor. None: the id is derived from the reservation's id.
    :returns: the aggregate's id.
    :raises ServiceUnavailable, ServiceRefused: part of the backing may have been made.
    """
    placement.make_class(resource_class(reservation_id))
    aggregate_id = nova.make_aggregate(
        reservation_id,
        backing_names.aggregate_metadata(reservation_id, project_id, shape),
    )
    session.change(backings.update, reservation_id, aggregate_id=aggregate_id)
    nova.make_flavor(
        flavor_id or nova_flavor_id(reservation_id),
        backing_names.FLAVOR_PREFIX + reservation_id,
        vcpus=shape.vcpu,
        ram=shape.memory_mb,
        disk=shape.disk_gb,
        ephemeral=shape.ephemeral_gb,
        extra_specs=backing_names.flavor_specs(reservation_id, shape),
    )
    return aggregate_id


def make_ahead(now: datetime.datetime) -> None:
    """Make the backings of reservations that begin soon.

    If this fails for one reservation, the others are still handled. What isn't made ahead of time
    is made at the start.
    """
    given_up = now + times.ANSWER_MAY_BE_LATE - times.LEFT_TO_OTHER_MANAGER
    with session.reader() as db:
        soon = backings.to_make(db, now + times.MADE_AHEAD, given_up)
    for reservation_id in soon:
        try:
            make_planned(reservation_id, given_up)
        except exceptions.WarreError as error:
            LOG.warning("The backing of reservation %s isn't made yet: %s", reservation_id, error)


def make_planned(reservation_id: str, given_up: datetime.datetime | None = None) -> None:
    """Make a reservation's backing, unless it is made or the reservation is over.

    :param given_up: as in ``backings.begin_making``.
    :raises ServiceUnavailable, ServiceRefused: part of the backing may have been made.
    """
    reservation = session.change(_begin_making, reservation_id, given_up)
    if reservation is None:
        return
    try:
        aggregate_id = make(reservation_id, reservation.project_id, reservation.shape)
    except exceptions.ServiceTimedOut:
        session.change(
            backings.set_late, reservation_id, timeutils.utcnow() + times.ANSWER_MAY_BE_LATE
        )
        raise
    except exceptions.WarreError:
        session.change(backings.set_late, reservation_id, None)
        raise
    session.change(_finish_making, reservation_id, aggregate_id)


def _begin_making(
    db: Session, reservation_id: str, given_up: datetime.datetime | None
) -> Reservation | None:
    """Write that the backing is being made, and return the reservation. None: leave it alone."""
    reservation = reservations.find(db, reservation_id)
    until = timeutils.utcnow() + times.ANSWER_MAY_BE_LATE
    if reservation is None or not backings.begin_making(db, reservation_id, until, given_up):
        return None
    return reservation


def _finish_making(db: Session, reservation_id: str, aggregate_id: int) -> None:
    backings.finish_making(db, reservation_id, aggregate_id)
    # Blazar's instance plugin writes this column too.
    instance_reservations.set_aggregate(db, reservation_id, aggregate_id)


@session.retried
def note_again(reservation_id: str, project_id: str, now: datetime.datetime) -> None:
    """Write the note of a reservation's backing again if the note is gone.

    The note can be gone if the reservation was deleted while its backing was being made again.
    """
    with session.writer() as db:
        if backings.get(db, reservation_id) is None:
            backings.insert(db, reservation_id, project_id, now, phase=Phase.MADE)


def open_to_project(reservation_id: str) -> None:
    """Let the project boot servers on the reservation's hosts.

    :raises ServiceUnavailable, ServiceRefused: ``reconcile`` does the remaining steps later.
    """
    grant(reservation_id, prepare(reservation_id))


def prepare(reservation_id: str) -> Places:
    """Do every step of opening except the last one, which gives the project access.

    If the backing wasn't made ahead of time, this makes it.

    :returns: the reservation's hosts, for ``grant``.
    :raises ServiceUnavailable, ServiceRefused:
    """
    make_planned(reservation_id)
    backing, places = session.change(_begin_opening, reservation_id)
    if backing.phase is Phase.OPEN:
        return places
    cls = resource_class(reservation_id)
    offers = [functools.partial(placement.offer, host, cls, count) for _, host, count in places]
    _side_by_side([functools.partial(_fill_aggregate, backing, places), *offers])
    if backing.phase.is_opened:
        _withdraw_elsewhere(backing, places)
    return places


def _begin_opening(db: Session, reservation_id: str) -> tuple[Backing, Places]:
    """Write into the note that opening has begun, unless the reservation is completely open.

    :returns: the note as it was, and the reservation's hosts. If the reservation is completely
        open, the list of hosts is empty.
    :raises InvalidState: the backing is being removed.
    """
    backing = _get(db, reservation_id)
    if backing.phase is Phase.OPEN:
        return backing, []
    if not backings.begin_opening(db, reservation_id):
        raise exceptions.InvalidState(texts.refusals.BEING_REMOVED(reservation=reservation_id))
    return backing, allocations.nova_names(db, reservation_id)


def grant(reservation_id: str, prepared: Places) -> None:
    """Give the project access to the Nova flavor of a prepared reservation.

    Nothing is done if the backing is being removed.

    :param prepared: the hosts that ``prepare`` has returned. If the reservation was moved to other
        hosts since, it stays marked as not completely open, and ``reconcile`` opens it on the new
        hosts.
    :raises ServiceUnavailable, ServiceRefused:
    """
    with session.reader() as db:
        backing = _get(db, reservation_id)
    # If the caller has prepared hosts, others may have opened the reservation on other hosts since.
    if backing.phase is Phase.CLOSING or (backing.phase is Phase.OPEN and not prepared):
        return
    nova.grant(backing.flavor_id, backing.project_id)
    if not session.change(_finish_opening, reservation_id, prepared):
        LOG.info("Reservation %s has moved or is being removed", reservation_id)


def _finish_opening(db: Session, reservation_id: str, prepared: Places) -> bool:
    """Mark a reservation as completely open, unless its hosts have changed.

    The reason why the reservation couldn't be opened before is removed.

    :returns: whether its hosts are still those that were prepared, and its backing isn't being
        removed.
    """
    # A move to other hosts writes the hosts and the note in one transaction. If the move comes
    # first, the query below reads the new hosts. If the move comes later, it marks the reservation
    # as not completely open.
    if not backings.finish_opening(db, reservation_id):
        return False
    is_same = sorted(allocations.nova_names(db, reservation_id)) == sorted(prepared)
    if is_same:
        _tell_late_start(db, reservation_id)
        reservations.set_reason(db, reservation_id, None)
    else:
        backings.half_close(db, reservation_id)
    return is_same


def _tell_late_start(db: Session, reservation_id: str) -> None:
    """Tell that a reservation is open, if it has begun earlier and couldn't be opened then."""
    reservation = reservations.find(db, reservation_id)
    if reservation and reservation.status_reason and reservation.state == ACTIVE:
        now = timeutils.utcnow()
        changes.note(db, reservation_id, Change(now, ChangeKind.OPENED))
        opened = News(Kind.STARTED, now)
        outbox.add(db, outbox.of_reservations([reservation_id]), opened)
        notifications.add_of_lease(db, reservation.lease_id, "event.start_lease")
        metrics.count_delay(db, START, reservation.span.start)


def _get(db: Session, reservation_id: str) -> Backing:
    backing = backings.get(db, reservation_id)
    if backing is None:
        raise exceptions.InvalidState(texts.refusals.NOTHING_IN_NOVA(reservation=reservation_id))
    return backing


def _fill_aggregate(backing: Backing, places: Places) -> None:
    """Add the hosts to the aggregate, one after the other.

    After each request, Nova sends its schedulers the aggregate as this request has seen it. If two
    hosts were added at once, the schedulers might end up with an aggregate that lacks one of the
    hosts.
    """
    if backing.aggregate_id is not None:
        for service_host, _, _ in places:
            nova.add_host(backing.aggregate_id, service_host)


def _withdraw_elsewhere(backing: Backing, places: Places) -> None:
    """Undo what was prepared on hosts that the reservation isn't on any more.

    The reservation may have moved to other hosts after it had been prepared. Or a host may have
    failed while the reservation was running. In the second case servers may be left on the failed
    host. As long as these servers exist, the part of the inventory that they use stays too. The
    servers are deleted at the end of the reservation at the latest.
    """
    reservation_id = backing.reservation_id
    placement.close_offers(resource_class(reservation_id), {host for _, host, _ in places})
    if backing.aggregate_id is not None:
        nova.keep_hosts(backing.aggregate_id, {service for service, _, _ in places})


def _side_by_side(steps: Sequence[Callable[[], None]]) -> None:
    """Run steps that don't depend on each other, several at a time.

    When this function returns or raises, no step is running any more.

    :raises: the error of the first step in ``steps`` that has failed.
    """
    with futures.ThreadPoolExecutor(_AT_ONCE) as pool:
        running = [pool.submit(step) for step in steps]
    for step in running:
        step.result()


def remove(reservation_id: str, patience: float) -> None:
    """Remove a reservation's servers, then the rest of its backing, and then the note.

    If the backing is only planned, no request is sent. The note stays while a service may still
    carry out a request to make the backing.

    :param patience: seconds to wait until the servers are deleted.
    :raises InvalidState: some servers still exist after ``patience`` seconds.
    :raises ServiceUnavailable, ServiceRefused: ``reconcile`` removes the rest later.
    """
    backing = session.change(backings.begin_removing, reservation_id)
    if backing is not None:
        _remove(backing, patience)


def evict(reservation_id: str, patience: float) -> None:
    """Revoke the project's access to the Nova flavor and delete the reservation's servers.

    The reservation is marked as not completely open before. So if the end of its lease fails, and
    the lease is extended, ``reconcile`` opens the reservation again. Errors are only logged,
    because ``remove_or_leave`` or ``reconcile`` removes the rest later.

    :param patience: seconds to wait until the servers are deleted.
    """
    try:
        backing = session.change(_half_close, reservation_id)
        if backing is not None:
            _evict(backing, patience)
    except exceptions.WarreError as error:
        LOG.warning("Servers of reservation %s will be deleted later: %s", reservation_id, error)


def _half_close(db: Session, reservation_id: str) -> Backing | None:
    backings.half_close(db, reservation_id)
    return backings.get(db, reservation_id)


def _evict(backing: Backing, patience: float) -> None:
    if backing.phase.is_opened:
        nova.revoke(backing.flavor_id, backing.project_id)
        _remove_servers(backing, patience)


def _remove(backing: Backing, patience: float) -> None:
    reservation_id = backing.reservation_id
    _evict(backing, patience)
    try:
        placement.remove_class(resource_class(reservation_id))
    except exceptions.ServiceRefused:
        remove_hidden_servers(reservation_id)
        raise
    aggregate_id = backing.aggregate_id or nova.find_aggregate(reservation_id)
    if aggregate_id is not None:
        nova.remove_aggregate(aggregate_id)
    nova.remove_flavor(backing.flavor_id)
    if not backing.awaits_late(timeutils.utcnow()):
        session.change(backings.delete, reservation_id)


def _remove_servers(backing: Backing, patience: float) -> None:
    deadline = timer.now() + patience
    wait = times.DELETION_FIRST_POLL
    requested: set[str] = set()
    while servers := nova.servers_on(backing.flavor_id):
        for server in servers:
            # Nova may refuse a deletion, for example while the server is being built. A deletion
            # may also fail. So if a server stays, its deletion is requested again. This isn't done
            # at each poll, because so many requests would keep Nova busier than the deletions
            # themselves.
            if server not in requested and patience:
                nova.delete_server(server)
            elif server not in requested or wait >= times.DELETION_LONGEST_POLL:
                nova.delete_again(server)
        requested.update(servers)
        if timer.now() + wait > deadline:
            raise exceptions.InvalidState(
                texts.refusals.SERVERS_REMAIN(
                    servers=len(servers), reservation=backing.reservation_id
                )
            )
        timer.sleep(wait)
        wait = min(wait * 2, times.DELETION_LONGEST_POLL)


def remove_hidden_servers(reservation_id: str) -> None:
    """Delete those servers of a reservation that Nova doesn't find by their Nova flavor.

    If a Nova flavor is deleted after a server was booted on it, Nova doesn't find the server by the
    flavor any more. This is so even if the flavor is made again.
    """
    for server in nova.servers_of_reservations():
        if server.reservation_id == reservation_id:
            LOG.warning("Deleting server %s of reservation %s", server.id, reservation_id)
            nova.delete_again(server.id)


def remove_or_leave(reservation_id: str, patience: float = 0) -> None:
    """Remove as much of a reservation's backing as possible, and leave the rest to ``reconcile``.

    :param patience: seconds to wait until the servers are deleted.
    """
    try:
        remove(reservation_id, patience)
    except exceptions.WarreError as error:
        LOG.warning(
            "The backing of reservation %s will be removed later: %s", reservation_id, error
        )


def reconcile() -> None:
    """Remove backings of ended reservations, and open active reservations that aren't open yet.

    If this fails for one reservation, the others are still handled.
    """
    with session.reader() as db:
        ended, half_open = backings.ended(db), backings.half_open(db)
    for backing in ended:
        remove_or_leave(backing.reservation_id)
    for backing in half_open:
        try:
            open_to_project(backing.reservation_id)
        except exceptions.WarreError as error:
            session.change(reservations.set_reason, backing.reservation_id, error.message)
            LOG.warning("Reservation %s will be opened later: %s", backing.reservation_id, error)


def delete_late_servers(now: datetime.datetime) -> None:
    """Delete the servers of reservations that have ended.

    At the end of a reservation, the servers that Nova lists at that moment are deleted. If the
    request to boot a server had to wait for another service, Nova may list the server only after
    that moment.

    :raises ServiceUnavailable, ServiceRefused: the next call deletes the rest.
    """
    servers = nova.servers_of_reservations(changed_since=now - times.LATE_SERVERS_WITHIN)
    with session.reader() as db:
        over = backings.over(db, {server.reservation_id for server in servers})
    for server in servers:
        if server.reservation_id in over:
            LOG.warning("Deleting late server %s of %s", server.id, server.reservation_id)
            nova.delete_again(server.id)
