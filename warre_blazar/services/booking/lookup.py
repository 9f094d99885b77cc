"""Looks up reservations, by id, by lease or page by page, and writes what holds no slots."""

import dataclasses
import datetime
import functools
from collections.abc import Mapping, Sequence
from typing import Any

from oslo_log import log as logging
from oslo_utils import timeutils
from sqlalchemy.orm import Session

from warre_blazar import texts
from warre_blazar.db import flavors, session
from warre_blazar.db.booking import reservations
from warre_blazar.db.booking.reservations import Filter
from warre_blazar.db.hosts import allocations
from warre_blazar.db.records import changes, server_samples
from warre_blazar.db.running import backings, shares
from warre_blazar.db.running import snapshots as stored_snapshots
from warre_blazar.domain.booking import reservation_states
from warre_blazar.domain.booking.labels import NO_LABELS, Labels
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.etags import NOT_SAID, Shown
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.records.changes import Change, ChangeKind
from warre_blazar.domain.running.holders import Inside
from warre_blazar.domain.running.snapshots import ServerSnapshot
from warre_blazar.errors import exceptions
from warre_blazar.services.running import room

LOG = logging.getLogger(__name__)


def get(ref: str, project_id: str | None, *, deleted: bool = False) -> tuple[Reservation, Flavor]:
    """A reservation and its flavor. The reservation may be past.

    :param ref: the id that this package has given to the reservation, or the id that Blazar has
        given to it.
    :param project_id: the project that the reservation must belong to; None: any project.
    :param deleted: whether to also find a deleted reservation.
    :raises ReservationNotFound: there is no such reservation, or it was deleted.
    """
    with session.reader() as db:
        reservation = reservations.find_ever(db, ref, project_id, deleted=deleted)
        if reservation is None:
            raise exceptions.ReservationNotFound(ref)
        return reservation, _flavor_of(db, reservation)


def _flavor_of(db: Session, reservation: Reservation) -> Flavor:
    return flavors.get_many(db, {reservation.flavor_id})[reservation.flavor_id]


def get_by_lease(lease_id: str) -> Reservation | None:
    """The reservation of a lease, or None if nothing is found."""
    with session.reader() as db:
        return reservations.find_by_lease(db, lease_id)


def ever_in_lease(lease_id: str) -> tuple[Reservation, Flavor] | None:
    """The reservation of a lease and its flavor, even if the lease was deleted."""
    with session.reader() as db:
        found = reservations.find_ever_in_lease(db, lease_id)
        return (found, _flavor_of(db, found)) if found else None


def with_flavor(reservation: Reservation, known: Flavor) -> tuple[Reservation, Flavor]:
    """A reservation and its flavor.

    :param known: the flavor, unless another one has taken its name in the meantime.
    """
    if reservation.flavor_id == known.id:
        return reservation, known
    with session.reader() as db:
        return reservation, _flavor_of(db, reservation)


def listing(
    wanted: Filter,
    *,
    host: str | None = None,
    sort: str = "start",
    descending: bool = False,
    limit: int | None = None,
    offset: int = 0,
    deleted: bool = False,
) -> tuple[list[tuple[Reservation, Flavor]], int]:
    """A page of reservations with their flavors, and the number of reservations on all pages.

    :param deleted: if true, only deleted reservations are returned. If false, deleted reservations
        are left out.
    :param host: the name or Blazar's id of a host. Only reservations that hold this host are
        returned.
    :param sort: one of ``SORT_KEYS`` in ``db.booking.reservations``.
    :raises InvalidField: Blazar has no host with this name or id.
    """
    with session.reader() as db:
        if host is not None:
            wanted = dataclasses.replace(wanted, host_ids=_host_ids(db, host))
        if wanted.project_id is not None:
            shared = shares.with_project(db, wanted.project_id)
            wanted = dataclasses.replace(wanted, shared_with_project=shared)
        listed, total = reservations.listing(
            db,
            wanted,
            sort=sort,
            descending=descending,
            limit=limit,
            offset=offset,
            deleted=deleted,
        )
        if wanted.is_idle:
            listed = _with_idle_since(db, listed)
        flavors_by_id = flavors.get_many(db, {r.flavor_id for r in listed})
    return [(r, flavors_by_id[r.flavor_id]) for r in listed], total


def _with_idle_since(db: Session, listed: list[Reservation]) -> list[Reservation]:
    since = server_samples.idle_since(db, [r.reservation_id for r in listed])
    return [dataclasses.replace(r, idle_since=since.get(r.reservation_id)) for r in listed]


def with_changes(listed: Sequence[Reservation]) -> list[Reservation]:
    """Reservations with the number of their changes, and the time of the last one."""
    with session.reader() as db:
        counted = changes.counted(db, [r.reservation_id for r in listed])
    return [_with_count(r, *counted.get(r.reservation_id, (0, r.created_at))) for r in listed]


