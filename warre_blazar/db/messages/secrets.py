"""Keeps the keys with which this package signs. Each is made once, by whoever needs it first."""

import secrets

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import session
from warre_blazar.db.tables import secrets as table


def find(db: Session, name: str) -> bytes | None:
    """The key of a name, or None if nobody has made it yet."""
    value = db.scalar(sa.select(table.c.value).where(table.c.name == name))
    return None if value is None else bytes.fromhex(value)


def get_or_make(db: Session, name: str) -> bytes:
    """The key of a name, 32 random bytes.

    :raises session.LostRace: another process has made it at the same time.
    """
    key = find(db, name)
    if key is None:
        key = secrets.token_bytes(32)
        session.insert_or_lose(db, table.insert().values(name=name, value=key.hex()))
    return key
