"""What Nova and Placement may hold for a reservation, kept until it is surely gone."""

import dataclasses
import datetime

import sqlalchemy as sa
from blazar.db.sqlalchemy import models as blazar
from sqlalchemy.orm import Session

from warre_blazar.db import models

_B = models.backings
_R = blazar.Reservation.__table__


@dataclasses.dataclass(frozen=True)
class Backing:
    """See ``models.backings``."""

    reservation_id: str
    project_id: str
    aggregate_id: int | None
    opened: bool
    open_done: bool


def _backing(row: sa.RowMapping) -> Backing:
    return Backing(**{f.name: row[f.name] for f in dataclasses.fields(Backing)})


def insert(db: Session, reservation_id: str, project_id: str, now: datetime.datetime) -> None:
    """Note that something is about to be made for a reservation."""
    db.execute(
        _B.insert().values(
            reservation_id=reservation_id,
            project_id=project_id,
            opened=False,
            open_done=False,
            created_at=now,
        )
    )


def get(db: Session, reservation_id: str) -> Backing | None:
    """The backing of a reservation."""
    row = db.execute(sa.select(_B).where(_B.c.reservation_id == reservation_id)).mappings().first()
    return _backing(row) if row else None


def update(db: Session, reservation_id: str, **values: int | bool) -> None:
    """Change columns of a backing."""
    db.execute(_B.update().where(_B.c.reservation_id == reservation_id).values(**values))


def delete(db: Session, reservation_id: str) -> None:
    """Forget a backing of which nothing is left."""
    db.execute(_B.delete().where(_B.c.reservation_id == reservation_id))


def ended(db: Session) -> list[Backing]:
    """Backings whose reservation is over or was deleted, by whomever."""
    query = (
        sa.select(_B)
        .select_from(_B.outerjoin(_R, _R.c.id == _B.c.reservation_id))
        .where(sa.or_(_R.c.id.is_(None), _R.c.status == "deleted"))
    )
    return [_backing(row) for row in db.execute(query).mappings()]


def half_open(db: Session) -> list[Backing]:
    """Backings of running reservations that aren't wholly opened to their project."""
    query = (
        sa.select(_B)
        .select_from(_B.join(_R, _R.c.id == _B.c.reservation_id))
        .where(_R.c.status == "active", sa.not_(_B.c.open_done))
    )
    return [_backing(row) for row in db.execute(query).mappings()]
