"""Queries on projects' access to private flavors. All of them use the caller's session."""

import dataclasses

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import session
from warre_blazar.db.tables import flavor_projects
from warre_blazar.domain.flavors.flavor import ProjectAccess


def insert(db: Session, access: ProjectAccess) -> None:
    """Add an access.

    :raises oslo_db.exception.DBDuplicateEntry: the project already has access to the flavor.
    """
    db.execute(flavor_projects.insert().values(**dataclasses.asdict(access)))


def delete(db: Session, access_id: str) -> bool:
    """Delete an access. Return whether it existed."""
    deletion = flavor_projects.delete().where(flavor_projects.c.id == access_id)
    return session.changed(db, deletion) == 1


def listing(
    db: Session, filters: dict[str, str], limit: int | None, offset: int
) -> tuple[list[ProjectAccess], int]:
    """A page of accesses, and the number of accesses on all pages.

    :param filters: values that columns must have, by column name.
    """
    conditions = [flavor_projects.c[name] == value for name, value in filters.items()]
    count = sa.select(sa.func.count()).select_from(flavor_projects).where(*conditions)
    query = (
        sa.select(flavor_projects)
        .where(*conditions)
        .order_by(flavor_projects.c.flavor_id, flavor_projects.c.project_id)
    )
    if limit is not None:
        query = query.limit(limit).offset(offset)
    rights = [ProjectAccess(**row) for row in db.execute(query).mappings()]
    return rights, db.execute(count).scalar_one()
