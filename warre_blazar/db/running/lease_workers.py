"""Notes of the managers that work on leases by Blazar's own code.

While Blazar works on a lease, the lease's status says so, but not which manager works on it. If the
work ends without its last write, the status stays. By the note, the repairer knows that nobody
works on the lease any more.
"""

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.orm import Session

from warre_blazar import times
from warre_blazar.db import sql_functions
from warre_blazar.db.tables import lease_workers, managers


def note(db: sa.Connection, lease_id: str, manager_id: str, work_id: str) -> None:
    """Note that a manager has begun to work on a lease. An earlier note is replaced.

    :param work_id: identifies this work. The same manager may work on a lease several times.
    """
    values = {"manager_id": manager_id, "work_id": work_id}
    if db.dialect.name in ("mysql", "mariadb"):
        db.execute(
            mysql.insert(lease_workers)
            .values(lease_id=lease_id, **values)
            .on_duplicate_key_update(**values)
        )
        return
    insert = postgresql.insert if db.dialect.name == "postgresql" else sqlite.insert
    db.execute(
        insert(lease_workers)
        .values(lease_id=lease_id, **values)
        .on_conflict_do_update(index_elements=["lease_id"], set_=values)
    )


def forget(db: Session | sa.Connection, lease_id: str, work_id: str | None = None) -> None:
    """Delete the note of a lease.

    :param work_id: if given, the note is deleted only if it is of this work.
    """
    same = [lease_workers.c.lease_id == lease_id]
    if work_id is not None:
        same.append(lease_workers.c.work_id == work_id)
    db.execute(lease_workers.delete().where(*same))


def release(db: Session, work_ids: Collection[str]) -> None:
    """Write into the notes of these works that the work is over.

    Most notes are gone already, because the last write of the work has deleted them.
    """
    # The notes are read first, because an UPDATE that finds them by another column than the primary
    # key would lock the notes of all leases.
    query = sa.select(lease_workers.c.lease_id).where(lease_workers.c.work_id.in_(work_ids))
    if left := db.scalars(query).all():
        db.execute(
            lease_workers.update()
            .where(lease_workers.c.lease_id.in_(left), lease_workers.c.work_id.in_(work_ids))
            .values(manager_id=None)
        )


def is_worked_on(lease_id: sa.Column[Any]) -> sa.ColumnElement[bool]:
    """The SQL condition that a living manager has noted that it works on a lease."""
    return sa.exists().where(
        lease_workers.c.lease_id == lease_id,
        managers.c.id == lease_workers.c.manager_id,
        _silent() <= times.DEAD_AFTER,
    )


def _silent() -> sa.ColumnElement[int]:
    """The seconds since a manager's last heartbeat."""
    return sql_functions.seconds_between(managers.c.heartbeat, sql_functions.utc_now())


def abandoned(db: Session, lease_ids: Collection[str]) -> set[str]:
    """The leases on which Blazar began to work and on which nobody works any more.

    The work has ended without its last write, or the manager's heartbeat has stopped.
    """
    query = (
        sa.select(lease_workers.c.lease_id)
        .select_from(lease_workers.outerjoin(managers, managers.c.id == lease_workers.c.manager_id))
        .where(
            lease_workers.c.lease_id.in_(lease_ids),
            sa.or_(managers.c.id.is_(None), _silent() > times.DEAD_AFTER),
        )
    )
    return set(db.scalars(query))
