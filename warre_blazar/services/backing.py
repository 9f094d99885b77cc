"""What Nova and Placement hold for a reservation: made at booking, opened at start, removed at end.

A row in ``warre_backings`` is there before anything is made and until all is gone, so whatever
stops half way is found again. Every step can be repeated.
"""

import datetime
import functools
import time
from collections.abc import Callable, Sequence
from concurrent import futures

from oslo_log import log as logging
from sqlalchemy.orm import Session

from warre_blazar import exceptions
from warre_blazar.clients import nova, placement
from warre_blazar.db import backings, hosts, session
from warre_blazar.db.backings import Backing
from warre_blazar.domain.flavor import Shape

LOG = logging.getLogger(__name__)

# The names by which blazar-nova's scheduler filter and Blazar's other plugins know these things.
_FLAVOR_PREFIX = "reservation:"
_AGGREGATE_SPEC = "aggregate_instance_extra_specs:reservation"
_OWNER_KEY = "blazar:owner"

_FIRST_POLL = 0.25
_LONGEST_POLL = 2.0

# Requests at a time for one reservation: more would only queue at Nova's and Placement's workers.
_AT_ONCE = 4


def resource_class(reservation_id: str) -> str:
    """The Placement class that a reservation's servers take one of each."""
    return "CUSTOM_RESERVATION_" + reservation_id.upper().replace("-", "_")


def nova_flavor(reservation_id: str) -> str:
    """The id of a reservation's Nova flavor: the reservation's own, without its dashes.

    Warre's clients know a reservation and its Nova flavor as two things with different ids.
    """
    return reservation_id.replace("-", "")


def make(reservation_id: str, project_id: str, shape: Shape) -> int:
    """Make the Nova flavor, the aggregate and the resource class; nobody is let in yet.

    :returns: the aggregate's id.
    :raises ServiceUnavailable, ServiceRefused: some of it may have been made.
    """
    cls = resource_class(reservation_id)
    placement.make_class(cls)
    aggregate_id = nova.make_aggregate(
        reservation_id,
        {
            "reservation": reservation_id,
            "filter_tenant_id": project_id,
            _OWNER_KEY: project_id,
        },
    )
    with session.writer() as db:
        backings.update(db, reservation_id, aggregate_id=aggregate_id)
    nova.make_flavor(
        nova_flavor(reservation_id),
        _FLAVOR_PREFIX + reservation_id,
        vcpus=shape.vcpu,
        ram=shape.memory_mb,
        disk=shape.disk_gb,
        ephemeral=shape.ephemeral_gb,
        extra_specs={
            **shape.extra_specs,
            _AGGREGATE_SPEC: reservation_id,
            f"resources:{cls}": "1",
        },
    )
    return aggregate_id


def note_again(reservation_id: str, project_id: str, now: datetime.datetime) -> None:
    """Write the note of what may be there anew, in case ``reconcile`` finished before ``make``.

    Another manager's does, where the reservation was deleted while it was being made.
    """
    with session.writer() as db:
        if backings.get(db, reservation_id) is None:
            backings.insert(db, reservation_id, project_id, now)


def open_to_project(reservation_id: str) -> None:
    """Let the project boot on the reservation's hosts.

    :raises ServiceUnavailable, ServiceRefused: ``reconcile`` goes on from there.
    """
    prepare(reservation_id)
    grant(reservation_id)


def prepare(reservation_id: str) -> None:
    """Do all that opening needs but the last step: the project can't use any of it yet.

    :raises ServiceUnavailable, ServiceRefused:
    """
    with session.writer() as db:
        backing = _get(db, reservation_id)
        if backing.open_done:
            return
        backings.update(db, reservation_id, opened=True)
        places = hosts.nova_names(db, reservation_id)
    cls = resource_class(reservation_id)
    offers = [functools.partial(placement.offer, host, cls, count) for _, host, count in places]
    _side_by_side([functools.partial(_fill_aggregate, backing, places), *offers])


def grant(reservation_id: str) -> None:
    """Give the project access to the Nova flavor of a prepared reservation.

    :raises ServiceUnavailable, ServiceRefused:
    """
    with session.reader() as db:
        backing = _get(db, reservation_id)
    if backing.open_done:
        return
    nova.grant(nova_flavor(reservation_id), backing.project_id)
    with session.writer() as db:
        backings.update(db, reservation_id, open_done=True)


