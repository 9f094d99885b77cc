"""Managers that execute starts and ends, and what each has claimed."""

import dataclasses
from collections.abc import Collection

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import functions, session
from warre_blazar.db.tables import executions as TABLE
from warre_blazar.db.tables import managers
from warre_blazar.domain.lease_states import Claim

#: Seconds without a heartbeat, of which there is one a second, after which a manager is dead.
DEAD_AFTER = 20


@dataclasses.dataclass(frozen=True)
class Execution:
    """A start, an end or a deletion that a manager has claimed, or that waits to be claimed."""

    lease_id: str
    action: str
    #: None while it waits.
    manager_id: str | None
    attempts: int
    #: Whether the manager's heart beats.
    alive: bool


class ClaimLost(Exception):
    """What a manager had claimed is another's now, or its lease is gone."""


def state_of(execution: Execution | None) -> Claim:
    """What a lease's execution is to those who look at the lease."""
    if execution is None or execution.manager_id is None:
        return Claim.NONE
    return Claim.LIVE if execution.alive else Claim.DEAD


def beat(db: Session, manager_id: str, host: str) -> None:
    """Write a manager's heartbeat, and forget managers that have been dead for a day."""
    values = {"heartbeat": functions.utc_now()}
    beaten = db.execute(managers.update().where(managers.c.id == manager_id).values(**values))
    if beaten.rowcount != 1:  # type: ignore[attr-defined]
        db.execute(managers.insert().values(id=manager_id, host=host, **values))
    silent = functions.seconds_between(managers.c.heartbeat, functions.utc_now())
    db.execute(managers.delete().where(managers.c.id != manager_id, silent > 24 * 3600))


def of_leases(db: Session, lease_ids: Collection[str]) -> dict[str, Execution]:
    """By lease, what is or waits to be executed for it."""
    silent = functions.seconds_between(managers.c.heartbeat, functions.utc_now())
    alive = sa.and_(managers.c.id.is_not(None), silent <= DEAD_AFTER)
    query = (
        sa.select(TABLE.c.lease_id, TABLE.c.action, TABLE.c.manager_id, TABLE.c.attempts, alive)
        .select_from(TABLE.outerjoin(managers, managers.c.id == TABLE.c.manager_id))
        .where(TABLE.c.lease_id.in_(lease_ids))
    )
    return {
        lease_id: Execution(lease_id, action, manager_id, attempts, bool(is_alive))
        for lease_id, action, manager_id, attempts, is_alive in db.execute(query)
    }


def is_claimed(db: Session, lease_id: str) -> bool:
    """Whether a living manager has claimed to execute something for a lease."""
    return state_of(of_leases(db, [lease_id]).get(lease_id)) is Claim.LIVE


def request(db: Session, lease_id: str, action: str) -> None:
    """Ask for an action, which whichever manager claims first executes."""
    db.execute(TABLE.delete().where(TABLE.c.lease_id == lease_id, TABLE.c.manager_id.is_(None)))
    db.execute(TABLE.insert().values(lease_id=lease_id, action=action, attempts=0))


def requested(db: Session, action: str) -> list[str]:
    """Leases for which an action waits to be claimed."""
    query = sa.select(TABLE.c.lease_id).where(
        TABLE.c.action == action, TABLE.c.manager_id.is_(None)
    )
    return list(db.scalars(query))


def claim(db: Session, lease_id: str, action: str, manager_id: str) -> int:
    """Claim an action for a manager; how often it was tried before.

    :raises session.LostRace: when another manager has claimed something for the lease.
    """
    waiting = of_leases(db, [lease_id]).get(lease_id)
    attempts = waiting.attempts if waiting is not None and waiting.action == action else 0
    if waiting is None:
        values = {"action": action, "manager_id": manager_id, "attempts": attempts}
        session.insert_or_lose(db, TABLE.insert().values(lease_id=lease_id, **values))
        return attempts
    taken = db.execute(
        TABLE.update()
        .where(TABLE.c.lease_id == lease_id, TABLE.c.manager_id.is_(None))
        .values(action=action, manager_id=manager_id, attempts=attempts)
    )
    session.require(taken)
    return attempts


def finish(db: Session, lease_id: str, manager_id: str) -> None:
    """Give a claim up because what was claimed is done.

    :raises ClaimLost: when the claim is the manager's no more.
    """
    mine = (TABLE.c.lease_id == lease_id, TABLE.c.manager_id == manager_id)
    if db.execute(TABLE.delete().where(*mine)).rowcount != 1:  # type: ignore[attr-defined]
        raise ClaimLost


def postpone(db: Session, lease_id: str, manager_id: str, attempts: int) -> None:
    """Give a claim up because an attempt failed, and remember how many did.

    :raises ClaimLost: when the claim is the manager's no more.
    """
    mine = (TABLE.c.lease_id == lease_id, TABLE.c.manager_id == manager_id)
    values = {"manager_id": None, "attempts": attempts}
    if db.execute(TABLE.update().where(*mine).values(**values)).rowcount != 1:  # type: ignore[attr-defined]
        raise ClaimLost


def of_manager(db: Session, manager_id: str) -> list[str]:
    """The leases for which a manager has claimed something."""
    return list(db.scalars(sa.select(TABLE.c.lease_id).where(TABLE.c.manager_id == manager_id)))


def forget(db: Session, execution: Execution) -> None:
    """Delete an execution, provided that it is as it was read.

    :raises session.LostRace:
    """
    same: sa.ColumnElement[bool] = TABLE.c.manager_id == execution.manager_id
    session.require(db.execute(TABLE.delete().where(TABLE.c.lease_id == execution.lease_id, same)))
