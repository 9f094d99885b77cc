"""Queries on managers, on executions, and on which manager works on a lease.

An execution is a start, an end or a deletion of a lease. A manager claims the lease before it
executes anything.

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
from warre_blazar.db import session, sql_functions
from warre_blazar.db.tables import executions, lease_workers, managers
from warre_blazar.domain.running.execution import DELETE, Execution, claim_state
from warre_blazar.domain.running.lease_states import ClaimState


class ClaimLost(session.RowChanged):
    """The manager no longer has the lease claim. Another manager has it, or the lease is gone."""


def beat(db: Session, manager_id: str, host: str) -> None:
    """Write a manager's heartbeat, and delete the rows of managers that died over a day ago.

    :param host: the name of the manager's machine.
    """
    values = {"heartbeat": sql_functions.utc_now()}
    mine = managers.c.id == manager_id
    if not session.changed(db, managers.update().where(mine).values(**values)):
        db.execute(managers.insert().values(id=manager_id, host=host, **values))
    # The ids of dead managers are read first. A DELETE that searches by heartbeat would lock the
    # rows of all managers, and the managers' heartbeats would run into deadlocks.
    silent = sql_functions.seconds_between(managers.c.heartbeat, sql_functions.utc_now())
    dead = db.scalars(sa.select(managers.c.id).where(silent > times.MANAGER_FORGOTTEN_AFTER)).all()
    if dead:
        db.execute(managers.delete().where(managers.c.id.in_(dead)))


def silence(db: Session) -> int | None:
    """The seconds since the last heartbeat of any manager. None: there has never been one."""
    silent = sql_functions.seconds_between(managers.c.heartbeat, sql_functions.utc_now())
    seconds = db.scalar(sa.select(sa.func.min(silent)))
    return None if seconds is None else int(seconds)


def of_leases(db: Session, lease_ids: Collection[str]) -> dict[str, Execution]:
    """The executions of leases, by lease id. Leases without an execution are left out."""
    silent = sql_functions.seconds_between(managers.c.heartbeat, sql_functions.utc_now())
    alive = sa.and_(managers.c.id.is_not(None), silent <= times.DEAD_AFTER)
    query = (
        sa.select(
            executions.c.lease_id,
            executions.c.action,
            executions.c.manager_id,
            executions.c.attempts,
            alive,
        )
        .select_from(executions.outerjoin(managers, managers.c.id == executions.c.manager_id))
        .where(executions.c.lease_id.in_(lease_ids))
    )
    return {
        lease_id: Execution(lease_id, action, manager_id, attempts, bool(is_alive))
        for lease_id, action, manager_id, attempts, is_alive in db.execute(query)
    }


def is_claimed(db: Session, lease_id: str) -> bool:
    """Whether a living manager has the lease claim."""
    return claim_state(of_leases(db, [lease_id]).get(lease_id)) is ClaimState.LIVE


def request(db: Session, lease_id: str, action: str) -> None:
    """Request an action on a lease. The first manager that claims the action executes it.

    This replaces an earlier request that no manager has claimed.

    :param action: ``execution_timing.START``, ``END`` or ``DELETE``.
    """
    db.execute(
        executions.delete().where(
            executions.c.lease_id == lease_id, executions.c.manager_id.is_(None)
        )
    )
    values = {"action": action, "attempts": 0}
    db.execute(executions.insert().values(lease_id=lease_id, **values))


def requested(db: Session, action: str) -> list[str]:
    """The ids of leases for which a requested action waits to be claimed.

    After a failed attempt at a start or an end, the lease has a status and an event from which the
    action becomes due again (``leases.due``), so the action isn't requested any more. A
    deletion has no event. It stays requested until it succeeds.
    """
    query = sa.select(executions.c.lease_id).where(
        executions.c.action == action, executions.c.manager_id.is_(None)
    )
    if action != DELETE:
        query = query.where(executions.c.attempts == 0)
    return list(db.scalars(query))


def claim(db: Session, lease_ids: Collection[str], action: str, manager_id: str) -> dict[str, int]:
    """Claim leases for a manager that is going to execute an action on them.

    :returns: the number of failed attempts at the action, by lease id.
    :raises session.LostRace: another manager has claimed one of the leases.
    """
    waiting = of_leases(db, lease_ids)
    tried = {
        i: execution.attempts for i, execution in waiting.items() if execution.action == action
    }
    rows = [
        {
            "lease_id": lease_id,
            "action": action,
            "manager_id": manager_id,
            "attempts": tried.get(lease_id, 0),
        }
        for lease_id in lease_ids
    ]
    if new := [row for row in rows if row["lease_id"] not in waiting]:
        session.insert_or_lose(db, executions.insert().values(new))
    for row in rows:
        if row["lease_id"] in waiting:
            same_claim = (
                executions.c.lease_id == row["lease_id"],
                executions.c.manager_id.is_(None),
            )
            session.write_or_lose(db, executions.update().where(*same_claim).values(**row))
    return {lease_id: tried.get(lease_id, 0) for lease_id in lease_ids}


def finish(db: Session, lease_ids: Collection[str], manager_id: str) -> None:
    """Release the claims of leases because the claimed actions are done.

    :raises ClaimLost: the manager no longer has one of the claims.
    """
    same_claims = (executions.c.lease_id.in_(lease_ids), executions.c.manager_id == manager_id)
    deletion = executions.delete().where(*same_claims)
    session.write_or_lose(db, deletion, len(lease_ids), error=ClaimLost)


def postpone(db: Session, lease_id: str, manager_id: str, attempts: int) -> None:
    """Release a lease claim after a failed attempt. Then any manager can claim the lease again.

    :param attempts: the number of attempts that have failed, this one included.
    :raises ClaimLost: the manager no longer has the claim.
    """
    same_claim = (executions.c.lease_id == lease_id, executions.c.manager_id == manager_id)
    released = executions.update().where(*same_claim).values(manager_id=None, attempts=attempts)
    session.write_or_lose(db, released, error=ClaimLost)


def of_manager(db: Session, manager_id: str) -> list[str]:
    """The ids of the leases that a manager has claimed."""
    return list(
        db.scalars(sa.select(executions.c.lease_id).where(executions.c.manager_id == manager_id))
    )


def forget(db: Session, execution: Execution) -> None:
    """Delete an execution, provided that its manager is still the one that was read.

    :raises session.LostRace: another manager has claimed the lease, or the execution is gone.
    """
    same: sa.ColumnElement[bool] = executions.c.manager_id == execution.manager_id
    deletion = executions.delete().where(executions.c.lease_id == execution.lease_id, same)
    session.write_or_lose(db, deletion)


def note_worker(db: sa.Connection, lease_id: str, manager_id: str, work_id: str) -> None:
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


def forget_worker(db: Session | sa.Connection, lease_id: str, work_id: str | None = None) -> None:
    """Delete the note of a lease.

    :param work_id: if given, the note is deleted only if it is of this work.
    """
    same = [lease_workers.c.lease_id == lease_id]
    if work_id is not None:
        same.append(lease_workers.c.work_id == work_id)
    db.execute(lease_workers.delete().where(*same))


def release_works(db: Session, work_ids: Collection[str]) -> None:
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


def abandoned_works(db: Session, lease_ids: Collection[str]) -> set[str]:
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
