"""Turns: what only one manager does at a time.

A manager takes a turn for a name, and says regularly that it is still at work. If it stays silent,
another manager takes the turn.
"""

import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar import times
from warre_blazar.db import session, sql_functions
from warre_blazar.db.tables import managers, turns


def take(db: Session, name: str, manager_id: str) -> bool:
    """Take a turn, or keep it.

    :returns: whether the manager has the turn now.
    """
    now = sql_functions.utc_now()
    silent = sql_functions.seconds_between(turns.c.taken_at, now)
    living = sa.select(managers.c.id).where(
        sql_functions.seconds_between(managers.c.heartbeat, now) <= times.DEAD_AFTER
    )
    free = sa.or_(
        turns.c.manager_id == manager_id,
        silent > times.TURN_LOST_AFTER,
        turns.c.manager_id.not_in(living),
    )
    taken = {"manager_id": manager_id, "taken_at": now}
    if session.changed(db, turns.update().where(turns.c.name == name, free).values(**taken)):
        return True
    if db.execute(sa.select(turns.c.name).where(turns.c.name == name)).first():
        return False
    session.insert_or_lose(db, turns.insert().values(name=name, **taken))
    return True


def advance(db: Session, name: str, manager_id: str, until: datetime.datetime) -> bool:
    """Note that the work of a turn is done up to a moment, in the transaction that does the work.

    :returns: False: the work is done up to this moment already.
    :raises session.LostRace: another manager has noted something at the same time.
    """
    query = sa.select(turns.c.done_until).where(turns.c.name == name).with_for_update()
    row = db.execute(query).first()
    if row is None:
        values = {"name": name, "manager_id": manager_id, "taken_at": sql_functions.utc_now()}
        session.insert_or_lose(db, turns.insert().values(done_until=until, **values))
        return True
    (done,) = row
    if done is not None and done >= until:
        return False
    same = turns.c.done_until.is_(None) if done is None else turns.c.done_until == done
    advanced = turns.update().where(turns.c.name == name, same).values(done_until=until)
    session.write_or_lose(db, advanced)
    return True


def done_until(db: Session, name: str) -> datetime.datetime | None:
    """Until when the work of a turn is done, or None if it was never done."""
    return db.scalar(sa.select(turns.c.done_until).where(turns.c.name == name))
