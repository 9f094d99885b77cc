"""Queries on the projects' rights to private flavors. All take the caller's session."""

import dataclasses

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import models

_P = models.flavor_projects


@dataclasses.dataclass(frozen=True)
class Access:
    """A project's right to book a private flavor."""

    id: str
    flavor_id: str
    project_id: str


def insert(db: Session, access: Access) -> None:
    """:raises oslo_db.exception.DBDuplicateEntry: the project has it already."""
    db.execute(_P.insert().values(**dataclasses.asdict(access)))


def delete(db: Session, access_id: str) -> bool:
    """Remove one; whether there was one."""
    return db.execute(_P.delete().where(_P.c.id == access_id)).rowcount == 1  # type: ignore[attr-defined]


def listing(
    db: Session, filters: dict[str, str], limit: int | None, offset: int
) -> tuple[list[Access], int]:
    """A page of those whose columns equal the filters, and how many there are in all."""
    conditions = [_P.c[name] == value for name, value in filters.items()]
    count = sa.select(sa.func.count()).select_from(_P).where(*conditions)
    query = sa.select(_P).where(*conditions).order_by(_P.c.flavor_id, _P.c.project_id)
    if limit is not None:
        query = query.limit(limit).offset(offset)
    found = [Access(**row) for row in db.execute(query).mappings()]
    return found, db.execute(count).scalar_one()
