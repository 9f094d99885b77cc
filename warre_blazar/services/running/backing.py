"""Backings: what Nova and Placement hold for reservations.

When a reservation is booked, its backing is only planned. Shortly before the start, the backing is
made. When the reservation starts, it is opened to its project. When the reservation ends, the
backing is removed. The backing's note, a row in ``warre_backings``, is written by the booking, and
deleted when everything is gone. So ``reconcile`` finds every backing on which work was interrupted.

Each of these functions does three things. A transaction reads the note, and writes what is begun.
The steps from what was noted to what is wanted are carried out. A transaction writes that it is
done.
"""

import contextlib
import dataclasses
import datetime
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent import futures

from oslo_log import log as logging
from oslo_utils import timeutils
from sqlalchemy.orm import Session

from warre_blazar import texts, times
from warre_blazar.db import session
from warre_blazar.db.booking import instance_reservations, reservations
from warre_blazar.db.hosts import allocations
from warre_blazar.db.messages import outbox
from warre_blazar.db.records import changes, metrics
from warre_blazar.db.running import backings
from warre_blazar.domain.booking.reservation_states import ACTIVE
from warre_blazar.domain.messages.notices import Kind, News
from warre_blazar.domain.records.changes import Change, ChangeKind
from warre_blazar.domain.running import backing_names
from warre_blazar.domain.running.backing import Note, Phase
from warre_blazar.domain.running.execution import START
from warre_blazar.domain.running.wanted import (
    NOTHING,
    Do,
    HostUse,
    Moment,
    NovaAggregate,
    Step,
    between,
    noted,
    steps,
    wanted,
)
from warre_blazar.errors import exceptions
from warre_blazar.openstack import device_traits, nova, placement
from warre_blazar.services.messages import notifications
from warre_blazar.services.running import preemptible, room

LOG = logging.getLogger(__name__)


#: The hosts of a reservation.
Places = Sequence[HostUse]


@dataclasses.dataclass(frozen=True)
class Prepared:
    """A reservation for which only the access of its project is missing."""

    #: Its hosts when it was prepared. Empty if it was completely open by then.
    hosts: Places
    #: How many of its places on a host servers can't use, by host id. Other hosts are left out.
    unusable: Mapping[str, int] = dataclasses.field(default_factory=dict)
    #: The projects with which it was shared then, and all that it has been shared with before.
    shared_with: frozenset[str] = frozenset()
    guests: frozenset[str] = frozenset()

    @property
    def usable(self) -> Places:
        """The hosts with the places that servers can use."""
        left = ((host, host.instances - self.unusable.get(host.host_id, 0)) for host in self.hosts)
        return [dataclasses.replace(host, instances=count) for host, count in left if count]


#: The number of simultaneous requests for one reservation. More requests would only wait for Nova's
#: and Placement's workers.
_AT_ONCE = 4


def carry_out(todo: Iterable[Step], patience: float = 0) -> None:
    """Carry out steps in their order.

    :param patience: seconds to wait until servers are deleted.
    :raises InvalidState: some servers still exist after ``patience`` seconds.
    :raises HostsGone: Nova or Placement doesn't have some hosts. All other steps were carried out.
    :raises ServiceUnavailable, ServiceRefused: the steps that remain can be carried out later.
    """
    gone: list[exceptions.HostsGone] = []
    calls = _CALLS | {Do.FREE_ROOM: functools.partial(room.free, patience=patience)}
    # When this block is left, no request is under way any more.
    with futures.ThreadPoolExecutor(_AT_ONCE) as pool:
        for is_side_by_side, group in itertools.groupby(todo, lambda s: s.do in _SIDE_BY_SIDE):
            requests = [functools.partial(calls[step.do], *step.args) for step in group]
            if is_side_by_side:
                for running in [pool.submit(request) for request in requests]:
                    try:
                        running.result()
                    except exceptions.HostsGone as error:
                        gone.append(error)
                continue
            for request in requests:
                request()
    if gone:
        gone[0].hosts = gone[0].hosts.union(*(error.hosts for error in gone))
        raise gone[0]


