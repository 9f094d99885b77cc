"""Makes snapshots of servers before their reservation ends.

One manager at a time has the turn to do so. It lists the servers of reservations that end soon,
notes each snapshot that has to be made, and asks Nova for it. When an image is complete, the
manager gives it to the project. An attempt is noted before its request is sent. So if the manager
dies, another one goes on, and looks first whether the image is there already.

No end waits for a snapshot, and no snapshot keeps a user from changing the reservation.
"""

import dataclasses
import datetime
from collections.abc import Callable, Sequence
from concurrent import futures
from typing import TypeVar

from oslo_log import log as logging

from warre_blazar import times
from warre_blazar.db import session, turns
from warre_blazar.db.running import backings, snapshots
from warre_blazar.db.running.snapshots import Due, Unfinished
from warre_blazar.domain.running.snapshots import (
    BeforeEndRule,
    ServerSnapshot,
    Status,
    image_name,
    image_properties,
    plain,
)
from warre_blazar.errors import exceptions
from warre_blazar.openstack import glance, nova
from warre_blazar.services.running import room

LOG = logging.getLogger(__name__)

_TURN = "snapshots"
#: The number of reservations or snapshots that are worked on at the same time.
_AT_ONCE = 4

_GONE = "Nova gave the snapshot up: the image is gone"
_NOT_FINISHED = "The snapshot wasn't finished at the end of the reservation, so Nova gave it up"
_TOO_LATE = "The reservation ended before a snapshot could be requested"
_NOT_MADE = "A snapshot was requested shortly before the end, but Nova made no image"

T = TypeVar("T", Due, Unfinished, ServerSnapshot)


def look(now: datetime.datetime, manager_id: str, rule: BeforeEndRule) -> None:
    """Do what is to be done about snapshots at this moment, if this manager has the turn."""
    if not _take(manager_id):
        return
    with session.reader() as db:
        due = snapshots.due(db, rule, now)
    _each(due, lambda of: _list_servers(of, rule, now), manager_id)
    with session.reader() as db:
        unfinished = snapshots.unfinished(db)
    _each(unfinished, lambda of: _go_on(of, rule, now), manager_id)
    with session.reader() as db:
        repeated = snapshots.repeated(db, now - times.ANSWER_MAY_BE_LATE)
        untold = snapshots.untold(db)
    _each(repeated, _remove_surplus, manager_id)
    for reservation_id in untold:
        session.change(snapshots.tell, reservation_id, now)


def _take(manager_id: str) -> bool:
    return session.change(turns.take, _TURN, manager_id)


def _each(of: Sequence[T], step: Callable[[T], None], manager_id: str) -> None:
    """Do a step for each of some things, several at a time, as long as this manager has the turn.

    If a service doesn't answer in time, the rest is left to the next look.
    """

    def is_answered(one: T) -> bool:
        try:
            step(one)
        except exceptions.WarreError as error:
            LOG.warning("A snapshot before the end of a reservation has to wait: %s", error)
            return not isinstance(error, exceptions.ServiceTimedOut)
        return True

    for first in range(0, len(of), _AT_ONCE):
        if not _take(manager_id):
            return
        with futures.ThreadPoolExecutor(_AT_ONCE) as pool:
            if not all(pool.map(is_answered, of[first : first + _AT_ONCE])):
                return


def _list_servers(of: Due, rule: BeforeEndRule, now: datetime.datetime) -> None:
    try:
        with session.reader() as db:
            projects = backings.projects(db, {of.reservation_id})
        inside = room.inside(of.reservation_id, of.nova_flavor, projects)
    except exceptions.WarreError as error:
        session.change(snapshots.look_failed, of.reservation_id, error.message)
        raise
    # A server that found no host has no disk.
    servers = [server for server in inside.servers if not server.needs_no_place]
    session.change(snapshots.looked, of, servers, rule, now)


def _go_on(of: Unfinished, rule: BeforeEndRule, now: datetime.datetime) -> None:
    """Do the next step of a snapshot."""
    if of.snapshot.status is Status.SAVING:
        _follow(of, now)
    elif not _may_try(of, now):
        _look_a_last_time(of.snapshot, now)
    elif _is_due(of, rule, now):
        _request(of, now)