def _get(db: Session, reservation_id: str) -> Backing:
    backing = backings.get(db, reservation_id)
    if backing is None:
        raise exceptions.InvalidState(f"Reservation {reservation_id} has nothing in Nova")
    return backing


def _fill_aggregate(backing: Backing, places: Sequence[tuple[str, str, int]]) -> None:
    """Put the hosts into the aggregate, one after the other.

    Nova tells its schedulers of the aggregate as each request saw it: of two at once, the one whose
    news come last may not have seen the other's host.
    """
    if backing.aggregate_id is not None:
        for service_host, _, _ in places:
            nova.add_host(backing.aggregate_id, service_host)


def _side_by_side(steps: Sequence[Callable[[], None]]) -> None:
    """Take steps that don't need each other, some at a time.

    None is running any more when this returns or raises the first one's error.
    """
    with futures.ThreadPoolExecutor(_AT_ONCE) as pool:
        running = [pool.submit(step) for step in steps]
    for step in running:
        step.result()


def remove(reservation_id: str, patience: float) -> None:
    """Remove the servers, then all else, then the note of it.

    :param patience: seconds to wait for the servers to be gone.
    :raises InvalidState: servers are left.
    :raises ServiceUnavailable, ServiceRefused: ``reconcile`` goes on from there.
    """
    with session.reader() as db:
        backing = backings.get(db, reservation_id)
    if backing is not None:
        _remove(backing, patience)


def evict(reservation_id: str, patience: float) -> None:
    """Take the flavor from the project and delete its servers, as far as that works now.

    What is left goes with the rest, by ``remove_or_leave`` or ``reconcile``.

    :param patience: seconds to wait for the servers to be gone.
    """
    with session.reader() as db:
        backing = backings.get(db, reservation_id)
    try:
        if backing is not None:
            _evict(backing, patience)
    except exceptions.WarreError as error:
        LOG.warning("Servers of reservation %s go later: %s", reservation_id, error)


def _evict(backing: Backing, patience: float) -> None:
    if backing.opened:
        nova.revoke(nova_flavor(backing.reservation_id), backing.project_id)
        _remove_servers(backing.reservation_id, patience)


def _remove(backing: Backing, patience: float) -> None:
    reservation_id = backing.reservation_id
    _evict(backing, patience)
    placement.remove_class(resource_class(reservation_id))
    aggregate_id = backing.aggregate_id or nova.find_aggregate(reservation_id)
    if aggregate_id is not None:
        nova.remove_aggregate(aggregate_id)
    nova.remove_flavor(nova_flavor(reservation_id))
    with session.writer() as db:
        backings.delete(db, reservation_id)


def _remove_servers(reservation_id: str, patience: float) -> None:
    deadline = time.monotonic() + patience
    wait = _FIRST_POLL
    while servers := nova.servers_on(nova_flavor(reservation_id)):
        for server in servers:
            nova.delete_server(server)
        if time.monotonic() + wait > deadline:
            raise exceptions.InvalidState(
                f"{len(servers)} servers of reservation {reservation_id} are still being deleted"
            )
        time.sleep(wait)
        wait = min(wait * 2, _LONGEST_POLL)


def remove_or_leave(reservation_id: str, patience: float = 0) -> None:
    """Remove what can be removed now, and leave the rest to ``reconcile``."""
    try:
        remove(reservation_id, patience)
    except exceptions.WarreError as error:
        LOG.warning("Removing reservation %s goes on later: %s", reservation_id, error)


def reconcile() -> None:
    """Remove what belongs to no reservation any more, and open what should be open.

    One that fails doesn't keep the others from their turn.
    """
    with session.reader() as db:
        ended, half_open = backings.ended(db), backings.half_open(db)
    for backing in ended:
        remove_or_leave(backing.reservation_id)
    for backing in half_open:
        try:
            open_to_project(backing.reservation_id)
        except exceptions.WarreError as error:
            LOG.warning("Reservation %s opens later: %s", backing.reservation_id, error)