def _make_aggregate(aggregate: NovaAggregate) -> None:
    """Make a reservation's aggregate, and write its id before anything else is made."""
    session.change(note_aggregate, aggregate.name, nova.make_aggregate(aggregate))


def note_aggregate(db: Session, reservation_id: str, aggregate_id: int) -> None:
    """Write the id of a reservation's aggregate."""
    backings.update(db, reservation_id, aggregate_id=aggregate_id)
    # Blazar's instance plugin writes this column too.
    instance_reservations.set_aggregate(db, reservation_id, aggregate_id)


def _remove_class(name: str) -> None:
    try:
        placement.remove_class(name)
    except exceptions.ServiceRefused as error:
        held = room.release(str(backing_names.of_class(name)))
        who = "; ".join(map(str, held))
        said = texts.services.REFUSAL(said=f"{error.message} {name} is held by {who}")
        raise exceptions.ServiceRefused(placement.SERVICE, said) if held else error from error


def _add_hosts(aggregate: NovaAggregate, hosts: Sequence[str]) -> None:
    """Add hosts to an aggregate, and take the preemptible servers off them."""
    preemptible.clear(hosts)
    nova.add_hosts(aggregate, hosts)


_CALLS: dict[Do, Callable[..., None]] = {
    Do.GIVE_UP_FLAVOR: nova.give_up_flavor,
    Do.REVOKE: nova.revoke,
    Do.DELETE_SERVER: nova.delete_again,
    Do.REMOVE_CLASS: _remove_class,
    Do.REMOVE_AGGREGATE: nova.remove_aggregate,
    Do.REMOVE_FLAVOR: nova.remove_flavor,
    Do.MAKE_CLASS: placement.make_class,
    Do.MAKE_AGGREGATE: _make_aggregate,
    Do.SET_METADATA: _make_aggregate,
    Do.REPLACE_FLAVOR: nova.replace_flavor,
    Do.MAKE_FLAVOR: nova.make_flavor,
    Do.SET_SPECS: nova.make_flavor,
    Do.ADD_HOSTS: _add_hosts,
    Do.OFFER: placement.offer,
    Do.LOWER: placement.lower,
    Do.CLOSE_OFFERS: placement.close_offers,
    Do.KEEP_HOSTS: nova.keep_hosts,
    Do.GRANT: nova.grant,
    Do.REMOVE_TRAIT: device_traits.remove,
    Do.GIVE_TRAIT: device_traits.give,
    Do.TAKE_TRAIT: device_traits.take,
}
#: Steps that don't depend on each other.
_SIDE_BY_SIDE = (Do.ADD_HOSTS, Do.OFFER)


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
    note = session.change(_begin_making, reservation_id, given_up)
    if note is None:
        return
    try:
        carry_out(steps(noted(note), wanted(note, (), Moment.SOON)))
    except exceptions.WarreError as error:
        is_late = isinstance(error, exceptions.ServiceTimedOut)
        until = timeutils.utcnow() + times.ANSWER_MAY_BE_LATE if is_late else None
        session.change(backings.set_late, reservation_id, until)
        raise
    session.change(backings.finish_making, reservation_id, confined=note.confined)


def _begin_making(
    db: Session, reservation_id: str, given_up: datetime.datetime | None
) -> Note | None:
    """Write that the backing is being made, and return the note. None: leave it alone."""
    note = backings.get(db, reservation_id)
    until = timeutils.utcnow() + times.ANSWER_MAY_BE_LATE
    if note is None or note.shape is None:
        return None
    if not backings.begin_making(db, reservation_id, until, given_up):
        return None
    if note.handle and backings.show(db, reservation_id):
        return dataclasses.replace(note, shown=True)
    return note


@contextlib.contextmanager
def made_by_others(reservation_id: str, project_id: str) -> Iterator[None]:
    """Let the body make a backing by other means than ours, or leave nothing of it.

    A note says that something may be there. ``reconcile`` follows it once the reservation has ended
    or is gone, and removes what nobody else has removed: a service was away, this manager was
    killed, or the creation of the lease failed later, of which Blazar tells no plugin.
    """
    session.change(_note_made_by_others, reservation_id, project_id)
    try:
        yield
    except Exception:
        remove_or_leave(reservation_id)
        raise
    session.change(backings.set_late, reservation_id, None)