def _may_try(of: Unfinished, now: datetime.datetime) -> bool:
    """Whether the reservation may still have the server, so that an attempt can succeed."""
    return of.is_running and of.end is not None and now < of.end


def _is_due(of: Unfinished, rule: BeforeEndRule, now: datetime.datetime) -> bool:
    if of.end is None or now < of.end - rule.ahead:
        # The reservation was extended. A snapshot is made before its new end.
        return False
    return of.snapshot.next_at is None or of.snapshot.next_at <= now


def _request(of: Unfinished, now: datetime.datetime) -> None:
    """Ask Nova for a snapshot, unless an earlier request was carried out."""
    if not session.change(snapshots.begin_attempt, of.snapshot, now):
        return
    snapshot = dataclasses.replace(of.snapshot, attempts=of.snapshot.attempts + 1)
    properties = image_properties(snapshot)
    try:
        # Nobody may have heard the answer to an earlier request.
        found = glance.find(properties) if of.snapshot.attempts else []
        name = image_name(snapshot, of.reservation_name)
        image_id = found[0] if found else nova.create_image(snapshot.server_id, name, properties)
    except exceptions.WarreError as error:
        _write(snapshot, error=plain(error.message))
        raise
    _write(snapshot, status=Status.SAVING.value, image_id=image_id, error=None)


def _look_a_last_time(snapshot: ServerSnapshot, now: datetime.datetime) -> None:
    """Look for an image that no request can be sent for any more, and give it up in the end.

    Nobody may have heard the answer to the last request, or Nova may still carry it out.
    """
    if not snapshot.attempts:
        _write(snapshot, status=Status.FAILED.value, error=_TOO_LATE)
    elif found := glance.find(image_properties(snapshot)):
        _write(snapshot, status=Status.SAVING.value, image_id=found[0], error=None)
    elif now > (snapshot.next_at or snapshot.at) + times.ANSWER_MAY_BE_LATE:
        _write(snapshot, status=Status.FAILED.value, error=snapshot.error or _NOT_MADE)


def _follow(of: Unfinished, now: datetime.datetime) -> None:
    """Look whether Nova has made an image, and give a complete image to the project."""
    snapshot = of.snapshot
    assert snapshot.image_id is not None
    image = glance.get(snapshot.image_id)
    if image is None and _may_try(of, now):
        _write(snapshot, status=Status.WAITING.value, image_id=None, error=_GONE)
    elif image is None:
        _write(snapshot, status=Status.FAILED.value, image_id=None, error=_NOT_FINISHED)
    elif image.is_complete:
        error = None
        if image.owner != snapshot.project_id:
            error = _give(snapshot.image_id, snapshot.project_id)
        _write(snapshot, status=Status.SAVED.value, error=error, next_at=now)
    elif now > (of.end or snapshot.at) + times.SNAPSHOT_FINISHED_WITHIN:
        _write(snapshot, status=Status.FAILED.value, error=_NOT_FINISHED)


def _give(image_id: str, project_id: str) -> str | None:
    """Give an image to a project. Return what is wrong if Glance doesn't allow it."""
    try:
        glance.give(image_id, project_id)
    except exceptions.ServiceRefused as error:
        # Nova has shared the image with the project, so the project can use it all the same.
        LOG.warning("Image %s couldn't be given to project %s: %s", image_id, project_id, error)
        said = plain(error.message)
        return f"The image belongs to Blazar's project, and is shared with yours: {said}"
    return None


def _remove_surplus(snapshot: ServerSnapshot) -> None:
    """Remove further images of a snapshot that was requested more than once.

    Nova may carry out a request long after nobody waits for its answer any more.
    """
    for image_id in glance.find(image_properties(snapshot)):
        if image_id != snapshot.image_id:
            LOG.warning("Deleting surplus image %s of %s", image_id, snapshot.server_id)
            glance.delete(image_id)


def _write(snapshot: ServerSnapshot, **values: str | datetime.datetime | None) -> None:
    session.change(snapshots.update, snapshot, **values)
