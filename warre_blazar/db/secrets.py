"""Keeps the keys with which this package signs. Each is made once, by whoever needs it first."""

import secrets

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import session
from warre_blazar.db.tables import secrets as table


def get_or_make(db: Session, name: str) -> bytes:
    """The key of a name, 32 random bytes.

    :raises session.LostRace: another process has made it at the same time.
    """
    value = db.scalar(sa.select(table.c.value).where(table.c.name == name))
    if value is None:
        value = secrets.token_hex(32)
        session.insert_or_lose(db, table.insert().values(name=name, value=value))
    return bytes.fromhex(value)