def _note_made_by_others(db: Session, reservation_id: str, project_id: str) -> None:
    now = timeutils.utcnow()
    # Blazar names the Nova flavor after the reservation.
    backings.note_removal(db, reservation_id, project_id, reservation_id, now)
    backings.set_late(db, reservation_id, now + times.ANSWER_MAY_BE_LATE)


def open_to_project(reservation_id: str) -> None:
    """Let the project boot servers on the reservation's hosts.

    :raises ServiceUnavailable, ServiceRefused: ``reconcile`` does the remaining steps later.
    """
    grant(reservation_id, prepare(reservation_id))


def prepare(reservation_id: str) -> Prepared:
    """Do every step of opening except the last one, which gives the project access.

    If the backing wasn't made ahead of time, this makes it. What was prepared on hosts that the
    reservation isn't on any more is undone. If a host has failed while the reservation was running,
    servers may be left there. As long as these servers exist, the part of the inventory that they
    use stays too. The servers are deleted at the end of the reservation at the latest.

    :returns: the reservation's hosts, for ``grant``. On hosts that Nova or Placement doesn't have,
        no place can be used. This doesn't keep the other hosts from being prepared.
    :raises ServiceUnavailable, ServiceRefused:
    """
    make_planned(reservation_id)
    note, places = session.change(_begin_opening, reservation_id)
    to = between(note, places, Moment.STARTING, Moment.RUNNING)
    prepared = Prepared(
        places, shared_with=frozenset(note.shared_with), guests=frozenset(note.guests)
    )
    try:
        carry_out(steps(noted(note, places), to))
    except exceptions.HostsGone as error:
        LOG.warning("Reservation %s lacks hosts: %s", reservation_id, error)
        gone = [h for h in places if error.hosts & {h.service_name, h.hypervisor}]
        unusable = {host.host_id: host.instances for host in gone}
        return dataclasses.replace(prepared, unusable=unusable)
    return prepared


def withhold(reservation_id: str, prepared: Prepared) -> None:
    """Take from Nova and Placement the places of a prepared reservation that servers can't use.

    Other reservations on the same hosts keep their room, however many servers this one boots.

    :raises ServiceUnavailable, ServiceRefused: also if a server has been booted there meanwhile.
    """
    with session.reader() as db:
        note = _get(db, reservation_id)
    there, to = (wanted(note, each, Moment.RUNNING) for each in (prepared.hosts, prepared.usable))
    carry_out(steps(there, to))


def _begin_opening(db: Session, reservation_id: str) -> tuple[Note, Places]:
    """Write into the note that opening has begun, unless the reservation is completely open.

    :returns: the note as it was, and the reservation's hosts. If the reservation is completely
        open, the list of hosts is empty.
    :raises InvalidState: the backing is being removed.
    """
    note = _get(db, reservation_id)
    if note.phase is Phase.OPEN:
        return note, []
    if not backings.begin_opening(db, reservation_id):
        raise exceptions.InvalidState(texts.refusals.BEING_REMOVED(reservation=reservation_id))
    return note, allocations.hosts_of(db, reservation_id)


def grant(reservation_id: str, prepared: Prepared) -> None:
    """Give the project access to a prepared reservation, and write that it is open.

    :param prepared: as in ``give_access``.
    :raises PlacesUnusable, ServiceUnavailable, ServiceRefused: as in ``give_access``.
    """
    if give_access(reservation_id, prepared):
        session.change(finish_opening, {reservation_id: prepared})


