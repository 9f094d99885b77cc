"""The projects with which reservations are shared."""

from collections.abc import Collection, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import session
from warre_blazar.db.running import confined_projects
from warre_blazar.db.tables import backings, bookings, shares
from warre_blazar.domain.running.backing import Phase, ReservationShare

_SHARES = shares.join(bookings, bookings.c.reservation_id == shares.c.reservation_id)


def insert(db: Session, share_id: str, reservation_id: str, values: Mapping[str, Any]) -> None:
    """Share a reservation, whose id is that in Blazar's table.

    :raises DBDuplicateEntry: it is shared with the project already.
    """
    db.execute(shares.insert().values(id=share_id, reservation_id=reservation_id, **values))


def delete(db: Session, share_id: str) -> bool:
    """End a share. Return whether there was one."""
    return session.changed(db, shares.delete().where(shares.c.id == share_id)) == 1


def listing(
    db: Session,
    project_id: str | None,
    filters: Mapping[str, str],
    limit: int | None = None,
    offset: int = 0,
) -> tuple[list[ReservationShare], int]:
    """A page of shares, the latest first, and the number of shares on all pages.

    :param project_id: the project that gives or has the right. None: any.
    :param filters: ``id``, ``reservation_id`` (that in the API or in Blazar) or ``project_id``.
    """
    where = []
    for name, value in filters.items():
        of = [shares.c[name], *([bookings.c.id] if name == "reservation_id" else [])]
        where.append(sa.or_(*(column == value for column in of)))
    if project_id is not None:
        where.append(sa.or_(bookings.c.project_id == project_id, shares.c.project_id == project_id))
    columns = (shares.c.id, bookings.c.id.label("reservation_id"), shares.c.project_id)
    owner = bookings.c.project_id.label("owner_id")
    query = sa.select(*columns, owner, shares.c.created_at).select_from(_SHARES).where(*where)
    query = query.order_by(shares.c.created_at.desc(), shares.c.id).limit(limit).offset(offset)
    total = sa.select(sa.func.count()).select_from(_SHARES).where(*where)
    page = [ReservationShare(**row) for row in db.execute(query).mappings()]
    return page, db.execute(total).scalar_one()


def with_project(db: Session, project_id: str) -> frozenset[str]:
    """The ids in Blazar's table of the reservations that are shared with a project."""
    query = sa.select(shares.c.reservation_id).where(shares.c.project_id == project_id)
    return frozenset(db.scalars(query))


def guests_of(db: Session, reservation_ids: Collection[str]) -> dict[str, dict[str, bool]]:
    """By reservation, the projects with which it is shared, each with whether it is confined."""
    confined = confined_projects.has(shares.c.project_id)
    query = sa.select(shares.c.reservation_id, shares.c.project_id, confined)
    found: dict[str, dict[str, bool]] = {}
    if reservation_ids:
        for of, guest, own in db.execute(query.where(shares.c.reservation_id.in_(reservation_ids))):
            found.setdefault(of, {})[guest] = bool(own)
    return found


def reopen(db: Session, reservation_id: str, guest: str) -> bool:
    """Let a manager open a reservation anew, because one of its guests has come or gone.

    The guest stays in the note, because it may have access and servers.

    :returns: whether the reservation isn't over: its note is there and isn't being removed.
    """
    mine = backings.c.reservation_id == reservation_id
    query = sa.select(backings.c.phase, backings.c.guests).where(mine).with_for_update()
    row = db.execute(query).first()
    if row is None or row.phase is Phase.CLOSING:
        return False
    phase = Phase.OPENING if row.phase is Phase.OPEN else row.phase
    guests = sorted({*(row.guests or ()), guest})
    db.execute(backings.update().where(mine).values(phase=phase, guests=guests))
    return True
