"""Lets other projects boot servers on the places of a reservation, and ends that.

A manager gives and takes access in Nova a moment later, when it opens the reservation anew.
"""

from collections.abc import Mapping

from oslo_db import exception as db_exc
from oslo_utils import timeutils
from sqlalchemy.orm import Session

from warre_blazar import texts
from warre_blazar.db import session
from warre_blazar.db.booking import reservations
from warre_blazar.db.running import shares
from warre_blazar.domain.running.backing import ReservationShare
from warre_blazar.errors import exceptions


def create(share_id: str, reservation_ref: str, project_id: str) -> ReservationShare:
    """Share a reservation that isn't over with another project.

    :raises ReservationNotFound, InvalidState, ShareExists:
    :raises InvalidField: it is the project's own.
    """
    try:
        session.change(_create, share_id, reservation_ref, project_id)
    except db_exc.DBDuplicateEntry:
        raise exceptions.ShareExists(reservation_ref, project_id) from None
    return get(share_id)


def _create(db: Session, share_id: str, ref: str, project_id: str) -> None:
    reservation = reservations.require(db, ref)
    if reservation.project_id == project_id:
        raise exceptions.InvalidField("project_id", texts.expected.ANOTHER_PROJECT())
    if not shares.reopen(db, reservation.reservation_id, project_id):
        raise exceptions.InvalidState(texts.refusals.BEING_REMOVED(reservation=ref))
    values = {"project_id": project_id, "created_at": timeutils.utcnow().replace(microsecond=0)}
    shares.insert(db, share_id, reservation.reservation_id, values)


def listing(
    project_id: str | None, filters: Mapping[str, str], limit: int | None, offset: int
) -> tuple[list[ReservationShare], int]:
    """A page of the shares that a project gives or has, and their number. None: of all projects."""
    with session.reader() as db:
        return shares.listing(db, project_id, filters, limit, offset)


def get(share_id: str) -> ReservationShare:
    """The share with this id.

    :raises ShareNotFound:
    """
    found, _ = listing(None, {"id": share_id}, None, 0)
    if not found:
        raise exceptions.ShareNotFound(share_id)
    return found[0]


def delete(share: ReservationShare) -> None:
    """End a share. The project's servers stay until the reservation ends.

    :raises ShareNotFound:
    """
    session.change(_delete, share)


def _delete(db: Session, share: ReservationShare) -> None:
    reservation = reservations.find(db, share.reservation_id)
    if not shares.delete(db, share.id):
        raise exceptions.ShareNotFound(share.id)
    if reservation is not None:
        shares.reopen(db, reservation.reservation_id, share.project_id)


def is_guest(reservation_id: str, project_id: str | None) -> bool:
    """Whether a reservation is shared with a project.

    :param reservation_id: the id in Blazar's table.
    """
    if project_id is None:
        return False
    with session.reader() as db:
        return reservation_id in shares.with_project(db, project_id)