def _with_count(reservation: Reservation, logged: int, at: datetime.datetime) -> Reservation:
    """A reservation with its changes: those of the log, its creation, and perhaps its deletion."""
    deleted_at = reservation.deleted_at
    return dataclasses.replace(
        reservation,
        change_count=logged + (1 if deleted_at is None else 2),
        changed_at=max(at, reservation.created_at, deleted_at or at),
    )


def _host_ids(db: Session, ref: str) -> frozenset[str]:
    host_ids = allocations.find_ids(db, ref)
    if not host_ids:
        raise exceptions.InvalidField("host", texts.expected.HOST())
    return host_ids


def check_sole(reservation: Reservation, changing: str = "") -> None:
    """Check that a reservation is the only reservation of its lease.

    :param changing: the field that the caller wants to change, for the text of the error.
    :raises LeaseShared: the lease holds other reservations too.
    """
    with session.reader() as db:
        if reservations.lease_size(db, reservation.lease_id) > 1:
            raise exceptions.LeaseShared(reservation.lease_id, changing)


def check_labels(labels: Labels) -> None:
    """Check beforehand whether the database can store a reservation's labels.

    :raises oslo_db.exception.DBError: the database can't store the texts, or has failed for another
        reason. ``session.is_uncarried`` tells the two cases apart.
    """
    if labels != NO_LABELS:
        with session.reader() as db:
            reservations.compare_labels(db, labels)


#: The kinds of changes of values that no rule about bookings depends on. Labels are RENAMED.
_KINDS = {"before_end": ChangeKind.BEFORE_END, "movable_hours": ChangeKind.MOVABLE}


def write(
    reservation: Reservation, values: Mapping[str, Any], user_id: str, shown: Shown = NOT_SAID
) -> None:
    """Write values of a reservation that no rule about bookings depends on.

    What others have changed meanwhile stays, and a value that is there already isn't told again.

    :param values: the new values by their fields in the API.
    :param user_id: the user who changes them.
    :param shown: what the user was shown of the reservation.
    :raises ChangedSinceShown: nothing is written.
    """
    session.change(_write, reservation, values, user_id, shown)


def _write(
    db: Session, reservation: Reservation, values: Mapping[str, Any], user_id: str, shown: Shown
) -> None:
    check = functools.partial(shown.check, reservation.id)
    before = reservations.set_values(db, reservation.reservation_id, values, check)
    for kind in (ChangeKind.RENAMED, *_KINDS.values()):
        names = [n for n in before if _KINDS.get(n, ChangeKind.RENAMED) is kind]
        if names:
            old, new = ({n: each[n] for n in names} for each in (before, values))
            change = Change(timeutils.utcnow(), kind, user_id, old, new)
            add = changes.note if kind is ChangeKind.MOVABLE else changes.add
            add(db, reservation.reservation_id, change)


def zones(reservation: Reservation) -> list[str] | None:
    """The availability zones of a reservation's hosts, or None if it isn't running.

    Before it runs, it may get other hosts.
    """
    if reservation.state != reservation_states.ACTIVE:
        return None
    with session.reader() as db:
        return allocations.zones_of(db, reservation.reservation_id)


#: The states of reservations that may have servers. One in ERROR may have failed with servers.
_WITH_SERVERS = (reservation_states.ACTIVE, reservation_states.ERROR)


def inside(reservation: Reservation) -> Inside | None:
    """Who is in a reservation. None: Nova doesn't answer."""
    flavor_id = reservation.nova_flavor
    if reservation.is_record or reservation.state not in _WITH_SERVERS or flavor_id is None:
        return Inside(())
    try:
        with session.reader() as db:
            projects = backings.projects(db, {reservation.reservation_id})
        return room.inside(reservation.reservation_id, flavor_id, projects)
    except exceptions.WarreError as error:
        LOG.warning("The servers of reservation %s aren't known: %s", reservation.id, error)
        return None


def snapshots(reservation: Reservation) -> list[ServerSnapshot]:
    """The snapshots of a reservation's servers, the oldest first."""
    with session.reader() as db:
        return stored_snapshots.of_reservation(db, reservation.reservation_id)


def log(reservation: Reservation) -> list[Change]:
    """What has happened to a reservation, the oldest change first."""
    with session.reader() as db:
        recorded = changes.of_reservation(db, reservation.reservation_id)
    created = Change(reservation.created_at, ChangeKind.CREATED, reservation.user_id)
    deleted = reservation.deleted_at
    if deleted is None:
        return [created, *recorded]
    return [created, *recorded, Change(deleted, ChangeKind.DELETED, reservation.deleted_by)]