def give_access(reservation_id: str, prepared: Prepared) -> bool:
    """Give the project access to the Nova flavor of a prepared reservation.

    Nothing is done if the backing is being removed.

    :param prepared: what ``prepare`` has returned.
    :returns: whether ``finish_opening`` has to follow.
    :raises PlacesUnusable: the project has access, but can't use all places. The reservation stays
        marked as not completely open.
    :raises ServiceUnavailable, ServiceRefused:
    """
    with session.reader() as db:
        note = _get(db, reservation_id)
    # If the caller has prepared hosts, others may have opened the reservation on other hosts since.
    if note.phase is Phase.CLOSING or (note.phase is Phase.OPEN and not prepared.hosts):
        return False
    if note.shares_flavor:
        session.change(_take_flavor, reservation_id)
        # Also if it was made ahead, another reservation may have replaced it.
        note = dataclasses.replace(note, shown=False)
    there, to = (wanted(note, prepared.usable, m) for m in (Moment.STARTING, Moment.RUNNING))
    carry_out(steps(there, to))
    if unusable := sum(prepared.unusable.values()):
        # Another manager, which has looked at another moment, may have opened it completely.
        session.change(backings.begin_opening, reservation_id)
        places = sum(host.instances for host in prepared.hosts)
        raise exceptions.PlacesUnusable(unusable, places)
    return True


def _take_flavor(db: Session, reservation_id: str) -> None:
    """Write that the Nova flavor of a handle belongs to a reservation, unless it is over.

    :raises InvalidState: its end has come, so that the next one may have the Nova flavor.
    """
    reservation = reservations.require(db, reservation_id)
    if reservation.span.end <= timeutils.utcnow():
        raise exceptions.InvalidState(texts.refusals.BEING_REMOVED(reservation=reservation_id))
    backings.take_flavor(db, reservation_id)


def finish_opening(db: Session, opened: Mapping[str, Prepared]) -> None:
    """Mark reservations to which their projects have access as completely open.

    The reasons why they couldn't be opened before are removed. If the hosts or guests of one have
    changed since it was prepared, or its backing is being removed, it isn't marked, and
    ``reconcile`` opens it on its new hosts.

    This must come before the transaction reads anything.

    :param opened: the reservations as they were prepared, by id.
    """
    # A move to other hosts writes the hosts and the note in one transaction. If the move comes
    # first, the query below reads the new hosts. If the move comes later, it marks the reservation
    # as not completely open.
    marked = backings.finish_opening(db, {i: bool(p.guests) for i, p in opened.items()})
    hosts = allocations.host_uses(db, allocations.of_reservations(marked))
    as_prepared = [i for i in marked if _is_as_prepared(db, i, opened[i], hosts.get(i, []))]
    # If one could be opened then, even if not on all of its hosts, its project has been told so.
    for reservation_id in changes.shut(db, as_prepared):
        _tell_late_start(db, reservation_id)
    reservations.set_reasons(db, as_prepared, None)
    for reservation_id in opened.keys() - set(as_prepared):
        if reservation_id in marked:
            backings.half_close(db, reservation_id)
        LOG.info("Reservation %s has moved or is being removed", reservation_id)


def _is_as_prepared(db: Session, reservation_id: str, prepared: Prepared, hosts: Places) -> bool:
    """Whether a reservation has the hosts and guests with which it was prepared."""
    if hosts != list(prepared.hosts):
        return False
    # That there are no guests yet, ``backings.finish_opening`` has found.
    return not prepared.guests or (
        _get(db, reservation_id).shared_with.keys() == prepared.shared_with
    )


def _tell_late_start(db: Session, reservation_id: str) -> None:
    """Tell that a reservation is open which has begun earlier and couldn't be opened then."""
    reservation = reservations.find(db, reservation_id)
    if reservation and reservation.state == ACTIVE:
        now = timeutils.utcnow()
        changes.note(db, reservation_id, Change(now, ChangeKind.OPENED))
        opened = News(Kind.STARTED, now)
        outbox.add(db, outbox.of_reservations([reservation_id]), opened)
        notifications.add_of_leases(db, [reservation.lease_id], "event.start_lease")
        metrics.count_delays(db, START, [reservation.span.start])


def _get(db: Session, reservation_id: str) -> Note:
    note = backings.get(db, reservation_id)
    if note is None:
        raise exceptions.InvalidState(texts.refusals.NOTHING_IN_NOVA(reservation=reservation_id))
    return note


