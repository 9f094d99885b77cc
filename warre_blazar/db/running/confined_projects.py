"""The projects whose servers Nova keeps on the hosts of certain aggregates.

Each host refresh stores them. So nobody has to ask Nova for them when a backing is made.
"""

from collections.abc import Collection

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import session
from warre_blazar.db.tables import confined_projects


def every(db: Session) -> frozenset[str]:
    """The ids of all confined projects."""
    return frozenset(db.scalars(sa.select(confined_projects.c.project_id)))


def replace(db: Session, project_ids: Collection[str]) -> None:
    """Store which projects are confined now.

    :raises session.LostRace: another manager has stored it at the same time.
    """
    known = every(db)
    gone = known.difference(project_ids)
    db.execute(confined_projects.delete().where(confined_projects.c.project_id.in_(gone)))
    for project_id in sorted(set(project_ids) - known):
        session.insert_or_lose(db, confined_projects.insert().values(project_id=project_id))


def has(project_id: sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
    """The SQL condition that a project is confined."""
    return sa.exists().where(confined_projects.c.project_id == project_id)