def remove(reservation_id: str, patience: float) -> None:
    """Remove a reservation's servers, then the rest of its backing, and then the note.

    If the backing is only planned, no request is sent. The note stays while a service may still
    carry out a request to make the backing.

    :param patience: seconds to wait until the servers are deleted.
    :raises InvalidState: some servers still exist after ``patience`` seconds.
    :raises ServiceUnavailable, ServiceRefused: ``reconcile`` removes the rest later.
    """
    note = session.change(backings.begin_removing, reservation_id)
    if note is not None:
        _remove(note, patience)


def _remove(note: Note, patience: float) -> None:
    carry_out(_removal(note), patience)
    if not note.awaits_late(timeutils.utcnow()):
        session.change(backings.delete, note.reservation_id)


def _removal(note: Note) -> list[Step]:
    return steps(noted(note), NOTHING)


_EVICTING = (Do.GIVE_UP_FLAVOR, Do.REVOKE, Do.FREE_ROOM)


def evict(reservation_id: str, patience: float) -> None:
    """Revoke the project's access to the Nova flavor and delete the reservation's servers.

    The reservation is marked as not completely open before. So if the end of its lease fails, and
    the lease is extended, ``reconcile`` opens the reservation again. Errors are only logged,
    because ``remove_or_leave`` or ``reconcile`` removes the rest later.

    :param patience: seconds to wait until the servers are deleted.
    """
    try:
        note = session.change(_half_close, reservation_id)
        if note is not None:
            first = [step for step in _removal(note) if step.do in _EVICTING]
            carry_out(first, patience)
    except exceptions.WarreError as error:
        LOG.warning("Servers of reservation %s will be deleted later: %s", reservation_id, error)


def _half_close(db: Session, reservation_id: str) -> Note | None:
    backings.half_close(db, reservation_id)
    return backings.get(db, reservation_id)


def remove_hidden_servers(reservation_id: str | None) -> None:
    """Delete those servers of a reservation that Nova doesn't find by their Nova flavor.

    If a Nova flavor is deleted after a server was booted on it, Nova doesn't find the server by the
    flavor any more. This is so even if the flavor is made again.
    """
    for server in nova.servers():
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


def _write_metadata(reservation_id: str) -> None:
    """Write the metadata of a reservation's aggregate, if the site's aggregates have changed."""
    with session.reader() as db:
        note = backings.get(db, reservation_id)
    if note is None:
        return
    todo = steps(noted(note), wanted(note, (), Moment.SOON))
    carry_out(step for step in todo if step.do is Do.SET_METADATA)
    session.change(backings.update, reservation_id, made_confined=note.confined)


def reconcile(open_one: Callable[[str], None] = open_to_project) -> None:
    """Remove backings of ended reservations, and open active reservations that aren't open yet.

    Aggregates get other metadata if their project needs it because of the site's aggregates.
    If this fails for one reservation, the others are still handled.

    :param open_one: opens a reservation, whose id is the argument.
    """
    with session.reader() as db:
        ended, half_open = backings.ended(db), backings.half_open(db)
        outdated = backings.outdated(db)
    for reservation_id in ended:
        remove_or_leave(reservation_id)
    for reservation_id in half_open:
        try:
            open_one(reservation_id)
        except exceptions.WarreError as error:
            session.change(reservations.set_reason, reservation_id, error.message)
            LOG.warning("Reservation %s will be opened later: %s", reservation_id, error)
    for reservation_id in outdated:
        try:
            _write_metadata(reservation_id)
        except exceptions.WarreError as error:
            LOG.warning(
                "The aggregate of reservation %s gets other metadata later: %s",
                reservation_id,
                error,
            )


def delete_late_servers(now: datetime.datetime) -> None:
    """Delete the servers of reservations that have ended.

    At the end of a reservation, the servers that Nova lists at that moment are deleted. If the
    request to boot a server had to wait for another service, Nova may list the server only after
    that moment.

    :raises ServiceUnavailable, ServiceRefused: the next call deletes the rest.
    """
    servers = nova.servers(changed_since=now - times.LATE_SERVERS_WITHIN)
    with session.reader() as db:
        over = backings.over(db, {s.reservation_id for s in servers if s.reservation_id})
    for server in servers:
        if server.reservation_id in over:
            LOG.warning("Deleting late server %s of %s", server.id, server.reservation_id)
            nova.delete_again(server.id)
